package cframe

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync/atomic"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/frameindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// A lateTable is the offsets of a frame that Open has not read, since the index of the
// frame has them in pages. Frames share it.
type lateTable struct {
	loading gate // held while the offsets chunk is read
	full    atomic.Pointer[table]
}

const (
	mostPlaced = 1 << 16 // chunks whose places are looked up one by one
	mostAhead  = 64      // chunks that are read with the pages that tell where they are
)

// An ask names a chunk, and how many of its decoded bytes will be read: wholeChunk, or
// none, if only its place is of interest.
type ask struct {
	chunk int
	bytes int64
}

const wholeChunk = -1

// openLate opens the index, if Open has not read the offsets chunk yet and can do without
// it. It returns false if the offsets chunk must be read. n is the number of chunks, or
// negative if only the offsets chunk tells it, or the index.
func (f *Frame) openLate(ctx context.Context, k *known, n int64) (bool, error) {
	in := &f.info
	if in.Sparse || in.NBytes == 0 || f.trailerLen == 0 {
		return false, nil
	}
	if _, ok := k.get(in.indexOff(), f.trailerOff-in.indexOff()); ok {
		return false, nil
	}
	f.table = table{n: int(n), end: in.CBytes}
	err := f.openInside(ctx, k)
	if err == nil && f.heads.used() == nil && f.heads.side != nil {
		err = f.OpenSidecar(ctx)
	}
	ix := f.heads.used()
	if err != nil || ix == nil || !ix.HasPlaces() {
		return false, err
	}
	if n < 0 {
		if _, err := checkChunks(int64(ix.Chunks()), f.o.Limits); err != nil {
			return false, nil //nolint:nilerr // the offsets chunk tells
		}
		f.table.n = ix.Chunks()
	}
	f.late = &lateTable{loading: newGate()}
	return true, nil
}

// complete returns f with the offsets of all chunks, or nil if they are not in memory.
func (f *Frame) complete() *Frame {
	if f.late == nil {
		return f
	}
	if t := f.late.full.Load(); t != nil {
		return f.with(*t)
	}
	return nil
}

func (f *Frame) with(t table) *Frame {
	g := *f
	g.table, g.late = t, nil
	return &g
}

// whole returns f with the offsets of all chunks. The first call reads the offsets chunk,
// if Open has not. An index that is about other offsets is not used from then on.
func (f *Frame) whole(ctx context.Context) (*Frame, error) {
	if g := f.complete(); g != nil {
		return g, nil
	}
	select {
	case f.late.loading <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-f.late.loading }()
	if g := f.complete(); g != nil {
		return g, nil
	}
	g := *f
	k := &known{r: f.index}
	off, n := f.info.indexOff(), int64(f.table.n)
	most := min(max(n*usualOffset, defaultTail), f.o.Limits.MaxMeta)
	if err := k.fetch(ctx, [2]int64{off, min(f.trailerOff, off+most)}); err != nil {
		return nil, err
	}
	if err := g.loadTable(ctx, k, n); err != nil {
		return nil, err
	}
	f.heads.compare(g.table.n)
	f.late.full.Store(&g.table)
	return f.with(g.table), nil
}

// placed returns f with the offsets of the chunks of asks at least, and a context for
// what is read next. Chunks that the frame lacks are passed over.
//
// If the offsets are read in pages, and those of asks are not in memory, they take one
// phase. In the same phase placed reads the chunks of asks, from where the index says
// about where they lie, if what is read in vain is no more than the policy gives for a
// phase. Reads of the new Frame find them in memory. A plan reads the pages and notes the
// chunks, and nothing is left to be planned for the new Frame.
func (f *Frame) placed(ctx context.Context, asks ...ask) (*Frame, context.Context, error) {
	if g := f.complete(); g != nil {
		return g, ctx, nil
	}
	ix := f.heads.used()
	chunks := chunksOf(asks, f.table.n)
	if ix == nil || len(chunks) > mostPlaced || ix.PlacesMissing(chunks) > (f.trailerOff-f.info.indexOff())/2 {
		g, err := f.whole(ctx)
		return g, ctx, err
	}
	first, next := rangeio.Steps(ctx)
	some := make(map[int]frameindex.Place, len(chunks))
	steps := []func(ctx context.Context) error{func(ctx context.Context) error {
		return ix.Places(ctx, chunks, func(k int, p frameindex.Place) error {
			some[chunks[k]] = p
			return f.checkPlace(chunks[k], p)
		})
	}}
	ahead, noted := &known{r: f.r}, false
	if ix.PlacesMissing(chunks) > 0 {
		ranges, wide := f.guess(ix, asks)
		switch d, dry := f.r.(*pull.Dry); {
		case len(ranges) > 0 && dry:
			d.NoteAlong(ahead.missing(ranges...), "chunks, of which the index tells about where they lie")
			noted = true
		case len(ranges) > 0:
			steps = append(steps, func(ctx context.Context) error { return ahead.fetch(ctx, ranges...) })
		case wide && !ix.Held(chunks): // block starts will be wanted
			steps = append(steps, func(ctx context.Context) error {
				return ix.Heads(ctx, chunks, func(int, []byte) error { return nil })
			})
		}
	}
	err := par.Do(first, len(steps), len(steps), func(ctx context.Context, i int) error { return steps[i](ctx) })
	switch {
	case errors.Is(err, index.ErrUnusable):
		f.heads.drop(ix, err)
		g, err := f.whole(next)
		return g, next, err
	case err != nil:
		return nil, nil, wrap("index", -1, err)
	}
	g := f.with(table{n: f.table.n, end: f.table.end, some: some})
	g.noted = noted
	if len(ahead.pieces) > 0 {
		g.r = &aheadReader{held{Reader: f.r, k: ahead}}
		g.heads = &frameIndex{inside: true} // the chunks are in memory whole: nothing is to be asked of it
	}
	return g, next, nil
}

