package cframe

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// A begun chunk is a chunk whose first bytes have been read: its block starts are
// known, or the rest of it will be read whole.
type begun struct {
	j   *job
	x   *blosc.Index // nil: the whole chunk is read
	sel []int        // numbers of the wanted blocks; nil: all

	front   []byte // bytes that came with the block starts: the start of block frontOf, or of the chunk if gathered is set
	frontOf int

	gathered *gathered // nil: each block is decoded alone, as soon as it is read
}

// A gathered chunk is decoded when all its fragments are read: because its blocks
// depend on each other, or because bytes of several blocks came with the block
// starts.
type gathered struct {
	fragments fragments
	need      []fragment   // fragments still to be read: off and n in the chunk, at in buf
	left      atomic.Int32 // how many of need are not read yet
	total     int          // bytes of all fragments
	buf       []byte       // fragments, one after another; made when the first fragment is read
}

// starts reads the block starts of chunks, or takes them from the index. Then it adds the wanted blocks of each
// chunk to the Pull of run, or the rest of the chunk if that is read whole.
func (r *reading) starts(ctx context.Context, jobs []job) error {
	jobs, read, err := r.indexed(ctx, jobs)
	if len(jobs) == 0 || err != nil {
		return err
	}
	if read { // a phase before the one of the block starts
		_, ctx = rangeio.Steps(ctx)
	}
	var mu sync.Mutex
	var short []job
	hands := r.f.o.Parallel
	if rangeio.Local(r.f.r) { // parsing takes less time than another goroutine
		hands = 1
	}
	p := pull.Pull[*job]{From: r.f.r, Index: true, Window: headMemory, Parallel: hands, Near: 1,
		Failed: func(parts []pull.Part[*job], err error) error {
			if len(parts) > 1 {
				return wrap("block starts", -1, err)
			}
			return r.f.inChunk(parts[0].For, err)
		},
		Parts: func(ctx context.Context, add func(pull.Part[*job]) error) error {
			if r.f.info.Sparse {
				return r.open(ctx, jobs, add)
			}
			for i := range jobs {
				j := &jobs[i]
				if j.most < minChunkHeader {
					return r.f.inChunk(j, fmt.Errorf("a chunk of %d bytes: %w", j.most, formats.ErrCorrupt))
				}
				if err := add(j.headPart(nil)); err != nil {
					return err
				}
			}
			return nil
		}}
	err = p.Each(ctx, func(p pull.Part[*job], b []byte) error {
		j := p.For
		if j.head != nil {
			b = append(j.head, b...)
		}
		enough, err := r.begin(j, p.From, b)
		if !enough && err == nil {
			mu.Lock()
			short = append(short, *j)
			mu.Unlock()
		}
		return r.f.inChunk(j, err)
	})
	if err != nil || len(short) == 0 {
		return err
	}
	_, next := rangeio.Steps(ctx)
	return r.starts(next, short)
}

// headPart returns the part of the chunk that is read for its block starts.
// from is the reader of the chunk, nil for the frame's.
func (j *job) headPart(from rangeio.Reader) pull.Part[*job] {
	n := int64(len(j.head))
	return pull.Part[*job]{From: from, Off: j.off + n, Len: j.headSize(j.most) - n, Ends: from != nil, For: j}
}

// begin adds the parts of a chunk that are still to be read; b holds the first bytes of
// the chunk. It returns false if b does not have all block starts.
func (r *reading) begin(j *job, from rangeio.Reader, b []byte) (enough bool, err error) {
	h, err := r.header(j, b, j.most)
	if err != nil {
		return false, err
	}
	c := &begun{j: j}
	if r.wanting(j, &h, b) {
		return true, r.addGathered(c, from, b, &gathered{fragments: fragments{{n: h.CBytes}}, total: h.CBytes})
	}
	if h.IndexLen() > len(b) {
		j.head = bytes.Clone(b[:min(len(b), headGuess)])
		return false, nil
	}
	if c.x, err = blosc.ParseIndex(b); err != nil {
		return false, err
	}
	if c.sel, err = j.pick(&h); err != nil {
		return false, err
	}
	if _, n := c.x.Dict(); n > 0 || h.VL || c.x.NeedsFirst() || !c.behind(b) {
		g := &gathered{}
		g.fragments, g.total = fragmentsOf(c.x, c.sel)
		return true, r.addGathered(c, from, b, g)
	}
	more := int64(len(c.x.Starts()))*offsetOfStart + int64(len(c.front))
	from, far := r.source(from)
	for k, i := range c.sel {
		off, n := c.x.Block(i)
		have := max(len(b)-off, 0)
		if err := r.add(pull.Part[piece]{From: from, Off: j.off + int64(off+have), Len: int64(n - have), More: more, Made: int64(c.x.BlockLen(i)),
			Ends: far && k == len(c.sel)-1, For: piece{j: j, c: c, k: i}}); err != nil {
			return false, err
		}
		more = 0
	}
	return true, nil
}

