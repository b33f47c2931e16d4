package cells

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/stats"
)

// A Flow passes the answer to the only stat of a plan on cell by cell, as soon as no later
// part has items of it. It must not be used concurrently, but for Share and ParseShare.
type Flow struct {
	plan  *Plan
	sweep *Sweep
	put   func(items []byte) error

	open  map[int64]int64 // cells that have some of their items -> their states in table
	free  []int64         // states that are not in use
	table *Table
	sure  map[int64]bool // cells of which statistics say something
	gaps  bool           // chunks may be missing: a cell may be closed by none

	size  int    // of the items of a cell
	none  []byte // those of a cell without items
	done  int64  // cells that are passed on
	items []byte // of the cells behind them, from item from on
	from  int
	err   error // of put
}

// A Share is what a part has of the cells of a region: the answers of those that no other
// part has items of, and the states of the others.
type Share struct {
	own   []int64 // numbers of cells
	items []byte
	open  []int64 // numbers of cells
	table *Table
}

// NewFlow makes the Flow of a run over chunks, of which some may be left out if gaps is
// set. The plan must have one stat.
func (p *Plan) NewFlow(s *Sweep, gaps bool) (*Flow, error) {
	f := &Flow{plan: p, sweep: s, open: map[int64]int64{}, table: p.newTable(Region{}, 0), sure: map[int64]bool{}, gaps: gaps}
	r, err := p.newTable(Region{}, 1).only()
	if err != nil {
		return nil, err
	}
	f.none, f.size = r.Items, len(r.Items)
	return f, nil
}

// Bytes returns how many bytes the answer of a cell has.
func (f *Flow) Bytes() int { return f.size }

// To says who takes the items of the answer, in the order of the cells.
func (f *Flow) To(put func(items []byte) error) { f.put = put }

// Sure adds what statistics say of a cell, before any Share is taken.
func (f *Flow) Sure(cell int64, list []stats.Column, known []stats.Stat) {
	f.sure[cell], f.gaps = true, true
	f.table.AddStats(f.slot(cell), list, known)
}

// Share turns the table of a part, with the chunks from a place on to another, into its
// Share. The table is left without a meaning.
func (f *Flow) Share(t *Table, from, to []int64) (*Share, error) {
	var own, open, ownAt, openAt []int64
	at := make([]int64, len(t.Lo))
	t.each(t.Region, func(in, of int64) {
		for i := len(at) - 1; i >= 0; i-- {
			at[i] = t.Lo[i] + of%t.N[i]
			of /= t.N[i]
		}
		cell := f.plan.Cell(at)
		switch {
		case !f.sure[cell] && f.sweep.within(at, from, to):
			own, ownAt = append(own, cell), append(ownAt, in)
		case t.has(in):
			open, openAt = append(open, cell), append(openAt, in)
		}
	})
	s := &Share{own: own, open: open, table: t.pick(openAt)}
	r, err := t.pick(ownAt).only()
	s.items = r.Items
	return s, err
}

// Take takes the Share of a part whose last chunk is at a place. Shares come in the order
// of the chunks. An error of put is returned by every later call.
func (f *Flow) Take(s *Share, to []int64) error {
	if f.err != nil {
		return f.err
	}
	last := f.sweep.LastClosed(to)
	if slices.ContainsFunc(s.own, func(k int64) bool { return k < f.done || k > last }) || slices.ContainsFunc(s.open, func(k int64) bool { return k < f.done }) {
		return fmt.Errorf("a share of another part: %w", formats.ErrCorrupt)
	}
	for i, cell := range s.own {
		f.place(cell, s.items[i*f.size:(i+1)*f.size])
	}
	var closed []int64
	at := make([]int64, len(f.plan.along))
	for i, cell := range s.open {
		k := f.slot(cell)
		for c := range f.table.states {
			f.table.states[c].merge(&s.table.states[c], k, int64(i))
		}
		if f.sweep.before(f.plan.index(at, cell), to) {
			closed = append(closed, cell)
		}
	}
	if f.gaps {
		closed = closed[:0]
		for cell := range f.open {
			if f.sweep.before(f.plan.index(at, cell), to) {
				closed = append(closed, cell)
			}
		}
	}
	if err := f.close(closed); err != nil {
		return err
	}
	return f.pass(f.sweep.FirstOpen(to))
}

// Finish passes the rest on.
func (f *Flow) Finish() error {
	if f.err != nil {
		return f.err
	}
	var closed []int64
	for cell := range f.open {
		closed = append(closed, cell)
	}
	if err := f.close(closed); err != nil {
		return err
	}
	return f.pass(f.plan.Cells)
}

// slot returns the number of the state of a cell.
func (f *Flow) slot(cell int64) int64 {
	if k, ok := f.open[cell]; ok {
		return k
	}
	k := int64(len(f.table.states[0].count))
	if n := len(f.free); n > 0 {
		k, f.free = f.free[n-1], f.free[:n-1]
	} else {
		f.table.grow()
	}
	f.open[cell] = k
	return k
}

// close puts the answers of cells to those that are passed on.
func (f *Flow) close(list []int64) error {
	if len(list) == 0 {
		return nil
	}
	slots := make([]int64, len(list))
	for i, cell := range list {
		slots[i] = f.open[cell]
		delete(f.open, cell)
	}
	f.free = append(f.free, slots...)
	r, err := f.table.pick(slots).only()
	if err != nil {
		return err
	}
	for i, cell := range list {
		f.place(cell, r.Items[i*f.size:(i+1)*f.size])
	}
	return nil
}

// place puts the answer of a cell to those that are passed on.
func (f *Flow) place(cell int64, items []byte) {
	at := f.from + int(cell-f.done)*f.size
	f.fill(at + f.size)
	copy(f.items[at:], items)
}

