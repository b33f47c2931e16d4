package b2nd

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/rangeio"
)

// DefaultSearchMemory is used if SearchOptions.Memory is 0.
const DefaultSearchMemory = 64 << 20

// SearchOptions tune Search.
type SearchOptions struct {
	// Memory bounds the decoded items that Search holds, besides the memory of ReadSlice.
	// 0 means DefaultSearchMemory.
	Memory int64
	// Reads is called before each read, with the number of its blocks. nil: not called.
	Reads func(blocks int)
}

// A Hit is some items of a box that match. Its slices are valid during the call only.
type Hit struct {
	At    []int64 // their places in the box, in row-major order from 0: ascending
	Items []byte  // the items, in the same order
}

// Index sets dst to the index in the array of the item at a place of a box, which is
// numbered in row-major order. dst has an element for each axis.
func Index(dst []int64, box Box, place int64) {
	for i := len(dst) - 1; i >= 0; i-- {
		n := max(box.Count(i), 1)
		dst[i] = box.Start[i] + place%n*box.Step[i]
		place /= n
	}
}

// A SearchReport says what a search reads.
type SearchReport struct {
	// Chunks and Blocks are how many have items of the box. ChunksRead and BlocksRead are
	// those that the search reads; a block counts again if it is read again.
	Chunks     int64 `json:"chunks"`
	ChunksRead int64 `json:"chunks_read"`
	Blocks     int64 `json:"blocks"`
	BlocksRead int64 `json:"blocks_read"`
	// Statistics is set if statistics said what need not be read. If there are some that
	// are not used, Unused says why.
	Statistics bool   `json:"statistics"`
	Unused     string `json:"unused,omitempty"`
}

// Search calls fn with the items of a box that match a predicate, in row-major order and
// some thousand at a time. The predicate must be bound to the type of the items. An error
// of fn is returned as it is.
//
// Chunks and blocks that cannot match by the statistics of the array are not read; see
// Statistics. All others are read and looked at, so what statistics say never makes an item
// match. Without statistics Search reads the whole box. The requests: none for statistics
// that came with the index, else one phase for those of chunks and one for those of
// blocks; then those of ReadSlice for the blocks that are left, in one read for half of
// SearchOptions.Memory of decoded bytes. Chunks that are not stored cost none.
func (a *Array) Search(ctx context.Context, box Box, p *predicate.Predicate, o SearchOptions, fn func(h Hit) error) (SearchReport, error) {
	s, err := a.search(ctx, box, p, o)
	if err != nil {
		return SearchReport{}, err
	}
	_, one := rangeio.Steps(ctx)
	for w := range s.windows() {
		if err := s.read(one, w); err != nil {
			return s.report, err
		}
		if err := s.emit(w, fn); err != nil {
			return s.report, err
		}
	}
	return s.report, context.Cause(ctx)
}

// ExplainSearch lists the requests that Search would make for payload, by the code of
// Search. It reads statistics and the places of blocks itself and does not list them.
func (a *Array) ExplainSearch(ctx context.Context, box Box, p *predicate.Predicate, o SearchOptions) ([]rangeio.Planned, SearchReport, error) {
	s, err := a.search(ctx, box, p, o)
	if err != nil {
		return nil, SearchReport{}, err
	}
	var out []rangeio.Planned
	_, one := rangeio.Steps(ctx)
	for w := range s.windows() {
		if wants := s.wants(w); len(wants) > 0 {
			list, err := a.f.ExplainConcurrent(one, wants)
			if err != nil {
				return nil, s.report, err
			}
			out = append(out, list...)
		}
	}
	return out, s.report, context.Cause(ctx)
}

// A search is one call of Search.
type search struct {
	a      *Array
	box    Box
	p      *predicate.Predicate
	o      SearchOptions
	sieve  *sieve
	zero   bool // an item of zeros matches
	report SearchReport
}

func (a *Array) search(ctx context.Context, box Box, p *predicate.Predicate, o SearchOptions) (*search, error) {
	if _, err := a.SizeOf(box); err != nil {
		return nil, err
	}
	if o.Memory <= 0 {
		o.Memory = DefaultSearchMemory
	}
	s := &search{a: a, box: box, p: p, o: o, zero: p.Mask(nil, make([]byte, a.g.item))[0] == 1}
	v, unused, err := a.sieve(ctx, box, p)
	if err != nil {
		return nil, err
	}
	s.sieve, s.report.Statistics = v, v.chunk != nil
	if unused != nil {
		s.report.Unused = unused.Error()
	}
	s.count()
	return s, nil
}

