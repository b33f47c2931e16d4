package b2nd

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"sort"
	"sync"

	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/nd"
)

// A window is slabs whose blocks are read at once.
type window struct {
	slabs []Box
	need  map[int][]wanted     // blocks of each chunk, by slab
	block map[int][]wanted     // the same, by block
	kept  map[keptID]*keptPart // parts of blocks that have items that match
	zeros bool                 // some slab has zeros that match
}

// A wanted is a block of a chunk that a slab needs. Of two slabs that cut a block, each
// needs it.
type wanted struct{ slab, block int }

type keptID struct {
	chunk int
	wanted
}

// A keptPart is the items of a block that a slab has, in row-major order, and a mask of
// those that match.
type keptPart struct {
	items []byte
	mask  []uint64
}

// flags appends a byte for each item, which is 1 if it matches.
func (b *keptPart) flags(dst []byte, item int) []byte {
	for i := range len(b.items) / item {
		dst = append(dst, byte(b.mask[i/64]>>(i%64)&1))
	}
	return dst
}

// ofSlab returns the blocks of a chunk that slab n needs.
func (w *window) ofSlab(chunk, n int) []wanted {
	return run(w.need[chunk], func(x wanted) int { return x.slab - n })
}

// ofBlock returns which slabs need a block of a chunk.
func (w *window) ofBlock(chunk, block int) []wanted {
	return run(w.block[chunk], func(x wanted) int { return x.block - block })
}

// run returns the elements of a sorted list for which the comparison is 0.
func run(all []wanted, compare func(wanted) int) []wanted {
	from := sort.Search(len(all), func(i int) bool { return compare(all[i]) >= 0 })
	to := sort.Search(len(all), func(i int) bool { return compare(all[i]) > 0 })
	return all[from:to]
}

// windows yields windows with as many slabs as half of the memory has blocks for, and after the first
// one as a quarter has, until the
// end of ctx. Blocks are read once, unless a slab cuts them, which happens if not even a row
// of blocks fits into an eighth of the memory. Then, too, a window keeps no more than the
// items of its slabs.
func (s *search) windows(ctx context.Context) iter.Seq[*window] {
	return func(yield func(*window) bool) {
		if s.sieve.none {
			return
		}
		w, bytes, most := &window{need: map[int][]wanted{}}, int64(0), s.o.Memory/2
		for slab := range s.slabs() {
			bytes += s.needs(ctx, w, slab)
			if ctx.Err() != nil {
				return // with w half made
			}
			if bytes >= most {
				if !yield(w) {
					return
				}
				most = s.o.Memory / 4 // two are held at a time
				w, bytes = &window{need: map[int][]wanted{}}, 0
			}
		}
		if len(w.slabs) > 0 {
			yield(w)
		}
	}
}

// slabs cuts the box into slabs of an eighth of the memory, blocks not wanted whole
// counted whole: as many rows of blocks as that has room for, at least one.
func (s *search) slabs() iter.Seq[Box] {
	g := s.a.g
	most := max(s.o.Memory/8, int64(g.item))
	return func(yield func(Box) bool) {
		for slab := range s.a.Slabs(s.box, most) {
			fit := s.fitting(slab, most)
			if fit == 0 {
				if !yield(slab) {
					return
				}
				continue
			}
			for part := range s.a.Slabs(slab, fit) {
				if !yield(part) {
					return
				}
			}
		}
	}
}

// fitting returns how many bytes of items a part of a slab may have, so that its blocks
// have no more bytes than most, if that cuts no block. It returns 0 if the slab may stay
// whole, or cannot be cut so.
func (s *search) fitting(slab Box, most int64) int64 {
	g := s.a.g
	axis, counts := 0, slab.Counts()
	for axis < len(counts) && counts[axis] == 1 {
		axis++
	}
	_, blocks := g.cells(slab)
	if axis == len(counts) || blocks <= most/int64(g.blockBytes) {
		return 0
	}
	_, rows := g.cellsAlong(slab, axis)
	fit := most / int64(g.blockBytes) / (blocks / rows) // rows of blocks
	if fit = max(fit, 1); fit >= rows {
		return 0
	}
	// Slabs ends a part at the last end of a block, so that this many items are enough.
	step := max(slab.Step[axis], -slab.Step[axis])
	items := (fit*g.block[axis]-1)/step + 1
	if step >= g.block[axis] {
		items = fit // each in a block of its own
	}
	for _, n := range counts[axis+1:] {
		items *= n
	}
	return items * int64(g.item)
}

// needs adds a slab to a window, if items of it may match. It returns the bytes of its
// blocks. At the end of ctx it stops halfway.
func (s *search) needs(ctx context.Context, w *window, slab Box) (bytes int64) {
	g := s.a.g
	hi := make([]int64, len(g.shape))
	some := false
	for n, origin := range g.chunks.Meet(slab, make([]int64, len(g.shape)), g.shape) {
		if ctx.Err() != nil {
			return bytes
		}
		i := int(n)
		if !s.sieve.mayMatch(i) {
			continue
		}
		if s.a.free(i) {
			some, w.zeros = some || s.zero, w.zeros || s.zero
			continue
		}
		g.end(hi, origin)
		for k := range g.blocks.Meet(slab, origin, hi) {
			if s.sieve.has(i, int(k)) {
				w.need[i] = append(w.need[i], wanted{len(w.slabs), int(k)})
				bytes += int64(g.blockBytes)
				some = true
			}
		}
	}
	if some {
		w.slabs = append(w.slabs, slab)
	}
	return bytes
}

