package b2nd

import (
	"context"
	"fmt"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/rangeio"
)

// A batch is the chunks of one planned read, at most so many chunks or blocks.
// The limits bound the memory of a plan; both are far above what one read can
// keep in flight.
const (
	batchChunks = 1 << 14
	batchBlocks = 1 << 18
)

// ReadSlice reads the items of a box into dst in row-major order of the shape
// box.Counts(). dst must have exactly SizeOf(box) bytes. Items keep their stored byte
// order: numbers of a big-endian type stay big-endian.
//
// ReadSlice reads only chunks, and blocks of chunks, that hold selected items, in the
// phases of cframe.Frame.EachConcurrent. Chunks of zeros, which have no bytes in the
// frame, cost no request. A slice of more than 16384 chunks, or of 262144 blocks, is read
// in parts, one after another. Blocks are decoded in parallel. A chunk whose items are
// one run of dst is decoded straight into dst. The memory is that of
// cframe.Frame.EachConcurrent, and a few bytes for each block. After an error the content
// of dst is undefined.
func (a *Array) ReadSlice(ctx context.Context, dst []byte, box Box) error {
	return a.read(ctx, dst, box, 0, a.g.item)
}

// ReadField reads one member of structured items, as ReadSlice reads whole
// items; see Field. dst must have exactly f.Size() bytes for each item of the
// box. ReadField costs the same requests as ReadSlice, since the members of an
// item are stored together.
func (a *Array) ReadField(ctx context.Context, dst []byte, box Box, f dtype.Field) error {
	if size := f.Size(); f.Off < 0 || size < 1 || f.Off > a.g.item-size {
		return fmt.Errorf("%s: a member of %d bytes at %d of items of %d", Format, f.Size(), f.Off, a.g.item)
	}
	return a.read(ctx, dst, box, f.Off, f.Size())
}

// Field returns the member of a structured type with the given name. If there
// is no such member, the error matches formats.ErrNoEntry.
func (a *Array) Field(name string) (dtype.Field, error) {
	f, ok := a.dtype.Field(name)
	if !ok {
		return f, fail(fmt.Sprintf("field %q", name), formats.ErrNoEntry, "items are %s", a.dtype)
	}
	return f, nil
}

func (a *Array) read(ctx context.Context, dst []byte, box Box, off, size int) error {
	n, err := a.sizeOf(box, size)
	if err != nil {
		return err
	}
	if int64(len(dst)) != n {
		return fmt.Errorf("%s: %d bytes for a slice of %d", Format, len(dst), n)
	}
	if n == 0 {
		return nil
	}
	r := newSliceRead(a, dst, box, off, size)
	return r.each(ctx, func(ctx context.Context, wants []cframe.Want) error {
		if wants = r.cached(wants); len(wants) == 0 {
			return nil
		}
		return a.f.EachCut(ctx, wants, func(want, block, n int) (blosc.Cut, bool) { return r.cut(&wants[want], block, n) },
			func(want, block int, p []byte) error { return r.done(&wants[want], block, p) })
	})
}

