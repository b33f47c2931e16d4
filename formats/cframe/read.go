package cframe

import (
	"cmp"
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
	// Blocks are the numbers of blocks, ascending and each at most once. Nil
	// means all blocks, an empty slice none.
	Blocks []int
	// BlockSize is the block size that the numbers in Blocks refer to: the
	// decoded bytes of each block except the last. 0 means Info.BlockSize; if
	// that is 0, too, the chunk's own block size. For a chunk of VL blocks it has
	// no effect.
	BlockSize int
	// Dst is memory for the decoded chunk, if Blocks is nil. EachConcurrent
	// returns ErrTooLarge if Dst is too short. It must not overlap the Dst of
	// another Want.
	Dst []byte
	// HasDst makes ExplainConcurrent plan as if Dst were set.
	HasDst bool
	// Kept is the number of decoded bytes that the caller copies and keeps, if
	// Dst is nil; see Options.Memory.
	Kept int
}

// EachConcurrent reads wants, in any order, and calls done with each decoded block, from
// several goroutines at a time. want is the index in wants, block the number of the
// block, and p its decoded bytes. p is valid during the call only, and done may overwrite
// it. (Each passes chunks in order, from the goroutine of the caller.) If Dst is set, the
// whole chunk is decoded into it, and done is called once with block -1 and those bytes,
// which stay valid. done is also called once, with block -1 and the whole chunk, if the
// chunk has another block size than the Want, or if it is a special chunk and its blocks
// are unknown. EachConcurrent ends at the first error of done or of a read, and returns
// an error of done as it is. It does not call done after it has returned.
//
// A chunk is read whole, in one phase, or its block starts first and then its blocks, in
// two: Options.Policy decides by their sizes. In a sparse frame the objects of chunks are
// opened in a phase before. Special chunks without bytes in the frame cost no request.
// Decoding begins when the first requests end. EachConcurrent holds Options.Memory of
// encoded bytes, or one chunk if that is longer. For each of Options.Parallel goroutines
// it also holds a decoded block, or a decoded chunk if the chunk has to be decoded whole.
// For the last two chunks of a local frame there may be one and a half times as many more.
//
// The header of a chunk is checked against the frame: its decoded length, and that its
// encoded length fits its place. If the frame lacks a chunk or block, EachConcurrent
// returns ErrNoEntry.
func (f *Frame) EachConcurrent(ctx context.Context, wants []Want, done func(want, block int, p []byte) error) error {
	return f.each(ctx, wants, hooks{}, done)
}

// EachCut is EachConcurrent for who wants only parts of blocks. cut is called with each block
// that is decoded alone, and its decoded bytes, from several goroutines at a time. If it
// returns true, the rows of the Cut go where it says, and done is not called for this block.
func (f *Frame) EachCut(ctx context.Context, wants []Want, cut func(want, block, n int) (blosc.Cut, bool), done func(want, block int, p []byte) error) error {
	return f.each(ctx, wants, hooks{cut: cut}, done)
}

// hooks are what a caller of each may want besides decoded blocks.
type hooks struct {
	headed func(chunk int, h *blosc.Header)           // gets the header of each chunk that has bytes in the frame, before its blocks: from several goroutines, and perhaps twice
	cut    func(want, block, n int) (blosc.Cut, bool) // see EachCut
}

