package gateway

import (
	"context"
	"errors"
	"maps"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/objstore"
)

// Limits of reading ahead of Zarr clients.
const (
	aheadAfter  = 4        // chunks in a row after which it begins
	aheadChunks = 64       // most chunks of a run that are ahead: requests in flight
	aheadMost   = 64 << 20 // bytes of them; a quarter of the cache and an eighth of the memory bound them, too
	aheadFlight = 12       // how far from its place in the row a chunk may be asked for: zarr-python has ten requests in flight
	aheadRuns   = 4        // rows of one array that are followed
	aheadIdle   = time.Second
	aheadFree   = 256 << 10 // bytes that may be lost
	aheadShare  = 32        // one byte in so many may be lost besides
)

// An ahead follows which stored chunks of an array clients ask for. If they are asked for
// one after the other, it says which ones to read before they are wanted. That depends on
// the requests alone, not on time. It is never more than the run has had already, and if more
// than a small part of all bytes was read in vain, a small part of the run, until that is
// made good. Chunks that are asked for in no order cost what they cost without it.
type ahead struct {
	mu          sync.Mutex
	tick        int64
	runs        [aheadRuns]*chunkRun
	coming      map[int64]*coming
	asked, lost int64 // bytes
}

// A coming is a chunk that is on the way.
type coming struct {
	ready chan struct{} // closed when data is set, or the read has failed
	data  []byte
}

// A chunkRun is a run of chunks that were asked for: all of [lo, hi), and those of
// later, in which bit k is chunk hi+1+k.
type chunkRun struct {
	lo, hi int64
	later  uint32
	last   int64  // the chunk that was asked for last
	order  uint16 // of the last requests: bit 0 is set if the last one was for a later chunk than the one before it
	n      int64  // requests
	end    int64  // up to here chunks are read ahead
	limit  int64  // where it ends if it is as long as the run before it; 0: unknown
	size   int64  // bytes of its longest chunk
	seen   int64

	active int // requests in progress
	loads  int // reads ahead in progress
	cancel context.CancelFunc
	ctx    context.Context //nolint:containedctx // of the reads ahead, which outlive the request that begins them
	idle   *time.Timer
}

// An aheadStep is what note says of a request.
type aheadStep struct {
	run      *chunkRun
	early    bool  // the chunk was read ahead, and nobody asked for it before
	from, to int64 // chunks to read ahead now, mostly none
	size     int64 // of the longest chunk of the run
}

// note tells that chunk i of n, of so many bytes, is asked for. The caller ends with leave.
func (a *ahead) note(i, n, size, most int64) (st aheadStep) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tick++
	r, fresh := a.follow(i)
	st.run, r.seen = r, a.tick
	if r.active++; r.idle != nil {
		r.idle.Stop()
		r.idle = nil
	}
	if !fresh {
		return st
	}
	a.asked += size
	st.early = i < r.end && size > 0
	r.size = max(r.size, size)
	st.size = r.size
	st.from, st.to = a.window(r, n, most)
	return st
}

// follow finds the run of a chunk and adds the chunk to it. fresh is false if the run has
// it already.
func (a *ahead) follow(i int64) (r *chunkRun, fresh bool) {
	for _, r := range a.runs {
		if r == nil || i < r.lo-1 || i > r.hi+aheadFlight {
			continue
		}
		switch {
		case i >= r.lo && i < r.hi:
			return r, false
		case i == r.lo-1:
			r.lo = i
		case i == r.hi:
			r.hi++
			r.take()
		default:
			bit := uint32(1) << (i - r.hi - 1)
			if r.later&bit != 0 {
				return r, false
			}
			r.later |= bit
		}
		r.n++
		r.order <<= 1
		if i > r.last {
			r.order |= 1
		}
		r.last = i
		a.join(r)
		return r, true
	}
	return a.begin(i), true
}

// take adds the chunks behind hi that were asked for before their turn.
func (r *chunkRun) take() {
	next := r.later & 1
	r.later >>= 1
	for next != 0 {
		r.hi++
		next = r.later & 1
		r.later >>= 1
	}
}

