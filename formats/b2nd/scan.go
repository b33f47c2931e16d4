package b2nd

import (
	"context"
	"slices"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/rangeio"
)

// A Scan gives the items of a box block by block, as they are decoded and in no order.
// Its methods are safe for concurrent use.
type Scan struct {
	a      *Array
	box    Box
	p      *predicate.Predicate
	sieve  *sieve
	chunks []int
	zero   bool // an item of zeros matches
	report SearchReport
}

// A Piece is the items of a box in one block. Along axis i it has N[i] items; the first
// one is item Out[i] of the box. The first item of all is at Items[Off], the next one
// along axis i Step[i] bytes further. A Piece is valid during the call only.
type Piece struct {
	Out, N, Step []int64
	Off          int64
	Items        []byte   // the block
	Mask         []uint64 // bit i%64 of word i/64 is set if item i of the block matches; nil: all do
}

// Scan prepares to read the items of a box, or, if p is not nil, those that match it, as
// Search does: it asks the statistics of the array which chunks and blocks may have some.
// p must be bound to the type of the items.
func (a *Array) Scan(ctx context.Context, box Box, p *predicate.Predicate) (*Scan, error) {
	if _, err := a.SizeOf(box); err != nil {
		return nil, err
	}
	s := &Scan{a: a, box: box, p: p, sieve: &sieve{a: a}, zero: true}
	if p == nil {
		s.report.Chunks, s.report.Blocks = a.g.cells(box)
	} else {
		var err error
		if s.sieve, s.zero, s.report, err = a.sift(ctx, box, p); err != nil {
			return nil, err
		}
	}
	if box.Empty() {
		return s, context.Cause(ctx)
	}
	for n := range a.g.chunks.Meet(box, make([]int64, len(a.g.shape)), a.g.shape) {
		if c := int(n); s.sieve.mayMatch(c) && (s.zero || !a.free(c)) {
			s.chunks = append(s.chunks, c)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return s, context.Cause(ctx)
}

// Chunks returns the numbers of the chunks that may have items, in ascending order. The
// caller must not change them.
func (s *Scan) Chunks() []int { return s.chunks }

// HasAll reports whether all items of a chunk are in the box.
func (s *Scan) HasAll(chunk int) bool {
	_, n := s.Part(chunk)
	return slices.Equal(n, s.a.g.size(int64(chunk)))
}

// Report says what a scan of chunks reads, which are of Chunks.
func (s *Scan) Report(chunks []int) SearchReport {
	r := s.report
	for _, c := range chunks {
		if s.a.free(c) {
			continue
		}
		r.ChunksRead++
		r.BlocksRead += int64(len(s.blocks(c)))
	}
	return r
}

// Part returns which items of the box a chunk has: along axis i n[i] items from item out[i]
// of the box.
func (s *Scan) Part(chunk int) (out, n []int64) {
	var part nd.Part
	lo, hi := make([]int64, len(s.a.g.shape)), make([]int64, len(s.a.g.shape))
	s.a.g.origin(lo, int64(chunk))
	s.a.g.end(hi, lo)
	if !s.box.Part(&part, lo, hi) {
		return make([]int64, len(lo)), make([]int64, len(lo))
	}
	return part.Out, part.N
}

// blocks returns the blocks of a chunk that may have items.
func (s *Scan) blocks(chunk int) []int {
	out := []int{} // nil would mean all
	g := s.a.g
	lo, hi := make([]int64, len(g.shape)), make([]int64, len(g.shape))
	g.origin(lo, int64(chunk))
	g.end(hi, lo)
	for k := range g.blocks.Meet(s.box, lo, hi) {
		if s.sieve.has(chunk, int(k)) {
			out = append(out, int(k))
		}
	}
	return out
}

// Each reads chunks, which must be of Chunks, and calls fn with each of their blocks that
// has items, from several goroutines at a time. The requests and the memory are those of
// cframe.Frame.EachConcurrent for these blocks; chunks of zeros cost none. An error of fn
// ends it and is returned as it is.
func (s *Scan) Each(ctx context.Context, chunks []int, fn func(p *Piece) error) error {
	_, one := rangeio.Steps(ctx)
	for len(chunks) > 0 {
		var wants []cframe.Want
		var zeros []int
		blocks := 0
		for len(chunks) > 0 && len(wants) < batchChunks && blocks < batchBlocks {
			c := chunks[0]
			chunks = chunks[1:]
			if v := s.a.f.SpecialIfKnown(c); v == blosc.Zeros || v == blosc.Uninit {
				zeros = append(zeros, c)
				continue
			}
			w := cframe.Want{Chunk: c, BlockSize: s.a.g.blockBytes, Blocks: s.blocks(c)}
			blocks += len(w.Blocks)
			if int64(len(w.Blocks)) == s.a.g.blocks.Total {
				w.Blocks = nil
			}
			wants = append(wants, w)
		}
		if err := s.zeros(ctx, zeros, fn); err != nil {
			return err
		}
		if len(wants) == 0 {
			continue
		}
		if err := s.a.f.EachConcurrent(one, wants, func(want, block int, p []byte) error {
			return s.decoded(&wants[want], block, p, fn)
		}); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}

// zeros gives the blocks of chunks of zeros.
func (s *Scan) zeros(ctx context.Context, chunks []int, fn func(p *Piece) error) error {
	if len(chunks) == 0 {
		return nil
	}
	p := make([]byte, s.a.g.blockBytes)
	for _, c := range chunks {
		for _, k := range s.blocks(c) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := s.piece(c, k, p, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// decoded gives a decoded block, or those of a decoded chunk.
func (s *Scan) decoded(w *cframe.Want, block int, p []byte, fn func(p *Piece) error) error {
	g := s.a.g
	if block >= 0 {
		if len(p) != g.blockBytes {
			return corrupt(chunkName(int64(w.Chunk)), "block %d of %d bytes, want %d", block, len(p), g.blockBytes)
		}
		return s.piece(w.Chunk, block, p, fn)
	}
	if len(p) != g.chunkBytes {
		return corrupt(chunkName(int64(w.Chunk)), "%d bytes, want %d", len(p), g.chunkBytes)
	}
	blocks := w.Blocks
	if blocks == nil {
		blocks = s.blocks(w.Chunk)
	}
	for _, k := range blocks {
		if err := s.piece(w.Chunk, k, p[k*g.blockBytes:][:g.blockBytes], fn); err != nil {
			return err
		}
	}
	return nil
}

// piece gives a block with bytes p, unless none of its items matches.
func (s *Scan) piece(chunk, block int, p []byte, fn func(p *Piece) error) error {
	out := Piece{Items: p}
	var buf [128]uint64 // of the usual 64 KiB
	if s.p != nil {
		if out.Mask = s.p.Mask(buf[:0], p); !some(out.Mask) {
			return nil // perhaps the padding did
		}
	}
	g := s.a.g
	sc := s.a.scratch.Get().(*scratch) // the pool has only *scratch
	defer s.a.scratch.Put(sc)
	g.origin(sc.origin, int64(chunk))
	g.blockOrigin(sc.lo, sc.origin, int64(block))
	for i, lo := range sc.lo {
		sc.hi[i] = min(lo+g.block[i], sc.origin[i]+g.chunk[i], g.shape[i])
	}
	if !s.box.Part(&sc.part, sc.lo, sc.hi) {
		return nil
	}
	step := int64(g.item)
	for i, at := range slices.Backward(sc.part.At) {
		out.Off += at * step
		sc.srcStep[i] = step * s.box.Step[i]
		step *= g.block[i]
	}
	out.Out, out.N, out.Step = sc.part.Out, sc.part.N, sc.srcStep
	return fn(&out)
}

// Explain lists the requests that Each would make for chunks, by the code of Each. It
// makes the requests for the places of blocks itself and does not list them.
func (s *Scan) Explain(ctx context.Context, chunks []int) ([]rangeio.Planned, error) {
	var wants []cframe.Want
	for _, c := range chunks {
		if s.a.free(c) {
			continue
		}
		w := cframe.Want{Chunk: c, BlockSize: s.a.g.blockBytes, Blocks: s.blocks(c)}
		if int64(len(w.Blocks)) == s.a.g.blocks.Total {
			w.Blocks = nil
		}
		wants = append(wants, w)
	}
	if len(wants) == 0 {
		return nil, nil
	}
	_, one := rangeio.Steps(ctx)
	return s.a.f.ExplainConcurrent(one, wants)
}