// count counts the chunks and blocks of the box.
func (s *search) count() {
	g := s.a.g
	if s.box.Empty() {
		return
	}
	s.report.Chunks, s.report.Blocks = 1, 1
	for i := range g.shape {
		chunks, blocks := int64(0), int64(0)
		lo, hi := s.box.Cover(i)
		step := max(s.box.Step[i], -s.box.Step[i])
		if least := (g.chunk[i]-1)%g.block[i] + 1; step <= least { // no cell lies between two items
			chunks = (hi-1)/g.chunk[i] - lo/g.chunk[i] + 1
			blocks = g.blockAlong(i, hi-1) - g.blockAlong(i, lo) + 1
		} else {
			lastChunk, lastBlock := int64(-1), int64(-1)
			for at := lo; at < hi; at += step {
				if c := at / g.chunk[i]; c != lastChunk {
					chunks, lastChunk = chunks+1, c
				}
				if b := g.blockAlong(i, at); b != lastBlock {
					blocks, lastBlock = blocks+1, b
				}
			}
		}
		s.report.Chunks *= chunks
		s.report.Blocks *= blocks
	}
}

// blockAlong returns the number of the block along an axis that has an item.
func (g *geometry) blockAlong(axis int, at int64) int64 {
	return at/g.chunk[axis]*g.blocks.Count[axis] + at%g.chunk[axis]/g.block[axis]
}

// A window is slabs whose blocks are read at once.
type window struct {
	slabs []Box
	need  map[int][]int          // blocks of each chunk, in any order, perhaps twice
	kept  map[blockID]*keptBlock // blocks that have items that match
	zeros bool                   // some slab has zeros that match
}

// A keptBlock has the items of a block, and a byte for each that is 1 if it matches.
type keptBlock struct{ items, flags []byte }

// windows yields windows with as many slabs as half of the memory has blocks for. Blocks
// are read once, unless a slab cuts them, which happens if not even a row of blocks fits
// into a quarter of the memory.
func (s *search) windows() func(yield func(*window) bool) {
	return func(yield func(*window) bool) {
		if s.sieve.none {
			return
		}
		w, bytes := &window{need: map[int][]int{}}, int64(0)
		g := s.a.g
		for slab := range s.a.Slabs(s.box, max(s.o.Memory/4, int64(g.item))) {
			bytes += s.needs(w, slab)
			if bytes >= s.o.Memory/2 {
				if !yield(w) {
					return
				}
				w, bytes = &window{need: map[int][]int{}}, 0
			}
		}
		if len(w.slabs) > 0 {
			yield(w)
		}
	}
}

