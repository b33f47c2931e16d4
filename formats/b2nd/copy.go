package b2nd

import (
	"context"
	"io"
	"iter"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/pull"
)

// DefaultCopyMemory bounds the two slabs of CopyTo: one is read while the other is
// written. A slab of 64 MiB covers a row of chunks of most arrays.
const DefaultCopyMemory = 128 << 20

// CopyTo writes the items of a box to w in row-major order, and returns the
// number of bytes written. Its buffers take at most memory bytes (0 means
// DefaultCopyMemory), besides the memory of ReadSlice. The next slab is read
// while one is written. An error of w is returned as it is. If memory is less
// than two items, CopyTo returns formats.ErrTooLarge.
//
// If a row of chunks fits into half the memory, every chunk is read once; else
// every block is read once. Some blocks are read several times if not even a row
// of blocks fits, or if the step along the axis that is cut is negative.
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
	written, ahead, slab := int64(0), memory, memory/2
	if a.f.Local() {
		ahead, slab = 0, a.localSlab(box, slab)
	} else {
		a = a.over(a.f.Among(ahead))
	}
	err := pull.Ahead(ctx, a.Slabs(box, slab), ahead, a.slabSize,
		func(ctx context.Context, part Box, p []byte) error { return a.ReadSlice(ctx, p, part) },
		func(p []byte) error {
			n, err := w.Write(p)
			written += int64(n)
			return err
		})
	return written, err
}

// localSlab returns the most bytes of a slab of a file, at most most: 4 MiB, or a row of chunks
// if that is longer. There is no round trip to hide, and the kernel has to make each page of a
// buffer first, which takes as long as decoding what is compressed well.
func (a *Array) localSlab(box Box, most int64) int64 {
	if len(box.Step) == 0 || box.Step[0] <= 0 {
		return most
	}
	row := min((a.g.chunk[0]-1)/box.Step[0]+1, box.Count(0)) * int64(a.g.item)
	for i := 1; i < len(box.Step); i++ {
		row *= box.Count(i) // no more than the box
	}
	return min(most, max(row, usualLocalSlab))
}

const usualLocalSlab = 4 << 20

// slabSize returns the bytes of a slab. SizeOf cannot fail, since a slab is
// inside the array.
func (a *Array) slabSize(part Box) int64 {
	n, _ := a.SizeOf(part)
	return n
}

// Slabs cuts a box into boxes that follow each other in row-major order. The box
// must be inside the array. Each slab has at most most bytes, but at least one
// item. A slab ends with a row of chunks if one fits, else with a row of blocks if
// one fits, and is at most 16 MiB long unless such a row is longer. If the step
// along the axis that is cut is negative, slabs are as long as most allows. The
// boxes stay valid.
func (a *Array) Slabs(box Box, most int64) iter.Seq[Box] {
	return box.Slabs(a.g.item, most, a.g.chunk, a.g.block)
}
