package cframe

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/internal/pull"
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
	// EachConcurrent fails with ErrTooLarge. It must not overlap another want's.
	Dst []byte
	// Kept is how many bytes of the chunk the caller keeps, without Dst; see
	// Options.Memory.
	Kept int
}

// EachConcurrent reads wants, in any order, and calls done with each decoded block, from
// several goroutines at a time: the place of the want in the list, the number of the
// block, and its bytes, which are valid during the call only and may be overwritten by
// it. (Each gives chunks in order, from the goroutine of the caller.) If Dst is set,
// the whole chunk is decoded there, and done is called once with block -1 and
// those bytes, which stay valid. If a chunk turns out to have blocks of another
// size than the want counts in, or if a chunk that is not stored has no known
// blocks, done is called once with block -1 and the whole chunk. The first error, of
// done or of a read, ends EachConcurrent; an error of done is returned as it is. No
// call is made after EachConcurrent has returned.
//
// Chunks are read whole, in one phase, or their block starts first and the
// blocks next, in two: Options.Policy decides by their sizes. In a sparse frame
// the opening of chunks comes before. Chunks that are not stored need no bytes.
// Decoding begins as requests end. EachConcurrent holds Options.Memory of encoded bytes, or
// one chunk if that is larger, and for each of Options.Parallel a decoded block,
// or a chunk if that has to be decoded whole.
//
// A chunk's own header is checked against the frame: its decoded length, and its
// encoded length against the place that it has. A chunk or block that the frame
// does not have is ErrNoEntry.
func (f *Frame) EachConcurrent(ctx context.Context, wants []Want, done func(want, block int, p []byte) error) error {
	if f.refused != nil {
		return f.refused
	}
	if len(wants) > batch { // one read, in parts
		_, ctx = rangeio.Steps(ctx)
	}
	r := &reading{f: f, deliver: func(j *job, block, _ int, p []byte) error { return done(j.want, block, p) }}
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
	return context.Cause(ctx)
}

// batch is how many wants are planned together: some MiB of jobs.
const batch = 1 << 14

