package stats

import (
	"slices"

	"github.com/farread/farread/formats/internal/ordered"
	"github.com/farread/farread/internal/minmax"
)

// Of returns the Stat of the items in p, decoded bytes of the array. A rest that is
// shorter than an item does not count. It takes one pass over the bytes and no memory.
func (c Column) Of(p []byte) Stat {
	s := c.newSum()
	s.add(p, len(p)/c.stride)
	return s.stat()
}

// OfBox returns the Stat of a part of the items in p, which are an array of the given
// shape in row-major order: of the first valid[i] items along each axis i. So the
// padding of a block at the edge of an array does not count. The caller makes sure that
// shape and valid have the same number of axes, that valid is within shape, and that p
// has all items of shape.
func (c Column) OfBox(p []byte, shape, valid []int64) Stat {
	s := c.newSum()
	if slices.Contains(valid, 0) {
		return s.stat()
	}
	// Items along the last axes are one run, up to an axis that is not valid to its end.
	axis, run := len(shape)-1, 1
	for ; axis >= 0; axis-- {
		run *= int(valid[axis])
		if valid[axis] < shape[axis] {
			break
		}
	}
	if axis <= 0 {
		s.add(p, run)
		return s.stat()
	}
	step := c.stride // bytes from one run to the next along an axis
	for _, n := range shape[axis:] {
		step *= int(n)
	}
	s.runs(p, shape[:axis], valid[:axis], step, run)
	return s.stat()
}