// source returns the reader to set in a part: nil, which means the reader of the
// Pull, in a contiguous frame. far tells that its reads wait for a network or a slow
// disk.
func (r *reading) source(from rangeio.Reader) (named rangeio.Reader, far bool) {
	far = !rangeio.Local(from) || rangeio.Slow(from)
	if !r.f.info.Sparse {
		return nil, far
	}
	return from, far
}

// behind reports whether no wanted block is complete in head, the first bytes of the
// chunk, and at most one begins there. It keeps the bytes of that block in front.
func (c *begun) behind(head []byte) bool {
	for _, i := range c.sel {
		off, n := c.x.Block(i)
		if off+n <= len(head) {
			return false
		}
		if off < len(head) {
			if c.front != nil {
				return false
			}
			c.front = bytes.Clone(head[off:])
			c.frontOf = i
		}
	}
	return true
}

// addGathered adds the bytes of g.fragments that head, the first bytes of the chunk, does
// not have. The chunk is decoded when all of them are read.
func (r *reading) addGathered(c *begun, from rangeio.Reader, head []byte, g *gathered) error {
	c.gathered = g
	if len(g.fragments) > 0 && g.fragments[0].off < len(head) {
		c.front = bytes.Clone(head)
	}
	for _, p := range g.fragments {
		have := min(max(len(head)-p.off, 0), p.n)
		if have < p.n {
			g.need = append(g.need, fragment{p.off + have, p.n - have, p.at + have})
		}
	}
	if len(g.need) == 0 {
		g.need = []fragment{{}} // an empty fragment, so that take is called and decodes the chunk
	}
	g.left.Store(int32(len(g.need)))
	from, far := r.source(from)
	more, made := int64(len(c.front)), c.j.made()
	if c.x != nil {
		more += int64(len(c.x.Starts())) * offsetOfStart
	}
	for k, p := range g.need {
		if err := r.add(pull.Part[piece]{From: from, Off: c.j.off + int64(p.off), Len: int64(p.n), More: int64(p.n) + more, Made: made,
			Ends: far && k == len(g.need)-1, For: piece{j: c.j, c: c, k: k}}); err != nil {
			return err
		}
		more, made = 0, 0
	}
	return nil
}

// gather copies fragment k of c to the buffer of c. It returns true if this was
// the last fragment.
func (r *reading) gather(c *begun, k int, b []byte) bool {
	r.lend(c)
	g := c.gathered
	copy(g.buf[g.need[k].at:], b)
	return g.left.Add(-1) == 0
}

// lend takes a buffer for the fragments of c from bufpool, if c has none yet. It is
// called when the first fragment is read, not earlier, since only bytes that are read
// count for the limit of memory.
func (r *reading) lend(c *begun) {
	g := c.gathered
	r.lending.Lock()
	defer r.lending.Unlock()
	if g.buf != nil {
		return
	}
	g.buf = bufpool.Get(g.total)
	for _, p := range g.fragments {
		if p.off < len(c.front) {
			copy(g.buf[p.at:p.at+p.n], c.front[p.off:])
		}
	}
	if r.lent == nil {
		r.lent = map[*begun][]byte{}
	}
	r.lent[c] = g.buf
}

// giveBack returns the buffer of c to bufpool.
func (r *reading) giveBack(c *begun) {
	r.lending.Lock()
	defer r.lending.Unlock()
	bufpool.Put(r.lent[c])
	delete(r.lent, c)
}

// gathered decodes a chunk, or the wanted blocks of it, after its last fragment
// is read.
func (r *reading) gathered(c *begun) error {
	defer r.giveBack(c)
	g := c.gathered
	if c.x == nil {
		return r.chunk(c.j, g.buf)
	}
	off, _ := c.x.Dict()
	return r.decodeBlocks(c, g.fragments.find(g.buf, off), func(i int) []byte {
		off, n := c.x.Block(i)
		if n == 0 {
			return nil
		}
		return g.fragments.find(g.buf, off)
	})
}

// wanting reports whether the whole chunk is read. head has its first bytes.
func (r *reading) wanting(j *job, h *blosc.Header, head []byte) bool {
	return j.all() || !j.fits(h) || h.VL && j.to > 0 || h.CBytes <= len(head) || !j.isExact && r.wholeNow(j, h)
}

