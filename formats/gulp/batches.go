package gulp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"sync"

	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/rangeio"
)

// A Loaded sample has the bytes of its frames: those of the id, or the one frame that the
// sample is (OrderOptions.Frames).
type Loaded struct {
	Sample

	Frames [][]byte
}

// A Batch is a row of samples. It and its bytes are valid until the loop asks for the next
// one.
type Batch struct {
	Samples []Loaded
}

// Batches yields the remaining samples of order, n at a time, and the rest at the end. It
// reads ahead, in memory of at most four times Options.Window (a sample may be longer),
// besides the batch. What it reads at a time are the samples of a window of order, or as many as
// Options.Window holds: frames that lie together in a chunk, whatever their ids, are one
// span of one planned read, and chunks are read at the same time. With OrderOptions.Block
// that is about a request for each block; without it one for each frame, unless the
// reader joins them over gaps.
//
// order moves on with the batches: a Cursor that is taken in the body of the loop counts
// the current batch as done. It must not be used by others meanwhile. All reads are one
// phase. An error comes with a nil Batch and ends the sequence; no read is under way any
// more when the loop has ended. If ctx ends, the error is its cause.
func (d *Dataset) Batches(ctx context.Context, order *Order, n int) iter.Seq2[*Batch, error] {
	return func(yield func(*Batch, error) bool) {
		switch {
		case order.d != d:
			yield(nil, errors.New(Format+": an order of another dataset"))
			return
		case n < 1:
			yield(nil, fmt.Errorf("%s: batches of %d samples", Format, n))
			return
		}
		ctx, cancel := context.WithCancel(rangeio.InOrder(rangeio.OnePhase(ctx)))
		ahead := *order
		if order.runs != nil {
			own := *order.runs // it remembers a window
			ahead.runs = &own
		}
		l := &loader{d: d, order: &ahead, size: min(d.o.Window, d.o.Limits.MaxDecoded), ready: make(chan *load, mostLoads)}
		l.limit = loadsHeld * l.size
		l.budget = budget{free: l.limit, freed: make(chan struct{}, 1)}
		go l.fill(ctx)
		defer l.drain(cancel)
		l.deliver(ctx, order, n, yield)
	}
}

const (
	// loadsHeld is how many full loads are held: one is consumed, and the next ones are
	// under way, so that a window that ends does not leave the wire idle.
	loadsHeld = 4
	// mostLoads bounds the number of very small loads that are ready.
	mostLoads = 64
	// mostLoaded bounds the books of a load of tiny samples.
	mostLoaded = 64 << 10
	// nearFrames is the longest gap between two frames of one span: padding, and little
	// else. The planner below decides about longer ones.
	nearFrames = 64
)

// A loader reads the samples of an order ahead.
type loader struct {
	d      *Dataset
	order  *Order // goes ahead of that of the caller
	size   int64  // most bytes of a load, unless a sample is longer
	limit  int64
	budget budget
	ready  chan *load
	err    error // read only after ready is closed
}

// A load is samples that are read together.
type load struct {
	samples []Loaded
	frames  []wanted
	bytes   int64

	buf   []byte
	share int64
	err   error
	done  chan struct{}
}

// A wanted frame goes to a place of a sample.
type wanted struct {
	k         int // chunk
	off, size int64
	sample, i int
}

// fill cuts the order into loads, and starts to read each.
func (l *loader) fill(ctx context.Context) {
	defer close(l.ready)
	var x *load
	for {
		rest := int64(0)
		if l.order.runs != nil {
			rest = l.order.runs.rest(l.order.next)
		}
		s, ok := l.order.Next()
		if !ok {
			break
		}
		if x == nil {
			x = &load{}
		}
		if l.err = x.add(s, l.order.o.Frames, l.d.o.Limits.MaxDecoded); l.err != nil {
			break
		}
		if x.bytes >= l.size || len(x.samples) >= mostLoaded || rest == 1 {
			if l.err = l.start(ctx, x); l.err != nil {
				return
			}
			x = nil
		}
	}
	if x != nil && len(x.samples) > 0 {
		if err := l.start(ctx, x); l.err == nil {
			l.err = err
		}
	}
}

// add adds a sample to the load.
func (x *load) add(s Sample, one bool, most int64) error {
	it, err := s.Chunk.find(s.ID)
	if err != nil {
		return err
	}
	frames, n := it.frames, int64(0)
	if one {
		frames = frames[s.Frame : s.Frame+1]
	}
	for i, f := range frames {
		n += f.size()
		if n > most || n > math.MaxInt32 {
			return tooLarge(s.ID, n, most)
		}
		x.frames = append(x.frames, wanted{s.K, f.off, f.size(), len(x.samples), i})
	}
	x.samples = append(x.samples, Loaded{s, make([][]byte, len(frames))})
	x.bytes += n
	return nil
}