// join makes one run of r and one that it has come up to.
func (a *ahead) join(r *chunkRun) {
	for k, x := range a.runs {
		if x == nil || x == r || x.active > 0 || x.loads > 0 || x.lo < r.lo || x.lo > r.hi || x.hi <= r.hi {
			continue
		}
		r.hi, r.later, r.end = x.hi, x.later, max(r.end, x.end)
		a.runs[k] = nil
	}
}

// begin makes a run of one chunk, in place of the one that was not used for longest.
func (a *ahead) begin(i int64) *chunkRun {
	old, last := 0, (*chunkRun)(nil)
	for k, x := range a.runs {
		if x != nil && (last == nil || x.seen > last.seen) {
			last = x
		}
		if x == nil || a.runs[old] != nil && x.seen < a.runs[old].seen {
			old = k
		}
	}
	r := &chunkRun{lo: i, hi: i + 1, last: i, n: 1, order: 1}
	if last != nil && last.hi-last.lo > 1 && last.later == 0 {
		r.limit = i + last.hi - last.lo
	}
	switch x := a.runs[old]; {
	case x == nil:
	case x.active > 0:
		a.lose(x) // clients wait for what is on the way
	default:
		a.forget(x)
	}
	a.runs[old] = r
	return r
}

// lose counts what was read in vain for a run.
func (a *ahead) lose(r *chunkRun) {
	if out := r.out(); out > 0 {
		a.lost += out * r.size
	}
	r.end = r.hi
}

// forget ends the reads of a run.
func (a *ahead) forget(r *chunkRun) {
	a.lose(r)
	if r.cancel != nil {
		r.cancel()
		r.cancel, r.ctx = nil, nil
	}
}

// out is how many chunks were read ahead and not asked for.
func (r *chunkRun) out() int64 {
	k := max(r.end-r.hi, 0)
	if k < 2 {
		return k
	}
	return k - int64(bits.OnesCount32(r.later&(1<<min(k-1, aheadFlight)-1)))
}

// window is what to read ahead of a run of an array of n chunks.
func (a *ahead) window(r *chunkRun, n, most int64) (from, to int64) {
	read := r.hi - r.lo
	lately := min(r.n, 12) // of so many requests two of three went on: else they come in no order
	if read < aheadAfter || r.size == 0 || 3*int64(bits.OnesCount16(r.order&(1<<lately-1))) < 2*lately {
		return 0, 0
	}
	want := read
	if a.lost > aheadFree+a.asked/aheadShare {
		want = read / aheadShare
	}
	want = min(want, aheadChunks, most/r.size)
	if r.out() > want/2 {
		return 0, 0
	}
	from, to = max(r.hi, r.end), min(r.hi+want, n)
	if r.limit > 0 && r.hi <= r.limit {
		to = min(to, r.limit)
	}
	return from, max(from, to)
}

// leave tells that a request has its answer, or its client is gone. If no other comes for a while, what is on
// the way for the run is not wanted any more.
func (a *ahead) leave(r *chunkRun) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.active--; r.active > 0 || r.loads == 0 || r.idle != nil {
		return
	}
	r.idle = time.AfterFunc(aheadIdle, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if r.active == 0 && r.loads > 0 {
			a.forget(r)
		}
	})
}