// each is EachConcurrent with hooks.
func (f *Frame) each(ctx context.Context, wants []Want, h hooks, done func(want, block int, p []byte) error) error {
	if f.refused != nil {
		return f.refused
	}
	if len(wants) > batch { // all batches count as one step of phases
		_, ctx = rangeio.Steps(ctx)
	}
	for at := 0; at < len(wants); at += batch {
		end := min(at+batch, len(wants))
		g, data, err := f.placed(ctx, f.asks(wants[at:end])...)
		if err != nil {
			return err
		}
		r := &reading{f: g, hooks: h, deliver: func(j *job, block, _ int, p []byte) error { return done(j.want, block, p) }}
		jobs := make([]job, 0, end-at)
		for i := at; i < end; i++ {
			j, err := g.newJob(i, &wants[i])
			if err != nil {
				return err
			}
			if j.all() || len(j.blocks) > 0 {
				jobs = append(jobs, j)
			}
		}
		if err := r.run(data, jobs); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// asks returns what wants ask of chunks, or nil if the offsets of all chunks are known.
func (f *Frame) asks(wants []Want) []ask {
	if f.complete() != nil {
		return nil
	}
	asks := make([]ask, len(wants))
	for i := range wants {
		w := &wants[i]
		asks[i] = ask{w.Chunk, wholeChunk}
		if size := cmp.Or(w.BlockSize, f.info.BlockSize); w.Blocks != nil && size > 0 {
			asks[i].bytes = int64(len(w.Blocks)) * int64(size)
		}
	}
	return asks
}

// batch is the number of wants that are planned at a time; their jobs take some
// MiB.
const batch = 1 << 14

// newJob checks a want and makes a job of it.
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
		j.into = w.Dst != nil || w.HasDst && f.dry != nil
		if j.dst = w.Dst; j.into {
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

// jobOf returns a job for a whole chunk.
func (f *Frame) jobOf(chunk int) job {
	c := f.chunk(chunk)
	j := job{chunk: chunk, nbytes: c.NBytes, off: c.Off, most: c.MaxLen, n: max(c.MaxLen, 0)}
	if c.NBytes < 0 && j.n > unknownMax {
		j.n = 0 // dead bytes may follow the chunk
	}
	return j
}

func chunkName(i int) string { return fmt.Sprintf("chunk %d", i) }

// A reading is one call of EachConcurrent or a method like it.
type reading struct {
	f       *Frame
	deliver func(j *job, block, at int, p []byte) error // at: offset of the block in the decoded chunk
	hooks
	inside int // number of goroutines that decode one chunk

	scratch []byte // memory of a plan

	adding gate
	put    func(pull.Part[piece]) error // adds a part to the Pull; may take parts and decode them meanwhile

	lending sync.Mutex
	lent    map[*begun][]byte // buffers of gathered chunks
}

// A piece says what a part of a Pull is: a chunk, a block, or a fragment of a
// gathered chunk.
type piece struct {
	j *job
	c *begun // nil: the whole chunk, or no bytes if the chunk has none in the frame
	k int    // number of the block, or index in c.gathered.need
	s *straight
}

const (
	openFlight  = 64        // objects of a sparse frame that are opened at the same time
	largestScan = 260 << 20 // most bytes that a call holds by default
	scanShare   = 65 << 20  // of them, for each goroutine that decodes: 16 chunks of 4 MiB, with their headers
	headMemory  = 1 << 20   // bytes of block starts in one of two windows in flight
	// localGap is the number of bytes that can be copied in the time of a system call.
	localGap = 8 << 10
)

// memory returns how many encoded bytes a call may hold. whole is the encoded
// bytes of chunks that are read whole, as strategy.kept counts them.
func (f *Frame) memory(whole int64) int64 {
	if f.o.Memory > 0 {
		return f.o.Memory
	}
	return max(defaultMemory, min(whole+whole/64, largestScan, int64(f.o.Parallel)*scanShare))
}

// pull returns a Pull that suits the parts of a strategy, which it lacks yet.
func (r *reading) pull(p *strategy) pull.Pull[piece] {
	f := r.f
	all := pull.Pull[piece]{From: f.r, Parallel: f.o.Parallel, Failed: f.failed, Why: why, Into: r.into,
		Window: pull.WindowOf(f.r, f.o.Policy), Memory: f.memory(p.kept)}
	if from, most := rangeio.Long(f.r, max(f.among, min(all.Memory, p.kept))); most > 0 {
		all.From, all.Window = from, most+most/64 // room for two stored chunks of half its length, with their headers
	}
	all.Window = min(all.Window, all.Memory/4)
	if rangeio.Local(f.r) {
		all.Work = pull.WorthWork
		p.shareLast(f.o.Parallel)
		r.inside = min(r.inside, 1+int(max(p.bytes/pull.WorthGoroutine, p.made/pull.WorthWork)))
		if most := all.Window; p.bytes <= most {
			all.Window += most / 8 // p.bytes is an estimate: with some reserve everything fits one window
		} else if len(p.starts) > 0 {
			all.First, all.Window = most/8, most/2 // so that goroutines begin soon and end together
		}
	}
	if len(p.starts) > 0 {
		all.Memory -= 2 * headMemory
	}
	return all
}

// run reads jobs by one Pull of whole chunks and blocks. Within its Parts a second
// Pull reads the block starts, which tell where the blocks are.
func (r *reading) run(ctx context.Context, jobs []job) error {
	if r.f.noted {
		return ctx.Err()
	}
	r.f.known(ctx, jobs)
	f, p := r.f, r.f.strategy(jobs)
	r.inside = max(1, f.o.Parallel/max(len(jobs), 1))
	all := r.pull(&p)
	all.Parts = func(ctx context.Context, add func(pull.Part[piece]) error) error {
		r.put, r.adding = add, newGate()
		for i := range p.unstored {
			if f.dry != nil { // special chunks cost no request
				break
			}
			j := &p.unstored[i]
			if err := add(pull.Part[piece]{More: min(int64(j.nbytes), all.Window), Ends: i == len(p.unstored)-1, For: piece{j: j}}); err != nil {
				return err
			}
		}
		for i := range p.whole {
			j := &p.whole[i]
			ends := i == len(p.whole)-1 && len(p.starts) > 0
			if f.straight(j) {
				if err := addStraight(j, ends, add); err != nil {
					return err
				}
				continue
			}
			if err := add(pull.Part[piece]{Off: j.off, Len: j.n, Made: j.made(), Ends: ends, For: piece{j: j}}); err != nil {
				return err
			}
		}
		return r.starts(ctx, p.starts)
	}
	if p.kept > defaultMemory { // a scan: its end waits for the slowest request of many
		ctx = rangeio.InOrder(ctx)
	}
	err := all.Each(ctx, r.take)
	for c := range r.lent { // buffers that are left after an error
		r.giveBack(c)
	}
	if e, ok := errors.AsType[callerError](err); ok {
		return e.error
	}
	return err
}

// add adds a part to the Pull. Several goroutines may call it at a time.
func (r *reading) add(p pull.Part[piece]) error {
	r.adding <- struct{}{}
	defer func() { <-r.adding }()
	return r.put(p)
}

// A gate is a lock that a goroutine may hold while it waits for reads.
type gate chan struct{}

func newGate() gate { return make(gate, 1) }

// take decodes a part of a chunk that has been read.
func (r *reading) take(p pull.Part[piece], b []byte) error {
	j, c := p.For.j, p.For.c
	var err error
	switch {
	case p.For.s != nil:
		err = r.straight(&p.For, b)
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

// joined decodes the block whose first bytes came with the block starts; b has
// the rest.
func (r *reading) joined(c *begun, b []byte) error {
	n := len(c.front)
	p := bufpool.Get(n + len(b))
	defer bufpool.Put(p)
	copy(p, c.front)
	copy(p[n:], b)
	return r.block(c, c.frontOf, 0, p, nil, nil)
}

// failed adds the name of the chunk to the error of a read, if the read was for
// a single chunk.
func (f *Frame) failed(parts []pull.Part[piece], err error) error {
	if j := parts[0].For.j; j == parts[len(parts)-1].For.j {
		return f.inChunk(j, err)
	}
	return wrap("chunks", -1, err)
}

// inChunk adds the name of the chunk to an error. A callerError stays as it is.
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

// callerError marks an error of done, which is returned to the caller as it is.
type callerError struct{ error }

// header parses and checks the header of a chunk. b has its first bytes; most
// bounds its encoded length.
func (r *reading) header(j *job, b []byte, most int64) (blosc.Header, error) {
	h, err := r.f.header(b, most, j.nbytes)
	if err == nil && j.dst != nil && h.NBytes > len(j.dst) {
		err = fmt.Errorf("%d decoded bytes for a buffer of %d: %w", h.NBytes, len(j.dst), formats.ErrTooLarge)
	}
	if err == nil && r.headed != nil {
		r.headed(j.chunk, &h)
	}
	return h, err
}

// header parses the header of a chunk from its first bytes b. It checks the encoded
// length against most, the decoded length against nbytes (-1: unknown), and the limits.
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

// chunk decodes the wanted blocks of a chunk, or all of it. b holds the whole
// chunk, and perhaps bytes behind it.
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

// fits reports whether the chunk has the block size that the job's block
// numbers refer to.
func (j *job) fits(h *blosc.Header) bool {
	return h.VL || j.bsize <= 0 || j.to > 0 || h.NBytes == 0 || h.BlockBytes() == min(j.bsize, h.NBytes)
}

// pick returns the numbers of the wanted blocks, nil for all.
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

// goroutines is how many decode a chunk.
func (r *reading) goroutines(j *job) int { return max(r.inside, j.inside) }

// decodeWhole decodes a whole chunk into j.dst, or into a buffer from bufpool.
func (r *reading) decodeWhole(j *job, h *blosc.Header, b []byte) error {
	dst := j.dst
	switch {
	case dst == nil && h.Memcpyed && h.Supported() == nil:
		return r.give(j, -1, 0, b[h.Len():h.CBytes:h.CBytes])
	case dst == nil:
		dst = bufpool.Get(h.NBytes)
		defer bufpool.Put(dst)
	}
	o := r.f.decodeOptions(r.goroutines(j))
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

// decodeBlocks decodes the wanted blocks of a chunk. src returns the encoded bytes of
// a block.
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
		end := 0 // decoded bytes so far
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
	if inside := r.goroutines(c.j); min(inside, count) > 1 {
		return par.Each(count, inside, block)
	}
	for k := range count {
		if err := block(k); err != nil {
			return err
		}
	}
	return nil
}

// block decodes block i from p. at is its offset in the decoded chunk; it is
// used for VL blocks only.
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
	if h := c.x.Header(); h.Memcpyed && len(p) == n {
		return r.give(c.j, i, at, p[:n:n])
	}
	if r.cut != nil && c.x.BlockLen(i) >= 0 {
		if cut, ok := r.cut(c.j.want, i, n); ok {
			return r.f.decodeOptions(1).DecodeCut(c.x, i, p, first, dict, cut)
		}
	}
	dst := bufpool.Get(n)
	defer bufpool.Put(dst)
	if err := r.f.decodeOptions(1).DecodeBlock(dst, c.x, i, p, first, dict); err != nil {
		return err
	}
	return r.give(c.j, i, at, dst)
}