// runs adds runs of so many items. They begin step bytes from each other along the last
// axis of shape.
func (s *sum) runs(p []byte, shape, valid []int64, step, run int) {
	at := make([]int64, len(shape))
	for {
		off := int64(0)
		for i, k := range at {
			off = off*shape[i] + k
		}
		s.add(p[int(off)*step:], run)
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < valid[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// A sum is a Stat in the making.
type sum struct {
	c            *Column
	dlo, dhi     uint64 // domain of the keys
	lo, hi       uint64 // extremes so far, if ranged
	ranged       bool
	n, nan, fill int64
}

func (c *Column) newSum() sum {
	s := sum{c: c}
	s.dlo, s.dhi = c.num.Domain()
	return s
}

func (s *sum) stat() Stat {
	out := Stat{Items: s.n, NaN: s.nan, Fill: s.fill}
	if s.ranged {
		out.Ranged, out.Min, out.Max = true, s.c.num.Zero(s.lo), s.c.num.Zero(s.hi)
	}
	if s.c.fillNaN {
		out.Fill = s.nan
	}
	return out
}

// add adds the first n items of p.
func (s *sum) add(p []byte, n int) {
	if n == 0 {
		return
	}
	s.n += int64(n)
	p = p[s.c.off:]
	switch {
	case s.c.parts == 2 && s.c.num.Size == 4:
		scanComplex[uint32](s, p, n)
	case s.c.parts == 2:
		scanComplex[uint64](s, p, n)
	case s.c.num.Size == 1:
		scan[uint8](s, p, n)
	case s.c.num.Size == 2:
		scan[uint16](s, p, n)
	case s.c.num.Size == 4:
		scan[uint32](s, p, n)
	default:
		scan[uint64](s, p, n)
	}
}

func scan[W ordered.Word](s *sum, p []byte, n int) {
	if lanes, ok := ordered.LanesOf(s.c.num); ok && s.c.stride == s.c.num.Size {
		done := s.scanLanes(lanes, p[:n*s.c.stride])
		p, n = p[done*s.c.stride:], n-done
	}
	var buf [ordered.Tile]W
	for i := 0; i < n; i += ordered.Tile {
		tile := ordered.Load(&buf, p[i*s.c.stride:], s.c.stride, min(n-i, ordered.Tile), s.c.num.BigEndian)
		tile = scanVectors(s, tile)
		switch s.c.num.Kind {
		case ordered.Bool:
			scanBools(s, tile)
		case ordered.Float:
			scanFloats(s, tile)
		default:
			scanInts(s, tile)
		}
	}
}

// scanVectors adds items of four or eight bytes, several at a time, if none of them is NaN.
// It returns those that it has not added.
func scanVectors[W ordered.Word](s *sum, items []W) []W {
	n := 0
	switch items := any(items).(type) {
	case []uint32:
		n = scanKeys(s, items)
	case []uint64:
		n = scanKeys(s, items)
	}
	return items[n:]
}

// scanKeys adds the first items, and returns how many.
func scanKeys[W minmax.Word](s *sum, items []W) int {
	sign := W(s.c.num.Sign())
	var o minmax.Order[W]
	switch s.c.num.Kind {
	case ordered.Bool:
		return 0
	case ordered.Float:
		o.Neg = sign - 1
	case ordered.Uint:
		o.Flip = sign
	case ordered.Int, ordered.Time: // as they are
	}
	e, n := minmax.Scan(items, o, W(s.c.fill[0]), W(s.c.fillMask[0]))
	if n == 0 {
		return 0
	}
	lo, hi := uint64(W(e.Lo)^sign), uint64(W(e.Hi)^sign)
	if lo < s.dlo || hi > s.dhi {
		return 0
	}
	s.note(lo)
	s.note(hi)
	s.fill += int64(e.Equal)
	return n
}

// scanLanes adds items of one or two bytes, several at a time. It returns how many: all
// but a few at the end, or none if the first is NaN and there is no extreme to compare
// with.
func (s *sum) scanLanes(l ordered.Lanes, p []byte) int {
	size := s.c.num.Size
	if s.c.num.Kind == ordered.Bool {
		return s.scanBoolLanes(l, p)
	}
	if !s.ranged && len(p) > 0 {
		if key := s.c.num.Key(p); s.c.num.Has(key) {
			s.lo, s.hi, s.ranged = key, key, true
		}
	}
	if !s.ranged {
		return 0
	}
	var buf [ordered.Tile]uint64
	n, other := len(p)/8, 0
	for i := 0; i < n; i += ordered.Tile {
		words := l.Load(&buf, p[8*i:], min(n-i, ordered.Tile))
		other += l.Nonzero(words, s.c.fillMask[0], s.c.fill[0])
		l.Keys(words)
		for {
			words = words[l.Outside(words, s.lo, s.hi):]
			if len(words) == 0 {
				break
			}
			for k := range l.Len() {
				if key := words[0] >> (8 * size * k) & s.c.num.Mask(); key-s.lo > s.hi-s.lo {
					s.note(key)
				}
			}
			words = words[1:]
		}
	}
	s.fill += int64(n*l.Len() - other)
	return n * l.Len()
}

// scanBoolLanes is scanLanes for bytes that are true or false.
func (s *sum) scanBoolLanes(l ordered.Lanes, p []byte) int {
	var buf [ordered.Tile]uint64
	n, ones := len(p)/8, 0
	for i := 0; i < n; i += ordered.Tile {
		ones += l.Nonzero(l.Load(&buf, p[8*i:], min(n-i, ordered.Tile)), s.c.num.Mask(), 0)
	}
	n *= l.Len()
	s.noteBools(n-ones, ones)
	return n
}

// note takes the key of an item that is outside of the extremes so far: it is NaN, or
// it widens them.
func (s *sum) note(key uint64) {
	switch {
	case key < s.dlo || key > s.dhi:
		s.nan++
	case !s.ranged:
		s.lo, s.hi, s.ranged = key, key, true
	default:
		s.lo, s.hi = min(s.lo, key), max(s.hi, key)
	}
}

// scanInts adds integers of any kind, and times.
//
// New extremes are rare, or in sorted items they come one after the other: the loop has one
// comparison for both ends, and a branch that is predicted well. What is NaN is found
// behind that branch.
func scanInts[W ordered.Word](s *sum, items []W) {
	flip := W(0)
	if s.c.num.Kind != ordered.Uint {
		flip = W(s.c.num.Sign())
	}
	fill, n := W(s.c.fill[0]), 0
	for ; !s.ranged && len(items) > 0; items = items[1:] {
		s.note(uint64(items[0] ^ flip))
		if items[0] == fill {
			n++
		}
	}
	lo, span, nan := W(s.lo), W(s.hi-s.lo), 0
	dlo, dspan := W(s.dlo), W(s.dhi-s.dlo)
	for _, x := range items {
		if k := x ^ flip; k-lo > span {
			lo, span, nan = widen(k, lo, span, dlo, dspan, nan)
		}
		if x == fill {
			n++
		}
	}
	s.widened(uint64(lo), uint64(span), nan)
	s.fill += int64(n)
}

// widen is note for loops: k is outside of the extremes lo and lo + span.
func widen[W ordered.Word](k, lo, span, dlo, dspan W, nan int) (W, W, int) {
	switch {
	case k-dlo > dspan:
		nan++
	case k > lo:
		span = k - lo
	default:
		lo, span = k, span+(lo-k)
	}
	return lo, span, nan
}

// widened takes the extremes of a loop, if there are any.
func (s *sum) widened(lo, span uint64, nan int) {
	if s.nan += int64(nan); s.ranged {
		s.lo, s.hi = lo, lo+span
	}
}

// scanFloats is scanInts for floats.
func scanFloats[W ordered.Word](s *sum, items []W) {
	sign, top := W(s.c.num.Sign()), 8*s.c.num.Size-1
	fill, mask, n := W(s.c.fill[0]), W(s.c.fillMask[0]), 0
	for ; !s.ranged && len(items) > 0; items = items[1:] {
		x := items[0]
		s.note(uint64(x ^ (-(x >> top) | sign)))
		if x&mask == fill {
			n++
		}
	}
	lo, span, nan := W(s.lo), W(s.hi-s.lo), 0
	dlo, dspan := W(s.dlo), W(s.dhi-s.dlo)
	for _, x := range items {
		// All bits of a negative number are flipped, and of others the sign.
		if k := x ^ (-(x >> (top & 63)) | sign); k-lo > span {
			lo, span, nan = widen(k, lo, span, dlo, dspan, nan)
		}
		if x&mask == fill {
			n++
		}
	}
	s.widened(uint64(lo), uint64(span), nan)
	s.fill += int64(n)
}

// scanBools adds bytes that are true or false.
func scanBools[W ordered.Word](s *sum, items []W) {
	zeros := 0
	for _, x := range items {
		if x == 0 {
			zeros++
		}
	}
	s.noteBools(zeros, len(items)-zeros)
}

// noteBools takes how many items are false and true.
func (s *sum) noteBools(zeros, ones int) {
	if zeros > 0 {
		s.note(0)
	}
	if ones > 0 {
		s.note(1)
	}
	if s.c.fill[0] == 0 {
		s.fill += int64(zeros)
	} else {
		s.fill += int64(ones)
	}
}

// scanComplex counts complex numbers whose parts are W.
func scanComplex[W ordered.Word](s *sum, p []byte, n int) {
	var re, im [ordered.Tile]W
	size, fill, mask := s.c.num.Size, s.c.fill, s.c.fillMask
	sign := W(s.c.num.Sign())
	inf := W(s.dhi) ^ sign
	for i := 0; i < n; i += ordered.Tile {
		k := min(n-i, ordered.Tile)
		a := ordered.Load(&re, p[i*s.c.stride:], s.c.stride, k, s.c.num.BigEndian)
		b := ordered.Load(&im, p[i*s.c.stride+size:], s.c.stride, k, s.c.num.BigEndian)
		for j, x := range a {
			y := b[j]
			if x&^sign > inf || y&^sign > inf {
				s.nan++
			}
			if x&W(mask[0]) == W(fill[0]) && y&W(mask[1]) == W(fill[1]) {
				s.fill++
			}
		}
	}
}
