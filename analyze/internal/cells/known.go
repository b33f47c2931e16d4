package cells

import (
	"slices"

	"github.com/farread/farread/formats/stats"
)

// Columns returns the numbers of the plan's columns among those that have statistics,
// ascending. It is false if one has none.
func (p *Plan) Columns(list []stats.Column) (numbers []int, ok bool) {
	for _, c := range p.columns {
		i := slices.IndexFunc(list, c.is)
		if i < 0 || c.order && !list[i].Ordered() {
			return nil, false
		}
		numbers = append(numbers, i)
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	return numbers, len(numbers) == len(p.columns)
}

// is reports whether statistics are of the column.
func (c *column) is(s stats.Column) bool {
	return s.Offset() == c.off && s.Type().Equal(c.typ) && s.Name() == c.field
}

// Cell returns the number of a cell among all.
func (l *Layout) Cell(at []int64) int64 {
	n := int64(0)
	for i, k := range at {
		n = n*l.along[i] + k
	}
	return n
}

// AddStats adds to a cell of a table of all cells what statistics say of items of it: known
// are those of Columns(list).
func (t *Table) AddStats(cell int64, list []stats.Column, known []stats.Stat) {
	numbers, _ := t.plan.Columns(list)
	for k, c := range t.plan.columns {
		i := slices.IndexFunc(list, c.is)
		at, _ := slices.BinarySearch(numbers, i)
		s, st := &known[at], &t.states[k]
		st.nan[cell] += s.NaN
		if s.Items == s.NaN {
			continue
		}
		if c.order {
			key := func(k uint64) uint64 { return c.keyOf(list[i].Append(nil, k)) }
			st.extreme(cell, key(s.Min), key(s.Max), nil)
		}
		st.count[cell] += s.Items - s.NaN
	}
}

// keyOf returns the key of an item.
func (c *column) keyOf(item []byte) uint64 {
	var t tile
	loaderOf(c.typ)(&t, item, 0, 1)
	if c.class == floats {
		return floatKey(t.f[0])
	}
	return uint64(t.i[0]) ^ 1<<63
}
