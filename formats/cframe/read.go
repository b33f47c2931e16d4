package cframe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/rangeio"
)

// A Want asks for a chunk or some blocks of it.
type Want struct {
	Chunk int
	// Blocks are ascending, without repeats; nil means all, and empty none.
	Blocks []int
	// BlockSize is the unit of Blocks: the decoded bytes of every block but the
	// last. 0 means Info.BlockSize, or each chunk's own blocks if that is 0, too.
	// It counts for chunks of fixed blocks only; VL blocks are counted as they
	// are.
	BlockSize int
	// Dst, with Blocks nil, takes the decoded chunk and must be long enough, else
	// Read fails with ErrTooLarge. It must not overlap another want's.
	Dst []byte
	// Kept is how many bytes of the chunk the caller keeps, without Dst; see
	// Options.Memory.
	Kept int
}

// Read reads wants, in any order, and calls done with each decoded block: the
// place of the want in the list, the number of the block, and its bytes, which
// are valid during the call only and may be overwritten by it. If Dst is set,
// the whole chunk is decoded there, and done is called once with block -1 and
// those bytes, which stay valid. If a chunk turns out to have blocks of another
// size than the want counts in, or if a chunk that is not stored has no known
// blocks, done is called once with block -1 and the whole chunk. Calls come from
// several goroutines at a time. The first error, of done or of a read, ends Read;
// an error of done is returned as it is. No call is made after Read has returned.
//
// Chunks are read whole, in one phase, or their block starts first and the
// blocks next, in two: Options.Policy decides by their sizes. In a sparse frame
// the opening of chunks comes before. Chunks that are not stored need no bytes.
// Decoding begins as requests end. Read holds Options.Memory of encoded bytes, or
// one chunk if that is larger, and for each of Options.Parallel a decoded block,
// or a chunk if that has to be decoded whole.
//
// A chunk's own header is checked against the frame: its decoded length, and its
// encoded length against the place that it has. A chunk or block that the frame
// does not have is ErrNoEntry.
func (f *Frame) Read(ctx context.Context, wants []Want, done func(want, block int, p []byte) error) error {
	if f.refused != nil {
		return f.refused
	}
	r := f.newReading(ctx, func(j *job, block, _ int, p []byte) error { return done(j.want, block, p) })
	for at := 0; at < len(wants); at += batch {
		jobs := make([]job, 0, min(batch, len(wants)-at))
		for i := at; i < min(at+batch, len(wants)); i++ {
			j, err := f.newJob(i, &wants[i])
			if err != nil {
				return err
			}
			if j.all() || len(j.blocks) > 0 {
				jobs = append(jobs, j)
			}
		}
		if err := r.run(ctx, jobs); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// batch is how many wants are planned together: some MiB of jobs.
const batch = 1 << 14

// newJob checks a want.
func (f *Frame) newJob(i int, w *Want) (job, error) {
	if w.Chunk < 0 || w.Chunk >= f.table.n {
		return job{}, fail(chunkName(w.Chunk), -1, formats.ErrNoEntry, "there are %d", f.table.n)
	}
	j := f.jobOf(w.Chunk)
	j.want, j.blocks, j.bsize = i, w.Blocks, w.BlockSize
	if j.bsize <= 0 {
		j.bsize = f.info.BlockSize
	}
	j.kept = int64(w.Kept)
	if j.blocks == nil {
		if j.dst = w.Dst; j.dst != nil {
			j.kept = int64(j.nbytes)
		}
		if j.dst != nil && len(j.dst) < j.nbytes {
			return job{}, tooLarge(chunkName(j.chunk), -1, "%d decoded bytes for a buffer of %d", j.nbytes, len(j.dst))
		}
		return j, nil
	}
	last := -1
	for _, b := range j.blocks {
		if b <= last {
			return job{}, fail(chunkName(j.chunk), -1, formats.ErrNoEntry, "block %d after %d", b, last)
		}
		last = b
	}
	if n := j.blockCount(); n > 0 && int64(last) >= n && !f.info.VLBlocks {
		return job{}, fail(chunkName(j.chunk), -1, formats.ErrNoEntry, "block %d of %d", last, n)
	}
	return j, nil
}

// jobOf is a job for all of a chunk.
func (f *Frame) jobOf(chunk int) job {
	c := f.Chunk(chunk)
	j := job{chunk: chunk, nbytes: c.NBytes, off: c.Off, most: c.MaxLen, n: max(c.MaxLen, 0)}
	if c.NBytes < 0 && j.n > unknownMax {
		j.n = 0 // dead bytes may follow it
	}
	return j
}

func chunkName(i int) string { return fmt.Sprintf("chunk %d", i) }

// A reading is one call of Read or a method like it.
type reading struct {
	f       *Frame
	deliver func(j *job, block, at int, p []byte) error // at: the block's first byte in the chunk
	phases  *phaseSet                                   // of this call, or of those that it belongs to
	sem     chan struct{}                               // decoders at work; nil: no more goroutines run than may decode
	held    budget                                      // of encoded bytes
	inside  int                                         // goroutines that decode one chunk
	reads   atomic.Int64                                // local ones
	slow    atomic.Int64                                // of these
	waits   atomic.Bool                                 // they turned out to be
}

const (
	smallFlight = 64        // requests for block starts and blocks, and windows, as in objstore
	largestScan = 192 << 20 // that a call holds by default, however much it reads
)

// window is how many bytes of whole chunks are read together: one of the longest
// requests of the policy, so that each is decoded as it comes while the others
// are under way.
func (f *Frame) window() int64 {
	n := f.o.Policy.MaxLen
	switch {
	case f.local:
		n = localWindow
	case n <= 0:
		n = rangeio.Fast().MaxLen
	}
	return min(n, f.memory(0)/7)
}

// memory is what may be held of encoded bytes in a call that reads so many of
// whole chunks, counted up to what the caller keeps of each.
func (f *Frame) memory(whole int64) int64 {
	if f.o.Memory > 0 {
		return f.o.Memory
	}
	return max(defaultMemory, min(whole/4*3, largestScan))
}

func (f *Frame) newReading(ctx context.Context, deliver func(*job, int, int, []byte) error) *reading {
	return &reading{f: f, deliver: deliver, phases: phasesOf(ctx), inside: 1}
}

// phase gives ctx the k-th phase of the call: all chunks go through the same
// ones, each at its own time.
func (r *reading) phase(ctx context.Context, k int) context.Context {
	return under{ctx, r.phases[min(k, len(r.phases)-1)]}
}

// under gives ctx the phase of another context.
type under struct {
	context.Context //nolint:containedctx // ends the call, with the values of phase
	phase           context.Context
}

func (u under) Value(key any) any { return u.phase.Value(key) }

func (r *reading) run(ctx context.Context, jobs []job) error {
	p := r.f.plan(jobs)
	r.inside = max(1, r.f.o.Parallel/max(len(jobs), 1))
	r.held.reset(r.f.memory(p.whole))
	r.sem = nil
	var err error
	if r.f.local {
		err = r.runLocal(ctx, &p)
	} else {
		err = r.runFar(ctx, &p)
	}
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[callerError](err); ok {
		return e.error
	}
	return err
}

// runFar has as many requests in flight as there may be, each of which waits.
func (r *reading) runFar(ctx context.Context, p *plan) error {
	r.sem = make(chan struct{}, r.f.o.Parallel)
	parts := []func(context.Context) error{
		func(ctx context.Context) error {
			return par.Do(ctx, len(p.windows), smallFlight, func(ctx context.Context, i int) error { return r.window(ctx, p.windows[i]) })
		},
		func(ctx context.Context) error {
			return par.Do(ctx, len(p.starts), smallFlight, func(ctx context.Context, i int) error { return r.starts(ctx, &p.starts[i]) })
		},
		func(ctx context.Context) error {
			return par.Do(ctx, len(p.local), r.f.o.Parallel, func(ctx context.Context, i int) error { return r.fill(ctx, &p.local[i]) })
		},
	}
	return par.Do(ctx, len(parts), len(parts), func(ctx context.Context, i int) error { return parts[i](ctx) })
}

// decoding runs fn as one of the goroutines that decode.
func (r *reading) decoding(ctx context.Context, fn func() error) error {
	if r.sem == nil {
		return fn()
	}
	select {
	case r.sem <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-r.sem }()
	return fn()
}

// window reads whole chunks together.
func (r *reading) window(ctx context.Context, jobs []job) error {
	var total int
	for i := range jobs {
		total += int(jobs[i].n)
	}
	held, err := r.held.take(ctx, total)
	if err != nil {
		return err
	}
	defer r.held.give(held)
	buf := bufpool.Get(total)
	defer bufpool.Put(buf)
	spans, free := make([]rangeio.Span, len(jobs)), buf
	for i := range jobs {
		n := jobs[i].n
		spans[i] = rangeio.Span{Off: jobs[i].off, P: free[:n]}
		free = free[n:]
	}
	decode := func(i int) error { return r.f.inChunk(&jobs[i], r.chunk(ctx, &jobs[i], spans[i].P)) }
	if !r.f.local {
		return wrapRead(r.f.r.ReadEach(r.phase(ctx, 0), spans, decode))
	}
	if err := r.fetch(ctx, 0, r.f.r, slices.Clone(spans)); err != nil {
		return wrapRead(err)
	}
	for i := range jobs {
		if err := decode(i); err != nil {
			return wrapRead(err)
		}
	}
	return nil
}

// wrapRead names this package in an error that does not yet.
func wrapRead(err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[callerError](err); ok {
		return e
	}
	return wrap("chunks", -1, err)
}

// inChunk names the chunk in an error; one of done stays as it is.
func (f *Frame) inChunk(j *job, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[callerError](err); ok {
		return e
	}
	off := j.off
	if f.info.Sparse {
		off = -1
	}
	return wrap(chunkName(j.chunk), off, err)
}

// callerError is an error of done, which goes back as it came.
type callerError struct{ error }

// header reads and checks the header of a chunk whose first bytes are b and that
// has room for most.
func (r *reading) header(j *job, b []byte, most int64) (blosc.Header, error) {
	h, err := blosc.ParseHeader(b)
	switch {
	case err != nil:
		return h, err
	case int64(h.CBytes) > most:
		return h, fmt.Errorf("%d bytes where %d are: %w", h.CBytes, most, formats.ErrCorrupt)
	case j.nbytes >= 0 && h.NBytes != j.nbytes:
		return h, fmt.Errorf("%d decoded bytes, the frame says %d: %w", h.NBytes, j.nbytes, formats.ErrCorrupt)
	case int64(h.NBytes) > r.f.o.Limits.MaxDecoded:
		return h, fmt.Errorf("%d decoded bytes, %d allowed: %w", h.NBytes, r.f.o.Limits.MaxDecoded, formats.ErrTooLarge)
	case j.dst != nil && h.NBytes > len(j.dst):
		return h, fmt.Errorf("%d decoded bytes for a buffer of %d: %w", h.NBytes, len(j.dst), formats.ErrTooLarge)
	}
	return h, nil
}

// chunk decodes what is wanted of a chunk that is all in b, b being as long as
// the chunk can be.
func (r *reading) chunk(ctx context.Context, j *job, b []byte) error {
	h, err := r.header(j, b, int64(len(b)))
	if err != nil {
		return err
	}
	b = b[:h.CBytes]
	if j.dst != nil || !j.fits(&h) {
		return r.decoding(ctx, func() error { return r.decodeWhole(j, &h, b) })
	}
	x, err := blosc.ParseIndex(b)
	if err != nil {
		return err
	}
	sel, err := j.pick(&h)
	if err != nil {
		return err
	}
	src := func(i int) []byte { off, n := x.Block(i); return b[off : off+n] }
	off, n := x.Dict()
	return r.decodeBlocks(ctx, j, x, sel, b[off:off+n], src)
}

// fits says whether the blocks of a chunk are those that the job counts in.
func (j *job) fits(h *blosc.Header) bool {
	return h.VL || j.bsize <= 0 || j.to > 0 || h.NBytes == 0 || h.BlockBytes() == min(j.bsize, h.NBytes)
}

// pick gives the numbers of the blocks that are wanted, nil for all.
func (j *job) pick(h *blosc.Header) ([]int, error) {
	n := h.Blocks()
	if j.to > 0 && !h.VL && h.BlockBytes() > 0 {
		to := min(j.to, h.NBytes)
		var sel []int
		for i := j.from / h.BlockBytes(); i*h.BlockBytes() < to; i++ {
			sel = append(sel, i)
		}
		return sel, nil
	}
	if j.blocks == nil {
		return nil, nil
	}
	if k := len(j.blocks); k > 0 && j.blocks[k-1] >= n {
		return nil, fmt.Errorf("block %d of %d: %w", j.blocks[k-1], n, formats.ErrNoEntry)
	}
	return j.blocks, nil
}

func (f *Frame) decodeOptions(parallel int) blosc.DecodeOptions {
	return blosc.DecodeOptions{TypeSize: f.info.TypeSize, BlockShape: f.blockShape, MaxDecoded: f.o.Limits.MaxDecoded, Parallel: parallel}
}

// decodeWhole decodes a whole chunk, into the job's buffer where it has one.
func (r *reading) decodeWhole(j *job, h *blosc.Header, b []byte) error {
	dst := j.dst
	if dst == nil {
		dst = bufpool.Get(h.NBytes)
		defer bufpool.Put(dst)
	}
	o := r.f.decodeOptions(r.inside)
	if _, err := o.DecodeInto(dst[:h.NBytes], b); err != nil {
		return err
	}
	return r.give(j, -1, 0, dst[:h.NBytes])
}

func (r *reading) give(j *job, block, at int, p []byte) error {
	if err := r.deliver(j, block, at, p); err != nil {
		return callerError{err}
	}
	return nil
}

// decodeBlocks decodes the blocks sel, nil for all, of the chunk that x indexes.
// src gives the bytes of a block.
func (r *reading) decodeBlocks(ctx context.Context, j *job, x *blosc.Index, sel []int, dict []byte, src func(i int) []byte) error {
	h := x.Header()
	count := len(sel)
	if sel == nil {
		count = h.Blocks()
	}
	var first []byte
	if x.NeedsFirst() && count > 0 {
		first = bufpool.Get(x.BlockLen(0))
		defer bufpool.Put(first)
		err := r.decoding(ctx, func() error { return r.f.decodeOptions(1).DecodeBlock(first, x, 0, src(0), nil, dict) })
		if err != nil {
			return err
		}
	}
	var vlEnd int // decoded bytes of VL blocks before the present one, when all are wanted in order
	inside := r.inside
	if h.VL {
		inside = 1
	}
	block := func(ctx context.Context, k int) error {
		i := k
		if sel != nil {
			i = sel[k]
		}
		return r.decoding(ctx, func() error {
			p := src(i)
			n, at := x.BlockLen(i), i*h.BlockBytes()
			if h.VL {
				var err error
				if n, err = x.VLBlockLen(p); err != nil {
					return err
				}
				at = vlEnd
				if vlEnd += n; vlEnd > h.NBytes || sel == nil && k == count-1 && vlEnd != h.NBytes {
					return fmt.Errorf("blocks of %d bytes in a chunk of %d: %w", vlEnd, h.NBytes, formats.ErrCorrupt)
				}
			}
			dst := bufpool.Get(n)
			defer bufpool.Put(dst)
			if err := r.f.decodeOptions(1).DecodeBlock(dst, x, i, p, first, dict); err != nil {
				return err
			}
			return r.give(j, i, at, dst)
		})
	}
	if min(inside, count) > 1 {
		return par.Do(ctx, count, inside, block)
	}
	for k := range count {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := block(ctx, k); err != nil {
			return err
		}
	}
	return nil
}
