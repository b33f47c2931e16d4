package nd

import (
	"fmt"
	"iter"
)

// A Grid cuts a region into cells of one shape, numbered row by row. The cells
// at the far ends may reach beyond the region.
type Grid struct {
	Cell  []int64 // lengths of a cell
	Count []int64 // cells along each axis
	Total int64   // cells in all
}

// NewGrid cuts a region into cells. An axis of length 0 has no cells, and its
// cell length may be 0; otherwise a cell length below 1 is an error, and so is a
// number of cells beyond int64 (ErrOverflow).
func NewGrid(region, cell []int64) (Grid, error) {
	if len(region) != len(cell) {
		return Grid{}, fmt.Errorf("cells of %d axes in a region of %d", len(cell), len(region))
	}
	g := Grid{Cell: cell, Count: make([]int64, len(region))}
	for i, n := range region {
		switch {
		case n < 0 || cell[i] < 0 || n > 0 && cell[i] == 0:
			return Grid{}, fmt.Errorf("axis %d: cells of %d in %d items", i, cell[i], n)
		case n > 0:
			g.Count[i] = (n-1)/cell[i] + 1
		}
	}
	var err error
	g.Total, err = Prod(g.Count)
	return g, err
}

// Meet yields, in ascending order, the number and the origin (in the coordinates
// of b) of each cell that has an item of b. The first cell of the grid begins at
// lo; items from hi on do not count. For the chunks of an array lo is all zeros
// and hi the shape; for the blocks of a chunk lo is the chunk's origin, and hi
// its end or the array's, whichever is less. The origin is overwritten by the
// next step. Cells between the steps of b are left out. The cost is one step for
// each cell that is met.
func (g Grid) Meet(b Box, lo, hi []int64) iter.Seq2[int64, []int64] {
	return func(yield func(int64, []int64) bool) {
		d := len(g.Cell)
		at, first := make([]int64, d), make([]int64, d)
		origin := make([]int64, d)
		for i := range d {
			c, ok := g.next(b, lo, hi, i, 0)
			if !ok {
				return
			}
			first[i], at[i] = c, c
		}
		for {
			n := int64(0)
			for i, c := range at {
				n = n*g.Count[i] + c
				origin[i] = lo[i] + c*g.Cell[i]
			}
			if !yield(n, origin) {
				return
			}
			i := d - 1
			for ; i >= 0; i-- {
				if c, ok := g.next(b, lo, hi, i, at[i]+1); ok {
					at[i] = c
					break
				}
				at[i] = first[i]
			}
			if i < 0 {
				return
			}
		}
	}
}

// next is the first cell of axis i, not before c, that holds an item of b.
func (g Grid) next(b Box, lo, hi []int64, i int, c int64) (int64, bool) {
	if c >= g.Count[i] {
		return 0, false
	}
	first, step, n := b.ascending(i)
	k := max(0, ceilDiv(lo[i]+c*g.Cell[i]-first, step))
	if k >= n {
		return 0, false
	}
	x := first + k*step
	if x >= hi[i] {
		return 0, false
	}
	return (x - lo[i]) / g.Cell[i], true
}
