package objstore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/farread/farread/rangeio"
)

// An early is a load of blocks that nobody waits for yet: blocks read ahead, or
// prefetched.
type early struct {
	used    func()   // the first use of one of its blocks ends its phase
	pattern *pattern // gets what was loaded in vain; nil: Prefetch
}

// end is called by each reader that uses a block of the load, after it has begun to read
// what it lacks: that does not depend on the load, even if the load was over first.
func (w *early) end() {
	if w != nil {
		w.used()
	}
}

// Prefetch begins to fetch ranges of the object, and returns at once. Later calls of
// ReadAt, and of ReadRanges for short spans, find their bytes, or wait for them. All
// ranges are one planned read, of whole blocks, and one phase. A range that reaches
// beyond the object is cut; a negative Off or Len is ErrInvalid, and nothing is fetched.
//
// At most OpenOptions.Ahead bytes are fetched, the first ranges first; the rest is left
// to the reads. Bytes are dropped as they are read, or if later ones need their room,
// oldest first. If the fetch fails, or ctx ends before it is over, each read fetches its
// bytes itself, and returns its own error. Prefetch of a local file does nothing, since a
// file has no round trip.
func (o *Object) Prefetch(ctx context.Context, ranges []Range) error {
	for _, r := range ranges {
		if r.Off < 0 || r.Len < 0 {
			return o.fail(o.info.Key, r, fmt.Errorf("negative offset or length: %w", ErrInvalid))
		}
	}
	if o.pattern == nil {
		return nil
	}
	o.loadEarly(ctx, ranges, o.pattern.most, nil)
	return nil
}

// ahead tells the pattern of a read, and begins to load what is worth reading ahead. The
// read itself may then find its blocks on the way.
func (o *object) ahead(ctx context.Context, off, n int64) {
	if o.pattern == nil || ctx.Err() != nil || ctx.Done() == nil && o.o.Stall < 0 { // nothing would end the load
		return
	}
	if ranges := o.pattern.note(off, n); ranges != nil {
		o.loadEarly(ctx, ranges, o.pattern.most, o.pattern)
	}
}

// loadEarly loads blocks of ranges that are not kept yet, in a goroutine that ends with
// ctx, or with the limit of silence.
func (o *object) loadEarly(ctx context.Context, ranges []Range, most int64, p *pattern) {
	w := &early{pattern: p}
	mine := o.cache.promise(o, ranges, most, w)
	if len(mine) == 0 {
		return
	}
	end := o.begin(ctx)
	w.used = sync.OnceFunc(end)
	spans := make([]rangeio.Span, len(mine))
	for i, e := range mine {
		at := e.key.i * o.cache.block
		spans[i] = rangeio.Span{Off: at, P: make([]byte, e.size)}
		if p == nil {
			o.pattern.tell(Range{at, e.size})
		}
	}
	go o.fillEarly(ctx, mine, spans)
}

// fillEarly settles promises as their blocks come.
func (o *object) fillEarly(ctx context.Context, mine []*promise, spans []rangeio.Span) {
	var err error
	defer func() {
		_ = recover() // a reader loads the block itself, and panics where its caller sees it
		if n := o.cache.withdraw(mine, err); n > 0 && mine[0].early.pattern != nil {
			o.pattern.fail(n)
		}
	}()
	p, flight := o.policyFor(spans, 0)
	p.Free = max(p.Free, 1) // blocks that touch share a request under any policy
	rest, index := o.kept(spans)
	came := func(i int) error {
		o.cache.came(mine[i], spans[i].P)
		return nil
	}
	if err = finishKept(len(spans), index, came); err == nil && len(rest) > 0 {
		err = rangeio.Do(ctx, rest, p, flight, o.fetch, lastOf(index, came))
	}
}

// promise promises the blocks of ranges that are neither cached nor promised, nor kept
// by Open, up to most bytes.
func (c *Cache) promise(o *object, ranges []Range, most int64, w *early) (mine []*promise) {
	head, tail := int64(len(o.head)), o.info.Size-int64(len(o.tail))
	c.mu.Lock()
	defer c.mu.Unlock()
	most = min(most, c.early.Max)
	for _, r := range ranges {
		from, to := max(r.Off, head), min(r.Off+min(r.Len, tail), tail)
		for i := from / c.block; i*c.block < to; i++ {
			k := blockKey{o.id, i}
			if _, ok := c.blocks.Peek(k); ok || c.promises[k] != nil {
				continue
			}
			size := min(c.block, o.info.Size-i*c.block)
			if most -= size; most < 0 || c.flying+size > c.early.Max {
				return mine
			}
			c.flying += size
			e := &promise{key: k, ready: make(chan struct{}), early: w, size: size}
			c.promises[k] = e
			mine = append(mine, e)
			c.early.Put(k, e, size)
			c.blocks.Trim(c.total - c.early.Cost())
		}
	}
	return mine
}

