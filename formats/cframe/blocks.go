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

// A begun chunk is one whose block starts are known, or which is to be read to its end.
type begun struct {
	j   *job
	x   *blosc.Index // nil: all of the chunk is wanted
	sel []int        // blocks; nil: all

	front   []byte // of block frontOf, which came with the block starts; if parts are gathered, of the chunk
	frontOf int

	gathered *gathered // nil: each block is decoded as it comes
}

// A gathered chunk is one whose blocks are decoded together, or of which some bytes of
// several blocks came with the block starts.
type gathered struct {
	parts parts
	need  []part       // what is still to be read; off and n in the chunk, at in buf
	left  atomic.Int32 // how many of them
	total int          // bytes of parts
	buf   []byte       // parts, one after the other, once the first has come
}

// starts reads the block starts of chunks and adds the blocks that are wanted, or the
// rest of a chunk that is to be had whole.
func (r *reading) starts(ctx context.Context, jobs []job) error {
	if len(jobs) == 0 {
		return nil
	}
	var mu sync.Mutex
	var short []job
	hands := r.f.o.Parallel
	if rangeio.Local(r.f.r) { // block starts are quickly looked at
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
	err := p.Each(ctx, func(p pull.Part[*job], b []byte) error {
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

// headPart is what is read for the block starts.
func (j *job) headPart(from rangeio.Reader) pull.Part[*job] {
	n := int64(len(j.head))
	return pull.Part[*job]{From: from, Off: j.off + n, Len: j.headSize(j.most) - n, Ends: from != nil, For: j}
}

// begin adds what is to be read of a chunk whose first bytes are b. It returns false if
// these do not hold all block starts.
func (r *reading) begin(j *job, from rangeio.Reader, b []byte) (enough bool, err error) {
	h, err := r.header(j, b, j.most)
	if err != nil {
		return false, err
	}
	c := &begun{j: j}
	if r.wanting(j, &h, b) {
		return true, r.addGathered(c, from, b, &gathered{parts: parts{{n: h.CBytes}}, total: h.CBytes})
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
		g.parts, g.total = partsOf(c.x, c.sel)
		return true, r.addGathered(c, from, b, g)
	}
	more := int64(len(c.x.Starts()))*offsetOfStart + int64(len(c.front))
	from, far := r.source(from)
	for k, i := range c.sel {
		off, n := c.x.Block(i)
		have := max(len(b)-off, 0)
		if err := r.add(pull.Part[piece]{From: from, Off: j.off + int64(off+have), Len: int64(n - have), More: more,
			Ends: far && k == len(c.sel)-1, For: piece{j, c, i}}); err != nil {
			return false, err
		}
		more = 0
	}
	return true, nil
}

// source is what a part names as its reader: nil for that of the Pull. far says that
// its reads wait.
func (r *reading) source(from rangeio.Reader) (named rangeio.Reader, far bool) {
	far = !rangeio.Local(from) || rangeio.Slow(from)
	if !r.f.info.Sparse {
		return nil, far
	}
	return from, far
}

// behind says that each block that is wanted goes beyond head, the first bytes of the
// chunk. It keeps what these have of a block.
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

// addGathered adds what head, the first bytes of the chunk, does not hold of g.parts:
// they are decoded once all are there.
func (r *reading) addGathered(c *begun, from rangeio.Reader, head []byte, g *gathered) error {
	c.gathered = g
	if len(g.parts) > 0 && g.parts[0].off < len(head) {
		c.front = bytes.Clone(head)
	}
	for _, p := range g.parts {
		have := min(max(len(head)-p.off, 0), p.n)
		if have < p.n {
			g.need = append(g.need, part{p.off + have, p.n - have, p.at + have})
		}
	}
	if len(g.need) == 0 {
		g.need = []part{{}} // to be decoded all the same
	}
	g.left.Store(int32(len(g.need)))
	from, far := r.source(from)
	more := int64(len(c.front))
	if c.x != nil {
		more += int64(len(c.x.Starts())) * offsetOfStart
	}
	for k, p := range g.need {
		if err := r.add(pull.Part[piece]{From: from, Off: c.j.off + int64(p.off), Len: int64(p.n), More: int64(p.n) + more,
			Ends: far && k == len(g.need)-1, For: piece{c.j, c, k}}); err != nil {
			return err
		}
		more = 0
	}
	return nil
}

// gather keeps part k of c, which was read. It returns true once all are there.
func (r *reading) gather(c *begun, k int, b []byte) bool {
	r.lend(c)
	g := c.gathered
	copy(g.buf[g.need[k].at:], b)
	return g.left.Add(-1) == 0
}

// lend lends a buffer for the parts of c, if c has none: not before one of them has come,
// since what comes is counted.
func (r *reading) lend(c *begun) {
	g := c.gathered
	r.lending.Lock()
	defer r.lending.Unlock()
	if g.buf != nil {
		return
	}
	g.buf = bufpool.Get(g.total)
	for _, p := range g.parts {
		if p.off < len(c.front) {
			copy(g.buf[p.at:p.at+p.n], c.front[p.off:])
		}
	}
	if r.lent == nil {
		r.lent = map[*begun][]byte{}
	}
	r.lent[c] = g.buf
}

// giveBack gives back the buffer of c.
func (r *reading) giveBack(c *begun) {
	r.lending.Lock()
	defer r.lending.Unlock()
	bufpool.Put(r.lent[c])
	delete(r.lent, c)
}

// gathered decodes a chunk, or blocks of it, all of whose bytes are there.
func (r *reading) gathered(c *begun) error {
	defer r.giveBack(c)
	g := c.gathered
	if c.x == nil {
		return r.chunk(c.j, g.buf)
	}
	off, _ := c.x.Dict()
	return r.decodeBlocks(c, g.parts.find(g.buf, off), func(i int) []byte {
		off, n := c.x.Block(i)
		if n == 0 {
			return nil
		}
		return g.parts.find(g.buf, off)
	})
}

// wanting says that all of a chunk is to be read, whose first bytes are head.
func (r *reading) wanting(j *job, h *blosc.Header, head []byte) bool {
	return j.all() || !j.fits(h) || h.VL && j.to > 0 || h.CBytes <= len(head) || r.wholeNow(j, h)
}

const minChunkHeader = blosc.HeaderLen1

// wholeNow decides again when the chunk's own length and blocks are known.
func (r *reading) wholeNow(j *job, h *blosc.Header) bool {
	k := *j
	if k.bsize <= 0 || k.to > 0 {
		k.bsize = h.BlockBytes()
	}
	k.nbytes = h.NBytes
	if g := k.group(int64(h.CBytes)); !h.VL || h.Blocks() == 0 {
		return wholeAnyway(g, r.f.o.Policy)
	}
	share := int64(h.CBytes) * int64(len(j.blocks)) / int64(h.Blocks()) // of blocks as long as others
	return wholeAnyway(group{whole: int64(h.CBytes), blocks: min(int64(h.IndexLen())+share, int64(h.CBytes))}, r.f.o.Policy)
}

// parts are ranges of a chunk, ascending and without overlap, and where each
// begins in a buffer that holds them one after the other.
type parts []part

type part struct{ off, n, at int }

// partsOf lists what is read of a chunk: its dictionary, the blocks sel, and the
// first block where others are decoded with it.
func partsOf(x *blosc.Index, sel []int) (p parts, total int) {
	if off, n := x.Dict(); n > 0 {
		p = append(p, part{off: off, n: n})
	}
	if x.NeedsFirst() && (len(sel) == 0 || sel[0] != 0) {
		off, n := x.Block(0)
		p = append(p, part{off: off, n: n})
	}
	for _, i := range sel {
		if off, n := x.Block(i); n > 0 {
			p = append(p, part{off: off, n: n})
		}
	}
	slices.SortFunc(p, func(a, b part) int { return cmp.Compare(a.off, b.off) })
	// Blocks may share their bytes, and then have the same end.
	p = slices.CompactFunc(p, func(a, b part) bool { return a.off == b.off })
	for i := range p {
		p[i].at = total
		total += p[i].n
	}
	return p, total
}

// find gives the bytes of the part at off.
func (p parts) find(buf []byte, off int) []byte {
	k, ok := slices.BinarySearchFunc(p, off, func(a part, off int) int { return cmp.Compare(a.off, off) })
	if !ok {
		return nil
	}
	return buf[p[k].at : p[k].at+p[k].n : p[k].at+p[k].n]
}

// fill makes what is wanted of a chunk that is not stored.
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
	if j.to > 0 { // by bytes: in pieces that cost little memory
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

// fill writes what a special chunk holds. p begins with an item.
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
