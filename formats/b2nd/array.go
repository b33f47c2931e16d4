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

// Options tune Open, as cframe.Options tune the opening of a frame. The zero
// value is right for most.
type Options = cframe.Options

// An Array is an open array. It holds the index of its frame in memory, and no
// items unless WithCache keeps some. Its methods are safe for concurrent use.
// It needs no Close. The Array uses its reader or set until the last call.
type Array struct {
	f       *cframe.Frame
	meta    Meta
	dtype   dtype.DType
	g       *geometry
	limits  formats.Limits
	scratch sync.Pool // *scratch
	cache   *cache    // nil: no cache
}

// Open opens the array in the frame that begins at the first byte of r. It costs
// the same requests as cframe.Open, and returns the errors of cframe.Open and
// FromFrame. It returns formats.ErrTooLarge if chunks are longer than
// Limits.MaxDecoded.
func Open(ctx context.Context, r rangeio.Reader, o Options) (*Array, error) {
	f, err := cframe.Open(ctx, r, o)
	if err != nil {
		return nil, err
	}
	return within(FromFrame(f))
}

// OpenSet opens the array in a sparse frame. It costs the same requests as
// cframe.OpenSet. Its errors are like those of Open.
func OpenSet(ctx context.Context, s formats.Set, o Options) (*Array, error) {
	f, err := cframe.OpenSet(ctx, s, o)
	if err != nil {
		return nil, err
	}
	return within(FromFrame(f))
}

// within refuses an array whose chunks are all too long to be decoded.
func within(a *Array, err error) (*Array, error) {
	if err == nil && int64(a.g.chunkBytes) > a.limits.MaxDecoded {
		return nil, fail("metalayer", formats.ErrTooLarge, "chunks of %d bytes, %d allowed", a.g.chunkBytes, a.limits.MaxDecoded)
	}
	return a, err
}

// IsArray reports whether a frame has the metalayer of an array.
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

// FromFrame returns the array in a frame. It makes no request. It returns
// formats.ErrUnsupported if the frame has no metalayer of an array, if the
// frame's data are not items (for example a stored expression of python-blosc2),
// or if the array has more than MaxDims axes. It returns formats.ErrCorrupt if
// shapes and type contradict each other or the frame.
//
// The array has the limits of the frame. Chunks longer than Limits.MaxDecoded
// return formats.ErrTooLarge when they are read; Open refuses such an array at
// once.
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

// matches checks that the frame's numbers agree with the shapes. Blocks are
// checked when a chunk is read, since other programs may write other blocks.
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

// Meta returns a copy of the content of the metalayer.
func (a *Array) Meta() Meta { return a.meta.clone() }

// Shape returns the number of items along each axis, in a new slice.
func (a *Array) Shape() []int64 { return slices.Clone(a.g.shape) }

// DType returns the type of the items. It is dtype.Opaque if the array names no
// type, or one that package dtype does not know.
func (a *Array) DType() dtype.DType { return a.dtype }

// ItemSize returns the number of bytes of an item.
func (a *Array) ItemSize() int { return a.g.item }

// Items returns the number of items of the array.
func (a *Array) Items() int64 { return a.g.items }

// Frame returns the frame of the array, with the shape of blocks set.
func (a *Array) Frame() *cframe.Frame { return a.f }

// SizeOf returns the number of bytes that ReadSlice needs for a box. It returns
// an error if the box is not inside the array.
func (a *Array) SizeOf(box Box) (int64, error) { return a.sizeOf(box, a.g.item) }

// sizeOf is SizeOf for items, or members of items, of item bytes.
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
		n *= k // cannot overflow: the box is inside the array
	}
	if n > math.MaxInt64/int64(item) {
		return 0, fail("slice", formats.ErrTooLarge, "%d items of %d bytes", n, item)
	}
	return n * int64(item), nil
}

// HeldBytes returns about how many bytes of memory the Array keeps: the memory of its
// frame, and its shapes. It does not count a cache, which has a bound of its own.
func (a *Array) HeldBytes() int64 {
	const fixed = 2 << 10 // the structs, and shapes of up to 16 axes
	return a.f.HeldBytes() + fixed
}

// Limits are the limits of Options, with defaults filled in.
func (a *Array) Limits() formats.Limits { return a.limits }
