package farread

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A Npy is an open .npy file with its object. Its array is stored as it is.
type Npy struct {
	Object *objstore.Object

	h    npy.Header
	base int64 // offset of the items in the object
}

// OpenNpy opens the .npy file that uri names. It costs one request.
func (c *Client) OpenNpy(ctx context.Context, uri string) (*Npy, error) {
	ob, err := c.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	return c.NpyOf(ctx, ob, 0)
}

// NpyOf opens the .npy file that begins at offset in an open object. A header that the
// object already holds costs nothing. If the file ends before its array ends, the error
// matches formats.ErrCorrupt. Other errors are those of npy.ParseHeader.
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

// Header returns the header of the file. Its Shape is shared: do not change it.
func (a *Npy) Header() npy.Header { return a.h }

// Shape returns a copy of the number of items along each axis.
func (a *Npy) Shape() []int64 { return slices.Clone(a.h.Shape) }

// DType returns the type of the items.
func (a *Npy) DType() dtype.DType { return a.h.DType }

// SizeOf returns the number of bytes that ReadSlice needs for a box. If the box does
// not lie inside the array, it returns an error, which matches no sentinel.
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
// the order of the file. dst must have exactly SizeOf(box) bytes. ReadSlice costs one
// phase of planned reads, of some thousand runs of items each. It reads the runs, and
// gaps of up to 4 KiB between them. If the box has steps, or the array is in Fortran
// order, ReadSlice takes memory for all items between the bounds of the box. If this is
// more than 2 GiB, it returns formats.ErrTooLarge.
func (a *Npy) ReadSlice(ctx context.Context, dst []byte, box b2nd.Box) error {
	if _, err := a.SizeOf(box); err != nil {
		return err
	}
	return a.h.ReadBox(ctx, a.Object, a.base, dst, box)
}

// ReadField is ReadSlice for one member of structured items. DType.Field finds the
// member. dst must have exactly f.Size() bytes for each item of the box. ReadField
// costs as much as ReadSlice, and memory for the whole items of the box.
func (a *Npy) ReadField(ctx context.Context, dst []byte, box b2nd.Box, f dtype.Field) error {
	n, err := a.SizeOf(box)
	if err != nil {
		return err
	}
	item, size := a.h.DType.ItemSize(), f.Size()
	if f.Off < 0 || size < 1 || f.Off > item-size {
		return fmt.Errorf("%s: a member of %d bytes at %d of items of %d", npy.Format, size, f.Off, item)
	}
	if want := n / int64(item) * int64(size); int64(len(dst)) != want {
		return fmt.Errorf("%s: %d bytes for a slice of %d", npy.Format, len(dst), want)
	}
	items := make([]byte, n)
	if err := a.h.ReadBox(ctx, a.Object, a.base, items, box); err != nil {
		return err
	}
	for at := f.Off; at < len(items); at += item {
		dst = dst[copy(dst, items[at:at+size]):]
	}
	return nil
}

// ExplainSlice lists the requests that ReadSlice would make for a box. It makes none of
// them.
func (a *Npy) ExplainSlice(ctx context.Context, box b2nd.Box) ([]rangeio.Planned, error) {
	if _, err := a.SizeOf(box); err != nil {
		return nil, err
	}
	return a.h.ExplainBox(ctx, a.Object, a.base, box)
}