// chunksOf lists the chunks of asks of a frame of n, each once.
func chunksOf(asks []ask, n int) []int {
	chunks := make([]int, 0, len(asks))
	for _, a := range asks {
		if a.chunk >= 0 && a.chunk < n {
			chunks = append(chunks, a.chunk)
		}
	}
	slices.Sort(chunks)
	return slices.Compact(chunks)
}

// guess returns the ranges of the object that hold the chunks of asks for certain, if it
// is worth its bytes to read them before it is known where in them the chunks lie; see
// Policy.MaxGap. wide is whether blocks are wanted of chunks that are long, so that
// the blocks alone will be read.
func (f *Frame) guess(ix *frameindex.Index, asks []ask) (ranges [][2]int64, wide bool) {
	gap := f.o.Policy.MaxGap
	vain, room := int64(0), f.memory(0)
	for _, a := range asks {
		if a.chunk < 0 || a.chunk >= f.table.n {
			continue
		}
		from, to, mean := ix.Guess(a.chunk)
		wanted := mean
		if a.bytes >= 0 {
			decoded := float64(max(f.info.ChunkSize, int(min(f.info.NBytes/int64(f.table.n), math.MaxInt32)), 1)) // where they vary, of most
			wanted = min(mean, int64(float64(mean)*float64(a.bytes)/decoded))
			wide = wide || mean-wanted > f.o.Policy.Free
		}
		to = min(to, f.table.end)
		if a.bytes == 0 || from >= to {
			return nil, wide
		}
		vain, room = vain+max(to-from-wanted, 0), room-(to-from)
		ranges = append(ranges, [2]int64{f.info.HeaderLen + from, f.info.HeaderLen + to})
	}
	if len(ranges) > mostAhead || vain > gap || room < 0 || rangeio.Local(f.r) {
		return nil, wide
	}
	return ranges, wide
}

const errPlace = indexError("it puts a chunk where none can be")

// checkPlace checks the place of chunk i as the offsets chunk is checked.
func (f *Frame) checkPlace(i int, p frameindex.Place) error {
	off := p.Off
	if p.Special != blosc.None {
		off = specialOff(p.Special)
	}
	if f.info.checkOffset(i, off) != nil || off >= 0 && p.Size > f.info.CBytes-off {
		return errPlace
	}
	return nil
}

// An aheadReader reads from bytes that were read ahead, and all others from its Reader.
type aheadReader struct{ held }

func (r *aheadReader) ReadEach(ctx context.Context, spans []rangeio.Span, done func(i int) error) error {
	var left []rangeio.Span
	var places []int
	for i, s := range spans {
		b, ok := r.k.get(s.Off, int64(len(s.P)))
		if !ok {
			left, places = append(left, s), append(places, i)
			continue
		}
		copy(s.P, b)
		if err := done(i); err != nil {
			return err
		}
	}
	if len(left) == 0 {
		return ctx.Err()
	}
	return r.Reader.ReadEach(ctx, left, func(i int) error { return done(places[i]) })
}

// asksOf returns asks for the chunks [from, to).
func asksOf(from, to int, bytes int64) []ask {
	asks := make([]ask, 0, max(to-from, 0))
	for i := from; i < to; i++ {
		asks = append(asks, ask{i, bytes})
	}
	return asks
}

// span is placed for the chunks [from, to), which exist.
func (f *Frame) span(ctx context.Context, from, to int, bytes int64) (*Frame, context.Context, error) {
	if g := f.complete(); g != nil {
		return g, ctx, nil
	}
	if to-from > mostPlaced {
		g, err := f.whole(ctx)
		return g, ctx, err
	}
	return f.placed(ctx, asksOf(from, to, bytes)...)
}
