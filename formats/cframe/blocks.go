package cframe

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

// starts reads the block starts of a chunk and then the blocks, or the rest of
// the chunk where that is to be had whole.
func (r *reading) starts(ctx context.Context, j *job) error {
	src, phase := r.f.r, 0
	if r.f.info.Sparse {
		var err error
		if src, err = r.f.set.Open(r.phase(ctx, 0), chunkFile(j.off)); err != nil {
			return r.f.inChunk(j, err)
		}
		j, phase = r.f.sparseJob(j, src), 1
	}
	return r.f.inChunk(j, r.startsOf(ctx, j, src, phase))
}

func (r *reading) startsOf(ctx context.Context, j *job, src rangeio.Reader, phase int) error {
	most := j.most
	if most < minChunkHeader {
		return fmt.Errorf("a chunk of %d bytes: %w", most, formats.ErrCorrupt)
	}
	held, err := r.held.take(ctx, int(j.headSize(most)))
	if err != nil {
		return err
	}
	defer func() { r.held.give(held) }()
	head, h, err := r.head(ctx, j, src, phase)
	defer func() { bufpool.Put(head) }()
	if err != nil {
		return err
	}
	if r.wanting(j, &h, head) {
		r.held.give(held)
		if held, err = r.held.take(ctx, h.CBytes); err != nil {
			return err
		}
		b := bufpool.Get(h.CBytes)
		defer bufpool.Put(b)
		n := copy(b, head)
		if err := r.fetch(ctx, phase+1, src, []rangeio.Span{{Off: j.off + int64(n), P: b[n:]}}); err != nil {
			return err
		}
		return r.chunk(ctx, j, b)
	}
	x, err := blosc.ParseIndex(head)
	if err != nil {
		return err
	}
	sel, err := j.pick(&h)
	if err != nil {
		return err
	}
	parts, total := partsOf(x, sel)
	r.held.give(held) // before the next is taken: nobody waits with bytes in hand
	if held, err = r.held.take(ctx, total); err != nil {
		return err
	}
	buf := bufpool.Get(total)
	defer bufpool.Put(buf)
	if err := r.fetch(ctx, phase+1, src, parts.spans(nil, j.off, buf, head)); err != nil {
		return err
	}
	return r.decodeParts(ctx, j, x, sel, parts, buf)
}

// wanting says that all of a chunk is to be read, whose first bytes are head.
func (r *reading) wanting(j *job, h *blosc.Header, head []byte) bool {
	return j.all() || !j.fits(h) || h.VL && j.to > 0 || h.CBytes <= len(head) || r.wholeNow(j, h)
}

// decodeParts decodes the blocks sel of a chunk out of what was read of it.
func (r *reading) decodeParts(ctx context.Context, j *job, x *blosc.Index, sel []int, parts parts, buf []byte) error {
	off, _ := x.Dict()
	dict := parts.find(buf, off)
	return r.decodeBlocks(ctx, j, x, sel, dict, func(i int) []byte {
		off, n := x.Block(i)
		if n == 0 {
			return nil
		}
		return parts.find(buf, off)
	})
}

const minChunkHeader = blosc.HeaderLen1

// wholeNow decides again when the chunk's own length and blocks are known.
func (r *reading) wholeNow(j *job, h *blosc.Header) bool {
	k := *j
	if k.bsize <= 0 || k.to > 0 {
		k.bsize = h.BlockBytes()
	}
	k.nbytes = h.NBytes
	return wholeAnyway(k.group(int64(h.CBytes)), r.f.o.Policy)
}

// read reads spans, dropping empty ones.
func read(ctx context.Context, src rangeio.Reader, spans []rangeio.Span) error {
	spans = slices.DeleteFunc(spans, func(s rangeio.Span) bool { return len(s.P) == 0 })
	if len(spans) == 0 {
		return nil
	}
	return src.ReadRanges(ctx, spans)
}

// head reads a chunk's header and as many bytes as its block starts take. The
// buffer is on loan, also with an error.
func (r *reading) head(ctx context.Context, j *job, src rangeio.Reader, phase int) ([]byte, blosc.Header, error) {
	b := bufpool.Get(int(j.headSize(j.most)))
	if err := r.fetch(ctx, phase, src, []rangeio.Span{{Off: j.off, P: b}}); err != nil {
		return b, blosc.Header{}, err
	}
	h, err := r.header(j, b, j.most)
	if err != nil || h.IndexLen() <= len(b) || j.all() || !j.fits(&h) {
		return b, h, err
	}
	more := bufpool.Get(h.IndexLen())
	n := copy(more, b)
	bufpool.Put(b)
	return more, h, r.fetch(ctx, phase+1, src, []rangeio.Span{{Off: j.off + int64(n), P: more[n:]}})
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

// spans appends what is to be read of a chunk at off to out; what is in head, the
// chunk's first bytes, is copied.
func (p parts) spans(out []rangeio.Span, off int64, buf, head []byte) []rangeio.Span {
	out = slices.Grow(out, len(p))
	for _, x := range p {
		b := buf[x.at : x.at+x.n]
		n := 0
		if x.off < len(head) {
			n = copy(b, head[x.off:])
		}
		out = append(out, rangeio.Span{Off: off + int64(x.off+n), P: b[n:]})
	}
	return out
}

// fill makes what is wanted of a chunk that is not stored.
func (r *reading) fill(ctx context.Context, j *job) error {
	kind, _ := special(r.f.table.at(j.chunk))
	if int64(j.nbytes) > r.f.o.Limits.MaxDecoded {
		return tooLarge(chunkName(j.chunk), -1, "%d decoded bytes, %d allowed", j.nbytes, r.f.o.Limits.MaxDecoded)
	}
	give := func(block, at, n int) error {
		return r.decoding(ctx, func() error {
			p := j.dst
			if p == nil {
				p = bufpool.Get(n)
				defer bufpool.Put(p)
			}
			fill(p[:n], kind, r.f.info.TypeSize)
			return r.give(j, block, at, p[:n])
		})
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
