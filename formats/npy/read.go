package npy

import (
	"context"
	"fmt"
	"iter"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/rangeio"
)

// A Run is a piece of an array's bytes: N bytes from byte Off after the header.
type Run struct {
	Off, N int64
}

// RunsOf yields the runs of bytes that hold the items that box covers (steps are
// taken as 1), in ascending order and as long as can be. The box was resolved
// against h.Shape.
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
		// The last axes, as long as all of their items are taken, make one run.
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
// the file. The array's bytes begin at byte base of r, the length that ParseHeader
// returns. dst has box.Items() times the item size; any other length is
// ErrTooLarge. Unless the order is C and the steps are 1, ReadBox allocates memory
// for all items between the bounds of the box, at most 2 GiB; more is
// ErrTooLarge. Runs of the file that lie within 4 KiB of each other are read as
// one. On an error the content of dst is undefined.
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
	s := stager{r: r}
	var group []Run // close to each other
	end, bytes := int64(0), int64(0)
	for run := range h.RunsOf(box) {
		run.Off += base
		if len(group) > 0 && (run.Off-end > maxGap || run.Off+run.N-group[0].Off > maxGroup) {
			s.add(dst[:bytes:bytes], group, end)
			dst, group, bytes = dst[bytes:], group[:0], 0
			if err := s.readIfFull(ctx); err != nil {
				return err
			}
		}
		group = append(group, run)
		end, bytes = run.Off+run.N, bytes+run.N
	}
	if len(group) > 0 {
		s.add(dst, group, end)
	}
	return s.read(ctx)
}

const (
	// maxGap is how many bytes between two runs are read along: copying a page of a
	// local file costs less than another system call.
	maxGap = 4 << 10
	// maxGroup bounds a group of runs that is read as one span.
	maxGroup = 1 << 20
	// maxStage bounds the groups of one call of the reader, and maxSpans how many
	// spans it is given.
	maxStage = 8 << 20
	maxSpans = 1 << 12
)

// A stager collects spans for one call of the reader. A single run is read into
// place, a group through memory of its own.
type stager struct {
	r      rangeio.Reader
	spans  []rangeio.Span
	pieces []piece
	staged int
}

// A piece is a run inside of a group that was read.
type piece struct {
	dst, src []byte
}

// add plans the runs of a group, which fill dst one after another.
func (s *stager) add(dst []byte, group []Run, end int64) {
	from := group[0].Off
	if len(group) == 1 {
		s.spans = append(s.spans, rangeio.Span{Off: from, P: dst})
		return
	}
	p := make([]byte, end-from)
	s.staged += len(p)
	s.spans = append(s.spans, rangeio.Span{Off: from, P: p})
	for _, run := range group {
		s.pieces = append(s.pieces, piece{dst[:run.N], p[run.Off-from:][:run.N]})
		dst = dst[run.N:]
	}
}

func (s *stager) readIfFull(ctx context.Context) error {
	if s.staged < maxStage && len(s.spans) < maxSpans {
		return nil
	}
	return s.read(ctx)
}

func (s *stager) read(ctx context.Context) error {
	if len(s.spans) == 0 {
		return nil
	}
	if err := s.r.ReadRanges(ctx, s.spans); err != nil {
		return err
	}
	for _, p := range s.pieces {
		copy(p.dst, p.src)
	}
	s.spans, s.pieces, s.staged = s.spans[:0], s.pieces[:0], 0
	return nil
}
