package b2nd

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
)

// DefaultMaxMemory is WriteOptions.MaxMemory if that is 0.
const DefaultMaxMemory = 256 << 20

// WriteOptions say how an array is written. The zero value is right for most.
type WriteOptions struct {
	// Encode is how chunks are made; the writer sets TypeSize, BlockSize,
	// BlockShape and Parallel.
	Encode blosc.EncodeOptions
	// Metalayers go into the header after that of the array, VLMetalayers into
	// the trailer.
	Metalayers, VLMetalayers []cframe.Metalayer
	// Parallel is how many chunks are encoded at the same time; 0 means
	// GOMAXPROCS. It is lowered to fit into MaxMemory. The bytes written do not
	// depend on it.
	Parallel int
	// MaxMemory bounds the buffers of items and chunks. 0 means DefaultMaxMemory.
	MaxMemory int64
	// ItemSize is the bytes of an item if DType does not tell; otherwise it is 0,
	// or the size of that type.
	ItemSize int
	// Limits bound the number of chunks, as in cframe.WriteOptions.
	Limits formats.Limits
}

func (o WriteOptions) withDefaults() WriteOptions {
	if o.Parallel <= 0 {
		o.Parallel = runtime.GOMAXPROCS(0)
	}
	if o.MaxMemory <= 0 {
		o.MaxMemory = DefaultMaxMemory
	}
	o.Limits = o.Limits.WithDefaults()
	return o
}

// withDefaults fills in what m leaves out, and finds the size of items.
func (m Meta) withDefaults(itemSize int) (Meta, int, error) {
	m = m.clone()
	if m.DType != "" && m.DTypeFormat == numPy {
		t, err := dtype.Parse(m.DType)
		switch {
		case err != nil && itemSize == 0:
			return m, 0, err
		case err == nil && itemSize == 0:
			itemSize = t.ItemSize()
		case err == nil && itemSize != t.ItemSize():
			return m, 0, fmt.Errorf("%s: items of %d bytes of the type %s", Format, itemSize, m.DType)
		}
	}
	if itemSize <= 0 {
		return m, 0, fail("writer", formats.ErrUnsupported, "items of no bytes, or of no known size: type %q", m.DType)
	}
	m.cut(itemSize)
	return m, itemSize, nil
}

// cut fills in the shapes that m leaves out; the one follows from the other. What
// does not fit together is found later.
func (m *Meta) cut(itemSize int) {
	chunk, block := m.ChunkShape, m.BlockShape
	switch {
	case chunk == nil && block == nil:
		m.ChunkShape, m.BlockShape = DefaultShapes(m.Shape, itemSize)
	case chunk == nil && len(block) == len(m.Shape):
		m.ChunkShape, _ = DefaultShapes(m.Shape, itemSize)
		for i, b := range block { // whole blocks
			if b > 0 {
				m.ChunkShape[i] = (max(m.ChunkShape[i], 1)-1)/b*b + b
			}
		}
	case block == nil:
		_, m.BlockShape = DefaultShapes(wide(chunk), itemSize)
	}
}

func wide(s []int) []int64 {
	out := make([]int64, len(s))
	for i, n := range s {
		out[i] = int64(n)
	}
	return out
}

// A Writer writes an array from its items in row-major order. It buffers bands. A
// band is all the chunks that the next items belong to: one chunk along the first
// axis whose chunks are longer than 1, and the whole of the axes after that one.
// With DefaultShapes a band is a single chunk.
//
// A Writer is for one goroutine. After an error, but for an error of the reader
// given to ReadFrom, every later call returns an error and the Output is of no use.
// A Writer that is given up must be aborted.
type Writer struct {
	out   *output
	err   error
	axis  int     // of the band
	shape []int64 // of a band, over all axes
	bytes int64   // of a full band
	cur   *band   // being filled; nil: none
	free  chan *band
	bands int64 // begun so far
	total int64
	got   int64 // bytes
}

