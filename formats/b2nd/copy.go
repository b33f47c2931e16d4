package b2nd

import (
	"context"
	"io"
	"iter"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/pull"
)

const (
	// DefaultCopyMemory bounds the two slabs of CopyTo, one of which is read while
	// the other is written. 64 MiB cover a row of chunks of most arrays.
	DefaultCopyMemory = 128 << 20
	usualSlab         = 16 << 20 // several requests' worth, where rows of chunks are smaller
)

// CopyTo writes the items of a box in row-major order, with buffers of at most
// memory bytes (0: DefaultCopyMemory), besides the memory of ReadSlice; the next
// part is read while one is written. It returns the bytes written. An error of w
// is returned as it is. Memory for less than two items is formats.ErrTooLarge.
//
// If a row of chunks fits into half the memory every chunk is read once, else
// every block is. If not even a row of blocks fits, or the step along the axis
// that is cut is negative, some blocks are read several times.
func (a *Array) CopyTo(ctx context.Context, w io.Writer, box Box, memory int64) (int64, error) {
	if _, err := a.SizeOf(box); err != nil {
		return 0, err
	}
	if memory <= 0 {
		memory = DefaultCopyMemory
	}
	if memory/2 < int64(a.g.item) {
		return 0, fail("copy", formats.ErrTooLarge, "%d bytes of memory for two items of %d", memory, a.g.item)
	}
	written := int64(0)
	err := pull.Ahead(ctx, a.Slabs(box, memory/2), a.slabSize,
		func(ctx context.Context, part Box, p []byte) error { return a.ReadSlice(ctx, p, part) },
		func(p []byte) error {
			n, err := w.Write(p)
			written += int64(n)
			return err
		})
	return written, err
}

// slabSize is the bytes of a slab, which lies inside the array.
func (a *Array) slabSize(part Box) int64 {
	n, _ := a.SizeOf(part)
	return n
}

// Slabs cuts a box, which must lie inside the array, into boxes that follow each
// other in row-major order, each of at most that many bytes, but at least an item.
// If the box has to be cut, they end with a row of chunks, or of blocks, if one
// fits, and are no longer than 16 MiB unless such a row is; a negative step along
// the axis that is cut gives boxes as long as may be. The boxes stay valid.
func (a *Array) Slabs(box Box, most int64) iter.Seq[Box] {
	counts := box.Counts()
	axis, inner := len(counts)-1, int64(a.g.item) // a slab takes part of this axis, and all of those after it
	for axis >= 0 && counts[axis] <= most/inner {
		inner *= max(counts[axis], 1)
		axis--
	}
	return func(yield func(Box) bool) {
		if slices.Contains(counts, 0) {
			return
		}
		part := Box{Start: slices.Clone(box.Start), Stop: slices.Clone(box.Stop), Step: box.Step}
		if axis < 0 {
			a.cut(&part, counts)
			yield(part)
			return
		}
		at := make([]int64, axis+1) // the first item of the slab, along the axes that are cut
		n := slices.Clone(counts)
		for i := range axis {
			n[i] = 1
		}
		for {
			n[axis] = a.rows(box, axis, at[axis], max(most/inner, 1), inner)
			part = Box{Start: slices.Clone(box.Start), Step: box.Step}
			for i, k := range at {
				part.Start[i] += k * box.Step[i]
			}
			a.cut(&part, n)
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

// cut makes part end after n items a side.
func (*Array) cut(part *Box, n []int64) {
	part.Stop = make([]int64, len(n))
	for i, k := range n {
		// One past the last item, in the direction of the step.
		part.Stop[i] = part.Start[i] + (k-1)*part.Step[i] + 1
		if part.Step[i] < 0 {
			part.Stop[i] -= 2
		}
	}
	part.OutShape = slices.Clone(n)
}

// rows is how many items of an axis the slab takes that begins with item at: at
// most so many, ending with a chunk, else a block, if there is an end of one
// among them.
func (a *Array) rows(box Box, axis int, at, most, inner int64) int64 {
	left := box.Count(axis) - at
	step := box.Step[axis]
	first := box.Start[axis] + at*step
	if step < 0 {
		return min(left, most)
	}
	for _, cell := range []int64{a.g.chunk[axis], a.g.block[axis]} {
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
