package zarr

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/lru"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/rangeio"
)

const (
	passSide   = 8        // chunks of one box that are fetched, or decoded, side by side
	maxRun     = 32 << 20 // decoded bytes of the chunks of a shard that are read together
	maxRunPart = 4        // and this part of the memory at most
)

// A Pass reads an array once, by boxes that cut it, roughly in row-major order and several at a
// time. It keeps decoded chunks until all of their items were read, so each is fetched once, as
// long as those that are in use fit into its memory: a row of chunks, as long as the boxes are
// wide. Chunks of one shard that follow each other in the order of the boxes are read together.
// Its methods are safe for concurrent use.
type Pass struct {
	a    *Array
	most int64

	follow bool           // read ahead
	going  sync.WaitGroup // what is read ahead

	mu   sync.Mutex
	held lru.Cache[int64, *passChunk] // by their numbers in the grid
	far  int64                        // the greatest number that was begun
}

// A passChunk is a chunk that is being fetched, or was.
type passChunk struct {
	number int64
	at     []int64
	done   chan struct{}
	p      []byte
	err    error
	left   int64 // items that were not read yet; under Pass.mu
	run    *passRun
}

// A passRun is what chunks that are fetched together know of each other.
type passRun struct {
	last     []int64 // chunk
	followed bool    // the next run has begun; under Pass.mu
}

// Pass returns a pass that keeps so many bytes of chunks.
func (a *Array) Pass(memory int64) *Pass {
	p := &Pass{a: a, most: max(memory, 0), far: -1}
	p.held.Max = p.most
	return p
}

// ReadAhead has the pass fetch, as soon as a box is asked for that is a chunk of a shard, the run behind its run as well, in this
// shard or the next one, so that it is there when it is asked for. The caller calls wait when it has read all that it
// wants: nothing is fetched then any more.
func (p *Pass) ReadAhead() (wait func()) {
	p.follow = true
	return p.going.Wait
}

// ReadBox is Array.ReadBox.
func (p *Pass) ReadBox(ctx context.Context, dst []byte, box nd.Box) error {
	a := p.a
	if a.meta.ShardShape == nil && a.oneChunk(box) {
		return a.ReadBox(ctx, dst, box)
	}
	if err := a.checkBox(dst, box); err != nil {
		return err
	}
	zero, all := make([]int64, len(a.meta.Shape)), [][]int64(nil)
	batch := max(int(min(p.most/maxRunPart, maxRun)/int64(a.ChunkBytes())), 1)
	for _, origin := range a.grid.Meet(box, zero, a.meta.Shape) {
		at := make([]int64, len(origin))
		for i, o := range origin {
			at[i] = o / a.meta.ChunkShape[i]
		}
		if all = append(all, at); len(all) == batch {
			if err := p.part(ctx, dst, box, all, batch); err != nil {
				return err
			}
			all = all[:0]
		}
	}
	return p.part(ctx, dst, box, all, batch)
}

// part reads what some chunks have of a box. The rest of their run, of batch chunks, is fetched
// with them.
func (p *Pass) part(ctx context.Context, dst []byte, box nd.Box, list [][]int64, batch int) error {
	if len(list) == 0 {
		return nil
	}
	need, fetch, ahead := p.claim(list, batch)
	if len(ahead) > 0 {
		p.going.Go(func() { p.fetch(ctx, ahead) })
	}
	p.fetch(ctx, fetch)
	counts := box.Counts()
	for _, c := range need {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-c.done:
		}
		src := c.p
		if c.err != nil {
			if slices.Contains(fetch, c) {
				return c.err
			}
			// Another caller failed, or has ended: this one finds out by itself.
			src = make([]byte, p.a.ChunkBytes())
			if _, err := p.a.ReadChunk(ctx, src, c.at); err != nil {
				return err
			}
		}
		n := p.a.copyPart(dst, box, counts, src, c.at)
		p.mu.Lock()
		if c.left -= n; c.left <= 0 {
			if now, ok := p.held.Peek(c.number); ok && now == c {
				p.held.Remove(c.number)
			}
		}
		p.mu.Unlock()
	}
	return nil
}

// claim returns the chunks of a list, those among them, and in their runs, that nobody has
// begun to fetch, and those that are to be fetched ahead.
func (p *Pass) claim(list [][]int64, batch int) (need, fetch, ahead []*passChunk) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, at := range list {
		c, ok := p.held.Get(p.a.number(at))
		if !ok {
			c = p.begin(at)
			fetch = append(fetch, c)
			if p.a.meta.ShardShape != nil && len(fetch) <= batch {
				run := p.a.run(at, list[0], list[len(list)-1], batch)
				c.run = &passRun{last: run[len(run)-1]}
				fetch = p.beginRun(fetch, run, c.run)
			}
		}
		need = append(need, c)
	}
	if p.follow && len(list) == 1 && int64(p.a.ChunkBytes()) <= p.most/maxRunPart {
		ahead = p.beginNext(need[0], batch)
	}
	return need, fetch, ahead
}

