package npy

import (
	"context"
	"fmt"
	"iter"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/nd"
	"github.com/farread/farread/rangeio"
)

const (
	// maxSpans bounds how many spans one call of a reader is given.
	maxSpans = 1 << 12
)

// A Run is a piece of an array's bytes: N bytes from byte Off after the header.
type Run struct {
	Off, N int64
}

// RunsOf yields, in ascending order, the longest runs of bytes that hold the
// items that box covers (steps are taken as 1) in the order of the file. The
// box was resolved against h.Shape.
func (h Header) RunsOf(box nd.Box) iter.Seq[Run] {
	axes := h.fileOrder()
	return func(yield func(Run) bool) {
		lo, n := make([]int64, len(axes)), make([]int64, len(axes))
		for i, a := range axes {
			first, end := box.Cover(a)
			if lo[i], n[i] = first, end-first; n[i] == 0 {
				return
			}
		}
		// The last axes, as long as they are taken whole, are one run.
		stride := int64(h.DType.ItemSize())
		run, strides := stride, make([]int64, len(axes))
		off, outer, whole := int64(0), 0, true
		for i := len(axes) - 1; i >= 0; i-- {
			strides[i] = stride
			off += lo[i] * stride
			if whole {
				run, outer = n[i]*stride, i
				whole = n[i] == h.Shape[axes[i]]
			}
			stride *= h.Shape[axes[i]]
		}
		eachRow(n[:outer], strides, off, func(off int64) bool { return yield(Run{off, run}) })
	}
}

// eachRow yields the offset of every index into n, the last axis fastest.
func eachRow(n, strides []int64, off int64, yield func(off int64) bool) {
	at := make([]int64, len(n))
	for {
		if !yield(off) {
			return
		}
		i := len(n) - 1
		for ; i >= 0; i-- {
			at[i]++
			off += strides[i]
			if at[i] < n[i] {
				break
			}
			off -= n[i] * strides[i]
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

// fileOrder lists the axes with the slowest first.
func (h Header) fileOrder() []int {
	axes := make([]int, len(h.Shape))
	for i := range axes {
		axes[i] = i
		if h.Fortran {
			axes[i] = len(axes) - 1 - i
		}
	}
	return axes
}

// ReadBox fills dst with the items of a box in C order, whichever the order of
// the file. The array's bytes begin at byte base of r (what ReadHeader said), and
// dst has box.Items() times the item size. Unless the order is C and the steps are
// 1, it needs memory for what the box covers besides dst. Runs of the file that
// lie close together are read as one.
func (h Header) ReadBox(ctx context.Context, r rangeio.Reader, base int64, dst []byte, box nd.Box) error {
	item := h.DType.ItemSize()
	items, err := box.Items()
	if err != nil || box.Dims() != len(h.Shape) || int64(len(dst)) != items*int64(item) {
		return fail("box", fmt.Errorf("%d bytes for %d items of %d bytes: %w", len(dst), items, item, formats.ErrTooLarge))
	}
	if len(dst) == 0 {
		return nil
	}
	if !h.Fortran && box.Unit() {
		return h.readRuns(ctx, r, base, dst, box)
	}
	cover := box.CoverBox()
	n, err := cover.Items()
	if err != nil || n > maxBox/int64(item) {
		return fail("box", fmt.Errorf("%d items to gather from: %w", n, formats.ErrTooLarge))
	}
	tmp := make([]byte, n*int64(item))
	if err := h.readRuns(ctx, r, base, tmp, cover); err != nil {
		return err
	}
	h.gather(dst, tmp, box, cover)
	return nil
}

// maxBox bounds what ReadBox allocates.
const maxBox = 2<<30 - 1

// gather copies box out of the bytes of cover, which are in the file's order.
func (h Header) gather(dst, src []byte, box, cover nd.Box) {
	item := h.DType.ItemSize()
	counts := box.Counts()
	ss := nd.Strides(cover.OutShape, item)
	if h.Fortran {
		ss = nd.StridesF(cover.OutShape, item)
	}
	off := int64(0)
	for i := range ss {
		off += (box.Start[i] - cover.Start[i]) * ss[i]
		if counts[i] > 1 {
			ss[i] *= box.Step[i]
		}
	}
	nd.Copy(dst, 0, nd.Strides(counts, item), src, off, ss, counts, item)
}

// readRuns fills dst with the runs of box one after another.
func (h Header) readRuns(ctx context.Context, r rangeio.Reader, base int64, dst []byte, box nd.Box) error {
	var spans []rangeio.Span
	var err error
	for run := range h.RunsOf(box) {
		spans = append(spans, rangeio.Span{Off: base + run.Off, P: dst[:run.N:run.N]})
		dst = dst[run.N:]
		if len(spans) == maxSpans {
			if err = readSpans(ctx, r, spans); err != nil {
				return err
			}
			spans = spans[:0]
		}
	}
	return readSpans(ctx, r, spans)
}

func readSpans(ctx context.Context, r rangeio.Reader, spans []rangeio.Span) error {
	if len(spans) == 0 {
		return nil
	}
	return r.ReadRanges(ctx, spans)
}
