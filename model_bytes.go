package farread

import (
	"context"
	"fmt"
	"iter"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

const (
	leastPiece = 1 << 20
	mostPiece  = 64 << 20 // 16 requests of 4 MiB keep a link busy
)

// piece returns the number of decoded bytes that are read at a time if a dataset is
// read from end to end. Two pieces are held, or more that are shorter, besides the memory
// of the reader.
func (c *Client) piece() int64 { return min(max(c.c.MaxMemory/8, leastPiece), mostPiece) }

// frameChunks is the Chunker part of a frame.
type frameChunks struct{ x *frameData }

func (c frameChunks) Chunks() int64 { return int64(c.x.f.Chunks()) }

func (c frameChunks) AppendStored(ctx context.Context, dst []byte, i int64) ([]byte, error) {
	if all, _ := c.x.storedAt(i); all == nil {
		return c.x.f.AppendStored(ctx, dst, number(i))
	}
	p, err := c.Stored(ctx, i)
	return append(dst, p...), err
}

func (c frameChunks) Stored(ctx context.Context, i int64) ([]byte, error) {
	if p := c.KeptStored(i); p != nil {
		return p, nil
	}
	p, err := c.x.f.AppendStored(ctx, nil, number(i))
	if all, key := c.x.storedAt(i); err == nil && all != nil {
		all.Give(key, p)
	}
	return p, err
}

func (c frameChunks) KeptStored(i int64) []byte {
	all, key := c.x.storedAt(i)
	if all == nil {
		return nil
	}
	return all.Get(key)
}

func (c frameChunks) LoadStored(ctx context.Context, list []int64, came func(i int64, p []byte)) error {
	if all, _ := c.x.storedAt(0); all == nil {
		return nil
	}
	chunks := make([]int, len(list))
	for k, i := range list {
		chunks[k] = number(i)
	}
	return c.x.f.EachStored(ctx, chunks, func(i int, p []byte) error {
		all, key := c.x.storedAt(int64(i))
		all.Give(key, p)
		came(int64(i), p)
		return nil
	})
}

// storedAt is where a cache has stored chunk i. It is nil if nothing is kept.
func (x *frameData) storedAt(i int64) (*formats.Cache, formats.CacheKey) {
	name := x.cacheName()
	if x.cache == nil || name == "" {
		return nil, formats.CacheKey{}
	}
	return x.cache, formats.CacheKey{File: name, Kind: "stored", Chunk: i}
}

func (c frameChunks) ExplainStored(ctx context.Context, i int64) (Plan, error) {
	requests, err := c.x.f.ExplainStored(ctx, number(i))
	if err != nil {
		return Plan{}, err
	}
	place, err := c.x.f.Chunk(ctx, number(i))
	if err != nil {
		return Plan{}, err
	}
	size := place.MaxLen
	if len(requests) == 0 && size == 0 {
		size = blosc.HeaderLen2 // the request is for a special chunk
	}
	return c.x.plan(size, requests, nil)
}

// number returns i as an int. If i does not fit, it returns a number that no chunk has.
func number(i int64) int {
	if int64(int(i)) != i {
		return -1
	}
	return int(i)
}

// ChunkBytes finds the offsets of chunks as Frame.ReadBytes does.
func (c frameChunks) ChunkBytes(ctx context.Context, i, j int64) (off, n int64, err error) {
	return c.x.f.ChunkBytes(ctx, number(i), number(j))
}

func (c frameChunks) ReadBytes(ctx context.Context, dst []byte, off int64) error {
	return c.x.f.ReadBytes(ctx, dst, off)
}

func (c frameChunks) EachBytes(ctx context.Context, off, n int64, fn func(p []byte) error) error {
	if err := within(cframe.Format, off, n, c.x.f.Info().NBytes); err != nil {
		return err
	}
	return pull.Ahead(rangeio.OnePhase(ctx), c.pieces(off, n), ahead(c.x.f.Local(), c.x.piece), func(s byteSpan) int64 { return s.n },
		func(ctx context.Context, s byteSpan, p []byte) error { return c.x.f.ReadBytes(ctx, p, s.off) }, fn)
}

func (c frameChunks) ExplainBytes(ctx context.Context, off, n int64) (Plan, error) {
	if err := within(cframe.Format, off, n, c.x.f.Info().NBytes); err != nil {
		return Plan{}, err
	}
	var all []rangeio.Planned
	ctx = rangeio.OnePhase(ctx) // the chunks' block starts are read at the same time, as in EachBytes
	for s := range c.pieces(off, n) {
		part, err := c.x.f.ExplainBytes(ctx, s.off, s.n)
		if err != nil {
			return Plan{}, err
		}
		all = append(all, part...)
	}
	return c.x.plan(n, all, nil)
}

// A byteSpan is a run of decoded bytes.
type byteSpan struct{ off, n int64 }

// pieces cuts a run of decoded bytes into the parts that are read at a time. A part is
// whole chunks, or blocks of a chunk that is too long.
func (c frameChunks) pieces(off, n int64) iter.Seq[byteSpan] {
	in, step := c.x.f.Info(), c.x.piece
	unit := int64(max(in.ChunkSize, 0))
	if unit > 4*step {
		unit = int64(max(in.BlockSize, 0))
	}
	if unit > 0 {
		step = max(step/unit, 1) * unit
	}
	return func(yield func(byteSpan) bool) {
		for end := off + n; off < end; {
			s := byteSpan{off, min(step-off%step, end-off)}
			if !yield(s) {
				return
			}
			off += s.n
		}
	}
}

// ahead is the memory in which pieces of at most most bytes are read ahead: two of them
// fit, and more that are shorter. If a read has no round trip to hide, one is read while
// the one before it is written.
func ahead(local bool, most int64) int64 {
	if local {
		return 0
	}
	return 2 * most
}

// within returns an error if there are not n bytes from off on.
func within(format string, off, n, size int64) error {
	if off < 0 || n < 0 || off > size || n > size-off {
		return &formats.Error{Format: format, Part: "data", Off: -1, Err: fmt.Errorf("%d bytes at %d of %d: %w", n, off, size, formats.ErrNoEntry)}
	}
	return nil
}

// A slabReader has the methods that eachSlab needs.
type slabReader interface {
	SizeOf(box b2nd.Box) (int64, error)
	ReadSlice(ctx context.Context, dst []byte, box b2nd.Box) error
	ReadField(ctx context.Context, dst []byte, box b2nd.Box, f dtype.Field) error
	ExplainSlice(ctx context.Context, box b2nd.Box) (Plan, error)
	Slabs(box b2nd.Box, most int64) iter.Seq[b2nd.Box]
	DType() dtype.DType
	local() bool // reads have no round trip
}

// eachSlab implements EachSlab for all arrays.
func eachSlab(ctx context.Context, s slabReader, box b2nd.Box, most int64, f *dtype.Field, fn func(slab b2nd.Box, p []byte) error) error {
	if _, err := s.SizeOf(box); err != nil {
		return err
	}
	read, item := s.ReadSlice, int64(s.DType().ItemSize())
	if f != nil {
		item = int64(f.Size())
		read = func(ctx context.Context, dst []byte, box b2nd.Box) error { return s.ReadField(ctx, dst, box, *f) }
	}
	next, stop := iter.Pull(s.Slabs(box, most)) // yields the slabs again, one for each write
	defer stop()
	size := func(slab b2nd.Box) int64 {
		n, _ := slab.Items() // cannot fail: the slab is a part of box
		return n * item
	}
	return pull.Ahead(rangeio.OnePhase(ctx), s.Slabs(box, most), ahead(s.local(), most), size,
		func(ctx context.Context, slab b2nd.Box, p []byte) error { return read(ctx, p, slab) },
		func(p []byte) error {
			slab, _ := next()
			return fn(slab, p)
		})
}

// explainSlabs implements ExplainSlabs for all arrays.
func explainSlabs(ctx context.Context, s slabReader, box b2nd.Box, most int64) (all Plan, err error) {
	if all.Size, err = s.SizeOf(box); err != nil {
		return Plan{}, err
	}
	ctx = rangeio.OnePhase(ctx) // the slabs' block starts are read at the same time, as in eachSlab
	for slab := range s.Slabs(box, most) {
		p, err := s.ExplainSlice(ctx, slab)
		if err != nil {
			return Plan{}, err
		}
		all.Requests = append(all.Requests, p.Requests...)
	}
	return all, nil
}
