package farread

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A Npy is an open .npy file with its object: an array that is stored as it is.
type Npy struct {
	Object *objstore.Object

	h    npy.Header
	base int64 // of the items in the object
}

// OpenNpy opens the .npy file that uri names: one request.
func (c *Client) OpenNpy(ctx context.Context, uri string) (*Npy, error) {
	ob, err := c.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	return c.NpyOf(ctx, ob, 0)
}

// NpyOf opens the .npy file that begins at offset in an object that is open already. A
// header that the object has kept costs nothing. A file that ends before its array does
// is formats.ErrCorrupt, as are the errors of npy.ParseHeader.
func (c *Client) NpyOf(ctx context.Context, ob *objstore.Object, offset int64) (*Npy, error) {
	r, err := section(ob, FrameOptions{Offset: offset})
	if err != nil {
		return nil, err
	}
	h, n, err := npy.ParseHeader(io.NewSectionReader(rangeio.WithContext(ctx, r), 0, r.Size()))
	if err != nil {
		return nil, err
	}
	size, err := h.NBytes()
	if err != nil {
		return nil, err
	}
	if size > r.Size()-n {
		return nil, &formats.Error{Format: npy.Format, Part: "array", Off: offset + n,
			Err: fmt.Errorf("%d bytes in %d: %w", size, r.Size()-n, formats.ErrCorrupt)}
	}
	return &Npy{Object: ob, h: h, base: offset + n}, nil
}

// Header is what the file says of its array. Its Shape is shared: do not change it.
func (a *Npy) Header() npy.Header { return a.h }

// Shape is the number of items along each axis, as a copy.
func (a *Npy) Shape() []int64 { return slices.Clone(a.h.Shape) }

// SizeOf is how many bytes ReadSlice needs for a box. A box that does not lie inside
// the array is an error, which matches no sentinel.
func (a *Npy) SizeOf(box b2nd.Box) (int64, error) {
	if box.Dims() != len(a.h.Shape) {
		return 0, fmt.Errorf("a box of %d axes for an array of %d", box.Dims(), len(a.h.Shape))
	}
	for i, n := range a.h.Shape {
		if lo, hi := box.Cover(i); lo < 0 || hi > n || lo > hi {
			return 0, fmt.Errorf("axis %d: [%d, %d) of %d", i, lo, hi, n)
		}
	}
	items, err := box.Items()
	if err != nil {
		return 0, err
	}
	return items * int64(a.h.DType.ItemSize()), nil
}

// ReadSlice fills dst with the items of a box in row-major order, as stored, whatever
// the order of the file. dst has exactly SizeOf(box) bytes. It costs one planned read
// for some thousand runs of items, and reads the runs alone. Steps, and an array in
// Fortran order, take memory for all items between the bounds of the box, at most 2
// GiB; more is formats.ErrTooLarge.
func (a *Npy) ReadSlice(ctx context.Context, dst []byte, box b2nd.Box) error {
	if _, err := a.SizeOf(box); err != nil {
		return err
	}
	return a.h.ReadBox(ctx, a.Object, a.base, dst, box)
}

// ExplainSlice lists the requests that ReadSlice would make for a box, without making any.
func (a *Npy) ExplainSlice(ctx context.Context, box b2nd.Box) ([]rangeio.Planned, error) {
	if _, err := a.SizeOf(box); err != nil {
		return nil, err
	}
	return a.h.ExplainBox(ctx, a.Object, a.base, box)
}
