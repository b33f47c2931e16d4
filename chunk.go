package farread

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A Chunk is an open bare Blosc chunk, of Blosc1 or Blosc2, with its object.
type Chunk struct {
	Object *objstore.Object

	r      rangeio.Reader
	h      blosc.Header
	window int64
	limit  int64
}

// OpenChunk opens the Blosc chunk that uri names: one request.
func (c *Client) OpenChunk(ctx context.Context, uri string, o FrameOptions) (*Chunk, error) {
	ob, err := c.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	return c.ChunkIn(ctx, ob, o)
}

// ChunkIn opens the chunk in an object that is open already, at o.Offset.
// Bytes behind the chunk are not part of it.
func (c *Client) ChunkIn(ctx context.Context, ob *objstore.Object, o FrameOptions) (*Chunk, error) {
	r, err := section(ob, o)
	if err != nil {
		return nil, err
	}
	head := make([]byte, min(blosc.HeaderLen2, r.Size()))
	if err := r.ReadRanges(ctx, []rangeio.Span{{P: head}}); err != nil {
		return nil, err
	}
	k := &Chunk{Object: ob, r: r, window: min(max(c.c.MaxMemory/16, 1<<20), maxWindow), limit: c.frameOptions(o, ob).Limits.MaxDecoded}
	if k.h, err = blosc.ParseHeader(head); err != nil {
		return nil, err
	}
	if int64(k.h.CBytes) > r.Size() {
		return nil, &formats.Error{Format: "blosc", Part: "header", Off: 12,
			Err: fmt.Errorf("chunk of %d bytes in %d: %w", k.h.CBytes, r.Size(), formats.ErrCorrupt)}
	}
	return k, nil
}

// Header is what the chunk's first bytes say.
func (k *Chunk) Header() blosc.Header { return k.h }

// Each decodes the chunk and calls fn with piece after piece, in order; a piece
// is valid during the call. It is two phases at most, one where the block starts
// lie in what Open kept, and holds some tens of MiB, or a block where that is
// larger.
func (k *Chunk) Each(ctx context.Context, fn func(p []byte) error) error {
	if small := int64(k.h.NBytes)+int64(k.h.CBytes) <= k.window; small || k.h.VL || k.h.Blocks() < 2 {
		return k.whole(ctx, fn)
	}
	x, err := k.index(ctx)
	if err != nil {
		return err
	}
	d := decoding{k: k, x: x, o: blosc.DecodeOptions{TypeSize: k.h.TypeSize}}
	ctx = rangeio.OnePhase(ctx)
	if err := d.prepare(ctx); err != nil {
		return err
	}
	for from := 0; from < k.h.Blocks(); {
		to := d.until(from)
		if err := d.read(ctx, from, to); err != nil {
			return err
		}
		if err := fn(d.out); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// whole decodes all of the chunk at once.
func (k *Chunk) whole(ctx context.Context, fn func(p []byte) error) error {
	p := make([]byte, k.h.CBytes)
	if err := k.r.ReadRanges(ctx, []rangeio.Span{{P: p}}); err != nil {
		return err
	}
	out, err := blosc.DecodeOptions{TypeSize: k.h.TypeSize, MaxDecoded: k.limit}.AppendDecoded(nil, p)
	if err != nil {
		return err
	}
	return fn(out)
}

// index reads the block starts.
func (k *Chunk) index(ctx context.Context) (*blosc.Index, error) {
	if err := k.h.Supported(); err != nil {
		return nil, err
	}
	head := make([]byte, k.h.IndexLen())
	if err := k.r.ReadRanges(ctx, []rangeio.Span{{P: head}}); err != nil {
		return nil, err
	}
	return blosc.ParseIndex(head)
}

// A decoding is one call of Each.
type decoding struct {
	k           *Chunk
	x           *blosc.Index
	o           blosc.DecodeOptions
	first, dict []byte
	in, out     []byte
}

// prepare reads what every block needs.
func (d *decoding) prepare(ctx context.Context) error {
	if n := int64(d.k.h.BlockBytes()); n > d.k.limit {
		return &formats.Error{Format: "blosc", Part: "block", Off: -1, Err: fmt.Errorf("%d bytes, %d allowed: %w", n, d.k.limit, formats.ErrTooLarge)}
	}
	if off, n := d.x.Dict(); n > 0 {
		d.dict = make([]byte, n)
		if err := d.k.r.ReadRanges(ctx, []rangeio.Span{{Off: int64(off), P: d.dict}}); err != nil {
			return err
		}
	}
	if !d.x.NeedsFirst() {
		return nil
	}
	if err := d.read(ctx, 0, 1); err != nil {
		return err
	}
	d.first = d.out
	d.out = nil
	return nil
}

// until is the end of the window that begins with block from.
func (d *decoding) until(from int) int {
	var size int64
	for i := from; i < d.k.h.Blocks(); i++ {
		_, n := d.x.Block(i)
		if size += int64(n) + int64(d.x.BlockLen(i)); size > d.k.window && i > from {
			return i
		}
	}
	return d.k.h.Blocks()
}

// read decodes the blocks [from, to) into d.out.
func (d *decoding) read(ctx context.Context, from, to int) error {
	var in, out int
	for i := from; i < to; i++ {
		_, n := d.x.Block(i)
		in += n
		out += d.x.BlockLen(i)
	}
	d.in, d.out = grown(d.in, in), grown(d.out, out)
	spans := make([]rangeio.Span, to-from)
	rest := d.in
	for i := range spans {
		off, n := d.x.Block(from + i)
		spans[i] = rangeio.Span{Off: int64(off), P: rest[:n:n]}
		rest = rest[n:]
	}
	if err := d.k.r.ReadRanges(ctx, spans); err != nil {
		return err
	}
	size := d.k.h.BlockBytes()
	return par.Do(ctx, len(spans), 0, func(_ context.Context, i int) error {
		n := d.x.BlockLen(from + i)
		return d.o.DecodeBlock(d.out[i*size:][:n:n], d.x, from+i, spans[i].P, d.first, d.dict)
	})
}

// grown is a buffer of n bytes, b where that is long enough.
func grown(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}
