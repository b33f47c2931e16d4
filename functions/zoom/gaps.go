package zoom

import (
	"cmp"
	"slices"
)

const (
	// gapSteps is the number of usual steps without a sample that make a gap. No
	// packet spans a gap, so no summary of a packet covers a time without samples.
	gapSteps = 10
	// rowsAGap is how many rows a packet has at least, on average. If there are too
	// many gaps, only the longest ones end packets, since each packet takes some 200
	// bytes beside its values.
	rowsAGap = 128
)

// cuts lists the first stamps behind the gaps of a block, in order, at most one for
// each rowsAGap rows. The stamps of the block do not go back.
func cuts(columns []Column, rows int) []int64 {
	type gap struct{ long, behind int64 }
	var all []gap
	var steps []int64
	for i := range columns {
		at := columns[i].Stamps
		steps = steps[:0]
		for k := 1; k < len(at); k++ {
			switch d := at[k] - at[k-1]; {
			case d < 0:
				return nil
			case d > 0:
				steps = append(steps, d)
			}
		}
		if len(steps) < 2 {
			continue
		}
		slices.Sort(steps)
		usual := steps[(len(steps)-1)/2]
		if steps[len(steps)-1]/gapSteps < usual {
			continue
		}
		for k := 1; k < len(at); k++ {
			if d := at[k] - at[k-1]; d/gapSteps >= usual {
				all = append(all, gap{d, at[k]})
			}
		}
	}
	slices.SortFunc(all, func(a, b gap) int {
		return cmp.Or(cmp.Compare(b.long, a.long), cmp.Compare(a.behind, b.behind))
	})
	var out []int64
	for _, g := range all {
		if len(out) >= max(rows/rowsAGap, 1) {
			break
		}
		if !slices.Contains(out, g.behind) {
			out = append(out, g.behind)
		}
	}
	slices.Sort(out)
	return out
}

// flushCut gives the writer the samples of a block, and flushes at its gaps and its end.
func (p *pump) flushCut(b *Block, give func(column, from, to int) error) error {
	from := make([]int, len(b.Columns))
	rows := 0
	for i := range b.Columns {
		rows = max(rows, len(b.Columns[i].Stamps))
	}
	for _, behind := range cuts(b.Columns, rows) {
		some := false
		for i := range b.Columns {
			at := b.Columns[i].Stamps
			to, _ := slices.BinarySearch(at, behind)
			if to > from[i] {
				some = true
				if err := give(i, from[i], to); err != nil {
					return err
				}
				from[i] = to
			}
		}
		if !some {
			continue
		}
		if err := p.w.Flush(); err != nil {
			return err
		}
	}
	for i := range b.Columns {
		if to := len(b.Columns[i].Stamps); to > from[i] {
			if err := give(i, from[i], to); err != nil {
				return err
			}
		}
	}
	return p.w.Flush()
}