// beginRun adds those chunks of a run that nobody has begun to fetch.
func (p *Pass) beginRun(fetch []*passChunk, run [][]int64, of *passRun) []*passChunk {
	for _, at := range run {
		if _, ok := p.held.Peek(p.a.number(at)); !ok {
			c := p.begin(at)
			c.run = of
			fetch = append(fetch, c)
		}
	}
	return fetch
}

// beginNext returns the run behind that of a chunk, unless it has begun: boxes that are chunks follow each other as these do. What
// lies before the farthest chunk that was begun may have been read and dropped.
func (p *Pass) beginNext(c *passChunk, batch int) []*passChunk {
	if c.run == nil || c.run.followed {
		return nil
	}
	c.run.followed = true
	next := slices.Clone(c.run.last)
	for i := len(next) - 1; i >= 0; i-- {
		if next[i]++; next[i] < p.a.grid.Count[i] {
			break
		}
		next[i] = 0
	}
	if p.a.number(next) <= p.far { // of the last run the first chunk of all
		return nil
	}
	run := p.a.run(next, next, next, batch)
	return p.beginRun(nil, run, &passRun{last: run[len(run)-1]})
}

func (p *Pass) begin(at []int64) *passChunk {
	a := p.a
	c := &passChunk{number: p.a.number(at), at: at, done: make(chan struct{}), left: 1}
	for i, k := range at {
		c.left *= min(a.meta.ChunkShape[i], a.meta.Shape[i]-k*a.meta.ChunkShape[i])
	}
	p.held.Put(c.number, c, int64(a.ChunkBytes()))
	p.far = max(p.far, c.number)
	return c
}

// fetch reads chunks, and tells those who wait for them.
func (p *Pass) fetch(ctx context.Context, list []*passChunk) {
	if len(list) == 0 {
		return
	}
	err := p.a.readChunks(ctx, list)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range list {
		if c.err == nil && c.p == nil {
			c.err = err
		}
		if now, ok := p.held.Peek(c.number); ok && now == c && c.err != nil {
			p.held.Remove(c.number)
		}
		close(c.done)
	}
}

// run is the run that a chunk of a box is in: chunks of its shard in the order in which
// boxes follow each other, along the last axis to the ends of the shard, and, if these are the ends
// of the array, along the axis before that, and so on; cut into batches of n. What is in a run
// does not depend on which of its boxes asks first. Chunks of a run that lie before the box are
// there as well: of boxes that are asked for side by side, a later one may come first.
func (a *Array) run(of, first, last []int64, n int) [][]int64 {
	s := a.meta.enc.shard
	lo, hi := slices.Clone(first), make([]int64, len(first))
	for i := range hi {
		hi[i] = last[i] + 1
	}
	for i := len(first) - 1; i >= 0; i-- {
		lo[i] = of[i] / s.grid.Count[i] * s.grid.Count[i]
		hi[i] = min(lo[i]+s.grid.Count[i], a.grid.Count[i])
		if lo[i] > 0 || hi[i] < a.grid.Count[i] {
			break
		}
	}
	total, k := int64(1), int64(0)
	for i := range lo {
		total, k = total*(hi[i]-lo[i]), k*(hi[i]-lo[i])+of[i]-lo[i]
	}
	k -= k % int64(n)
	out := make([][]int64, min(int64(n), total-k))
	for j := range out {
		at, rest := make([]int64, len(lo)), k+int64(j)
		for i := len(lo) - 1; i >= 0; i-- {
			at[i], rest = lo[i]+rest%(hi[i]-lo[i]), rest/(hi[i]-lo[i])
		}
		out[j] = at
	}
	return out
}