// fill lets there be items up to an end: those of cells without items.
func (f *Flow) fill(end int) {
	for at := len(f.items); at < end; at += f.size {
		f.items = append(f.items, f.none...)
	}
}

// pass passes the items of cells before one on.
func (f *Flow) pass(cell int64) error {
	const most = 4 << 20
	for f.done < cell {
		n := min(cell-f.done, int64(max(most/f.size, 1)))
		end := f.from + int(n)*f.size
		f.fill(end)
		if f.err = f.put(f.items[f.from:end]); f.err != nil {
			return f.err
		}
		f.done, f.from = f.done+n, end
		if f.from >= most && f.from >= len(f.items)/2 {
			f.items, f.from = append(f.items[:0], f.items[f.from:]...), 0
		}
	}
	return nil
}

// has reports whether a cell of a table has items.
func (t *Table) has(in int64) bool {
	for i := range t.states {
		if t.states[i].count[in] > 0 || t.states[i].nan[in] > 0 {
			return true
		}
	}
	return false
}

// grow adds the states of one cell to a table.
func (t *Table) grow() {
	one := t.plan.newTable(Region{}, 1)
	for i := range t.states {
		t.states[i].add(&one.states[i], 0)
	}
}

// pick moves the states of cells into a table of their own, and leaves those of no items.
func (t *Table) pick(list []int64) *Table {
	out := t.plan.newTable(Region{}, 0)
	empty := t.plan.newTable(Region{}, 1)
	for i := range t.states {
		s := &t.states[i]
		for _, k := range list {
			out.states[i].add(s, k)
			s.set(k, &empty.states[i])
		}
	}
	return out
}

// add moves the state of cell k of o behind those of s.
func (s *state) add(o *state, k int64) {
	s.count, s.nan = append(s.count, o.count[k]), append(s.nan, o.nan[k])
	if o.lo != nil {
		s.lo, s.hi = append(s.lo, o.lo[k]), append(s.hi, o.hi[k])
	}
	if o.argLo != nil {
		s.argLo, s.argHi = append(s.argLo, o.argLo[k]), append(s.argHi, o.argHi[k])
	}
	if o.sum != nil {
		s.sum = append(s.sum, o.sum[k])
	}
	if o.imag != nil {
		s.imag = append(s.imag, o.imag[k])
	}
	if o.squares != nil {
		s.squares = append(s.squares, o.squares[k])
	}
	if o.hist != nil {
		bins := int64(len(o.hist) / len(o.count))
		s.hist = append(s.hist, o.hist[k*bins:(k+1)*bins]...)
	}
	if o.sketch != nil {
		s.sketch = append(s.sketch, o.sketch[k])
	}
}

// set gives cell k the state of the only cell of o, which has no items.
func (s *state) set(k int64, o *state) {
	s.count[k], s.nan[k] = 0, 0
	if s.sum != nil {
		s.sum[k] = o.sum[0]
	}
	if s.imag != nil {
		s.imag[k] = o.imag[0]
	}
	if s.squares != nil {
		s.squares[k] = o.squares[0]
	}
	if s.hist != nil {
		bins := int64(len(o.hist))
		clear(s.hist[k*bins : (k+1)*bins])
	}
	if s.sketch != nil {
		s.sketch[k] = o.sketch[0]
	}
}

// only returns the answer to the only stat, for as many cells as there are.
func (t *Table) only() (Result, error) {
	list, err := t.Results()
	if err != nil {
		return Result{}, err
	}
	return list[0], nil
}

// storedShare is a Share as JSON.
type storedShare struct {
	Own     []int64 // cells: the first one and how many follow it, one run after the other
	Items   []byte
	Open    []int64
	Columns []storedState
}

// MarshalJSON returns the Share without loss.
func (s *Share) MarshalJSON() ([]byte, error) {
	return json.Marshal(storedShare{Own: runs(s.own), Items: s.items, Open: s.open, Columns: s.table.stored()})
}

// runs returns pairs of the first of consecutive numbers and how many they are.
func runs(list []int64) []int64 {
	var out []int64
	for i, k := range list {
		if i > 0 && k == list[i-1]+1 {
			out[len(out)-1]++
		} else {
			out = append(out, k, 1)
		}
	}
	return out
}

// ParseShare reads what Share.MarshalJSON wrote for a Flow of the same plan. What cannot be
// one matches formats.ErrCorrupt.
func (f *Flow) ParseShare(text []byte) (*Share, error) {
	var in storedShare
	if err := json.Unmarshal(text, &in); err != nil {
		return nil, fmt.Errorf("%w: %w", err, formats.ErrCorrupt)
	}
	bad := fmt.Errorf("no share of this plan: %w", formats.ErrCorrupt)
	s := &Share{items: in.Items, open: in.Open}
	if len(in.Own)%2 != 0 {
		return nil, bad
	}
	for p := in.Own; len(p) > 0; p = p[2:] {
		if p[0] < 0 || p[1] < 1 || p[0] >= f.plan.Cells || p[1] > f.plan.Cells-p[0] || int64(len(s.own))+p[1] > int64(len(in.Items)/f.size) {
			return nil, bad
		}
		for k := range p[1] {
			s.own = append(s.own, p[0]+k)
		}
	}
	if len(s.own)*f.size != len(in.Items) || slices.ContainsFunc(in.Open, func(k int64) bool { return k < 0 || k >= f.plan.Cells }) {
		return nil, bad
	}
	var err error
	s.table, err = f.plan.parseStates(in.Columns, len(in.Open), Region{})
	return s, err
}

// Answer is the answer to the first stat without its items.
func (p *Plan) Answer() Result {
	one, err := p.newTable(Region{}, 0).Results()
	if err != nil {
		return Result{} // no sum of no cells is too large
	}
	return one[0]
}
