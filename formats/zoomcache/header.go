package zoomcache

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"time"

	"github.com/farread/farread/formats"
)

// Limits for the fields of a header. Real files have a handful of tracks with short
// names.
const (
	maxTracks = 65536
	maxName   = 65536
)

// versionMajor and versionMinor are the version of the files that this package writes.
const versionMajor, versionMinor = 3, 0

// A Rate counts samples per second. A denominator of 0 is read as the rate 0.
type Rate struct{ Num, Den int64 }

// Seconds is the time of an offset: 0 if the rate is 0, as in the original.
func (r Rate) Seconds(offset int64) float64 {
	if r.Num == 0 || r.Den == 0 {
		return 0
	}
	// Integers up to exact are exact as floats, so one division of two of them rounds
	// correctly.
	const exact = 1 << 53
	if d := offset * r.Den; d != 0 && d > -exact && d < exact && d/r.Den == offset && r.Num > -exact && r.Num < exact {
		return float64(d) / float64(r.Num)
	}
	f, _ := new(big.Rat).Mul(new(big.Rat).SetInt64(offset), big.NewRat(r.Den, r.Num)).Float64()
	return f
}

// lowest returns the rate as the original writes it: in lowest terms, with a
// positive denominator.
func (r Rate) lowest() (Rate, bool) {
	if r.Num == 0 || r.Den == 0 {
		return Rate{0, 1}, true
	}
	q := big.NewRat(r.Num, r.Den)
	return Rate{q.Num().Int64(), q.Denom().Int64()}, q.Num().IsInt64() && q.Denom().IsInt64()
}

// An Origin is the UTC of time 0: a Modified Julian Day and seconds since its
// midnight as a fraction. The zero value is unknown.
type Origin struct{ Day, Num, Den int64 }

const (
	unixDay = 40587        // the Modified Julian Day of 1970-01-01
	pico    = 1e12         // the denominator that the original writes
	day     = 24 * 60 * 60 // seconds
	maxDays = 1 << 24      // bound of days that UTC accepts, beyond the year 9999
)

// OriginOf returns the origin of a time as the original writes it.
func OriginOf(t time.Time) Origin {
	s := t.Unix()
	d := s / day
	if s%day < 0 {
		d--
	}
	return Origin{Day: unixDay + d, Num: (s-d*day)*pico + int64(t.Nanosecond())*1000, Den: pico}
}

// UTC gives the time, rounded down to a nanosecond, or false if it is unknown or
// outside the years 0 to 9999.
func (o Origin) UTC() (time.Time, bool) {
	if o.Den == 0 || o.Day < -maxDays || o.Day > maxDays {
		return time.Time{}, false
	}
	q := big.NewRat(o.Num, o.Den)
	ns := new(big.Int).Mul(q.Num(), big.NewInt(1e9))
	ns.Div(ns, q.Denom()) // Euclid's: down, for the denominator is positive
	sec, rest := new(big.Int).DivMod(ns, big.NewInt(1e9), new(big.Int))
	if !sec.IsInt64() || sec.Int64() < -maxDays*day || sec.Int64() > maxDays*day {
		return time.Time{}, false
	}
	t := time.Unix((o.Day-unixDay)*day+sec.Int64(), rest.Int64()).UTC()
	return t, t.Year() >= 0 && t.Year() <= 9999
}

// A Track describes one track, as a file's header does.
type Track struct {
	Number   int32
	Codec    Codec
	Name     string // should be UTF-8; other bytes are kept
	Rate     Rate   // rate of the samples; it also scales the stamps of a track of variable rate
	Variable bool   // every value has a stamp of its own
	Delta    bool   // values are stored as differences, if Codec.Deltas
	Zlib     bool   // payloads of packets are compressed
}

// deltas reports whether the values are stored as differences: some codecs ignore
// the flag.
func (t *Track) deltas() bool { return t.Delta && t.Codec.Deltas() }

