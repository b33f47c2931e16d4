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

// DefaultMaxMemory is used if WriteOptions.MaxMemory is 0.
const DefaultMaxMemory = 256 << 20

// WriteOptions are the options of a new array. The zero value is right for
// most.
type WriteOptions struct {
	// Encode says how to encode chunks. The writer sets TypeSize, BlockSize,
	// BlockShape and Parallel.
	Encode blosc.EncodeOptions
	// Metalayers are stored in the header, after the metalayer of the array;
	// VLMetalayers are stored in the trailer.
	Metalayers, VLMetalayers []cframe.Metalayer
	// Parallel is the number of chunks that are encoded at the same time. 0
	// means GOMAXPROCS. It is lowered if the buffers would exceed MaxMemory.
	// The bytes written do not depend on it.
	Parallel int
	// MaxMemory bounds the buffers of items and chunks, in bytes. 0 means
	// DefaultMaxMemory.
	MaxMemory int64
	// ItemSize is the size of an item in bytes, if Meta.DType does not tell it.
	// If DType tells it, ItemSize must be 0 or the same.
	ItemSize int
	// Index says whether the frame gets an index, as in cframe.WriteOptions. Its
	// memory, about two bytes for each block and some ten more for the statistics of each
	// column of numbers, does not count for MaxMemory. Neither does that of a decoded chunk
	// for each Parallel with filters that change items, trunc_prec and int_trunc.
	Index cframe.IndexChoice
	// NoStats leaves the statistics of chunks and blocks out of the index: extremes, and
	// how many items are NaN or zero.
	NoStats bool
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

// withDefaults returns m with default shapes filled in, and the size of an
// item.
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

// cut fills in the shapes of chunks and blocks that are nil; if one is set, the
// other follows from it. geometry checks later whether the shapes agree.
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
// band is a box of all the chunks that the next items belong to: one chunk long
// along the first axis whose chunks are longer than 1, and the full length along
// all axes after that. With DefaultShapes a band is a single chunk.
//
// A Writer is for one goroutine. If the reader given to ReadFrom fails, the Writer
// can still be used. After any other error every later call returns an error, and
// the Output is useless. Call Abort if you do not call Close.
type Writer struct {
	out   *output
	err   error
	axis  int     // the band has a part of this axis, and all of the axes after it
	shape []int64 // shape of a band, for all axes
	bytes int64   // bytes of a full band
	cur   *band   // the band that Write fills; nil: none
	free  chan *band
	bands int64 // number of bands begun
	total int64
	got   int64 // bytes
}

// A band is a buffer of items. It is reused when all its chunks are encoded.
type band struct {
	p    []byte
	n    int64 // bytes filled
	rows int64 // length along Writer.axis
	left atomic.Int64
}

// NewWriter begins an array and writes its header to w. The caller commits w
// after Close. If the shapes of chunks and blocks in m are nil, DefaultShapes
// chooses them. If only BlockShape is nil, blocks are the default for an array of
// the chunk's shape. If only ChunkShape is nil, chunks are the default, rounded
// up to whole blocks. Shapes that contradict each other are cframe.ErrRefused. If
// neither m.DType nor o.ItemSize tells the size of an item, the error is the one
// of dtype.Parse, or formats.ErrUnsupported if there is no DType.
//
// If two bands exceed o.MaxMemory, the Writer uses one, so writes and encoding
// take turns. If one band exceeds it, NewWriter returns formats.ErrTooLarge
// before it writes anything: use WriteFrom, or chunks that span the inner axes.
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
	// Memory goes first to a second band, then to more slots, then to bands for
	// these slots.
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

// setBand sets the axis and the shape of bands.
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

// count returns the number of bands of the array.
func (b *Writer) count(g *geometry) int64 {
	n := int64(1)
	for i := range min(b.axis+1, len(g.shape)) {
		n *= g.chunks.Count[i]
	}
	return n
}

var errClosed = errors.New("b2nd: writer is closed")

// Write takes the next bytes of the array, any number of them. It does not keep
// p. It returns cframe.ErrRefused for more bytes than the array has.
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

// ReadFrom takes the next bytes of the array from r, until r ends. It reads straight
// into the band. If r fails, ReadFrom returns r's error as it is, and more bytes can
// be written after the ones that r gave. It returns cframe.ErrRefused for more bytes
// than the array has.
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

// room returns the unfilled part of the band. It takes a new band if there is
// none, and fails if the array is full.
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

// begin takes a free band. It writes chunks until one is free.
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

// size returns the bytes of the band that Write fills. The last band along an
// axis may be shorter than the others.
func (b *Writer) size() int64 {
	if len(b.shape) == 0 {
		return b.bytes
	}
	return b.bytes / b.shape[b.axis] * b.cur.rows
}

// took counts n bytes that were put into room. If the band is full, it encodes
// the band.
func (b *Writer) took(n int) error {
	b.cur.n += int64(n)
	b.got += int64(n)
	if b.cur.n < b.size() {
		return nil
	}
	return b.fail(b.flush())
}

// flush starts to encode the chunks of the band.
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
					at[i] = 0 // along these axes the band begins at the chunk
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

// Close writes the rest of the frame. It returns io.ErrUnexpectedEOF if the
// array has more bytes than were written. The caller then commits the Output.
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

// Abort gives up the Writer. It waits for chunks that are being encoded. It
// does nothing after Close. The caller aborts the Output.
func (b *Writer) Abort() {
	if b.err == nil {
		_ = b.fail(errClosed)
	}
}