const minChunkHeader = blosc.HeaderLen1

// wholeNow decides again, now from the chunk's own length and blocks, whether
// the whole chunk is read.
func (r *reading) wholeNow(j *job, h *blosc.Header) bool {
	k := *j
	if k.bsize <= 0 || k.to > 0 {
		k.bsize = h.BlockBytes()
	}
	k.nbytes = h.NBytes
	if g := k.cost(int64(h.CBytes)); !h.VL || h.Blocks() == 0 {
		return wholeAnyway(g, r.f.o.Policy)
	}
	share := int64(h.CBytes) * int64(len(j.blocks)) / int64(h.Blocks()) // estimate: as if all blocks were equally long
	return wholeAnyway(readCost{whole: int64(h.CBytes), blocks: min(int64(h.IndexLen())+share, int64(h.CBytes))}, r.f.o.Policy)
}

// fragments are ranges of a chunk, ascending and without overlap. at is the
// place of a fragment in a buffer that has all fragments one after another.
type fragments []fragment

type fragment struct{ off, n, at int }

// fragmentsOf lists the fragments of a chunk to read: its dictionary, the blocks
// sel, and the first block if the others need it to be decoded.
func fragmentsOf(x *blosc.Index, sel []int) (p fragments, total int) {
	if off, n := x.Dict(); n > 0 {
		p = append(p, fragment{off: off, n: n})
	}
	if x.NeedsFirst() && (len(sel) == 0 || sel[0] != 0) {
		off, n := x.Block(0)
		p = append(p, fragment{off: off, n: n})
	}
	for _, i := range sel {
		if off, n := x.Block(i); n > 0 {
			p = append(p, fragment{off: off, n: n})
		}
	}
	slices.SortFunc(p, func(a, b fragment) int { return cmp.Compare(a.off, b.off) })
	// Blocks may share their bytes: then begin and end are the same.
	p = slices.CompactFunc(p, func(a, b fragment) bool { return a.off == b.off })
	for i := range p {
		p[i].at = total
		total += p[i].n
	}
	return p, total
}

// find returns the bytes of the fragment that begins at off in the chunk.
func (p fragments) find(buf []byte, off int) []byte {
	k, ok := slices.BinarySearchFunc(p, off, func(a fragment, off int) int { return cmp.Compare(a.off, off) })
	if !ok {
		return nil
	}
	return buf[p[k].at : p[k].at+p[k].n : p[k].at+p[k].n]
}

// fill makes the wanted bytes of a special chunk that has no bytes in the
// frame.
func (r *reading) fill(j *job) error {
	kind, _ := special(r.f.table.at(j.chunk))
	if int64(j.nbytes) > r.f.o.Limits.MaxDecoded {
		return tooLarge(chunkName(j.chunk), -1, "%d decoded bytes, %d allowed", j.nbytes, r.f.o.Limits.MaxDecoded)
	}
	give := func(block, at, n int) error {
		p := j.dst
		if p == nil {
			p = bufpool.Get(n)
			defer bufpool.Put(p)
		}
		fill(p[:n], kind, r.f.info.TypeSize)
		return r.give(j, block, at, p[:n])
	}
	size := j.bsize
	count := int(j.blockCount())
	if j.to > 0 { // a range of bytes: made in small pieces, to save memory
		size = usualBlock - usualBlock%8
		for at := j.from / 8 * 8; at < j.to; at += size {
			if err := give(-1, at, min(size, j.nbytes-at)); err != nil {
				return err
			}
		}
		return nil
	}
	if j.dst != nil || count == 0 || r.f.info.VLBlocks {
		return give(-1, 0, j.nbytes)
	}
	for k := range max(count, len(j.blocks)) {
		i := k
		if j.blocks != nil {
			if k >= len(j.blocks) {
				break
			}
			i = j.blocks[k]
		}
		if err := give(i, i*size, min(size, j.nbytes-i*size)); err != nil {
			return err
		}
	}
	return nil
}

// fill writes the items of a special chunk to p, which begins with an item.
func fill(p []byte, kind blosc.Special, typeSize int) {
	clear(p)
	if kind != blosc.NaN {
		return
	}
	for i := 0; i+typeSize <= len(p); i += typeSize {
		if typeSize == 4 {
			binary.LittleEndian.PutUint32(p[i:], 0x7fc00000)
		} else {
			binary.LittleEndian.PutUint64(p[i:], 0x7ff8000000000000)
		}
	}
}
