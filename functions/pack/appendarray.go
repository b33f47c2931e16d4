package pack

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/functions/internal/kit"
)

// Append writes the array behind the items of the array in e, along the first axis. The
// caller then commits e. Types, and all lengths but the first, must be the same, or the error
// is formats.ErrUnsupported. Append reads each byte of the source once, a chunk at a time
// where the items can be read in any order; memory is that of a chunk, and of Zarr and b2nd most bytes of
// their chunks and blocks: what does not fit is read again. A compressed member of
// a .npz is read in its order instead, a row of chunks at a time: that row must fit into
// most bytes, or the error is formats.ErrTooLarge.
func (a Array) Append(ctx context.Context, e *b2nd.Editor, most int64, progress formats.Progress) error {
	m := e.Meta()
	if err := a.follows(m); err != nil {
		return err
	}
	if a.Shape[0] > math.MaxInt64-m.Shape[0] {
		return kit.TooLarge("%d items behind %d", a.Shape[0], m.Shape[0])
	}
	read := a.boxes(most)
	if read == nil {
		return a.appendStream(ctx, e, most, progress)
	}
	from, to := m.Shape[0], slices.Clone(m.Shape)
	to[0] += a.Shape[0]
	if err := e.Resize(to); err != nil || a.NBytes == 0 {
		return err
	}
	var buf []byte
	var done int64
	return eachCell(m.ChunkShape, from, to, func(start, stop []int64) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := int64(a.DType.ItemSize())
		for i := range start {
			n *= stop[i] - start[i]
		}
		buf = slices.Grow(buf[:0], int(n))[:n]
		src, end := slices.Clone(start), slices.Clone(stop)
		src[0], end[0] = src[0]-from, end[0]-from
		if err := read(ctx, buf, b2nd.Sub(src, end)); err != nil {
			return err
		}
		done += n
		progress.Tell(done, a.NBytes)
		return e.WriteSlice(b2nd.Sub(start, stop), buf)
	})
}

// boxes returns what reads the items in any order, with most bytes of memory, or nil if they come in their own order
// alone.
func (a Array) boxes(most int64) func(ctx context.Context, dst []byte, box b2nd.Box) error {
	r := a.r
	if r == nil {
		r = a.stored
	}
	switch {
	case a.zarr != nil:
		return a.zarr.Pass(most).ReadBox
	case a.b2nd != nil:
		return a.b2nd.a.WithCache(most).ReadSlice
	case r != nil:
		return func(ctx context.Context, dst []byte, box b2nd.Box) error {
			return a.header.ReadBox(ctx, r, a.base, dst, box)
		}
	}
	return nil
}

// First returns the first n items of an array of one axis, which has as many. It reads the source up to there.
func (a Array) First(ctx context.Context, n int64) ([]byte, error) {
	size := n * int64(a.DType.ItemSize())
	p := make([]byte, size)
	if read := a.boxes(size); read != nil {
		return p, read(ctx, p, b2nd.Sub([]int64{0}, []int64{n}))
	}
	err := a.each(ctx, func(items io.Reader) error {
		if _, err := io.ReadFull(items, p); err != nil {
			return err
		}
		_, err := io.Copy(io.Discard, items) // to its end, where the archive's CRC is
		return err
	})
	return p, err
}

// follows checks that the array can follow the items of an array with the metalayer m.
func (a Array) follows(m b2nd.Meta) error {
	d, err := dtype.Parse(m.DType)
	if err != nil {
		return err
	}
	switch {
	case len(m.Shape) == 0:
		return kit.Unsupported("an array without axes cannot grow")
	case len(a.Shape) != len(m.Shape) || !slices.Equal(a.Shape[1:], m.Shape[1:]):
		return kit.Unsupported("its shape %v does not continue %v: all lengths but the first must be the same", a.Shape, m.Shape)
	case !a.DType.Equal(d):
		return kit.Unsupported("its items are %s, those that are there %s", a.DType, d)
	}
	return nil
}

// eachCell calls f with the box of each chunk of an array of the shape to, as far as its
// items lie at from or behind it along the first axis.
func eachCell(chunk []int, from int64, to []int64, f func(start, stop []int64) error) error {
	at := make([]int64, len(to))
	at[0] = from / int64(chunk[0])
	start, stop := make([]int64, len(to)), make([]int64, len(to))
	for {
		for i := range to {
			start[i] = at[i] * int64(chunk[i])
			stop[i] = min(start[i]+int64(chunk[i]), to[i])
		}
		start[0] = max(start[0], from)
		if err := f(start, stop); err != nil {
			return err
		}
		i := len(to) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i]*int64(chunk[i]) < to[i] {
				break
			}
			if at[i] = 0; i == 0 {
				return nil
			}
		}
	}
}

// appendStream takes the items in the order of the source.
func (a Array) appendStream(ctx context.Context, e *b2nd.Editor, most int64, progress formats.Progress) error {
	if a.header.Fortran && len(a.Shape) > 1 {
		return kit.Fail("npz", fmt.Sprintf("%q", a.Name+npySuffix), -1, kit.Unsupported("compressed and in Fortran order: unpack the archive and append its .npy"))
	}
	m := e.Meta()
	row := int64(a.DType.ItemSize())
	for _, n := range m.Shape[1:] {
		row *= n
	}
	rows := int64(m.ChunkShape[0])
	if row == 0 || a.Shape[0] == 0 {
		to := slices.Clone(m.Shape)
		to[0] += a.Shape[0]
		return e.Resize(to)
	}
	if min(rows, a.Shape[0]) > most/row {
		return kit.TooLarge("%d rows of %d bytes over %d: unpack the archive and append its .npy", min(rows, a.Shape[0]), row, most)
	}
	buf := make([]byte, min(rows, a.Shape[0])*row)
	return a.each(ctx, func(items io.Reader) error {
		at := m.Shape[0]
		for left := a.Shape[0]; left > 0; {
			n := min(rows-at%rows, left)
			if _, err := io.ReadFull(items, buf[:n*row]); err != nil {
				return err
			}
			if err := e.Extend(buf[:n*row]); err != nil {
				return err
			}
			at, left = at+n, left-n
			progress.Tell((a.Shape[0]-left)*row, a.NBytes)
		}
		return nil
	})
}
