package b2nd

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/rangeio"
)

// Options tune Open; they are those of the frame. The zero value is right for
// most.
type Options = cframe.Options

// An Array is an open array: the index of its frame, and no data but those of
// WithCache. Its methods are safe for concurrent use. It needs no Close; the
// reader or set stays in use as long as the Array.
type Array struct {
	f       *cframe.Frame
	meta    Meta
	dtype   dtype.DType
	g       *geometry
	limits  formats.Limits
	scratch sync.Pool // *scratch
	cache   *cache    // nil: none
}

// Open opens the array in the frame that begins at the first byte of r. It costs
// what cframe.Open costs. Its errors are those of cframe.Open and FromFrame, and
// formats.ErrTooLarge if chunks are longer than Limits.MaxDecoded.
func Open(ctx context.Context, r rangeio.Reader, o Options) (*Array, error) {
	f, err := cframe.Open(ctx, r, o)
	if err != nil {
		return nil, err
	}
	return within(FromFrame(f))
}

// OpenSet opens the array in a sparse frame. It costs what cframe.OpenSet costs;
// its errors are like those of Open.
func OpenSet(ctx context.Context, s formats.Set, o Options) (*Array, error) {
	f, err := cframe.OpenSet(ctx, s, o)
	if err != nil {
		return nil, err
	}
	return within(FromFrame(f))
}

// within refuses an array none of whose chunks could be decoded.
func within(a *Array, err error) (*Array, error) {
	if err == nil && int64(a.g.chunkBytes) > a.limits.MaxDecoded {
		return nil, fail("metalayer", formats.ErrTooLarge, "chunks of %d bytes, %d allowed", a.g.chunkBytes, a.limits.MaxDecoded)
	}
	return a, err
}

// IsArray tells whether a frame says that it holds an array.
func IsArray(f *cframe.Frame) bool {
	_, ok := layer(f)
	return ok
}

func layer(f *cframe.Frame) ([]byte, bool) {
	for _, name := range []string{layerName, oldLayer} {
		if b, ok := f.Metalayer(name); ok {
			return b, true
		}
	}
	return nil, false
}

// FromFrame makes an array of a frame, without a request. A frame without the
// metalayer, or whose data are something else than they seem (a stored expression
// of python-blosc2, say), is formats.ErrUnsupported, as is one of more than
// MaxDims axes; shapes and types that contradict each other or the frame are
// formats.ErrCorrupt.
//
// The array has the limits of the frame. Chunks above Limits.MaxDecoded are
// formats.ErrTooLarge when they are read; Open refuses such an array at once.
func FromFrame(f *cframe.Frame) (*Array, error) {
	if err := f.Refused(); err != nil {
		return nil, err
	}
	b, ok := layer(f)
	if !ok {
		return nil, fail("metalayer", formats.ErrUnsupported, "the frame holds no array, only chunks of bytes")
	}
	m, err := ParseMeta(b)
	if err != nil {
		return nil, err
	}
	a := &Array{f: f, meta: m, limits: f.Limits()}
	in := f.Info()
	if a.g, err = m.geometry(in.TypeSize); err != nil {
		return nil, err
	}
	if a.dtype, err = m.itemType(in.TypeSize); err != nil {
		return nil, err
	}
	if err := a.g.matches(in, f.Chunks()); err != nil {
		return nil, err
	}
	a.f = f.WithBlockShape(m.BlockShape)
	a.scratch.New = func() any { return newScratch(len(m.Shape)) }
	return a, nil
}

// matches holds the frame's own numbers against the shapes. The blocks of each
// chunk are looked at when it is read: those of foreign files may differ.
func (g *geometry) matches(in cframe.Info, chunks int) error {
	switch {
	case int64(chunks) != g.chunks.Total:
		return corrupt("metalayer", "shape %v in chunks of %v makes %d chunks, the frame has %d", g.shape, g.chunk, g.chunks.Total, chunks)
	case chunks > 0 && in.ChunkSize > 0 && in.ChunkSize != g.chunkBytes:
		return corrupt("metalayer", "chunks of %v in blocks of %v take %d bytes, the frame says %d", g.chunk, g.block, g.chunkBytes, in.ChunkSize)
	case in.NBytes != g.chunks.Total*int64(g.chunkBytes):
		return corrupt("metalayer", "%d chunks of %d bytes, the frame says %d in all", g.chunks.Total, g.chunkBytes, in.NBytes)
	}
	return nil
}

// Meta is the content of the metalayer, as a copy.
func (a *Array) Meta() Meta { return a.meta.clone() }

// Shape is the number of items along each axis, as a copy.
func (a *Array) Shape() []int64 { return slices.Clone(a.g.shape) }

// DType is the type of the items; dtype.Opaque if the array does not name it, or
// names one that is not known here.
func (a *Array) DType() dtype.DType { return a.dtype }

// ItemSize is the number of bytes of an item.
func (a *Array) ItemSize() int { return a.g.item }

// Items is the number of items of the whole array.
func (a *Array) Items() int64 { return a.g.items }

// Frame is the frame that holds the array, with the shape of its blocks set.
func (a *Array) Frame() *cframe.Frame { return a.f }

// SizeOf is how many bytes ReadSlice needs for a box. A box that does not lie
// inside the array is an error.
func (a *Array) SizeOf(box Box) (int64, error) { return a.sizeOf(box, a.g.item) }

// sizeOf checks that a box lies inside the array and counts its bytes.
func (a *Array) sizeOf(box Box, item int) (int64, error) {
	d := len(a.g.shape)
	if len(box.Start) != d || len(box.Stop) != d || len(box.Step) != d {
		return 0, fmt.Errorf("%s: a box of %d axes of an array of %d", Format, len(box.Start), d)
	}
	n := int64(1)
	for i := range d {
		if box.Step[i] == 0 {
			return 0, fmt.Errorf("%s: axis %d: step 0", Format, i)
		}
		k := box.Count(i)
		if lo, hi := box.Cover(i); k > 0 && (lo < 0 || hi > a.g.shape[i]) {
			return 0, fmt.Errorf("%s: axis %d: items %d to %d of %d", Format, i, lo, hi, a.g.shape[i])
		}
		n *= k // no more than the array's items, as it lies inside
	}
	if n > math.MaxInt64/int64(item) {
		return 0, fail("slice", formats.ErrTooLarge, "%d items of %d bytes", n, item)
	}
	return n * int64(item), nil
}
