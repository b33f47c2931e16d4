package cells

import (
	"math"
	"slices"

	"github.com/farread/farread/analyze/internal/exact"
	"github.com/farread/farread/analyze/internal/vec"
)

// A Piece is a part of the items of the box: along axis i N[i] items, of which the first
// one is item Out[i] of the box. The first item of all is at Items[Off], the next one along
// axis i Step[i] bytes further. If Mask is not nil, only the items count whose bit is set,
// of the item's number in Items.
type Piece struct {
	Out, N, Step []int64
	Off          int64
	Items        []byte
	Mask         []uint64
}

// An Adder adds pieces to tables of a plan. It must not be used concurrently.
type Adder struct {
	plan  *Plan
	loads []load
	tile  tile
	room  exact.Room

	// Of the items of one cell in a piece.
	piece   *Piece
	first   []int64 // index in the box of the first item
	n       []int64 // items along each axis
	run     []int64 // lengths of the axes after those that lie next to each other are one
	runStep []int64
	at      []int64
	seq     int // number of the next item
}

// NewAdder makes an Adder.
func (p *Plan) NewAdder() *Adder {
	dims := len(p.counts)
	a := &Adder{plan: p, first: make([]int64, dims), n: make([]int64, dims)}
	for _, c := range p.columns {
		a.loads = append(a.loads, loaderOf(c.typ))
	}
	return a
}

// Add adds the items of a piece to a table that has their cells.
func (a *Adder) Add(t *Table, p *Piece) {
	a.piece = p
	if a.few(p) {
		a.rows(t, p)
		return
	}
	r := a.plan.Region(p.Out, p.N)
	t.each(r, func(in, of int64) {
		off := p.Off
		for i := len(r.N) - 1; i >= 0; i-- {
			w := a.plan.window[i]
			cell := r.Lo[i] + of%r.N[i]
			of /= r.N[i]
			a.first[i] = max(cell*w, p.Out[i])
			a.n[i] = min(cell*w+w, p.Out[i]+p.N[i]) - a.first[i]
			off += (a.first[i] - p.Out[i]) * p.Step[i]
		}
		a.cell(t, in, off)
	})
}

// cell adds the items of one cell.
func (a *Adder) cell(t *Table, in, off int64) {
	a.run, a.runStep = a.run[:0], a.runStep[:0]
	for i, n := range a.n {
		k := len(a.run) - 1
		switch {
		case n == 1:
		case k >= 0 && a.runStep[k] == n*a.piece.Step[i]:
			a.run[k], a.runStep[k] = a.run[k]*n, a.piece.Step[i]
		default:
			a.run, a.runStep = append(a.run, n), append(a.runStep, a.piece.Step[i])
		}
	}
	last, step := int64(1), int64(0)
	if k := len(a.run) - 1; k >= 0 {
		last, step = a.run[k], a.runStep[k]
		a.run = a.run[:k]
	}
	for c := range a.loads {
		a.column(t, c, in, off, int(last), int(step))
	}
}

// column adds the items of one cell to one column: runs of last items, step bytes from each
// other.
func (a *Adder) column(t *Table, c int, in, off int64, last, step int) {
	a.seq, a.tile.n, a.tile.seq0, a.tile.sparse = 0, 0, 0, false
	a.at = append(a.at[:0], make([]int64, len(a.run))...)
	for {
		a.take(t, c, in, int(off), last, step)
		i := len(a.run) - 1
		for ; i >= 0; i-- {
			a.at[i]++
			off += a.runStep[i]
			if a.at[i] < a.run[i] {
				break
			}
			off -= a.at[i] * a.runStep[i]
			a.at[i] = 0
		}
		if i < 0 {
			break
		}
	}
	a.flush(t, c, in)
}

// take loads a run into the tile, which is added whenever it is full.
func (a *Adder) take(t *Table, c int, in int64, off, n, step int) {
	for n > 0 {
		if a.tile.n == tileLen {
			a.flush(t, c, in)
		}
		k := min(n, tileLen-a.tile.n)
		a.load(c, off, k, step)
		if a.piece.Mask != nil {
			a.masked(off, k, step)
		} else {
			a.tile.n += k
		}
		a.seq += k
		n, off = n-k, off+k*step
	}
}

// load loads k items behind those of the tile, and leaves the length of the tile.
func (a *Adder) load(c, off, k, step int) {
	p, col := a.piece.Items, a.plan.columns[c]
	if step >= 0 {
		a.loads[c](&a.tile, p[off+col.off:], step, k)
		return
	}
	was := a.tile.n
	for range k {
		a.loads[c](&a.tile, p[off+col.off:], 0, 1)
		a.tile.n++
		off += step
	}
	a.tile.n = was
}