// stored returns a stored chunk: one that is kept, or that is on the way, or else it reads
// it. If a read that somebody else began fails, it reads the chunk itself.
func (a *ahead) stored(ctx context.Context, i int64, k farread.Chunker) (p []byte, err error) {
	a.mu.Lock()
	w := a.coming[i]
	if w == nil {
		w = a.expect(i)
		a.mu.Unlock()
		defer func() { a.came(i, w, p) }()
		return k.Stored(ctx, i)
	}
	a.mu.Unlock()
	select {
	case <-w.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if w.data != nil {
		return w.data, nil
	}
	return k.Stored(ctx, i)
}

// expect notes that a chunk is on the way. The caller holds the lock.
func (a *ahead) expect(i int64) *coming {
	if a.coming == nil {
		a.coming = map[int64]*coming{}
	}
	w := &coming{ready: make(chan struct{})}
	a.coming[i] = w
	return w
}

// came tells that a chunk is there, or, if p is nil, that it does not come.
func (a *ahead) came(i int64, w *coming, p []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w.data = p
	close(w.ready)
	delete(a.coming, i)
}

// asks tells that a client wants the chunk, and begins to read what follows it in the
// array if that is asked for in a row. done has to be called when the client has it.
func (z *zarrChunk) asks(c *call, k farread.Chunker) (done func()) {
	a, s := &z.h.ahead, z.s
	st := a.note(int64(z.c.Number), k.Chunks(), z.at.MaxLen, min(aheadMost, s.cache.Max()/4, s.memory.all/8))
	if c.ahead = c.ahead || st.early; st.from < st.to {
		z.readAhead(&st, k)
	}
	return func() { a.leave(st.run) }
}

// readAhead begins to read the chunks of a step that are neither kept nor on the way, if
// there is memory that nobody else wants.
func (z *zarrChunk) readAhead(st *aheadStep, k farread.Chunker) {
	a, s, r := &z.h.ahead, z.s, st.run
	l := s.memory.spare(st.size, st.to-st.from)
	if l == nil {
		return
	}
	to := st.from + min(st.to-st.from, l.n/st.size)
	list := z.missing(st.from, to, k)
	a.mu.Lock()
	defer a.mu.Unlock()
	r.end = max(r.end, to)
	mine := a.promise(r, list, k)
	if len(mine) == 0 {
		l.release()
		return
	}
	if r.ctx == nil {
		r.ctx, r.cancel = context.WithCancel(objstore.WithCounter(s.base, &s.meter.ahead))
	}
	r.loads++
	go z.load(r.ctx, r, mine, k, l)
}

// promise notes which chunks of a list are on the way from now on: those that nobody has
// asked for.
func (a *ahead) promise(r *chunkRun, list []int64, k farread.Chunker) map[int64]*coming {
	mine := map[int64]*coming{}
	for _, i := range list {
		later := i - r.hi - 1
		if i < r.hi || later >= 0 && later < aheadFlight && r.later>>later&1 != 0 || a.coming[i] != nil || k.KeptStored(i) != nil { // it may have come since the list was made
			continue
		}
		mine[i] = a.expect(i)
	}
	return mine
}

// missing are the chunks of [from, to) that have bytes and are not kept.
func (z *zarrChunk) missing(from, to int64, k farread.Chunker) (list []int64) {
	f, ok := z.h.d.Handle().(*farread.Array)
	for i := from; ok && i < to; i++ {
		if f.Frame().SpecialIfKnown(int(i)) == blosc.None && k.KeptStored(i) == nil {
			list = append(list, i)
		}
	}
	return list
}

// load reads chunks, and tells of each as it comes.
func (z *zarrChunk) load(ctx context.Context, r *chunkRun, mine map[int64]*coming, k farread.Chunker, l *loan) {
	a, s, list := &z.h.ahead, z.s, slices.Sorted(maps.Keys(mine))
	defer l.release()
	ctx, cancel := context.WithTimeout(ctx, s.c.Deadline)
	defer cancel()
	var mu sync.Mutex
	_, err := guarded(ctx, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, k.LoadStored(ctx, list, func(i int64, p []byte) {
			mu.Lock()
			defer mu.Unlock()
			a.came(i, mine[i], p)
			delete(mine, i)
		})
	})
	if errors.Is(err, errPanic) { // nobody else would tell of it
		s.c.Log.ErrorContext(ctx, "read ahead", "err", err)
	}
	for i, w := range mine { // who waits for them reads them, and has an error of its own
		a.came(i, w, nil)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.loads--; err != nil { // the run begins anew
		r.lo, r.end = r.hi, r.hi
	}
}