// readChunks reads chunks, those of one shard by one call of its reader, which joins what lies
// together. It sets p of those that it has read.
func (a *Array) readChunks(ctx context.Context, list []*passChunk) error {
	if a.meta.ShardShape == nil {
		return par.Do(ctx, len(list), passSide, func(ctx context.Context, i int) error {
			dst := make([]byte, a.ChunkBytes())
			if _, err := a.ReadChunk(ctx, dst, list[i].at); err != nil {
				list[i].err = err
				return err
			}
			list[i].p = dst
			return nil
		})
	}
	shards, keys := map[string][]*passChunk{}, []string(nil)
	outer := make([]int64, len(a.grid.Count))
	for _, c := range list {
		for i, k := range c.at {
			outer[i] = k / a.meta.enc.shard.grid.Count[i]
		}
		key := a.meta.keys.of(outer)
		if shards[key] == nil {
			keys = append(keys, key)
		}
		shards[key] = append(shards[key], c)
	}
	return par.Do(ctx, len(keys), passSide, func(ctx context.Context, i int) error { return a.readRun(ctx, keys[i], shards[keys[i]]) })
}

// readRun reads chunks of one shard.
func (a *Array) readRun(ctx context.Context, key string, list []*passChunk) error {
	s := a.meta.enc.shard
	index, data := rangeio.Steps(ctx)
	sh, err := a.shard(index, key)
	if err != nil {
		return within(a.chunkName(key), err)
	}
	spans, src := make([]rangeio.Span, 0, len(list)), make([][]byte, len(list))
	defer func() {
		for _, p := range src {
			if p != nil {
				bufpool.Put(p)
			}
		}
	}()
	inner := make([]int64, len(a.grid.Count))
	name := func(c *passChunk) string {
		for i, k := range c.at {
			inner[i] = k % s.grid.Count[i]
		}
		return a.chunkName(key) + " " + innerName(inner)
	}
	for i, c := range list {
		text := name(c)
		if sh.r == nil {
			continue
		}
		if at := sh.places[s.number(inner)]; at != nowhere {
			if err := at.check(sh.r.Size(), s.enc.most(a.ChunkBytes())); err != nil {
				c.err = within(text, err)
				continue
			}
			src[i] = bufpool.Get(int(at.n))
			spans = append(spans, rangeio.Span{Off: at.off, P: src[i]})
		}
	}
	slices.SortFunc(spans, func(x, y rangeio.Span) int { return int(min(max(x.Off-y.Off, -1), 1)) })
	if err := sh.read(data, spans); err != nil {
		return within(a.chunkName(key), err)
	}
	names := make([]string, len(list))
	for i, c := range list {
		names[i] = name(c)
	}
	return par.Do(ctx, len(list), passSide, func(_ context.Context, i int) error {
		a.decodeInner(list[i], src[i], names[i])
		return nil
	})
}

// decodeInner decodes a chunk of a shard, unless it has an error already; nil is one that is not there.
func (a *Array) decodeInner(c *passChunk, src []byte, name string) {
	if c.err != nil {
		return
	}
	s, dst := a.meta.enc.shard, make([]byte, a.ChunkBytes())
	if src == nil {
		a.absentAt(dst, c.at)
	} else if c.err = within(name, s.enc.decode(dst, src, s.inner, &a.it)); c.err != nil {
		return
	}
	c.p = dst
}

func (sh *openShard) read(ctx context.Context, spans []rangeio.Span) error {
	if len(spans) == 0 {
		return nil
	}
	return sh.r.ReadRanges(ctx, spans)
}

// oneChunk reports whether a box is a chunk, or what the array has of one.
func (a *Array) oneChunk(box nd.Box) bool {
	counts := box.Counts()
	for i, o := range box.Start {
		if c := a.meta.ChunkShape[i]; o%c != 0 || counts[i] != min(c, a.meta.Shape[i]-o) {
			return false
		}
	}
	return true
}

// checkBox says whether ReadBox can read a box into dst.
func (a *Array) checkBox(dst []byte, box nd.Box) error {
	n, err := box.Items()
	if err != nil || box.Dims() != len(a.meta.Shape) || !box.Unit() || int64(len(dst)) != n*int64(a.it.size) {
		return fmt.Errorf("%s: %d bytes for a box of %v items of %d bytes", Format, len(dst), box.Counts(), a.it.size)
	}
	return nil
}

// copyPart copies what a chunk has of a box, and returns the number of items.
func (a *Array) copyPart(dst []byte, box nd.Box, counts []int64, chunk []byte, at []int64) int64 {
	d, items := len(counts), int64(1)
	from, to, n := make([]int64, d), make([]int64, d), make([]int64, d)
	for i := range n {
		origin := at[i] * a.meta.ChunkShape[i]
		lo := max(origin, box.Start[i])
		hi := min(origin+a.meta.ChunkShape[i], box.Start[i]+counts[i])
		from[i], to[i], n[i] = lo-origin, lo-box.Start[i], hi-lo
		items *= n[i]
	}
	nd.CopyBox(dst, counts, to, chunk, a.meta.ChunkShape, from, n, a.it.size)
	return items
}