// masked takes those of k loaded items that the mask has into the tile.
func (a *Adder) masked(off, k, step int) {
	t := &a.tile
	t.sparse = true
	from, to := t.n, t.n
	for j := range k {
		i := (off + j*step) / a.plan.item
		if a.piece.Mask[i/64]>>(i%64)&1 == 0 {
			continue
		}
		t.move(to, from+j)
		t.seq[to] = int32(a.seq + j)
		to++
	}
	t.n = to
}

// move copies item from to the place to. Which of the numbers are in use does not matter.
func (t *tile) move(to, from int) {
	t.f[to], t.im[to], t.i[to] = t.f[from], t.im[from], t.i[from]
}

// flush adds the items of the tile to cell in of a table, and empties the tile.
func (a *Adder) flush(t *Table, c int, in int64) {
	col, s, tl := a.plan.columns[c], &t.states[c], &a.tile
	if tl.n > 0 {
		s.nan[in] += int64(tl.tidy(col.class))
	}
	if n := tl.n; n > 0 {
		if col.order {
			a.extremes(col, s, in)
		}
		s.count[in] += int64(n)
		switch col.class {
		case floats, pairs:
			s.addFloats(col, in, tl, &a.room)
		case ints, unsigned, times:
			s.addInts(col, in, tl)
		}
	}
	tl.n, tl.sparse, tl.seq0 = 0, false, a.seq
}

// tidy drops the items that are NaN, and returns how many. It finds the extremes.
func (t *tile) tidy(c class) (dropped int) {
	switch c {
	case floats:
		var nan bool
		if t.lo, t.hi, nan = vec.Bounds(t.f[:t.n]); nan {
			dropped = t.drop(func(k int) bool { return t.f[k] != t.f[k] })
			if t.n > 0 {
				t.lo, t.hi, _ = vec.Bounds(t.f[:t.n])
			}
		}
	case pairs:
		dropped = t.drop(func(k int) bool { return t.f[k] != t.f[k] || t.im[k] != t.im[k] })
	case ints, unsigned:
		t.least, t.great = bounds(t.i[:t.n])
	case times:
		if t.least, t.great = bounds(t.i[:t.n]); t.least == math.MinInt64 {
			dropped = t.drop(func(k int) bool { return t.i[k] == math.MinInt64 })
			if t.n > 0 {
				t.least, t.great = bounds(t.i[:t.n])
			}
		}
	}
	return dropped
}

// drop drops the items that are NaN, and returns how many.
func (t *tile) drop(isNaN func(k int) bool) int {
	to, n := 0, t.n
	for k := range n {
		if isNaN(k) {
			continue
		}
		t.move(to, k)
		t.seq[to] = int32(t.seqOf(k))
		to++
	}
	if to < n {
		t.n, t.sparse = to, true
	}
	return n - to
}

// seqOf returns the number of item k of the tile among those of the cell in the piece.
func (t *tile) seqOf(k int) int {
	if t.sparse {
		return int(t.seq[k])
	}
	return t.seq0 + k
}

// extremes widens the extremes of a cell by the items of the tile.
func (a *Adder) extremes(c *column, s *state, in int64) {
	t := &a.tile
	if c.class == floats {
		s.extreme(in, floatKey(t.lo), floatKey(t.hi), func() (int64, int64) {
			return a.place(t.seqOf(slices.Index(t.f[:t.n], t.lo))), a.place(t.seqOf(slices.Index(t.f[:t.n], t.hi)))
		})
		return
	}
	s.extreme(in, uint64(t.least)^1<<63, uint64(t.great)^1<<63, func() (int64, int64) {
		return a.place(t.seqOf(slices.Index(t.i[:t.n], t.least))), a.place(t.seqOf(slices.Index(t.i[:t.n], t.great)))
	})
}

func bounds(list []int64) (lo, hi int64) {
	lo, hi = list[0], list[0]
	for len(list) > 4 { // the processor works on four at a time
		q := list[:4]
		lo = min(lo, min(min(q[0], q[1]), min(q[2], q[3])))
		hi = max(hi, max(max(q[0], q[1]), max(q[2], q[3])))
		list = list[4:]
	}
	for _, x := range list {
		lo, hi = min(lo, x), max(hi, x)
	}
	return lo, hi
}

// place returns the place in the box of an item by its number among those of the cell.
func (a *Adder) place(seq int) int64 {
	at := make([]int64, len(a.n))
	for i := len(at) - 1; i >= 0; i-- {
		at[i] = a.first[i] + int64(seq)%a.n[i]
		seq /= int(a.n[i])
	}
	return a.plan.place(at)
}

// floatKey returns an unsigned integer that orders like x. Minus zero is zero.
func floatKey(x float64) uint64 {
	b := math.Float64bits(x + 0)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}

// keyFloat is the contrary of floatKey.
func keyFloat(k uint64) float64 {
	if k>>63 == 0 {
		return math.Float64frombits(^k)
	}
	return math.Float64frombits(k &^ (1 << 63))
}
