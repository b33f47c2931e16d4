package b2nd

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/stats"
)

// A Report is the result of Verify.
type Report struct {
	cframe.Report

	// Statistics is the number of columns whose statistics were compared with the items.
	Statistics int
	// Unused is why statistics of the index in use are not used, and matches
	// index.ErrUnusable.
	Unused error
}

// Verify does what cframe.Frame.Verify does, and compares the statistics in use with the
// items. Statistics that leave out an item, or count items wrongly, are formats.ErrCorrupt
// after all chunks were read; extremes that are too wide are not. Statistics that are not in
// use, or damaged, are no error.
func (a *Array) Verify(ctx context.Context, progress formats.Progress) (Report, error) {
	var r Report
	info, err := a.f.Index(ctx)
	if err != nil {
		return r, err
	}
	release, err := a.f.HoldIndex(ctx)
	if err != nil {
		return r, err
	}
	defer release()
	v, err := a.verifier(ctx)
	if errors.Is(err, index.ErrUnusable) {
		if info.Unused == nil {
			r.Unused = err
		}
	} else if err != nil {
		return r, err
	}
	if v == nil {
		r.Report, err = a.f.Verify(ctx, progress)
		return r, err
	}
	r.Statistics = v.n
	r.Report, err = a.f.VerifyEach(ctx, progress, a.g.blockBytes, func(chunk, block int, p []byte) error { return v.take(ctx, chunk, block, p) })
	if r.Index.Unused != nil { // it is damaged: readers use none of it
		r.Statistics, v.off, v.lie = 0, true, nil
	}
	if err != nil {
		return r, err
	}
	if v.off {
		return r, v.lie
	}
	var special []cframe.Want // chunks that VerifyEach does not decode
	for i := range a.f.Chunks() {
		if !v.seen[i] {
			special = append(special, cframe.Want{Chunk: i, BlockSize: a.g.blockBytes})
		}
	}
	err = a.f.EachConcurrent(ctx, special, func(want, block int, p []byte) error { return v.take(ctx, special[want].Chunk, block, p) })
	if err != nil {
		return r, err
	}
	if v.off {
		return r, v.lie
	}
	all, err := v.s.All(ctx, v.cols)
	if err == nil {
		err = v.covers(all, v.all, "the array")
	}
	if err := v.note(err); err != nil {
		return r, err
	}
	return r, v.lie
}

// A verifier compares statistics with blocks, chunks and the array.
type verifier struct {
	s    *Statistics
	sum  *summer
	cols []int
	n    int

	mu   sync.Mutex
	off  bool  // nothing is compared any more
	lie  error // the first difference
	seen []bool
	open map[int]*statChunk // chunks of which blocks are missing
	all  []stats.Stat
	run  statRun // the statistics that were read last
}

// A statChunk is a chunk in the making.
type statChunk struct {
	left  int64 // blocks that have not come
	sum   []stats.Stat
	chunk []stats.Stat // what the index says
	block []stats.Stat // nil: nothing
}

// A statRun is the statistics of some chunks.
type statRun struct {
	from, to     int
	chunk, block []stats.Stat
}

// verifier returns nil if there are no statistics.
func (a *Array) verifier(ctx context.Context) (*verifier, error) {
	s, err := a.Statistics(ctx)
	if s == nil || err != nil {
		return nil, err
	}
	v := &verifier{s: s, n: s.Columns(), seen: make([]bool, a.f.Chunks()), open: map[int]*statChunk{}, all: make([]stats.Stat, s.Columns())}
	v.sum = &summer{a.g, s.of.Columns[:v.n]}
	for i := range v.n {
		v.cols = append(v.cols, i)
	}
	return v, nil
}

// take takes a decoded block, or a whole chunk if block is negative.
func (v *verifier) take(ctx context.Context, chunk, block int, p []byte) error {
	g := v.sum.g
	if block < 0 && len(p) != g.chunkBytes || block >= 0 && len(p) != g.blockBytes {
		return corrupt(chunkName(int64(chunk)), "%d bytes, of a chunk of %d in blocks of %d", len(p), g.chunkBytes, g.blockBytes)
	}
	size := g.size(int64(chunk))
	one := func(k int64, q []byte) error {
		valid := g.validOf(k, size)
		if valid == nil {
			return nil // padding
		}
		list := make([]stats.Stat, v.n)
		v.sum.block(list, q, valid)
		return v.add(ctx, chunk, int(k), size, list)
	}
	if block >= 0 {
		return one(int64(block), p)
	}
	for k := range g.blocks.Total {
		if err := one(k, p[k*int64(g.blockBytes):][:g.blockBytes]); err != nil {
			return err
		}
	}
	return nil
}

