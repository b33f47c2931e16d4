package cells

import (
	"math"
	"math/bits"
)

// fewItems is how many items of a piece a cell has at least for the cost of a cell to be
// small beside that of its items.
const fewItems = 16

// few reports whether a piece has rows along the last axis, each item of which is in a cell
// of its own, and only a few items of each cell.
func (a *Adder) few(p *Piece) bool {
	last := len(p.N) - 1
	if last < 0 || a.plan.window[last] != 1 || p.N[last] < 2 {
		return false
	}
	items := int64(1)
	for i, n := range p.N[:last] {
		items *= min(n, a.plan.window[i])
	}
	return items < fewItems
}

// rows adds a piece row by row along the last axis, and the items of a row one by one.
func (a *Adder) rows(t *Table, p *Piece) {
	last := len(p.N) - 1
	a.at = append(a.at[:0], make([]int64, last)...)
	for {
		off, cell, place := p.Off, int64(0), int64(0)
		for i, k := range a.at {
			off += k * p.Step[i]
			k += p.Out[i]
			cell = cell*t.N[i] + k/a.plan.window[i] - t.Lo[i]
			place = place*a.plan.counts[i] + k
		}
		cell = cell*t.N[last] + p.Out[last] - t.Lo[last]
		place = place*a.plan.counts[last] + p.Out[last]
		for c := range a.loads {
			a.row(&t.states[c], c, off, cell, place)
		}
		i := last - 1
		for ; i >= 0; i-- {
			if a.at[i]++; a.at[i] < p.N[i] {
				break
			}
			a.at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// row adds a row of items from off on to the cells from cell on.
func (a *Adder) row(s *state, c int, off, cell, place int64) {
	last := len(a.piece.N) - 1
	step := int(a.piece.Step[last])
	col := a.plan.columns[c]
	for left := a.piece.N[last]; left > 0; {
		k := int(min(left, tileLen))
		a.tile.n = 0
		a.load(c, int(off), k, step)
		for i := range k {
			if m := a.piece.Mask; m != nil {
				if b := (int(off) + i*step) / a.plan.item; m[b/64]>>(b%64)&1 == 0 {
					continue
				}
			}
			s.addOne(col, cell+int64(i), place+int64(i), a.tile.f[i], a.tile.im[i], a.tile.i[i])
		}
		left -= int64(k)
		off, cell, place = off+int64(k*step), cell+int64(k), place+int64(k)
	}
}

// addOne adds an item to a cell: f and im, or v, whatever its class has.
func (s *state) addOne(c *column, cell, place int64, f, im float64, v int64) {
	if c.class == floats && f != f || c.class == pairs && (f != f || im != im) || c.class == times && v == math.MinInt64 {
		s.nan[cell]++
		return
	}
	if s.lo != nil {
		key := uint64(v) ^ 1<<63
		if c.class == floats {
			key = floatKey(f)
		}
		s.extreme(cell, key, key, func() (int64, int64) { return place, place })
	}
	s.count[cell]++
	if c.class == floats || c.class == pairs {
		if s.sum != nil {
			s.sum[cell].Add(f)
		}
		if s.imag != nil {
			s.imag[cell].Add(im)
		}
		if s.squares != nil {
			s.squares[cell].AddSquare(f)
		}
	} else {
		f = s.addInt(c, cell, v)
	}
	if s.hist != nil || s.sketch != nil {
		one := [1]float64{f}
		s.addBins(c, cell, one[:])
	}
}

// addInt adds an integer to the sums of a cell, and returns it as a float.
func (s *state) addInt(c *column, cell, v int64) float64 {
	u, negative, f := uint64(v), v < 0, float64(v)
	switch {
	case c.class == unsigned:
		u ^= 1 << 63
		negative, f = false, float64(u)
	case negative:
		u = -u
	}
	if s.sum != nil {
		s.sum[cell].AddWords(u, 0, 0, negative)
	}
	if s.squares != nil {
		hi, lo := bits.Mul64(u, u)
		s.squares[cell].AddWords(lo, hi, 0, false)
	}
	return f
}