// start waits until the budget has room for x, and starts to read it.
func (l *loader) start(ctx context.Context, x *load) error {
	x.share = min(max(x.bytes, 1), l.limit)
	if err := l.budget.acquire(ctx, x.share); err != nil {
		return err
	}
	x.done = make(chan struct{})
	go func() {
		defer close(x.done)
		x.err = l.read(ctx, x)
	}()
	l.ready <- x // does not block for ever: deliver or drain receives every load
	return nil
}

// read reads the frames of x, of all chunks at the same time.
func (l *loader) read(ctx context.Context, x *load) error {
	slices.SortFunc(x.frames, func(a, b wanted) int { return cmp.Or(cmp.Compare(a.k, b.k), cmp.Compare(a.off, b.off)) })
	starts, size := x.layOut()
	x.buf = bufpool.Get(int(size))
	groups := x.groups(starts)
	return par.Do(ctx, len(groups), len(groups), func(ctx context.Context, i int) error {
		g := groups[i]
		if err := g.c.data.ReadRanges(ctx, g.spans); err != nil {
			return l.d.inChunk(g.c, wrap(g.id, err))
		}
		return nil
	})
}

// A group is what a load reads of one chunk.
type group struct {
	c     *Chunk
	id    string // one of the ids, for errors
	spans []rangeio.Span
}

// groups gives each frame its place in the buffer, where spans of all chunks follow each
// other.
func (x *load) groups(starts []int) []group {
	var out []group
	at, k := int64(0), -1
	for i, start := range starts {
		first, end := &x.frames[start], len(x.frames)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		if first.k != k {
			s := &x.samples[first.sample]
			k, out = first.k, append(out, group{c: s.Chunk, id: s.ID})
		}
		last := &x.frames[end-1]
		n := last.off + last.size - first.off
		p := x.buf[at : at+n : at+n]
		at += n
		g := &out[len(out)-1]
		g.spans = append(g.spans, rangeio.Span{Off: first.off, P: p})
		for _, f := range x.frames[start:end] {
			from := f.off - first.off
			x.samples[f.sample].Frames[f.i] = p[from : from+f.size : from+f.size]
		}
	}
	return out
}

// layOut returns the first frame of each span, and the bytes of all. Frames of a chunk do
// not overlap.
func (x *load) layOut() (starts []int, size int64) {
	for i := range x.frames {
		f := &x.frames[i]
		if i > 0 {
			last := &x.frames[i-1]
			if gap := f.off - last.off - last.size; f.k == last.k && 0 <= gap && gap <= nearFrames {
				size += gap + f.size
				continue
			}
		}
		starts = append(starts, i)
		size += f.size
	}
	return starts, size
}

// deliver yields batch after batch.
func (l *loader) deliver(ctx context.Context, order *Order, n int, yield func(*Batch, error) bool) {
	var b Batch
	var held []*load // loads that the batch has samples of
	free := func() {
		for _, x := range held {
			x.free()
		}
		held = held[:0]
	}
	defer free()
	give := func() bool {
		order.next += int64(len(b.Samples))
		more := yield(&b, nil)
		clear(b.Samples)
		b.Samples = b.Samples[:0]
		return more
	}
	for x := range l.ready {
		<-x.done
		if err := context.Cause(ctx); err != nil {
			x.err = err // a read that the caller has ended says less
		}
		if x.err != nil {
			x.free()
			yield(nil, x.err)
			return
		}
		for at := 0; at < len(x.samples); {
			k := min(n-len(b.Samples), len(x.samples)-at)
			b.Samples = append(b.Samples, x.samples[at:at+k]...)
			if at += k; len(b.Samples) < n {
				break
			}
			more := give()
			free() // the loads before x
			if !more {
				x.free()
				return
			}
		}
		l.budget.release(x.share) // what a batch holds does not keep the next loads from being read: it may be longer than all of them
		if held = append(held, x); len(b.Samples) == 0 {
			free()
		}
	}
	switch {
	case l.err != nil:
		yield(nil, l.err)
	case len(b.Samples) > 0:
		give()
	}
}

// free gives the memory of x back.
func (x *load) free() {
	if x.buf != nil {
		bufpool.Put(x.buf)
		x.buf = nil
	}
}

// A budget of bytes, for one goroutine that acquires and others that release.
type budget struct {
	mu    sync.Mutex
	free  int64
	freed chan struct{} // has a token if something was released
}

// acquire waits until n bytes are free, or ctx ends.
func (b *budget) acquire(ctx context.Context, n int64) error {
	for {
		b.mu.Lock()
		ok := b.free >= n
		if ok {
			b.free -= n
		}
		b.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-b.freed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (b *budget) release(n int64) {
	b.mu.Lock()
	b.free += n
	b.mu.Unlock()
	select {
	case b.freed <- struct{}{}:
	default:
	}
}

// drain ends the reads that are under way, and gives back their memory.
func (l *loader) drain(cancel context.CancelFunc) {
	cancel()
	for x := range l.ready { // fill closes it
		<-x.done
		x.free()
	}
}