// wants lists the blocks of a window, and counts them.
func (s *search) wants(w *window) []cframe.Want {
	g := s.a.g
	wants := make([]cframe.Want, 0, len(w.need))
	total := 0
	w.block = make(map[int][]wanted, len(w.need))
	for _, i := range slices.Sorted(maps.Keys(w.need)) {
		all := slices.Clone(w.need[i])
		slices.SortStableFunc(all, func(a, b wanted) int { return cmp.Compare(a.block, b.block) })
		w.block[i] = all
		var blocks []int
		for k, x := range all {
			if k == 0 || x.block != all[k-1].block {
				blocks = append(blocks, x.block)
			}
		}
		want := cframe.Want{Chunk: i, BlockSize: g.blockBytes, Kept: len(blocks) * g.blockBytes}
		if int64(len(blocks)) < g.blocks.Total {
			want.Blocks = blocks
		}
		total += len(blocks)
		wants = append(wants, want)
	}
	s.report.ChunksRead += int64(len(wants))
	s.report.BlocksRead += int64(total)
	if s.o.Reads != nil && total > 0 {
		s.o.Reads(total)
	}
	return wants
}

// read reads the blocks of a window, wants, and keeps the items of the slabs in those that have
// some that match.
func (s *search) read(ctx context.Context, w *window, wants []cframe.Want) error {
	if len(wants) == 0 {
		return context.Cause(ctx)
	}
	w.kept = map[keptID]*keptPart{}
	g := s.a.g
	var mu sync.Mutex
	return s.a.f.EachConcurrent(ctx, wants, func(want, block int, p []byte) error {
		chunk := wants[want].Chunk
		if block >= 0 {
			if len(p) != g.blockBytes {
				return corrupt(chunkName(int64(chunk)), "block %d of %d bytes, want %d", block, len(p), g.blockBytes)
			}
			s.keep(w, &mu, chunk, w.ofBlock(chunk, block), p)
			return nil
		}
		if len(p) != g.chunkBytes {
			return corrupt(chunkName(int64(chunk)), "%d bytes, want %d", len(p), g.chunkBytes)
		}
		for all := w.block[chunk]; len(all) > 0; {
			of := w.ofBlock(chunk, all[0].block)
			s.keep(w, &mu, chunk, of, p[of[0].block*g.blockBytes:][:g.blockBytes])
			all = all[len(of):]
		}
		return nil
	})
}

// keep keeps the items of slabs in a block, of those slabs of which some items match.
func (s *search) keep(w *window, mu *sync.Mutex, chunk int, slabs []wanted, p []byte) {
	var buf [128]uint64 // of the usual 64 KiB
	mask := s.p.Mask(buf[:0], p)
	if !some(mask) {
		return // perhaps the padding did
	}
	sc := s.a.scratch.Get().(*scratch) // the pool has only *scratch
	defer s.a.scratch.Put(sc)
	for _, x := range slabs {
		b := &keptPart{items: s.part(sc, &w.slabs[x.slab], chunk, x.block, p)}
		if len(b.items) == len(p) && w.slabs[x.slab].Unit() { // the same order, too
			b.mask = slices.Clone(mask)
		} else if b.mask = s.p.Mask(nil, b.items); !some(b.mask) {
			continue
		}
		mu.Lock()
		w.kept[keptID{chunk, x}] = b
		mu.Unlock()
	}
}

func some(mask []uint64) bool {
	return slices.ContainsFunc(mask, func(w uint64) bool { return w != 0 })
}

// part returns a copy of the items of a block, with bytes p, that a slab has.
func (s *search) part(sc *scratch, slab *Box, chunk, block int, p []byte) []byte {
	g := s.a.g
	g.origin(sc.origin, int64(chunk))
	s.meet(sc, slab, block)
	n, _ := nd.Prod(sc.part.N) // inside the block
	out := make([]byte, n*int64(g.item))
	src, step := int64(0), int64(g.item)
	for i := len(sc.lo) - 1; i >= 0; i-- {
		src += sc.part.At[i] * step
		sc.srcStep[i] = step
		if sc.part.N[i] > 1 {
			sc.srcStep[i] *= slab.Step[i]
		}
		step *= g.block[i]
	}
	nd.Copy(out, 0, nd.Strides(sc.part.N, g.item), p, src, sc.srcStep, sc.part.N, g.item)
	return out
}

// meet sets the part of a scratch to what a slab has of a block that it meets, in the
// chunk at its origin.
func (s *search) meet(sc *scratch, slab *Box, block int) {
	g := s.a.g
	g.blockOrigin(sc.lo, sc.origin, int64(block))
	for i, lo := range sc.lo {
		sc.hi[i] = min(lo+g.block[i], sc.origin[i]+g.chunk[i], g.shape[i])
	}
	slab.Part(&sc.part, sc.lo, sc.hi)
}
