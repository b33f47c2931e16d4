package farread

import (
	"bytes"
	"context"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/internal/pull"
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

// OpenChunk opens the Blosc chunk that uri names. It costs one request.
func (c *Client) OpenChunk(ctx context.Context, uri string, o FrameOptions) (*Chunk, error) {
	ob, err := c.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	return c.ChunkOf(ctx, ob, o)
}

// ChunkOf opens the chunk that begins at o.Offset in an open object. Bytes behind the
// chunk are not part of it.
func (c *Client) ChunkOf(ctx context.Context, ob *objstore.Object, o FrameOptions) (*Chunk, error) {
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

// Header returns the header of the chunk.
func (k *Chunk) Header() blosc.Header { return k.h }

// Each decodes the chunk and calls fn with its pieces, in order. A piece is valid
// during the call. Each costs two phases at most, or one if Open has already read the
// block starts. It holds some tens of MiB, or one block if a block is larger.
func (k *Chunk) Each(ctx context.Context, fn func(p []byte) error) error {
	return k.each(ctx, k.r, fn)
}

// Verify decodes the chunk and returns the number of its bytes, which must be the
// number in its header. If progress is not nil, the calling goroutine calls it with the
// decoded bytes so far and in all. Verify costs as much as Each.
func (k *Chunk) Verify(ctx context.Context, progress formats.Progress) (n int64, err error) {
	total := int64(k.h.NBytes)
	err = k.Each(ctx, func(p []byte) error {
		if n += int64(len(p)); progress != nil {
			progress(n, total)
		}
		return ctx.Err()
	})
	if err == nil && n != total {
		err = &formats.Error{Format: "blosc", Part: "header", Off: 4, Err: fmt.Errorf("%d decoded bytes, the blocks have %d: %w", total, n, formats.ErrCorrupt)}
	}
	return n, err
}

// ExplainEach lists the requests that Each would make, and makes none of them. It reads
// the block starts, unless Each reads the chunk as a whole.
func (k *Chunk) ExplainEach(ctx context.Context) ([]rangeio.Planned, error) {
	var plan pull.Plan
	err := k.each(ctx, plan.Over(k.r, ""), nil)
	return plan.Requests(), err
}

func (k *Chunk) each(ctx context.Context, r rangeio.Reader, fn func(p []byte) error) error {
	p := pull.Pull[int]{From: r, Window: k.window, Why: func([]pull.Part[int]) (string, bool) { return "the chunk", false }}
	if small := int64(k.h.NBytes)+int64(k.h.CBytes) <= k.window; small || k.h.VL || k.h.Blocks() < 2 {
		p.Parts = pull.Of(pull.Part[int]{Len: int64(k.h.CBytes)})
		return k.windows(ctx, &p, fn, k.whole)
	}
	if n := int64(k.h.BlockBytes()); n > k.limit {
		return &formats.Error{Format: "blosc", Part: "block", Off: -1, Err: fmt.Errorf("%d bytes, %d allowed: %w", n, k.limit, formats.ErrTooLarge)}
	}
	x, err := k.index(ctx, r)
	if err != nil {
		return err
	}
	p.Parts = func(_ context.Context, add func(pull.Part[int]) error) error {
		if off, n := x.Dict(); n > 0 {
			if err := add(pull.Part[int]{Off: int64(off), Len: int64(n), For: dict}); err != nil {
				return err
			}
		}
		for i := range k.h.Blocks() {
			off, n := x.Block(i)
			if err := add(pull.Part[int]{Off: int64(off), Len: int64(n), More: int64(x.BlockLen(i)), For: i}); err != nil {
				return err
			}
		}
		return nil
	}
	d := decoding{k: k, x: x, o: blosc.DecodeOptions{TypeSize: k.h.TypeSize}}
	return k.windows(ctx, &p, fn, func(ctx context.Context, w *pull.Window[int]) ([]byte, error) { return d.window(ctx, w) })
}

// dict stands for the dictionary in a list of block numbers.
const dict = -1

// windows decodes each window and calls fn with the decoded bytes.
func (*Chunk) windows(ctx context.Context, p *pull.Pull[int], fn func([]byte) error,
	decode func(context.Context, *pull.Window[int]) ([]byte, error),
) error {
	for w, err := range p.Windows(ctx) {
		if err != nil {
			return err
		}
		out, err := decode(ctx, w)
		if err != nil {
			return err
		}
		if err := fn(out); err != nil {
			return err
		}
	}
	return nil
}

// whole decodes the whole chunk at once.
func (k *Chunk) whole(_ context.Context, w *pull.Window[int]) ([]byte, error) {
	return blosc.DecodeOptions{TypeSize: k.h.TypeSize, MaxDecoded: k.limit}.AppendDecoded(nil, w.Bytes(0))
}

// index reads the block starts.
func (k *Chunk) index(ctx context.Context, r rangeio.Reader) (*blosc.Index, error) {
	if err := k.h.Supported(); err != nil {
		return nil, err
	}
	head := make([]byte, k.h.IndexLen())
	if err := r.ReadRanges(ctx, []rangeio.Span{{P: head}}); err != nil {
		return nil, err
	}
	return blosc.ParseIndex(head)
}

// A decoding is the state of one call of Each.
type decoding struct {
	k           *Chunk
	x           *blosc.Index
	o           blosc.DecodeOptions
	first, dict []byte
	out         []byte
}

// window decodes the blocks of a window, several at the same time. The first window has
// what the others need: the dictionary and the first block.
func (d *decoding) window(ctx context.Context, w *pull.Window[int]) ([]byte, error) {
	parts, at := w.Parts, 0
	if parts[0].For == dict {
		d.dict, at = bytes.Clone(w.Bytes(0)), 1
		if len(parts) == 1 {
			return nil, nil
		}
	}
	from, size, n := parts[at].For, d.k.h.BlockBytes(), 0
	for _, p := range parts[at:] {
		n += d.x.BlockLen(p.For)
	}
	if cap(d.out) < n {
		d.out = make([]byte, n)
	}
	d.out = d.out[:n]
	block := func(k int) error {
		i := parts[k].For
		n := d.x.BlockLen(i)
		return d.o.DecodeBlock(d.out[(i-from)*size:][:n:n], d.x, i, w.Bytes(k), d.first, d.dict)
	}
	if from == 0 && d.x.NeedsFirst() {
		if err := block(at); err != nil {
			return nil, err
		}
		d.first, at = bytes.Clone(d.out[:d.x.BlockLen(0)]), at+1
	}
	return d.out, par.Do(ctx, len(parts)-at, 0, func(_ context.Context, k int) error { return block(at + k) })
}
