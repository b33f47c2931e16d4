package cells

import (
	"fmt"
	"math"
	"slices"

	"github.com/farread/farread/analyze/internal/exact"
	"github.com/farread/farread/analyze/internal/sketch"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
)

// NewKeyed makes the plan of a table whose cells are made one by one, as their keys are
// found, and whose numbers come one by one: by Grow, AddNumber and the other methods of
// this file. Each field that stats name is a column of numbers. Of no field there is only
// the count of items.
func NewKeyed(list []Stat) (*Plan, error) {
	f8, err := dtype.Parse("<f8")
	if err != nil {
		return nil, err
	}
	one := []int64{1}
	l := &Layout{Box: nd.Box{Start: []int64{0}, Step: one}, Shape: []int64{}, counts: []int64{math.MaxInt64}, window: one, along: []int64{math.MaxInt32}}
	p := &Plan{Layout: l, Stats: append([]Stat{}, list...), item: 8}
	for i := range p.Stats {
		s := &p.Stats[i]
		if s.Field == "" && s.Name != "count" {
			return nil, fmt.Errorf("%s: items have fields: name one, as in %s(.bytes): %w", s.Name, s.Name, formats.ErrUnsupported)
		}
		c := p.keyedColumn(s.Field)
		if c == nil {
			c = &column{field: s.Field, typ: f8, class: floats}
			p.columns = append(p.columns, c)
		}
		c.need(s)
	}
	return p, nil
}

func (p *Plan) keyedColumn(field string) *column {
	for _, c := range p.columns {
		if c.field == field {
			return c
		}
	}
	return nil
}

// Fields returns the field of each column; "" is that of items.
func (p *Plan) Fields() []string {
	out := make([]string, 0, len(p.columns))
	for _, c := range p.columns {
		out = append(out, c.field)
	}
	return out
}

// KeyedBytes returns about how many bytes of memory a new cell takes, and one in which a
// number was added.
func (p *Plan) KeyedBytes() int64 {
	n := p.CellBytes()
	for _, c := range p.columns {
		if c.ranks != nil { // which grows
			n -= 4<<10 - 256
		}
	}
	return n
}

// SketchBytes returns how many bytes the sketches of a table have grown by.
func (t *Table) SketchBytes() int64 {
	n := int64(0)
	for i := range t.states {
		for k := range t.states[i].sketch {
			n += t.states[i].sketch[k].HeldBytes()
		}
	}
	return n
}

// NewKeyedTable makes a table that has no cells.
func (p *Plan) NewKeyedTable() *Table { return p.NewTable(Region{[]int64{0}, []int64{0}}) }

// Grow adds a cell, and returns its number.
func (t *Table) Grow() int64 {
	for i := range t.states {
		s := &t.states[i]
		s.count, s.nan = append(s.count, 0), append(s.nan, 0)
		if s.lo != nil {
			s.lo, s.hi = append(s.lo, 0), append(s.hi, 0)
		}
		if s.argLo != nil {
			s.argLo, s.argHi = append(s.argLo, 0), append(s.argHi, 0)
		}
		if s.sum != nil {
			s.sum = append(s.sum, exact.Sum{})
		}
		if s.squares != nil {
			s.squares = append(s.squares, exact.Sum{})
		}
		if h := t.plan.columns[i].hist; h != nil {
			s.hist = append(s.hist, make([]int64, h.Bins)...)
		}
		if s.sketch != nil {
			s.sketch = append(s.sketch, sketch.Sketch{})
		}
	}
	t.N[0]++
	return t.N[0] - 1
}

// AddItem counts an item in a column.
func (t *Table) AddItem(cell int64, column int) { t.states[column].count[cell]++ }

// AddNone counts an item that has no number.
func (t *Table) AddNone(cell int64, column int) { t.states[column].nan[cell]++ }

// AddNumber adds the number of an item. place is the number of the item.
func (t *Table) AddNumber(cell int64, column int, place int64, f float64) {
	t.states[column].addOne(t.plan.columns[column], cell, place, f, 0, 0)
}

// AddWhole adds an integer as AddNumber does. Sums have all of it, what else there is the
// nearest float64.
func (t *Table) AddWhole(cell int64, column int, place, v int64) {
	const exact = 1 << 53
	f := float64(v)
	if v >= -exact && v <= exact {
		t.AddNumber(cell, column, place, f)
		return
	}
	s, c := &t.states[column], t.plan.columns[column]
	if s.lo != nil {
		s.extreme(cell, floatKey(f), floatKey(f), func() (int64, int64) { return place, place })
	}
	s.count[cell]++
	u, negative := uint64(v), v < 0
	if negative {
		u = -u
	}
	s.addWord(cell, u, negative)
	if s.hist != nil || s.sketch != nil {
		one := [1]float64{f}
		s.addBins(c, cell, one[:])
	}
}

// Shift adds to the places of all numbers that were added.
func (t *Table) Shift(by int64) {
	for i := range t.states {
		s := &t.states[i]
		for k := range s.argLo {
			s.argLo[k] += by
			s.argHi[k] += by
		}
	}
}

// MergeCell adds cell j of o, a table of the same plan, to cell i, and leaves it without a
// meaning.
func (t *Table) MergeCell(o *Table, i, j int64) {
	for k := range t.states {
		t.states[k].merge(&o.states[k], i, j)
	}
}

// KeyedResults returns the answers of the cells in an order, whose axis there is if axis is
// set; else there is one cell. The sums of columns that are whole are integers, if 64 bits
// hold all of them. It leaves the table without a meaning.
func (t *Table) KeyedResults(order []int64, axis bool, whole []bool) ([]Result, error) {
	p, l := *t.plan, *t.plan.Layout
	if p.Layout = &l; axis {
		l.Shape = []int64{int64(len(order))}
	}
	out := p.NewTable(Region{[]int64{0}, []int64{int64(len(order))}})
	for i, j := range order {
		out.MergeCell(t, int64(i), j)
	}
	list, err := out.Results()
	if err != nil {
		return nil, err
	}
	for i := range list {
		k := slices.IndexFunc(p.columns, func(c *column) bool { return c.field == list[i].Stat.Field })
		if list[i].Stat.Name == "sum" && whole[k] {
			if err := list[i].wholeSums(&out.states[k]); err != nil {
				return nil, err
			}
		}
	}
	return list, nil
}

// wholeSums puts integers in place of the sums of integers, if 64 bits hold them.
func (r *Result) wholeSums(s *state) error {
	list := make([]int64, 0, len(s.sum))
	for i := range s.sum {
		v := s.sum[i].Whole()
		if !v.IsInt64() {
			return nil
		}
		list = append(list, v.Int64())
	}
	var err error
	r.Type, err = dtype.Parse("<i8")
	r.Items = nil
	r.putInts(list)
	return err
}
