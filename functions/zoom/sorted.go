package zoom

import (
	"cmp"
	"context"
	"slices"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/internal/kit"
)

// maxSorted is how many cells a table may have whose rows are put in order: some 120 MB of memory.
const maxSorted = 8 << 20

// A sortedSeries has the rows of a table in the order of their times; of the same time, in that of the table.
type sortedSeries struct{ Series }

// inOrder is a table in the order of its times, if the user wants that and it is in another one.
func (t *table) inOrder(s Series) Series {
	if !t.sorts {
		return s
	}
	return sortedSeries{s}
}

// A sorter keeps all rows of a table.
type sorter struct {
	times []int64 // of all rows
	cols  []sortedColumn
}

type sortedColumn struct {
	values zoomcache.Values
	rows   []int32 // of each value
}

// Each implements Series.
func (s sortedSeries) Each(ctx context.Context, window int, f func(*Block) error) error {
	about := s.About()
	if most := int64(maxSorted / (len(about.Tracks) + 1)); about.Rows > most {
		return kit.Fail(about.Format, "", -1, kit.TooLarge("%d rows to put in order, over %d of %d columns: sort the table before", about.Rows, most, len(about.Tracks)+1))
	}
	all := sorter{cols: make([]sortedColumn, len(about.Tracks))}
	if err := s.Series.Each(ctx, window, all.take); err != nil {
		return err
	}
	order := make([]int32, len(all.times))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(all.times[a], all.times[b]) })
	at := make([][]int32, len(all.cols)) // of each column, 1 + the number of the value that a row has
	for i := range at {
		at[i] = make([]int32, len(order))
		for k, row := range all.cols[i].rows {
			at[i][row] = int32(k) + 1
		}
	}
	for len(order) > 0 {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		n := min(window, len(order))
		b := all.block(order[:n], at)
		b.Done = about.Bytes
		if err := f(b); err != nil {
			return err
		}
		order = order[n:]
	}
	return nil
}

// take keeps the rows of a block.
func (s *sorter) take(b *Block) error {
	first := len(s.times)
	s.times = append(s.times, b.times...)
	for i := range b.Columns {
		c := &s.cols[i]
		c.values.Kind = b.Columns[i].Values.Kind
		join(&c.values, &b.Columns[i].Values)
		for _, row := range b.Columns[i].rows {
			c.rows = append(c.rows, int32(first)+row)
		}
	}
	return nil
}

// block has some rows.
func (s *sorter) block(rows []int32, at [][]int32) *Block {
	b := &Block{Columns: make([]Column, len(s.cols))}
	for i := range s.cols {
		c := &b.Columns[i]
		c.Stamps = []int64{}
		var take []int32
		for _, row := range rows {
			if k := at[i][row]; k > 0 {
				take = append(take, k-1)
				c.Stamps = append(c.Stamps, s.times[row])
			}
		}
		c.Values = chosen(&s.cols[i].values, take)
	}
	return b
}

// chosen returns the values of some numbers.
func chosen(v *zoomcache.Values, at []int32) zoomcache.Values {
	return zoomcache.Values{Kind: v.Kind, N: len(at), Bool: picked(v.Bool, at), F32: picked(v.F32, at), F64: picked(v.F64, at),
		I8: picked(v.I8, at), I16: picked(v.I16, at), I32: picked(v.I32, at), I64: picked(v.I64, at),
		U8: picked(v.U8, at), U16: picked(v.U16, at), U32: picked(v.U32, at), U64: picked(v.U64, at)}
}

func picked[T any](v []T, at []int32) []T {
	if v == nil {
		return nil
	}
	out := make([]T, len(at))
	for i, k := range at {
		out[i] = v[k]
	}
	return out
}