// came publishes a block that was loaded early. It stays until it is used, or until
// others need its room.
func (c *Cache) came(e *promise, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.data, e.settled = data, true
	c.flying -= e.size
	if e.claimed || e.dropped {
		delete(c.promises, e.key)
	}
	if e.claimed && e.keep {
		c.put(e)
	}
	close(e.ready)
}

// withdraw takes the promises back that were not kept, and returns their bytes. A reader
// that waits for one of them loads the block itself, with an error of its own, unless
// the store has used up the time or the repetitions of a call: then err is the reader's.
func (c *Cache) withdraw(mine []*promise, err error) (n int64) {
	if !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrThrottled) {
		err = nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range mine {
		if e.settled {
			continue
		}
		n += e.size
		e.settled, e.claimed, e.err = true, true, err
		c.flying -= e.size
		c.early.Remove(e.key)
		delete(c.promises, e.key)
		close(e.ready)
	}
	return n
}

// use takes an early block for a reader, who waits for it if it is not there yet. If keep,
// the block enters the cache, as it would if the reader had loaded it.
func (c *Cache) use(e *promise, keep bool) {
	e.keep = e.keep || keep
	if !e.claimed {
		e.claimed = true
		c.early.Remove(e.key)
		if p := e.early.pattern; p != nil {
			p.asked.Add(e.size)
		}
	}
	if e.settled {
		delete(c.promises, e.key)
		if e.keep {
			c.put(e)
		}
	}
}

// gone is told of early blocks that leave the list of them.
func (c *Cache) gone(k blockKey, e *promise) {
	if e.claimed {
		return
	}
	e.dropped = true
	if p := e.early.pattern; p != nil {
		p.lost.Add(e.size)
	}
	if e.settled {
		delete(c.promises, k)
	}
}

// collect copies the blocks of a long read that are cached or were loaded early. It
// returns the spans that are missing, the early blocks to wait for, and the loads that the
// caller ends when it has read what is missing.
func (c *Cache) collect(id string, off int64, p []byte) (rest []rangeio.Span, coming []*promise, used []*early) {
	c.mu.Lock()
	defer c.mu.Unlock()
	end := off + int64(len(p))
	for i := off / c.block; i*c.block < end; i++ {
		k := blockKey{id, i}
		s := c.piece(off, p, i)
		data, _ := c.blocks.Peek(k)
		if e := c.promises[k]; e != nil && e.early != nil {
			c.use(e, int64(len(s.P)) < e.size) // of a block at an edge, the next read may need the rest
			if data = e.data; data == nil {
				coming = append(coming, e)
				continue
			}
			used = append(used, e.early)
		}
		if data != nil {
			copy(s.P, data[s.Off-i*c.block:])
			continue
		}
		if n := len(rest); n > 0 && rest[n-1].End() == s.Off {
			rest[n-1].P = p[rest[n-1].Off-off : s.End()-off]
			continue
		}
		rest = append(rest, s)
	}
	return rest, coming, used
}

// piece is the part of a read that lies in a block.
func (c *Cache) piece(off int64, p []byte, i int64) rangeio.Span {
	from := max(off, i*c.block)
	to := min(off+int64(len(p)), (i+1)*c.block)
	return rangeio.Span{Off: from, P: p[from-off : to-off]}
}

// readLong serves a ReadAt that is too long for the cache. What was not loaded early is
// read straight into p, in one planned call.
func (o *object) readLong(ctx context.Context, p []byte, off int64) error {
	if o.pattern == nil {
		return o.readRest(ctx, []rangeio.Span{{Off: off, P: p}})
	}
	rest, coming, used := o.cache.collect(o.id, off, p)
	err := o.readRest(ctx, rest)
	for _, w := range used {
		w.end()
	}
	if err != nil {
		return err
	}
	rest = rest[:0]
	for _, e := range coming {
		select {
		case <-e.ready:
		case <-ctx.Done():
			return o.fail(o.info.Key, Range{off, int64(len(p))}, ctx.Err())
		}
		if e.err != nil {
			return e.err
		}
		s := o.cache.piece(off, p, e.key.i)
		if e.data == nil { // its load has failed
			rest = append(rest, s)
			continue
		}
		e.early.end()
		copy(s.P, e.data[s.Off-e.key.i*o.cache.block:])
	}
	return o.readRest(ctx, rest)
}

// readRest reads what is in no cache of memory.
func (o *object) readRest(ctx context.Context, rest []rangeio.Span) error {
	for i := range rest {
		if o.pattern != nil {
			o.pattern.asked.Add(int64(len(rest[i].P)))
		}
	}
	if rest, _ = o.onDisk(rest, make([]int, len(rest)), true); len(rest) == 0 {
		return nil
	}
	return o.read(ctx, rest, 0, nil)
}