// note keeps an error about the statistics for the end, so that all chunks are read. It
// returns any other error.
func (v *verifier) note(err error) error {
	if errors.Is(err, index.ErrUnusable) {
		v.off, v.lie = true, fail("index", formats.ErrCorrupt, "%s", index.Reason(err))
		return nil
	}
	return err
}

// add adds the Stats of a block, and compares what is whole with the index.
func (v *verifier) add(ctx context.Context, chunk, block int, size []int64, list []stats.Stat) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.seen[chunk] = true
	if v.off {
		return nil
	}
	return v.note(v.compare(ctx, chunk, block, size, list))
}

func (v *verifier) compare(ctx context.Context, chunk, block int, size []int64, list []stats.Stat) error {
	c := v.open[chunk]
	if c == nil {
		c = &statChunk{sum: make([]stats.Stat, v.n)}
		c.left = 1
		for i, n := range size {
			c.left *= (n-1)/v.sum.g.block[i] + 1
		}
		if err := v.read(ctx, chunk, c); err != nil {
			return err
		}
		v.open[chunk] = c
	}
	if c.block != nil {
		if err := v.covers(c.block[block*v.n:][:v.n], list, fmt.Sprintf("%s, block %d", chunkName(int64(chunk)), block)); err != nil {
			return err
		}
	}
	for i := range list {
		c.sum[i] = c.sum[i].Merge(list[i])
	}
	if c.left--; c.left > 0 {
		return nil
	}
	delete(v.open, chunk)
	for i := range c.sum {
		v.all[i] = v.all[i].Merge(c.sum[i])
	}
	return v.covers(c.chunk, c.sum, chunkName(int64(chunk)))
}

// runBlocks is the number of blocks whose statistics are read at a time: a few pages.
const runBlocks = 1 << 12

// read sets c to what the index says of a chunk.
func (v *verifier) read(ctx context.Context, chunk int, c *statChunk) error {
	blocks := 0
	if v.s.HasBlocks() {
		blocks = int(v.sum.g.blocks.Total)
	}
	if r := &v.run; chunk < r.from || chunk >= r.to {
		n := max(runBlocks/max(blocks, 1), 1)
		from := chunk / n * n
		*r = statRun{from: from, to: min(from+n, len(v.seen))}
		var list []int
		for i := r.from; i < r.to; i++ {
			list = append(list, i)
		}
		err := v.s.Chunks(ctx, v.cols, list, func(_ int, s []stats.Stat) error {
			r.chunk = append(r.chunk, s...)
			return nil
		})
		if err == nil && blocks > 0 {
			err = v.s.Blocks(ctx, v.cols, list, func(_ int, s []stats.Stat) error {
				r.block = append(r.block, s...)
				return nil
			})
		}
		if err != nil {
			*r = statRun{}
			return err
		}
	}
	k := chunk - v.run.from
	c.chunk = v.run.chunk[k*v.n:][:v.n]
	if blocks > 0 {
		c.block = v.run.block[k*v.n*blocks:][:v.n*blocks]
	}
	return nil
}

// covers compares what the index says of a part of the array with what the items say.
func (v *verifier) covers(says, is []stats.Stat, of string) error {
	for i, s := range says {
		t := is[i]
		ok := s.Items == t.Items && s.NaN == t.NaN && s.Fill == t.Fill && (!t.Ranged || s.Ranged && s.Min <= t.Min && s.Max >= t.Max)
		if !ok {
			name := v.sum.cols[i].Name()
			if name != "" {
				name = fmt.Sprintf(", member %q", name)
			}
			return fmt.Errorf("its statistics of %s%s are not those of the items: %w", of, name, index.ErrUnusable)
		}
	}
	return nil
}
