package b2nd

import (
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
)

// shortRow is the length of rows, in bytes, below which a decoder that puts rows in their places
// one by one saves nothing, unless there are few.
const (
	shortRow = 32
	fewRows  = 32
)

// cut returns the selected items of a block as rows, if the decoder can put these in their
// places. Otherwise done gets the block: if a cache keeps it, if its length is wrong, or if its
// rows are many and short, or run backwards.
func (r *sliceRead) cut(w *cframe.Want, block, n int) (c blosc.Cut, ok bool) {
	if r.a.cache != nil || w.Dst != nil || n != r.a.g.blockBytes {
		return c, false
	}
	s := r.a.scratch.Get().(*scratch) // the pool has only *scratch
	defer r.a.scratch.Put(s)
	r.a.g.origin(s.origin, int64(w.Chunk))
	src, dst, ok := r.locate(s, block)
	if !ok {
		return c, false
	}
	c = blosc.Cut{Dst: r.dst, To: int(dst), From: int(src), Len: r.size, N: [blosc.CutAxes]int{1, 1, 1}}
	axis, rows := blosc.CutAxes-1, 1 // the axis that is filled next, from the last on
	for i := len(s.part.N) - 1; i >= 0; i-- {
		k, to, from := int(s.part.N[i]), int(r.strides[i]), int(s.srcStep[i])
		switch {
		case k == 1:
			continue
		case from < 0:
			return c, false
		case rows == 1 && to == c.Len && from == c.Len:
			c.Len *= k
			continue
		case axis < 0:
			return c, false
		}
		c.N[axis], c.ToStep[axis], c.FromStep[axis] = k, to, from
		rows *= k
		axis--
	}
	return c, c.Len >= shortRow || rows <= fewRows
}
