package cells

import (
	"math"
	"math/bits"
	"slices"
)

// fewItems is how many items of a piece a cell has at least for the cost of a cell to be
// small beside that of its items.
const fewItems = 16

// shortRun is how many items of a row a cell has at most for rows to be added as such.
const shortRun = 16

// few reports whether a piece has rows along the last axis, of which a cell has one item or
// a short run, and only a few items of each cell.
func (a *Adder) few(p *Piece) bool {
	last := len(p.N) - 1
	if last < 0 || p.N[last] < 2 {
		return false
	}
	if w := a.plan.window[last]; w > 1 {
		return w <= shortRun && w < p.N[last]
	}
	items := int64(1)
	for i, n := range p.N[:last] {
		items *= min(n, a.plan.window[i])
	}
	return items < fewItems
}

// rows adds a piece row by row along the last axis, and the items of a row run by run.
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
		cell = cell*t.N[last] - t.Lo[last]
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

// row adds a row of items from off on. cell is that of the row's first index of all.
func (a *Adder) row(s *state, c int, off, cell, place int64) {
	last := len(a.piece.N) - 1
	step, window := int(a.piece.Step[last]), int(a.plan.window[last])
	cell += a.piece.Out[last] / int64(window)
	room := window - int(a.piece.Out[last]%int64(window)) // items that the cell still takes
	for left := a.piece.N[last]; left > 0; {
		k := int(min(left, tileLen))
		a.tile.n = 0
		a.load(c, int(off), k, step)
		for i := 0; i < k; {
			j := min(k, i+room)
			a.some(s, c, cell, place+int64(i), int(off), i, j)
			if room -= j - i; room == 0 {
				cell, room = cell+1, window
			}
			i = j
		}
		left -= int64(k)
		off, place = off+int64(k*step), place+int64(k)
	}
}

// some adds items i to j of the tile, which was loaded from off on, to a cell.
func (a *Adder) some(s *state, c int, cell, place int64, off, i, j int) {
	t, col, m := &a.tile, a.plan.columns[c], a.piece.Mask
	if m == nil && j > i+1 && s.addRun(col, cell, place, t, i, j) {
		return
	}
	step := int(a.piece.Step[len(a.piece.N)-1])
	for ; i < j; i++ {
		if m != nil {
			if b := (off + i*step) / a.plan.item; m[b/64]>>(b%64)&1 == 0 {
				place++
				continue
			}
		}
		s.addOne(col, cell, place, t.f[i], t.im[i], t.i[i])
		place++
	}
}

// addRun adds items i to j of a tile to a cell, unless one is NaN or they are complex.
func (s *state) addRun(c *column, cell, place int64, t *tile, i, j int) bool {
	switch c.class {
	case floats:
		return s.addFloatRun(c, cell, place, t.f[i:j])
	case ints, times:
		return s.addIntRun(cell, place, t.i[i:j])
	default:
		return false
	}
}

func (s *state) addFloatRun(c *column, cell, place int64, list []float64) bool {
	bound := 0.0
	for _, x := range list {
		bound += math.Abs(x)
	}
	if bound != bound {
		return false
	}
	if s.lo != nil {
		lo, hi := list[0], list[0]
		for _, x := range list { // without branches, which would be taken at random
			lo, hi = min(lo, x), max(hi, x)
		}
		s.extreme(cell, floatKey(lo), floatKey(hi), func() (int64, int64) {
			return place + int64(slices.Index(list, lo)), place + int64(slices.Index(list, hi))
		})
	}
	s.count[cell] += int64(len(list))
	if s.sum != nil {
		s.sum[cell].AddFew(list, bound)
	}
	if s.squares != nil {
		for _, x := range list {
			s.squares[cell].AddSquare(x)
		}
	}
	s.addBins(c, cell, list)
	return true
}

func (s *state) addIntRun(cell, place int64, list []int64) bool {
	lo, hi := bounds(list)
	if lo < -1<<31 || hi > 1<<31 || s.hist != nil || s.sketch != nil {
		return false
	}
	if s.lo != nil {
		s.extreme(cell, uint64(lo)^1<<63, uint64(hi)^1<<63, func() (int64, int64) {
			return place + int64(slices.Index(list, lo)), place + int64(slices.Index(list, hi))
		})
	}
	s.count[cell] += int64(len(list))
	if s.sum != nil {
		s.sum[cell].AddInt(plainSum(list))
	}
	if s.squares != nil {
		plainSquares(&s.squares[cell], list)
	}
	return true
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
	s.addWord(cell, u, negative)
	return f
}

// addWord adds an integer of 64 bits and a sign to the sums of a cell.
func (s *state) addWord(cell int64, u uint64, negative bool) {
	if s.sum != nil {
		s.sum[cell].AddWords(u, 0, 0, negative)
	}
	if s.squares != nil {
		hi, lo := bits.Mul64(u, u)
		s.squares[cell].AddWords(lo, hi, 0, false)
	}
}