// each calls read with one batch after another. All batches count as one step
// of phases.
func (r *sliceRead) each(ctx context.Context, read func(ctx context.Context, wants []cframe.Want) error) error {
	_, one := rangeio.Steps(ctx)
	for wants := range r.batches(func() bool { return ctx.Err() != nil }) {
		if err := read(one, wants); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// A sliceRead is one call of ReadSlice or ReadField. Several goroutines may use
// it: each block has its own part of dst.
type sliceRead struct {
	a       *Array
	dst     []byte
	box     Box
	counts  []int64 // shape of dst
	strides []int64 // strides of dst in bytes
	off     int     // offset of the wanted bytes in an item
	size    int
	unit    bool // whole items, and step 1 along every axis
}

func newSliceRead(a *Array, dst []byte, box Box, off, size int) *sliceRead {
	r := &sliceRead{a: a, dst: dst, box: box, counts: box.Counts(), off: off, size: size}
	r.strides = nd.Strides(r.counts, size)
	r.unit = size == a.g.item
	for i := range box.Step {
		r.unit = r.unit && (box.Step[i] == 1 || r.counts[i] <= 1)
	}
	return r
}

// batches yields batches of chunks to read. Chunks of zeros are not in a batch:
// batches zeroes their part of dst.
func (r *sliceRead) batches(stopped func() bool) func(yield func([]cframe.Want) bool) {
	return func(yield func([]cframe.Want) bool) {
		g := r.a.g
		d := len(g.shape)
		zero, hi := make([]int64, d), make([]int64, d)
		var part nd.Part
		var wants []cframe.Want
		var blocks []int
		for n, origin := range g.chunks.Meet(r.box, zero, g.shape) {
			if len(wants) >= batchChunks || len(blocks) >= batchBlocks {
				if !yield(wants) {
					return
				}
				wants, blocks = nil, nil // the last batch may still be in use
			}
			g.end(hi, origin)
			r.box.Part(&part, origin, hi)
			i := int(n)
			if s := r.a.f.SpecialIfKnown(i); s == blosc.Zeros || s == blosc.Uninit {
				if stopped() {
					return
				}
				clearPart(r.dst, r.counts, &part, r.size)
				continue
			}
			w := cframe.Want{Chunk: i, BlockSize: g.blockBytes}
			w.Dst, w.HasDst = r.direct(&part)
			if r.dst != nil {
				w.Kept = r.size
				for _, n := range part.N {
					w.Kept *= int(n)
				}
			}
			if !w.HasDst && g.blocks.Total > 1 {
				from := len(blocks)
				for k := range g.blocks.Meet(r.box, origin, hi) {
					blocks = append(blocks, int(k))
				}
				if n := len(blocks) - from; int64(n) == g.blocks.Total {
					blocks = blocks[:from]
				} else {
					w.Blocks = blocks[from:len(blocks):len(blocks)]
				}
			}
			wants = append(wants, w)
		}
		if len(wants) > 0 {
			yield(wants)
		}
	}
}

// direct returns the part of dst to decode a whole chunk into. There is none if the
// bytes of the chunk are in another order there, or only partly wanted. A plan has no
// dst.
func (r *sliceRead) direct(p *nd.Part) (dst []byte, ok bool) {
	g := r.a.g
	if !r.unit || !g.rowMajor || !slices.Equal(p.N, g.ext) || !dense(p.N, r.counts) {
		return nil, false
	}
	if len(r.dst) == 0 {
		return nil, true
	}
	at := int64(0)
	for i, o := range p.Out {
		at += o * r.strides[i]
	}
	return r.dst[at : at+int64(g.chunkBytes) : at+int64(g.chunkBytes)], true
}

// A scratch has the slices that place needs. It is reused.
type scratch struct {
	part           nd.Part
	origin, lo, hi []int64
	srcStep        []int64
}

func newScratch(d int) *scratch {
	s := make([]int64, 4*d)
	return &scratch{origin: s[:d], lo: s[d : 2*d], hi: s[2*d : 3*d], srcStep: s[3*d:]}
}

// done takes a decoded block, or a whole decoded chunk if block is negative.
func (r *sliceRead) done(w *cframe.Want, block int, p []byte) error {
	g := r.a.g
	if w.Dst != nil {
		if len(p) != g.chunkBytes {
			return corrupt(chunkName(int64(w.Chunk)), "%d bytes, want %d", len(p), g.chunkBytes)
		}
		return nil
	}
	s := r.a.scratch.Get().(*scratch) // the pool has only *scratch
	defer r.a.scratch.Put(s)
	g.origin(s.origin, int64(w.Chunk))
	if block >= 0 {
		if len(p) != g.blockBytes {
			return corrupt(chunkName(int64(w.Chunk)), "block %d of %d bytes, want %d", block, len(p), g.blockBytes)
		}
		r.place(s, block, p)
		r.keep(w.Chunk, block, p)
		return nil
	}
	if len(p) != g.chunkBytes {
		return corrupt(chunkName(int64(w.Chunk)), "%d bytes, want %d", len(p), g.chunkBytes)
	}
	n := len(w.Blocks)
	if w.Blocks == nil {
		n = int(g.blocks.Total)
	}
	for i := range n {
		k := i
		if w.Blocks != nil {
			k = w.Blocks[i]
		}
		q := p[k*g.blockBytes:][:g.blockBytes]
		r.place(s, k, q)
		r.keep(w.Chunk, k, q)
	}
	return nil
}

// place copies the selected items of block k, in the chunk at s.origin, to dst.
func (r *sliceRead) place(s *scratch, k int, p []byte) {
	if src, dst, ok := r.locate(s, k); ok {
		nd.Copy(r.dst, dst, r.strides, p, src, s.srcStep, s.part.N, r.size)
	}
}

// locate finds the selected items of block k, in the chunk at s.origin: the places of the first
// one in the block and in dst. s.part.N has how many there are along each axis, s.srcStep how
// far apart they are in the block. ok is false if there are none.
func (r *sliceRead) locate(s *scratch, k int) (src, dst int64, ok bool) {
	g := r.a.g
	g.blockOrigin(s.lo, s.origin, int64(k))
	for i, lo := range s.lo {
		s.hi[i] = min(lo+g.block[i], s.origin[i]+g.chunk[i], g.shape[i])
	}
	if !r.box.Part(&s.part, s.lo, s.hi) {
		return 0, 0, false
	}
	src, step := int64(r.off), int64(g.item)
	for i := len(s.lo) - 1; i >= 0; i-- {
		src += s.part.At[i] * step
		dst += s.part.Out[i] * r.strides[i]
		s.srcStep[i] = step
		if s.part.N[i] > 1 {
			s.srcStep[i] *= r.box.Step[i]
		}
		step *= g.block[i]
	}
	return src, dst, true
}

// clearPart zeroes the part p of dst, an array of the shape counts.
func clearPart(dst []byte, counts []int64, p *nd.Part, size int) {
	if len(dst) == 0 {
		return
	}
	d := len(counts)
	run, k := int64(size), d // the items along the axes from k on are adjacent
	for k > 0 {
		k--
		run *= p.N[k]
		if p.N[k] != counts[k] {
			break
		}
	}
	strides := nd.Strides(counts, size)
	off := int64(0)
	for i, o := range p.Out {
		off += o * strides[i]
	}
	at := make([]int64, k)
	for {
		clear(dst[off : off+run])
		i := k - 1
		for ; i >= 0; i-- {
			at[i]++
			off += strides[i]
			if at[i] < p.N[i] {
				break
			}
			off -= at[i] * strides[i]
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}