// newJob checks a want.
func (f *Frame) newJob(i int, w *Want) (job, error) {
	if w.Chunk < 0 || w.Chunk >= f.table.n {
		return job{}, fail(chunkName(w.Chunk), -1, formats.ErrNoEntry, "there are %d", f.table.n)
	}
	j := f.jobOf(w.Chunk)
	if int64(j.nbytes) > f.o.Limits.MaxDecoded {
		return job{}, tooLarge(chunkName(j.chunk), -1, "%d decoded bytes, %d allowed", j.nbytes, f.o.Limits.MaxDecoded)
	}
	j.want, j.blocks, j.bsize = i, w.Blocks, w.BlockSize
	if j.bsize <= 0 {
		j.bsize = f.info.BlockSize
	}
	j.kept, j.near = int64(w.Kept), rangeio.Local(f.r)
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

// A reading is one call of EachConcurrent or a method like it.
type reading struct {
	f       *Frame
	deliver func(j *job, block, at int, p []byte) error // at: the block's first byte in the chunk
	inside  int                                         // goroutines that decode one chunk

	adding gate
	put    func(pull.Part[piece]) error // adds what is to be read; may go ahead and decode

	lending sync.Mutex
	lent    map[*begun][]byte // to those that are gathered
}

// A piece is what a part of a frame is.
type piece struct {
	j *job
	c *begun // nil: all of the chunk, or nothing if it is not stored
	k int    // number of the block, or of the part of c
}

const (
	openFlight  = 64        // objects of a sparse frame that are opened at a time
	largestScan = 192 << 20 // that a call holds by default, however much it reads
	headMemory  = 1 << 20   // of block starts, for one of the two windows that are under way
	// localGap is how many bytes are copied out of memory in the time of a system call.
	localGap = 8 << 10
)

// memory is what may be held of encoded bytes in a call that reads so many of
// whole chunks, counted up to what the caller keeps of each.
func (f *Frame) memory(whole int64) int64 {
	if f.o.Memory > 0 {
		return f.o.Memory
	}
	return max(defaultMemory, min(whole/4*3, largestScan))
}

// run reads jobs: one Pull of whole chunks and of blocks, and within it another of the
// block starts that tell where the blocks are.
func (r *reading) run(ctx context.Context, jobs []job) error {
	f, p := r.f, r.f.plan(jobs)
	all := pull.Pull[piece]{From: f.r, Parallel: f.o.Parallel, Failed: f.failed, Why: why,
		Window: min(pull.WindowOf(f.r, f.o.Policy), f.memory(0)/7), Memory: f.memory(p.kept)}
	r.inside = max(1, f.o.Parallel/max(len(jobs), 1))
	if rangeio.Local(f.r) {
		r.inside = min(r.inside, 1+int(p.bytes/pull.WorthGoroutine))
		if most := all.Window; p.bytes <= most {
			all.Window += most / 8 // a single one, though it is an estimate
		} else if len(p.starts) > 0 {
			all.First = most / 8
		}
	}
	if len(p.starts) > 0 {
		all.Memory -= 2 * headMemory
	}
	all.Parts = func(ctx context.Context, add func(pull.Part[piece]) error) error {
		r.put, r.adding = add, newGate()
		for i := range p.unstored {
			if f.dry != nil { // they cost no request
				break
			}
			j := &p.unstored[i]
			if err := add(pull.Part[piece]{More: min(int64(j.nbytes), all.Window), Ends: i == len(p.unstored)-1, For: piece{j: j}}); err != nil {
				return err
			}
		}
		for i := range p.whole {
			j := &p.whole[i]
			if err := add(pull.Part[piece]{Off: j.off, Len: j.n, Ends: i == len(p.whole)-1 && len(p.starts) > 0, For: piece{j: j}}); err != nil {
				return err
			}
		}
		return r.starts(ctx, p.starts)
	}
	err := all.Each(ctx, r.take)
	for c := range r.lent { // what an error has left
		r.giveBack(c)
	}
	if e, ok := errors.AsType[callerError](err); ok {
		return e.error
	}
	return err
}

// add adds a part, whoever else does.
func (r *reading) add(p pull.Part[piece]) error {
	r.adding <- struct{}{}
	defer func() { <-r.adding }()
	return r.put(p)
}

// A gate lets one goroutine in at a time, which may wait for reads meanwhile.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

// take decodes what has come of a chunk.
func (r *reading) take(p pull.Part[piece], b []byte) error {
	j, c := p.For.j, p.For.c
	var err error
	switch {
	case c == nil && p.Len == 0:
		err = r.fill(j)
	case c == nil:
		err = r.chunk(j, b)
	case c.gathered != nil:
		if r.gather(c, p.For.k, b) {
			err = r.gathered(c)
		}
	case c.front != nil && c.frontOf == p.For.k:
		err = r.joined(c, b)
	default:
		err = r.block(c, p.For.k, 0, b, nil, nil)
	}
	return r.f.inChunk(j, err)
}

// joined decodes the block whose front came with the block starts.
func (r *reading) joined(c *begun, b []byte) error {
	n := len(c.front)
	p := bufpool.Get(n + len(b))
	defer bufpool.Put(p)
	copy(p, c.front)
	copy(p[n:], b)
	return r.block(c, c.frontOf, 0, p, nil, nil)
}

// failed names the chunk in the error of a read of one.
func (f *Frame) failed(parts []pull.Part[piece], err error) error {
	if j := parts[0].For.j; j == parts[len(parts)-1].For.j {
		return f.inChunk(j, err)
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
	h, err := r.f.header(b, most, j.nbytes)
	if err == nil && j.dst != nil && h.NBytes > len(j.dst) {
		err = fmt.Errorf("%d decoded bytes for a buffer of %d: %w", h.NBytes, len(j.dst), formats.ErrTooLarge)
	}
	return h, err
}

// header reads the header of a chunk whose first bytes are b, and checks it against the
// room that the chunk has, its decoded length by the frame (-1: not known) and the
// limits.
func (f *Frame) header(b []byte, most int64, nbytes int) (blosc.Header, error) {
	h, err := blosc.ParseHeader(b)
	switch {
	case err != nil:
		return h, err
	case int64(h.CBytes) > most:
		return h, fmt.Errorf("%d bytes where %d are: %w", h.CBytes, most, formats.ErrCorrupt)
	case nbytes >= 0 && h.NBytes != nbytes:
		return h, fmt.Errorf("%d decoded bytes, the frame says %d: %w", h.NBytes, nbytes, formats.ErrCorrupt)
	case int64(h.NBytes) > f.o.Limits.MaxDecoded:
		return h, fmt.Errorf("%d decoded bytes, %d allowed: %w", h.NBytes, f.o.Limits.MaxDecoded, formats.ErrTooLarge)
	}
	return h, nil
}

// chunk decodes what is wanted of a chunk that is all in b, b being as long as
// the chunk can be.
func (r *reading) chunk(j *job, b []byte) error {
	h, err := r.header(j, b, int64(len(b)))
	if err != nil {
		return err
	}
	b = b[:h.CBytes]
	if j.dst != nil || !j.fits(&h) {
		return r.decodeWhole(j, &h, b)
	}
	x, err := blosc.ParseIndex(b)
	if err != nil {
		return err
	}
	sel, err := j.pick(&h)
	if err != nil {
		return err
	}
	off, n := x.Dict()
	return r.decodeBlocks(&begun{j: j, x: x, sel: sel}, b[off:off+n], func(i int) []byte {
		off, n := x.Block(i)
		return b[off : off+n]
	})
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
	if _, err := o.DecodeParsed(dst[:h.NBytes], b, h); err != nil {
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

// decodeBlocks decodes the blocks that are wanted of a chunk. src gives the bytes of a
// block.
func (r *reading) decodeBlocks(c *begun, dict []byte, src func(i int) []byte) error {
	h, count := c.x.Header(), len(c.sel)
	if c.sel == nil {
		count = h.Blocks()
	}
	number := func(k int) int {
		if c.sel == nil {
			return k
		}
		return c.sel[k]
	}
	if h.VL {
		end := 0 // decoded bytes of the blocks so far
		for k := range count {
			n, err := c.x.VLBlockLen(src(number(k)))
			if err != nil {
				return err
			}
			if end += n; end > h.NBytes || c.sel == nil && k == count-1 && end != h.NBytes {
				return fmt.Errorf("blocks of %d bytes in a chunk of %d: %w", end, h.NBytes, formats.ErrCorrupt)
			}
			if err := r.block(c, number(k), end-n, src(number(k)), nil, dict); err != nil {
				return err
			}
		}
		return nil
	}
	var first []byte
	if c.x.NeedsFirst() && count > 0 {
		first = bufpool.Get(c.x.BlockLen(0))
		defer bufpool.Put(first)
		if err := r.f.decodeOptions(1).DecodeBlock(first, c.x, 0, src(0), nil, dict); err != nil {
			return err
		}
	}
	block := func(k int) error { return r.block(c, number(k), 0, src(number(k)), first, dict) }
	if min(r.inside, count) > 1 {
		return par.Each(count, r.inside, block)
	}
	for k := range count {
		if err := block(k); err != nil {
			return err
		}
	}
	return nil
}

// block decodes block i out of p. at is where it begins in a VL chunk.
func (r *reading) block(c *begun, i, at int, p, first, dict []byte) error {
	n := c.x.BlockLen(i)
	if n >= 0 {
		at = i * c.x.BlockBytes()
	} else {
		var err error
		if n, err = c.x.VLBlockLen(p); err != nil {
			return err
		}
	}
	dst := bufpool.Get(n)
	defer bufpool.Put(dst)
	if err := r.f.decodeOptions(1).DecodeBlock(dst, c.x, i, p, first, dict); err != nil {
		return err
	}
	return r.give(c.j, i, at, dst)
}
