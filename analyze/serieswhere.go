package analyze

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/formats/stats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
)

// A seriesWhere tells which samples match.
type seriesWhere struct {
	p      *predicate.Predicate
	column stats.Column
	size   int
	float  bool
}

// sieveSpan is about how many bytes of samples a span of the index has that may be passed over: as
// much as a further request is worth.
const sieveSpan = 64 << 10

// sift binds a comparison to the values of the track.
func (s *Series) sift(e *predicate.Expr, d dtype.DType) error {
	if s.track.Codec.Kind == zoomcache.Unit {
		return fmt.Errorf("events have no values to compare: %w", formats.ErrUnsupported)
	}
	p, err := e.Bind(d)
	if err != nil {
		return err
	}
	list, err := stats.Columns(d, nil)
	if err != nil {
		return err
	}
	s.where = &seriesWhere{p, list[0], d.ItemSize(), d.Kind() == dtype.Float}
	return nil
}

// matches says how many samples of a channel in a span match.
func (w *seriesWhere) matches(k *zoomindex.Known, c *zoomindex.KnownChannel) predicate.Match {
	var items []byte
	for _, n := range []zoomcache.Number{c.Min, c.Max} {
		if n.Present() {
			items = w.append(items, n)
		}
	}
	st := w.column.Of(items)
	st.Items, st.NaN = k.Count, c.NaN
	return w.p.Match([]stats.Stat{st})
}

// append appends an extreme as the track stores it.
func (w *seriesWhere) append(dst []byte, n zoomcache.Number) []byte {
	var bits uint64
	if v, ok := n.Int(); ok {
		bits = uint64(v)
	} else if v, ok := n.Uint(); ok {
		bits = v
	}
	if w.float {
		switch f := n.Float(); w.size {
		case 2:
			bits = uint64(dtype.FloatToHalf(float32(f)))
		case 4:
			bits = uint64(math.Float32bits(float32(f)))
		default:
			bits = math.Float64bits(f)
		}
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], bits)
	return append(dst, b[:w.size]...)
}

// takeMatching takes of a span the channels of which all samples match, if summaries serve. It reports
// false if samples have to be read.
func (s *Series) takeMatching(k *zoomindex.Known, serve bool) bool {
	list := make([]predicate.Match, len(k.Channels))
	for i := range k.Channels {
		list[i] = s.where.matches(k, &k.Channels[i])
	}
	if slices.Contains(list, predicate.Some) || !serve && slices.Contains(list, predicate.All) {
		return false
	}
	for i, m := range list {
		if m == predicate.All {
			s.takeChannel(k, i)
		}
	}
	return true
}

// joined returns ranges that do not overlap as ascending ones, those that touch each other as one.
func joined(list []zoomindex.Range) []zoomindex.Range {
	slices.SortFunc(list, func(a, b zoomindex.Range) int { return cmp.Compare(a.From, b.From) })
	out := list[:0]
	for _, r := range list {
		if n := len(out); n > 0 && out[n-1].To+1 == r.From {
			out[n-1].To = r.To
		} else {
			out = append(out, r)
		}
	}
	return out
}
