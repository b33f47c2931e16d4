package zoom

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/objstore"
)

// openNPY makes a track of each column of a .npy. If the rate is unknown, it is one
// sample a second.
func openNPY(ctx context.Context, obj *objstore.Object) (Series, error) {
	h, n, err := npy.ParseHeader(bufio.NewReader(io.NewSectionReader(obj.WithContext(ctx), 0, obj.Size())))
	if err != nil {
		return nil, err
	}
	r, err := array(obj, "npy", h, n, nil)
	if err != nil {
		return nil, err
	}
	// As in NumPy, bytes behind the array are ignored.
	if have := obj.Size() - n; have < r.about.Bytes {
		return nil, kit.Fail("npy", obj.Info().Key, n, kit.Corrupt("truncated: %d bytes of items, the header says %d", have, r.about.Bytes))
	}
	return r, nil
}

// openRaw reads an object as its note describes it.
func openRaw(obj *objstore.Object, note *Note) (Series, error) {
	r, err := array(obj, "raw", note.Header(), note.Offset, note.Names)
	if err != nil {
		return nil, err
	}
	if have := obj.Size() - note.Offset; have != r.about.Bytes {
		return nil, kit.Fail("raw", obj.Info().Key, note.Offset, kit.Corrupt("%d bytes from here on, and the note says %d", max(have, 0), r.about.Bytes))
	}
	for i := range r.about.Tracks {
		if note.Rate.Num != 0 {
			r.about.Tracks[i].Rate = note.Rate
		}
	}
	r.about.Origin = note.UTC
	return r, nil
}

func array(obj *objstore.Object, format string, h npy.Header, base int64, names []string) (*rows, error) {
	bad := func(err error) (*rows, error) { return nil, kit.Fail(format, obj.Info().Key, -1, err) }
	it, err := itemOf(h.DType)
	if err != nil {
		return bad(err)
	}
	size, err := h.NBytes()
	if err != nil {
		return nil, err
	}
	n := int64(1)
	switch len(h.Shape) {
	case 1:
	case 2:
		n = h.Shape[1]
	default:
		return bad(kit.Unsupported("an array of %d axes; a series has one, or two where each column is a track", len(h.Shape)))
	}
	if n > MaxTracks {
		return bad(kit.TooLarge("%d columns, over %d tracks: is the array transposed?", n, MaxTracks))
	}
	if len(names) > 0 && int64(len(names)) != n {
		return bad(kit.Corrupt("%d names for %d columns", len(names), n))
	}
	about := About{Format: format, Rows: h.Shape[0], Bytes: size,
		Tracks: tracks(int(n), zoomcache.Codec{Kind: it.kind}, zoomcache.Rate{Num: 1, Den: 1}, names, "column")}
	return &rows{about: about, obj: obj, base: base, item: it, frame: it.size * int(n), columns: h.Fortran}, nil
}

// A Note says what raw samples are: npy.Note and, besides, how fast and from when
// they were taken.
//
//	{"dtype": "<i2", "shape": [86400000, 3], "rate": 1000, "origin": "2026-05-01T00:00:00Z", "names": ["x", "y", "z"]}
//
// The rate is in samples a second, a number or "30000/1001"; the origin the UTC of
// time 0.
type Note struct {
	npy.Note

	Rate  zoomcache.Rate   // zero: not said
	UTC   zoomcache.Origin // UTC of time 0; zero: unknown
	Names []string         // names of the columns; nil: unknown
}

// ParseNote reads a note. If p is none, the error is formats.ErrCorrupt; if it is longer
// than npy.MaxNote, formats.ErrTooLarge; if its dtype is not known,
// formats.ErrUnsupported.
func ParseNote(p []byte) (Note, error) {
	var own struct {
		Rate   json.RawMessage `json:"rate"`
		Origin string          `json:"origin"`
		Names  []string        `json:"names"`
	}
	bad := func(err error) (Note, error) {
		return Note{}, &formats.Error{Format: "note", Off: -1, Err: err}
	}
	rest := map[string]json.RawMessage{}
	if len(p) <= npy.MaxNote && json.Unmarshal(p, &rest) == nil {
		if err := json.Unmarshal(p, &own); err != nil {
			return bad(kit.Corrupt("%s", strings.TrimPrefix(err.Error(), "json: ")))
		}
		for _, name := range []string{"rate", "origin", "names"} {
			delete(rest, name)
		}
		var err error
		if p, err = json.Marshal(rest); err != nil {
			return bad(err)
		}
	}
	n, err := npy.ParseNote(p)
	if err != nil {
		return Note{}, err
	}
	note := Note{Note: n, Names: own.Names}
	if own.Rate != nil {
		if note.Rate, err = ParseRate(string(bytes.Trim(own.Rate, `"`))); err != nil {
			return bad(err)
		}
	}
	if own.Origin != "" {
		at, err := ParseOrigin(own.Origin)
		if err != nil {
			return bad(err)
		}
		note.UTC = zoomcache.OriginOf(at)
	}
	return note, nil
}

var (
	errRate   = errors.New(`want samples a second, such as 1000, 0.1 or "30000/1001"`)
	errOrigin = errors.New(`want a time such as 2026-05-01T12:00:00Z`)
)

// ParseRate reads samples per second: a decimal number or a fraction, above 0. Errors
// match formats.ErrCorrupt.
func ParseRate(text string) (zoomcache.Rate, error) {
	bad := func() (zoomcache.Rate, error) {
		return zoomcache.Rate{}, fmt.Errorf("rate %.40q: %w: %w", text, errRate, formats.ErrCorrupt)
	}
	if strings.ContainsAny(text, "eE") { // convert it to its shortest decimal text
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || f < 1e-18 || f > math.MaxInt64 {
			return bad()
		}
		text = strconv.FormatFloat(f, 'f', -1, 64)
	}
	if len(text) > 40 || strings.Trim(text, "0123456789./") != "" {
		return bad()
	}
	q, ok := new(big.Rat).SetString(text)
	if !ok || q.Sign() <= 0 || !q.Num().IsInt64() || !q.Denom().IsInt64() {
		return bad()
	}
	return zoomcache.Rate{Num: q.Num().Int64(), Den: q.Denom().Int64()}, nil
}

// ParseOrigin reads a time in ISO 8601 as stamps of a CSV are read: without a zone it
// is UTC. The result is in UTC. Errors match formats.ErrCorrupt.
func ParseOrigin(text string) (time.Time, error) {
	s, _, ok := parseISO(text)
	if !ok {
		return time.Time{}, fmt.Errorf("origin %.40q: %w: %w", text, errOrigin, formats.ErrCorrupt)
	}
	return time.Unix(s.sec, int64(s.nano)).UTC(), nil
}
