package cframe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

const (
	orderStored  = 4 << 20 // encoded bytes that Each reads at a time; a longer chunk is read alone
	orderDecoded = 4 << 20 // decoded bytes that it decodes at a time; a longer chunk is decoded alone
	orderChunks  = 1 << 12 // chunks that it reads at a time
	orderFlight  = 16      // chunks with reads of their own that it reads at a time
	blockBook    = 16      // bytes that a decoded block takes besides its data
)

// Each calls fn for each of the chunks [from, to), in order, one call at a time and
// from the goroutine of the caller. block is -1 and p is the decoded chunk. In a frame
// of VL blocks fn is called for each block of a chunk instead. p is valid during the
// call only. If fn returns an error, Each returns the same error. If the frame lacks
// one of the chunks, Each returns ErrNoEntry.
//
// Each reads each chunk once, and whole: some MiB of chunks by one planned read. If the
// length of a chunk is unknown and the next chunk is more than 8 MiB away, it reads the
// chunk's header first. It holds these encoded bytes and some MiB of decoded bytes; it
// holds more only if a single chunk is longer. If such a chunk has VL blocks, it holds
// one decoded block at a time.
func (f *Frame) Each(ctx context.Context, from, to int, fn func(chunk, block int, p []byte) error) error {
	if err := f.hasRange(from, to); err != nil {
		return err
	}
	f, ctx, err := f.span(ctx, from, to, wholeChunk)
	if err != nil {
		return err
	}
	if f.noted {
		return ctx.Err()
	}
	_, ctx = rangeio.Steps(ctx) // all reads count as one step of phases
	o := inOrder{f: f, fn: fn}
	for from < to {
		end := f.together(from, to)
		chunks, err := o.read(ctx, from, end)
		if err == nil && f.dry == nil {
			err = o.hand(ctx, from, chunks)
		}
		if err != nil {
			return err
		}
		from = end
	}
	return ctx.Err()
}

// ExplainEach lists the requests that Each would make now. It runs the code of
// Each. It reads headers of chunks that tell lengths, and does not list these
// requests. In a sparse frame it opens no chunk, so how much of each is read is an
// estimate.
func (f *Frame) ExplainEach(ctx context.Context, from, to int) ([]rangeio.Planned, error) {
	var p pull.Plan
	err := f.dried(&p).Each(ctx, from, to, nil)
	return p.Requests(), err
}

// together returns the end of the chunks that are read at once from chunk from
// on.
func (f *Frame) together(from, to int) int {
	to = min(to, from+orderChunks)
	n := int64(0)
	for i := from; i < to; i++ {
		c := f.chunk(i)
		if c.MaxLen < 0 { // unknown length
			return max(i, from+1)
		}
		if n += c.MaxLen; i > from && n > orderStored {
			return i
		}
	}
	return to
}

// inOrder is one call of Each.
type inOrder struct {
	f  *Frame
	fn func(chunk, block int, p []byte) error
}

// read returns the chunks [from, to), still encoded.
func (o *inOrder) read(ctx context.Context, from, to int) ([][]byte, error) {
	f := o.f
	chunks := make([][]byte, to-from)
	var parts []pull.Part[piece]
	var alone []job // chunks that need a read of their own
	for k := range chunks {
		j := f.jobOf(from + k)
		j.want = k
		c := f.chunk(j.chunk)
		switch {
		case c.Special != blosc.None && f.info.VLBlocks:
			return nil, fail(chunkName(j.chunk), -1, formats.ErrCorrupt, "%s, not of blocks of various lengths", c.Special)
		case c.Special != blosc.None:
			var err error
			if chunks[k], err = specialChunk(j.chunk, c.Special, c.NBytes, f.info.TypeSize, max(f.info.BlockSize, 0)); err != nil {
				return nil, err
			}
		case f.info.Sparse || j.n == 0:
			alone = append(alone, j)
		default:
			parts = append(parts, pull.Part[piece]{Off: j.off, Len: j.n, For: piece{j: &j}})
		}
	}
	slices.SortStableFunc(parts, func(a, b pull.Part[piece]) int { return cmp.Compare(a.Off, b.Off) })
	if err := o.pull(ctx, parts, chunks); err != nil {
		return nil, err
	}
	if f.dry != nil && f.info.Sparse {
		f.noteOpens(ctx, alone)
		return chunks, nil
	}
	return chunks, par.Do(ctx, len(alone), orderFlight, func(ctx context.Context, i int) (err error) {
		j := &alone[i]
		chunks[j.want], err = f.AppendStored(ctx, nil, j.chunk)
		return err
	})
}

