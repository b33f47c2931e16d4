package b2nd

import (
	"context"
	"iter"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/rangeio"
)

// DefaultSearchMemory is used if SearchOptions.Memory is 0.
const DefaultSearchMemory = 64 << 20

// SearchOptions tune Search.
type SearchOptions struct {
	// Memory bounds the decoded items of the box that Search holds, besides the memory of
	// ReadSlice and some hundred bytes for each block of a read. 0 means DefaultSearchMemory.
	Memory int64
	// Reads is called before each read, with the number of its blocks. After the first read that is before
	// what was read before has been given. nil: not called.
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
// of fn is returned as it is. fn is not called after the end of ctx.
//
// Chunks and blocks that cannot match by the statistics of the array are not read; see
// Statistics. All others are read and looked at, so what statistics say never makes an item
// match. Without statistics Search reads the whole box. The requests: none for statistics
// that came with the index, else one phase for those of chunks and one for those of
// blocks, with the block starts of those chunks; then those of ReadSlice for the blocks that are left, first in one read for half of
// SearchOptions.Memory of decoded bytes, or for a row of blocks if that is longer; then a quarter in each, two at a time. Chunks that are not stored cost none.
func (a *Array) Search(ctx context.Context, box Box, p *predicate.Predicate, o SearchOptions, fn func(h Hit) error) (SearchReport, error) {
	s, err := a.search(ctx, box, p, o)
	if err != nil {
		return SearchReport{}, err
	}
	if err := s.each(ctx, func(w *window) error { return s.emit(ctx, w, fn) }); err != nil {
		return s.report, err
	}
	return s.report, context.Cause(ctx)
}

// each reads the windows and calls fn with each, in order. After the first one, with which
// fn may have had enough, two are read at the same time, so that the next one is on its way
// while the server's answers to one end, and while fn has it.
func (s *search) each(ctx context.Context, fn func(w *window) error) error {
	ctx, cancel := context.WithCancel(ctx)
	next, stop := iter.Pull(s.windows(ctx))
	var flight []chan error
	defer stop()
	defer func() {
		cancel()
		for _, done := range flight {
			if err := <-done; err != nil {
				continue // what it read is not wanted
			}
		}
	}()
	_, one := rangeio.Steps(ctx)
	var ahead []*window
	for most := 1; ; most = 2 {
		for len(ahead) < most {
			w, ok := next()
			if !ok {
				break
			}
			wants, done := s.wants(w), make(chan error, 1)
			ahead, flight = append(ahead, w), append(flight, done)
			go func() { done <- s.read(one, w, wants) }()
		}
		if len(ahead) == 0 {
			return nil
		}
		w, done := ahead[0], flight[0]
		ahead, flight = ahead[1:], flight[1:]
		if err := <-done; err != nil {
			return err
		}
		if err := fn(w); err != nil {
			return err
		}
	}
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
	for w := range s.windows(ctx) {
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
	s := &search{a: a, box: box, p: p, o: o}
	var err error
	s.sieve, s.zero, s.report, err = a.sift(ctx, box, p)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// sift asks the statistics of the array where in a box items may match, and says whether items of zeros do. The
// report has what is known before any chunk is read.
func (a *Array) sift(ctx context.Context, box Box, p *predicate.Predicate) (v *sieve, zero bool, r SearchReport, err error) {
	v, unused, err := a.sieve(ctx, box, p)
	if err != nil {
		return nil, false, r, err
	}
	r.Statistics = v.chunk != nil
	if unused != nil {
		r.Unused = index.Reason(unused)
	}
	r.Chunks, r.Blocks = a.g.cells(box)
	return v, p.Mask(nil, make([]byte, a.g.item))[0] == 1, r, nil
}

// cells counts the chunks and blocks that have items of a box.
func (g *geometry) cells(box Box) (chunks, blocks int64) {
	if box.Empty() {
		return 0, 0
	}
	chunks, blocks = 1, 1
	for i := range g.shape {
		c, b := g.cellsAlong(box, i)
		chunks *= c
		blocks *= b
	}
	return chunks, blocks
}

// cellsAlong counts the chunks and blocks along an axis that have items of a box.
func (g *geometry) cellsAlong(box Box, i int) (chunks, blocks int64) {
	lo, hi := box.Cover(i)
	step := max(box.Step[i], -box.Step[i])
	if least := (g.chunk[i]-1)%g.block[i] + 1; step <= least { // no cell lies between two items
		return (hi-1)/g.chunk[i] - lo/g.chunk[i] + 1, g.blockAlong(i, hi-1) - g.blockAlong(i, lo) + 1
	}
	lastChunk, lastBlock := int64(-1), int64(-1)
	for at := lo; at < hi; at += step {
		if c := at / g.chunk[i]; c != lastChunk {
			chunks, lastChunk = chunks+1, c
		}
		if b := g.blockAlong(i, at); b != lastBlock {
			blocks, lastBlock = blocks+1, b
		}
	}
	return chunks, blocks
}

// blockAlong returns the number of the block along an axis that has an item.
func (g *geometry) blockAlong(axis int, at int64) int64 {
	return at/g.chunk[axis]*g.blocks.Count[axis] + at%g.chunk[axis]/g.block[axis]
}

// hitsAtATime is how many items a Hit has at most.
const hitsAtATime = 4096

// emit calls fn with the items of the slabs of a window that match.
func (s *search) emit(ctx context.Context, w *window, fn func(h Hit) error) error {
	if len(w.kept) == 0 && !w.zeros {
		return nil
	}
	var items, flags []byte
	out := hits{item: s.a.g.item, fn: func(h Hit) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fn(h)
	}}
	for n, slab := range w.slabs {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		count, _ := slab.Items() // inside the array
		items, flags = grown(items, count*int64(s.a.g.item)), grown(flags, count)
		clear(flags)
		if !s.gather(w, n, items, flags) {
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

// gather puts the kept items, and zeros if these match, into slab n. It returns false if
// there is none.
func (s *search) gather(w *window, n int, items, flags []byte) (some bool) {
	g, slab := s.a.g, &w.slabs[n]
	counts := slab.Counts()
	strides, ones := nd.Strides(counts, g.item), nd.Strides(counts, 1)
	sc := s.a.scratch.Get().(*scratch) // the pool has only *scratch
	defer s.a.scratch.Put(sc)
	part, hi := &sc.part, make([]int64, len(g.shape))
	var set []byte
	for i, origin := range g.chunks.Meet(*slab, make([]int64, len(g.shape)), g.shape) {
		chunk := int(i)
		g.end(hi, origin)
		if s.a.free(chunk) {
			if s.zero && s.sieve.mayMatch(chunk) && slab.Part(part, origin, hi) {
				clearPart(items, counts, part, g.item)
				setPart(flags, counts, part)
				some = true
			}
			continue
		}
		for _, x := range w.ofSlab(chunk, n) {
			b := w.kept[keptID{chunk, x}]
			if b == nil {
				continue
			}
			some = true
			copy(sc.origin, origin)
			s.meet(sc, slab, x.block)
			set = b.flags(set[:0], g.item)
			nd.Copy(items, offset(part.Out, strides), strides, b.items, 0, nd.Strides(part.N, g.item), part.N, g.item)
			nd.Copy(flags, offset(part.Out, ones), ones, set, 0, nd.Strides(part.N, 1), part.N, 1)
		}
	}
	return some
}

// offset returns where the item with index at is.
func offset(at, strides []int64) (off int64) {
	for i, k := range at {
		off += k * strides[i]
	}
	return off
}

// setPart sets the part p of flags, an array of the shape counts, to 1.
func setPart(flags []byte, counts []int64, p *nd.Part) {
	strides := nd.Strides(counts, 1)
	nd.Copy(flags, offset(p.Out, strides), strides, []byte{1}, 0, make([]int64, len(counts)), p.N, 1)
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