// needs adds a slab to a window, if items of it may match. It returns the bytes of its
// blocks.
func (s *search) needs(w *window, slab Box) (bytes int64) {
	g := s.a.g
	hi := make([]int64, len(g.shape))
	some := false
	for n, origin := range g.chunks.Meet(slab, make([]int64, len(g.shape)), g.shape) {
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
				w.need[i] = append(w.need[i], int(k))
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
	for _, i := range slices.Sorted(maps.Keys(w.need)) {
		slices.Sort(w.need[i])
		w.need[i] = slices.Compact(w.need[i])
		want := cframe.Want{Chunk: i, BlockSize: g.blockBytes}
		if int64(len(w.need[i])) < g.blocks.Total {
			want.Blocks = w.need[i]
		}
		want.Kept = len(w.need[i]) * g.blockBytes
		total += len(w.need[i])
		wants = append(wants, want)
	}
	s.report.ChunksRead += int64(len(wants))
	s.report.BlocksRead += int64(total)
	if s.o.Reads != nil && total > 0 {
		s.o.Reads(total)
	}
	return wants
}

// read reads the blocks of a window and keeps those that have items that match.
func (s *search) read(ctx context.Context, w *window) error {
	wants := s.wants(w)
	if len(wants) == 0 {
		return context.Cause(ctx)
	}
	w.kept = map[blockID]*keptBlock{}
	g := s.a.g
	var mu sync.Mutex
	keep := func(chunk, block int, p []byte) {
		if b := s.look(p); b != nil {
			mu.Lock()
			w.kept[blockID{chunk, block}] = b
			mu.Unlock()
		}
	}
	return s.a.f.EachConcurrent(ctx, wants, func(want, block int, p []byte) error {
		chunk := wants[want].Chunk
		if block >= 0 {
			if len(p) != g.blockBytes {
				return corrupt(chunkName(int64(chunk)), "block %d of %d bytes, want %d", block, len(p), g.blockBytes)
			}
			keep(chunk, block, p)
			return nil
		}
		if len(p) != g.chunkBytes {
			return corrupt(chunkName(int64(chunk)), "%d bytes, want %d", len(p), g.chunkBytes)
		}
		for _, k := range w.need[chunk] {
			keep(chunk, k, p[k*g.blockBytes:][:g.blockBytes])
		}
		return nil
	})
}

// look returns a copy of a block if it has items that match, its padding included.
func (s *search) look(p []byte) *keptBlock {
	var buf [128]uint64 // of the usual 64 KiB
	mask := s.p.Mask(buf[:0], p)
	if !slices.ContainsFunc(mask, func(w uint64) bool { return w != 0 }) {
		return nil
	}
	b := &keptBlock{slices.Clone(p), make([]byte, len(p)/s.a.g.item)}
	for i := range b.flags {
		b.flags[i] = byte(mask[i/64] >> (i % 64) & 1)
	}
	return b
}

// hitsAtATime is how many items a Hit has at most.
const hitsAtATime = 4096

// emit calls fn with the items of the slabs of a window that match.
func (s *search) emit(w *window, fn func(h Hit) error) error {
	if len(w.kept) == 0 && !w.zeros {
		return nil
	}
	var items, flags []byte
	out := hits{item: s.a.g.item, fn: fn}
	for _, slab := range w.slabs {
		n, _ := slab.Items() // inside the array
		items, flags = grown(items, n*int64(s.a.g.item)), grown(flags, n)
		clear(flags)
		if !s.gather(w, slab, items, flags) {
			continue
		}
		if err := out.add(s.first(slab), items, flags); err != nil {
			return err
		}
	}
	return out.end()
}

func grown(p []byte, n int64) []byte {
	if int64(cap(p)) < n {
		return make([]byte, n)
	}
	return p[:n]
}

// first returns the place of the first item of a slab in the box.
func (s *search) first(slab Box) int64 {
	at := int64(0)
	for i := range slab.Start {
		at = at*s.box.Count(i) + (slab.Start[i]-s.box.Start[i])/s.box.Step[i]
	}
	return at
}

// gather puts the items of kept blocks, and of zeros if these match, into a slab. It
// returns false if there is none.
func (s *search) gather(w *window, slab Box, items, flags []byte) (some bool) {
	g := s.a.g
	values := newSliceRead(s.a, items, slab, 0, g.item)
	ones := s.flagsInto(flags, slab)
	sc := s.a.scratch.Get().(*scratch) // the pool has only *scratch
	defer s.a.scratch.Put(sc)
	hi := make([]int64, len(g.shape))
	for n, origin := range g.chunks.Meet(slab, make([]int64, len(g.shape)), g.shape) {
		i := int(n)
		g.end(hi, origin)
		if s.a.free(i) {
			if s.zero && s.sieve.mayMatch(i) && slab.Part(&sc.part, origin, hi) {
				clearPart(items, values.counts, &sc.part, g.item)
				setPart(flags, values.counts, &sc.part)
				some = true
			}
			continue
		}
		for _, k := range w.need[i] {
			if b := w.kept[blockID{i, k}]; b != nil {
				copy(sc.origin, origin)
				values.place(sc, k, b.items)
				ones.place(sc, k, b.flags)
				some = true
			}
		}
	}
	return some
}

// flagsInto returns a sliceRead that places bytes, one for each item.
func (s *search) flagsInto(flags []byte, slab Box) *sliceRead {
	g := *s.a.g
	g.item = 1
	return newSliceRead(&Array{g: &g}, flags, slab, 0, 1)
}

// setPart sets the part p of flags, an array of the shape counts, to 1.
func setPart(flags []byte, counts []int64, p *nd.Part) {
	strides := nd.Strides(counts, 1)
	off := int64(0)
	for i, o := range p.Out {
		off += o * strides[i]
	}
	nd.Copy(flags, off, strides, []byte{1}, 0, make([]int64, len(counts)), p.N, 1)
}

// hits gathers items until there are enough for a Hit.
type hits struct {
	item  int
	fn    func(h Hit) error
	at    []int64
	items []byte
}

// add adds the items whose flags are set. The first item is at the place from.
func (h *hits) add(from int64, items, flags []byte) error {
	for i, f := range flags {
		if f == 0 {
			continue
		}
		h.at = append(h.at, from+int64(i))
		h.items = append(h.items, items[i*h.item:][:h.item]...)
		if len(h.at) == hitsAtATime {
			if err := h.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *hits) end() error {
	if len(h.at) == 0 {
		return nil
	}
	err := h.fn(Hit{h.at, h.items})
	h.at, h.items = h.at[:0], h.items[:0]
	return err
}
