package nd

import (
	"iter"
	"slices"
)

// usualSlab is as much as several requests bring, if rows of cells are smaller.
const usualSlab = 16 << 20

// Slabs cuts the box into boxes that follow each other in row-major order. A box has no
// more bytes than most, but at least one item; an item has item bytes. If the box has
// to be cut, a part ends with a row of cells if a row fits, of the first shape of cells
// whose rows fit. It is then no longer than 16 MiB, unless one row is longer. If the
// step along the cut axis is negative, or there are no cells, the parts are as long as
// possible. A part stays valid after the next one.
func (b Box) Slabs(item int, most int64, cells ...[]int64) iter.Seq[Box] {
	counts := b.Counts()
	axis, inner := len(counts)-1, int64(item) // a slab takes part of this axis, and all of those after it
	for axis >= 0 && counts[axis] <= most/inner {
		inner *= max(counts[axis], 1)
		axis--
	}
	return func(yield func(Box) bool) {
		if slices.Contains(counts, 0) {
			return
		}
		part := Box{Start: slices.Clone(b.Start), Stop: slices.Clone(b.Stop), Step: b.Step}
		if axis < 0 {
			part.end(counts)
			yield(part)
			return
		}
		at := make([]int64, axis+1) // the first item of the slab, along the axes that are cut
		n := slices.Clone(counts)
		for i := range axis {
			n[i] = 1
		}
		for {
			n[axis] = b.rows(axis, at[axis], max(most/inner, 1), inner, cells)
			part = Box{Start: slices.Clone(b.Start), Step: b.Step}
			for i, k := range at {
				part.Start[i] += k * b.Step[i]
			}
			part.end(n)
			if !yield(part) {
				return
			}
			i := axis
			at[i] += n[axis]
			for at[i] >= counts[i] {
				if at[i] = 0; i == 0 {
					return
				}
				i--
				at[i]++
			}
		}
	}
}

// end makes the box end after n items a side.
func (b *Box) end(n []int64) {
	b.Stop = make([]int64, len(n))
	for i, k := range n {
		// One past the last item, in the direction of the step.
		b.Stop[i] = b.Start[i] + (k-1)*b.Step[i] + 1
		if b.Step[i] < 0 {
			b.Stop[i] -= 2
		}
	}
	b.OutShape = slices.Clone(n)
}

// rows is how many items of an axis the slab takes that begins with item at: at most so
// many, ending with a cell of the first shape that has an end among them.
func (b Box) rows(axis int, at, most, inner int64, cells [][]int64) int64 {
	left := b.Count(axis) - at
	step := b.Step[axis]
	first := b.Start[axis] + at*step
	if step < 0 {
		return min(left, most)
	}
	for _, shape := range cells {
		cell := shape[axis]
		fit := min(most, max(usualSlab/inner, 1)) // no more than usual, unless a single cell needs it
		if cell/step > fit {
			fit = min(most, cell/step)
		}
		if fit >= left {
			return left
		}
		end := (first + fit*step) / cell * cell
		if end > first {
			return (end-first-1)/step + 1
		}
	}
	return min(left, most)
}
