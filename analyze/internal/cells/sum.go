package cells

import (
	"math"
	"math/bits"

	"github.com/farread/farread/analyze/internal/exact"
)

// addFloats adds the floats of a tile to a cell, but for counts and extremes.
func (s *state) addFloats(c *column, in int64, t *tile, room *exact.Room) {
	list := t.f[:t.n]
	switch {
	case s.sum == nil:
	case c.class == pairs:
		s.sum[in].AddAll(list)
	default:
		s.sum[in].AddWithin(list, max(-t.lo, t.hi), room)
	}
	if s.imag != nil {
		s.imag[in].AddAll(t.im[:t.n])
	}
	if s.squares != nil {
		s.squares[in].AddSquaresWithin(list, max(-t.lo, t.hi), room)
	}
	s.addBins(c, in, list)
}

// addBins adds numbers to the histogram and to the sketch of a cell, if it has them.
func (s *state) addBins(c *column, in int64, list []float64) {
	if s.hist != nil {
		bins := c.hist.Bins
		count(s.hist[int(in)*bins:][:bins], c.edges, list)
	}
	if s.sketch != nil {
		s.sketch[in].Add(list)
	}
}

// count counts numbers in bins as NumPy's histogram does: each bin has its lower edge, the
// last one has its upper edge, too.
func count(bins []int64, edges, list []float64) {
	n := len(bins)
	lo, hi := edges[0], edges[n]
	unit := 1.0
	if hi-lo < 0x1p-900 { // n divided by it may be infinite
		unit = 0x1p200
	}
	scale := float64(n) / ((hi - lo) * unit)
	for _, x := range list {
		if !(x >= lo && x <= hi) {
			continue
		}
		k := min(int((x-lo)*unit*scale), n-1)
		if x < edges[k] {
			k--
		} else if k < n-1 && x >= edges[k+1] {
			k++
		}
		bins[k]++
	}
}

// addInts adds the integers of a tile to a cell, but for counts and extremes.
func (s *state) addInts(c *column, in int64, t *tile) {
	list := t.i[:t.n]
	flip := int64(0)
	if c.class == unsigned {
		flip = math.MinInt64
	}
	if s.sum != nil {
		if flip == 0 && t.within(1<<53) {
			s.sum[in].AddInt(plainSum(list))
		} else {
			addSum(&s.sum[in], list, flip)
		}
	}
	if s.squares != nil {
		if flip == 0 && t.within(1<<31) {
			plainSquares(&s.squares[in], list)
		} else {
			addSquares(&s.squares[in], list, flip)
		}
	}
	if s.hist == nil && s.sketch == nil {
		return
	}
	f := t.f[:t.n]
	for k, x := range list {
		if flip != 0 {
			f[k] = float64(uint64(x ^ flip))
		} else {
			f[k] = float64(x)
		}
	}
	s.addBins(c, in, f)
}

// within reports whether the integers of the tile have no greater magnitude than bound.
func (t *tile) within(bound int64) bool { return -bound <= t.least && t.great <= bound }

// plainSum adds up to a tile of integers within 2^53.
func plainSum(list []int64) int64 {
	var a, b int64
	for len(list) > 1 {
		a, b, list = a+list[0], b+list[1], list[2:]
	}
	for _, x := range list {
		a += x
	}
	return a + b
}

// plainSquares adds the squares of up to a tile of integers within 2^31.
func plainSquares(s *exact.Sum, list []int64) {
	var hi, lo uint64 // counts of 2^32 and of 1
	for _, x := range list {
		q := uint64(x * x)
		hi, lo = hi+q>>32, lo+q&(1<<32-1)
	}
	low, carry := bits.Add64(lo, hi<<32, 0)
	s.AddWords(low, hi>>32+carry, 0, false)
}

// addSum adds integers. Those of which flip is set are unsigned.
func addSum(s *exact.Sum, list []int64, flip int64) {
	var hi, lo, carry uint64 // of a number of 128 bits, in two's complement
	for _, x := range list {
		x ^= flip
		lo, carry = bits.Add64(lo, uint64(x), 0)
		hi += carry
		if flip == 0 {
			hi += uint64(x >> 63)
		}
	}
	negative := hi>>63 != 0
	if negative {
		lo, carry = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, carry)
	}
	s.AddWords(lo, hi, 0, negative)
}

// addSquares adds the squares of integers.
func addSquares(s *exact.Sum, list []int64, flip int64) {
	var a, b, c uint64
	for _, x := range list {
		x ^= flip
		u := uint64(x)
		if flip == 0 && x < 0 {
			u = -u
		}
		hi, lo := bits.Mul64(u, u)
		var carry uint64
		a, carry = bits.Add64(a, lo, 0)
		b, carry = bits.Add64(b, hi, carry)
		c += carry
	}
	s.AddWords(a, b, c, false)
}