// A Header is the beginning of a file.
type Header struct {
	Major, Minor int16
	Origin       Origin
	Tracks       []Track // tracks in the file's order; the original library writes ascending numbers
}

// Track finds a track by its number.
func (h *Header) Track(number int32) (*Track, bool) {
	for i := range h.Tracks {
		if h.Tracks[i].Number == number {
			return &h.Tracks[i], true
		}
	}
	return nil, false
}

// The bits of a track's flags.
const (
	flagVariable = 1 << iota
	flagDelta
	flagZlib
)

const (
	globalLen = 16 // marker, version, tracks; then three variable-length integers
	trackLen  = 34 // marker to the length of the codec identifier
)

// ParseHeader parses the global header and the track headers at the beginning
// of a file, and returns their length. If p ends inside them, the error matches
// io.ErrUnexpectedEOF as well as formats.ErrCorrupt: call ParseHeader with more
// of the file. MaxMeta bounds the length, MaxEntries the tracks. Other errors
// are those of Open. The Header does not keep p.
func ParseHeader(p []byte, lim formats.Limits) (*Header, int64, error) {
	const part = "global header"
	lim = lim.WithDefaults()
	if len(p) < markerLen {
		return nil, 0, cut(part, int64(len(p)))
	}
	if string(p[:markerLen]) != MarkerGlobal {
		return nil, 0, corrupt(part, 0, "this is no zoom-cache file")
	}
	if len(p) < globalLen {
		return nil, 0, cut(part, int64(len(p)))
	}
	h := &Header{Major: int16(binary.BigEndian.Uint16(p[8:])), Minor: int16(binary.BigEndian.Uint16(p[10:]))}
	if h.Major != versionMajor || h.Minor < 0 {
		return nil, 0, unsupported(part, 8, "version %d.%d, where 3.0 and later 3.x are known", h.Major, h.Minor)
	}
	n := int32(binary.BigEndian.Uint32(p[12:]))
	if n < 0 {
		return nil, 0, corrupt(part, 12, "%d tracks", n)
	}
	if n > maxTracks || int64(n) > lim.MaxEntries {
		return nil, 0, tooLarge(part, 12, "%d tracks", n)
	}
	at := globalLen
	for i, v := range []*int64{&h.Origin.Day, &h.Origin.Num, &h.Origin.Den} {
		k := 0
		if *v, k = readVLC(p[at:min(len(p), at+maxOrigin)]); k <= 0 {
			if len(p) >= at+maxOrigin {
				return nil, 0, corrupt(part, int64(at), "part %d of the origin takes more than %d bytes", i+1, maxOrigin)
			}
			return nil, 0, cut(part, int64(len(p)))
		}
		at += k
	}
	if h.Origin.Den == 0 {
		h.Origin = Origin{}
	}
	return parseTracks(h, p, at, int(n), lim)
}

// maxOrigin is the length of the longest variable-length integer of 64 bits.
const maxOrigin = 10

func parseTracks(h *Header, p []byte, at, n int, lim formats.Limits) (*Header, int64, error) {
	seen := map[int32]bool{}
	for len(h.Tracks) < n {
		t, next, err := parseTrack(p, at)
		if err != nil {
			return nil, 0, err
		}
		part := fmt.Sprintf("header of track %d", t.Number)
		if seen[t.Number] {
			return nil, 0, corrupt(part, int64(at), "a second header of this track")
		}
		if int64(next) > lim.MaxMeta {
			return nil, 0, tooLarge(part, int64(at), "headers of more than %d bytes", lim.MaxMeta)
		}
		seen[t.Number] = true
		h.Tracks = append(h.Tracks, t)
		at = next
	}
	return h, int64(at), nil
}