// A band is a buffer of items, to be reused once no chunk needs it.
type band struct {
	p    []byte
	n    int64 // bytes of it that count
	rows int64 // of the axis
	left atomic.Int64
}

// NewWriter begins an array and writes the header to w, which the caller commits
// after Close. Shapes that m leaves out (nil) are those of DefaultShapes. If only
// BlockShape is nil, blocks are the default for an array of the shape of the
// chunk; if only ChunkShape is, chunks are the default in whole blocks. Shapes
// that do not fit each other are cframe.ErrRefused. If neither DType nor
// o.ItemSize tells the size of items the error is that of dtype.Parse, or
// formats.ErrUnsupported if there is no DType.
//
// If two bands exceed o.MaxMemory one is used, so that reading and encoding take
// turns. If one band does, NewWriter fails with formats.ErrTooLarge before
// anything is written: use WriteFrom, or chunks that span the inner axes.
func NewWriter(w formats.Output, m Meta, o WriteOptions) (*Writer, error) {
	o = o.withDefaults()
	mm, item, err := m.withDefaults(o.ItemSize)
	if err != nil {
		return nil, err
	}
	g, err := mm.geometry(item)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", err, cframe.ErrRefused)
	}
	b := &Writer{total: g.items * int64(item)}
	b.setBand(g)
	chunk := g.chunkMemory(1)
	left := o.MaxMemory - b.bytes - chunk
	if left < 0 {
		return nil, fail("writer", formats.ErrTooLarge,
			"a row of chunks of %v takes %d bytes of memory, %d allowed: give chunks fewer items along axis %d, or more along those after it", g.chunk, b.bytes+chunk, o.MaxMemory, b.axis)
	}
	if b.out, err = newOutput(w, mm, o, 1); err != nil {
		return nil, err
	}
	// First a second band, then chunks side by side, then bands for those.
	bands := int64(1)
	if left >= b.bytes {
		bands, left = 2, left-b.bytes
	}
	perBand := g.chunks.Total / max(b.count(g), 1)
	slots := int64(1)
	for slots < int64(o.Parallel) && left >= chunk {
		slots, left = slots+1, left-chunk
		if slots > perBand*(bands-1) && left >= b.bytes {
			bands, left = bands+1, left-b.bytes
		}
	}
	b.out.slots(slots)
	b.free = make(chan *band, bands)
	for range bands {
		b.free <- &band{}
	}
	return b, nil
}

// setBand finds the axis of the band and its shape.
func (b *Writer) setBand(g *geometry) {
	d := len(g.shape)
	b.shape = ones(d)
	for b.axis < d-1 && g.chunk[b.axis] == 1 {
		b.axis++
	}
	b.bytes = int64(g.item)
	for i := b.axis; i < d; i++ {
		b.shape[i] = g.shape[i]
		if i == b.axis {
			b.shape[i] = min(g.chunk[i], g.shape[i])
		}
		b.bytes *= b.shape[i]
	}
}

// count is the number of bands.
func (b *Writer) count(g *geometry) int64 {
	n := int64(1)
	for i := range min(b.axis+1, len(g.shape)) {
		n *= g.chunks.Count[i]
	}
	return n
}

var errClosed = errors.New("b2nd: writer is closed")

// Write takes the next bytes, of any number, and does not keep p. More bytes than
// the array has are cframe.ErrRefused.
func (b *Writer) Write(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		dst, err := b.room()
		if err != nil {
			return n, err
		}
		k := copy(dst, p[n:])
		n += k
		if err := b.took(k); err != nil {
			return n, err
		}
	}
	return n, b.err
}

