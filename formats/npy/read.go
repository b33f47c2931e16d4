package npy

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/rangeio"
)

// ReadBox fills dst with the items of a box in C order, whichever the order of
// the file. The array's bytes begin at byte base of r, the length that ParseHeader
// returns. dst has box.Items() times the item size; any other length is
// ErrTooLarge. Unless the order is C and the steps are 1, ReadBox allocates memory
// for all items between the bounds of the box, at most 2 GiB; more is
// ErrTooLarge. Runs of the file that lie within 4 KiB of each other are read as
// one, through about 20 MiB of memory at most; other runs are read straight into
// place. However many they are, they are one phase. On an error the content of dst is
// undefined.
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
		return h.runsOf(box).read(ctx, r, base, dst)
	}
	cover, n, err := h.cover(box)
	if err != nil {
		return err
	}
	tmp := make([]byte, n)
	if err := h.runsOf(cover).read(ctx, r, base, tmp); err != nil {
		return err
	}
	h.gather(dst, tmp, box, cover)
	return nil
}

// maxBox bounds what ReadBox allocates.
const maxBox = 2<<30 - 1

// cover is the box of all items between the bounds of box, which is not empty, and the
// bytes of these.
func (h Header) cover(box nd.Box) (cover nd.Box, n int64, err error) {
	cover = box.CoverBox()
	item := int64(h.DType.ItemSize())
	items, err := cover.Items()
	if err != nil || items > maxBox/max(item, 1) {
		return nd.Box{}, 0, fail("box", fmt.Errorf("%d items to gather from: %w", items, formats.ErrTooLarge))
	}
	return cover, items * item, nil
}

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