// parseTrack reads the track header at p[at:] and returns where it ends.
func parseTrack(p []byte, at int) (Track, int, error) {
	off := int64(at)
	if len(p) < at+markerLen {
		return Track{}, 0, cut("track header", int64(len(p)))
	}
	if string(p[at:at+markerLen]) != MarkerTrack {
		return Track{}, 0, corrupt("track header", off, "no track header here")
	}
	if len(p) < at+trackLen {
		return Track{}, 0, cut("track header", int64(len(p)))
	}
	q := p[at:]
	t := Track{Number: int32(binary.BigEndian.Uint32(q[8:]))}
	flags := binary.BigEndian.Uint16(q[12:])
	t.Variable, t.Delta, t.Zlib = flags&flagVariable != 0, flags&flagDelta != 0, flags&flagZlib != 0
	t.Rate = Rate{int64(binary.BigEndian.Uint64(q[14:])), int64(binary.BigEndian.Uint64(q[22:]))}
	if t.Rate.Den == 0 {
		t.Rate = Rate{0, 1}
	}
	part := fmt.Sprintf("header of track %d", t.Number)
	n := int32(binary.BigEndian.Uint32(q[30:]))
	if n < 0 || n > maxIdent {
		return t, 0, corrupt(part, off+30, "a codec identifier of %d bytes", n)
	}
	id := trackLen
	name := id + int(n) + 4
	if len(q) < name {
		return t, 0, cut(part, int64(len(p)))
	}
	var err error
	if t.Codec, err = parseIdent(part, q[id:id+int(n)], off+trackLen); err != nil {
		return t, 0, err
	}
	m := int32(binary.BigEndian.Uint32(q[name-4:]))
	if m < 0 || m > maxName {
		return t, 0, corrupt(part, off+int64(name)-4, "a name of %d bytes", m)
	}
	if len(q) < name+int(m) {
		return t, 0, cut(part, int64(len(p)))
	}
	t.Name = string(q[name : name+int(m)])
	return t, at + name + int(m), nil
}

// AppendHeader appends global header and track headers in the order given. A
// header that the format cannot hold is formats.ErrUnsupported or
// formats.ErrTooLarge.
func AppendHeader(dst []byte, h *Header) ([]byte, error) {
	if len(h.Tracks) > maxTracks {
		return dst, tooLarge("global header", -1, "%d tracks, at most %d", len(h.Tracks), maxTracks)
	}
	dst = append(dst, MarkerGlobal...)
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.Major))
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.Minor))
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(h.Tracks)))
	dst = appendVLC(dst, h.Origin.Day)
	dst = appendVLC(dst, h.Origin.Num)
	dst = appendVLC(dst, h.Origin.Den)
	seen := map[int32]bool{}
	for i := range h.Tracks {
		t := &h.Tracks[i]
		part := fmt.Sprintf("header of track %d", t.Number)
		switch {
		case seen[t.Number]:
			return dst, fail(part, -1, formats.ErrUnsupported, "two tracks have this number")
		case !t.Codec.valid():
			return dst, unsupported(part, -1, "codec %s with %d channels", t.Codec, t.Codec.Channels)
		case len(t.Name) > maxName:
			return dst, tooLarge(part, -1, "a name of %d bytes, at most %d", len(t.Name), maxName)
		}
		seen[t.Number] = true
		dst = t.append(dst)
	}
	return dst, nil
}

func (t *Track) append(dst []byte) []byte {
	flags := uint16(0)
	for _, f := range []struct {
		on  bool
		bit uint16
	}{{t.Variable, flagVariable}, {t.Delta, flagDelta}, {t.Zlib, flagZlib}} {
		if f.on {
			flags |= f.bit
		}
	}
	dst = append(dst, MarkerTrack...)
	dst = binary.BigEndian.AppendUint32(dst, uint32(t.Number))
	dst = binary.BigEndian.AppendUint16(dst, flags)
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.Rate.Num))
	dst = binary.BigEndian.AppendUint64(dst, uint64(t.Rate.Den))
	id := t.Codec.Ident()
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(id)))
	dst = append(dst, id...)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(t.Name)))
	return append(dst, t.Name...)
}