// pull reads whole chunks in one planned read.
func (o *inOrder) pull(ctx context.Context, parts []pull.Part[piece], chunks [][]byte) error {
	f := o.f
	if len(parts) == 0 {
		return nil
	}
	p := pull.Pull[piece]{From: f.r, Parts: pull.Of(parts...), Parallel: f.o.Parallel, Failed: f.failed, Why: why,
		Window: min(pull.WindowOf(f.r, f.o.Policy), f.memory(0)/7), Memory: f.memory(0)}
	return p.Each(ctx, func(p pull.Part[piece], b []byte) error {
		j := p.For.j
		h, err := (&reading{f: f}).header(j, b, int64(len(b)))
		if err == nil {
			chunks[j.want] = bytes.Clone(b[:h.CBytes]) // a copy: b is valid during the call only
		}
		return f.inChunk(j, err)
	})
}

// hand decodes encoded chunks and passes them to fn. from is the number of the
// first.
func (o *inOrder) hand(ctx context.Context, from int, chunks [][]byte) error {
	for k := 0; k < len(chunks); {
		n, size := 0, 0
		for ; k+n < len(chunks); n++ {
			more := weight(chunks[k+n])
			if n > 0 && size+more > orderDecoded {
				break
			}
			size += more
		}
		var err error
		if n == 1 && size > orderDecoded && o.f.info.VLBlocks {
			err = o.stream(ctx, from+k, chunks[k])
		} else {
			err = o.decodeGroup(ctx, from+k, chunks[k:k+n])
		}
		if err != nil {
			return err
		}
		clear(chunks[k : k+n])
		k += n
	}
	return nil
}

// weight estimates the memory of a decoded chunk.
func weight(chunk []byte) int {
	h, err := blosc.ParseHeader(chunk)
	if err != nil {
		return 0 // its decoding will fail
	}
	return min(h.NBytes+blockBook*h.Blocks(), math.MaxInt/2)
}

// stream decodes a chunk and passes its blocks to fn one by one.
func (o *inOrder) stream(ctx context.Context, chunk int, b []byte) error {
	j := o.f.jobOf(chunk)
	r := &reading{f: o.f, deliver: func(_ *job, block, _ int, p []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return o.fn(chunk, block, p)
	}}
	err := o.f.inChunk(&j, r.chunk(&j, b)) //nolint:contextcheck // it decodes what is there, and waits for nothing
	if e, ok := errors.AsType[callerError](err); ok {
		return e.error
	}
	return err
}

// A decodedChunk is a decoded chunk with the ends of its VL blocks. ends is nil
// if fn gets the whole chunk.
type decodedChunk struct {
	p    []byte // memory from bufpool
	ends []int
}

// decodeGroup decodes chunks in parallel, and then passes them to fn in order.
func (o *inOrder) decodeGroup(ctx context.Context, from int, chunks [][]byte) error {
	out := make([]decodedChunk, len(chunks))
	defer func() {
		for _, d := range out {
			if d.p != nil {
				bufpool.Put(d.p)
			}
		}
	}()
	inside := max(1, o.f.o.Parallel/len(chunks))
	err := par.Do(ctx, len(chunks), o.f.o.Parallel, func(_ context.Context, k int) error {
		j := o.f.jobOf(from + k)
		return o.f.inChunk(&j, o.f.decodeStored(&j, chunks[k], inside, &out[k])) //nolint:contextcheck // likewise
	})
	if err != nil {
		return err
	}
	for k, d := range out {
		if !o.f.info.VLBlocks {
			if err := o.fn(from+k, -1, d.p); err != nil {
				return err
			}
			continue
		}
		at := 0
		for i, end := range d.ends {
			if err := o.fn(from+k, i, d.p[at:end:end]); err != nil {
				return err
			}
			at = end
		}
	}
	return nil
}

// decodeStored decodes a chunk into memory from bufpool.
func (f *Frame) decodeStored(j *job, b []byte, inside int, d *decodedChunk) error {
	h, err := (&reading{f: f}).header(j, b, int64(len(b)))
	if err != nil {
		return err
	}
	d.p = bufpool.Get(h.NBytes)
	r := &reading{f: f, inside: inside, deliver: func(*job, int, int, []byte) error { return nil }}
	if !f.info.VLBlocks {
		j.dst = d.p
		return r.chunk(j, b)
	}
	r.inside = 1 // one goroutine: blocks come in order
	r.deliver = func(_ *job, _, at int, p []byte) error {
		d.ends = append(d.ends, at+copy(d.p[at:], p))
		return nil
	}
	return r.chunk(j, b)
}
