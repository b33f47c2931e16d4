package render

import (
	"context"
	"iter"
	"slices"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/nd"
)

// Columns cuts an array into boxes that follow each other in Fortran order. Each has
// at most most bytes, but at least one item. Boxes end with a row of chunks if that
// fits.
func Columns(shape []int64, chunk []int, item, most int64) iter.Seq[b2nd.Box] {
	return func(yield func(b2nd.Box) bool) {
		start, stop := make([]int64, len(shape)), slices.Clone(shape)
		cutColumns(start, stop, chunk, len(shape)-1, item, most, yield)
	}
}

// cutColumns cuts along an axis. The axes after it are fixed, those before it are
// whole.
func cutColumns(start, stop []int64, chunk []int, axis int, item, most int64, yield func(b2nd.Box) bool) bool {
	if axis < 0 {
		return yield(b2nd.Sub(slices.Clone(start), slices.Clone(stop)))
	}
	one := item
	for _, n := range stop[:axis] {
		one *= n
	}
	lo, hi := start[axis], stop[axis]
	defer func() { start[axis], stop[axis] = lo, hi }()
	n := max(most/max(one, 1), 1)
	if c := int64(chunk[axis]); n > c && c > 0 {
		n -= n % c
	}
	for at := lo; at < hi; at += n {
		start[axis], stop[axis] = at, min(at+n, hi)
		if one > most {
			if !cutColumns(start, stop, chunk, axis-1, item, most, yield) {
				return false
			}
		} else if !yield(b2nd.Sub(slices.Clone(start), slices.Clone(stop))) {
			return false
		}
	}
	return true
}

// A Slicer is an array that gives the items of a box in row-major order.
type Slicer interface {
	ReadSlice(ctx context.Context, dst []byte, box b2nd.Box) error
}

// ReadColumns reads a box of an array, of items of item bytes, into p in Fortran order.
func ReadColumns(ctx context.Context, a Slicer, item int, box b2nd.Box, p []byte) error {
	rows := make([]byte, len(p))
	if err := a.ReadSlice(ctx, rows, box); err != nil {
		return err
	}
	n := box.Counts()
	nd.Copy(p, 0, nd.StridesF(n, item), rows, 0, nd.Strides(n, item), n, item)
	return nil
}