// ReadFrom takes bytes from r until r ends, straight into the band. If r fails, its
// error is returned as it is, and writing can go on behind the bytes that came. More
// bytes than the array has are cframe.ErrRefused.
func (b *Writer) ReadFrom(r io.Reader) (int64, error) {
	n := int64(0)
	for b.got < b.total {
		dst, err := b.room()
		if err != nil {
			return n, err
		}
		k, rerr := io.ReadFull(r, dst)
		n += int64(k)
		if err := b.took(k); err != nil {
			return n, err
		}
		switch {
		case errors.Is(rerr, io.EOF) || errors.Is(rerr, io.ErrUnexpectedEOF):
			return n, nil
		case rerr != nil:
			return n, rerr
		}
	}
	var one [1]byte
	switch k, err := io.ReadFull(r, one[:]); {
	case k > 0:
		_, err = b.room()
		return n, err
	case err != nil && !errors.Is(err, io.EOF):
		return n, err
	}
	return n, b.err
}

// room gives the unfilled part of the present band, which ends with the array.
func (b *Writer) room() ([]byte, error) {
	if b.err != nil {
		return nil, b.err
	}
	if b.got >= b.total {
		return nil, b.fail(fmt.Errorf("%s: more than the %d bytes of shape %v: %w", Format, b.total, b.out.g.shape, cframe.ErrRefused))
	}
	if b.cur == nil {
		if err := b.begin(); err != nil {
			return nil, b.fail(err)
		}
	}
	return b.cur.p[b.cur.n:b.size()], nil
}

// begin waits for a free band.
func (b *Writer) begin() error {
	for len(b.free) == 0 && len(b.out.queue) > 0 {
		if err := b.out.pop(); err != nil {
			return err
		}
	}
	b.cur = <-b.free
	if b.cur.p == nil {
		b.cur.p = make([]byte, b.bytes)
	}
	b.cur.n, b.cur.rows = 0, 1
	if g := b.out.g; len(g.shape) > 0 {
		at := b.bands % g.chunks.Count[b.axis] * g.chunk[b.axis]
		b.cur.rows = min(g.chunk[b.axis], g.shape[b.axis]-at)
	}
	return nil
}

// size is the length of the present band; the last of an axis may be shorter.
func (b *Writer) size() int64 {
	if len(b.shape) == 0 {
		return b.bytes
	}
	return b.bytes / b.shape[b.axis] * b.cur.rows
}

// took enters n bytes that were put into the room.
func (b *Writer) took(n int) error {
	b.cur.n += int64(n)
	b.got += int64(n)
	if b.cur.n < b.size() {
		return nil
	}
	return b.fail(b.flush())
}

// flush sends the chunks of the present band on their way.
func (b *Writer) flush() error {
	g, cur := b.out.g, b.cur
	d := len(g.shape)
	per := g.chunks.Total / b.count(g)
	first := b.bands * per
	cur.left.Store(per)
	b.bands++
	b.cur = nil
	shape := append([]int64(nil), b.shape...)
	if d > 0 {
		shape[b.axis] = cur.rows
	}
	for k := range per {
		err := b.out.push(func(s *slot) ([]byte, error) {
			at, n := make([]int64, d), make([]int64, d)
			g.origin(at, first+k)
			for i, o := range at {
				n[i] = min(g.chunk[i], g.shape[i]-o)
				if i <= b.axis {
					at[i] = 0 // the band begins there
				}
			}
			return g.chunkOf(s, cur.p[:cur.n], shape, at, n), nil
		}, func() {
			if cur.left.Add(-1) == 0 {
				b.free <- cur
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *Writer) fail(err error) error {
	if err != nil && b.err == nil {
		b.err = err
		b.out.abort()
	}
	return b.err
}

// Close writes the rest of the frame. Fewer bytes than the array has are
// io.ErrUnexpectedEOF. The caller then commits the Output.
func (b *Writer) Close() error {
	if b.err != nil {
		return b.err
	}
	if b.got < b.total {
		return b.fail(fmt.Errorf("%s: %d bytes of %d: %w", Format, b.got, b.total, io.ErrUnexpectedEOF))
	}
	if err := b.out.close(); err != nil {
		return b.fail(err)
	}
	b.err = errClosed
	return nil
}

// Abort gives up, after chunks on their way have been encoded. It is harmless
// after Close. The caller drops the Output.
func (b *Writer) Abort() {
	if b.err == nil {
		_ = b.fail(errClosed)
	}
}
