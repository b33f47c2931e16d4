package cells

// A Summary is what is known of plain items of a cell without looking at them.
type Summary struct {
	Items, NaN int64 // items, and those of them that are NaN
	Min, Max   Item  // of the items that are not NaN, if there are some
	Sum        int64 // of integers
}

// An Item is a plain item: F of floats, else I, which has the bits of unsigned integers.
type Item struct {
	F float64
	I int64
}

// BySummaries reports whether summaries answer all that is asked, and whether they need
// the sum for that.
func (p *Plan) BySummaries() (ok, sums bool) {
	for _, c := range p.columns {
		sums = sums || c.sum
		if c.arg || c.squares || c.hist != nil || c.ranks != nil || c.sum && c.class != ints && c.class != unsigned {
			return false, false
		}
	}
	return true, sums
}

// ByPlaces reports whether it is asked where items are.
func (p *Plan) ByPlaces() bool {
	for _, c := range p.columns {
		if c.arg {
			return true
		}
	}
	return false
}

// AddSummary adds a summary to a cell of a table of all cells.
func (t *Table) AddSummary(cell int64, s Summary) {
	for k, c := range t.plan.columns {
		st := &t.states[k]
		st.nan[cell] += s.NaN
		if s.Items == s.NaN {
			continue
		}
		if c.order {
			st.extreme(cell, c.keyOfItem(s.Min), c.keyOfItem(s.Max), nil)
		}
		st.count[cell] += s.Items - s.NaN
		if c.sum {
			n := uint64(s.Sum)
			if s.Sum < 0 {
				n = -n
			}
			st.sum[cell].AddWords(n, 0, 0, s.Sum < 0)
		}
	}
}

func (c *column) keyOfItem(v Item) uint64 {
	switch c.class {
	case floats:
		return floatKey(v.F)
	case unsigned:
		return uint64(v.I)
	default:
		return uint64(v.I) ^ 1<<63
	}
}
