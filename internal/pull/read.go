package pull

import (
	"context"
	"errors"
	"iter"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/rangeio"
)

// Windows yields window after window, in the order of the parts. The windows that
// follow are read meanwhile, as many as Memory holds; from a local reader, which has
// no round trip to hide, one. An error comes with a nil Window, after the windows
// before it, and ends the loop. No read is under way any more when the loop has ended.
func (p *Pull[T]) Windows(ctx context.Context) iter.Seq2[*Window[T], error] {
	return func(yield func(*Window[T], error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		q := queue[T]{limit: p.memory(), ready: make(chan *Window[T], ready), empty: make(chan *Window[T], ready)}
		q.budget = semaphore.NewWeighted(q.limit)
		q.cutter = p.cutter(ctx, &q)
		q.free = q.empty
		go q.fill()
		defer q.drain(cancel)
		for w := range q.ready {
			<-w.done // ends with the context, too: readers obey it
			if w.err == nil {
				w.err = context.Cause(ctx)
			} else {
				w.err = q.failed(w, w.err)
			}
			if w.err != nil {
				err := w.err
				w.release()
				yield(nil, err)
				return
			}
			more := yield(w, nil)
			share := w.share
			q.recycle(w) // first, so that whoever gets its share gets its memory
			q.budget.Release(share)
			if !more {
				return
			}
		}
		if q.err != nil {
			yield(nil, q.err)
		}
	}
}

// Each calls take for each part once its bytes, which are valid during the call only,
// have come: in any order, from several goroutines, Parallel at a time. The first
// error ends it; that of take is returned as it is. All calls have ended when Each
// returns. A single window is read and taken by the caller's goroutine, but for what
// its reader does side by side. Windows of a local reader, which have no round trip to
// hide, are read by the Parallel goroutines that take them: by the caller's alone if
// Parallel is 1.
func (p *Pull[T]) Each(ctx context.Context, take func(p Part[T], b []byte) error) error {
	s := spread[T]{take: take, limit: p.memory()}
	if !quick(p.From) { // reads that wait end with the first error
		ctx = s.share(ctx, p.parallel())
	}
	s.cutter = p.cutter(ctx, &s)
	err := s.end(s.parts())
	if s.g != nil {
		err = s.wait(err)
	}
	if t, ok := errors.AsType[taken](err); ok {
		return t.error
	}
	return err
}

// flight is how many windows are under way at most, each of one request or more: as
// many as keep a client busy.
const flight = 64

// A taken error is one of take, which goes back as it came.
type taken struct{ error }

// An emitter takes windows as they are cut.
type emitter[T any] interface{ emit(w *Window[T]) error }

// A cutter cuts parts into windows and emits these.
type cutter[T any] struct {
	p     *Pull[T]
	to    emitter[T]
	index context.Context //nolint:containedctx // of what is read to know parts, for the length of a call
	data  context.Context //nolint:containedctx // of the parts
	now   *Window[T]      // being filled
	size  int64           // that it may have
	usual int             // parts of the last one
	free  chan *Window[T] // to be used again
}

func (p *Pull[T]) cutter(ctx context.Context, to emitter[T]) cutter[T] {
	c := cutter[T]{p: p, to: to, size: p.window()}
	c.index, c.data = rangeio.Steps(ctx)
	if p.First > 0 {
		c.size = min(p.First, c.size)
	}
	return c
}

// parts takes all parts and emits all windows but the last.
func (c *cutter[T]) parts() error { return c.p.Parts(c.index, c.add) }

func (c *cutter[T]) add(p Part[T]) error {
	if p.From == nil {
		p.From, p.own = c.p.From, true
	}
	if c.now != nil && !c.now.fits(&p, c.size, c.p.most()) {
		if err := c.cut(); err != nil {
			return err
		}
	}
	if c.now == nil {
		c.now = c.fresh()
	}
	c.now.add(p)
	if p.Ends {
		return c.cut()
	}
	return nil
}

// cut emits the window that was being filled.
func (c *cutter[T]) cut() error {
	w := c.end()
	c.usual = len(w.Parts)
	c.size = min(2*c.size, c.p.window())
	return c.to.emit(w)
}

// end gives the window that was being filled, nil if there is none.
func (c *cutter[T]) end() *Window[T] {
	w := c.now
	if c.now = nil; w != nil {
		w.lay()
	}
	return w
}

// fresh is an empty window.
func (c *cutter[T]) fresh() *Window[T] {
	select {
	case w := <-c.free:
		w.reset()
		return w
	default:
		return newWindow[T](c.usual, c.p.Room, c.p.near())
	}
}

func (c *cutter[T]) recycle(w *Window[T]) {
	select {
	case c.free <- w:
	default:
		w.release()
	}
}

// noted tells whether a window was only to be planned, and plans it.
func (c *cutter[T]) noted(w *Window[T]) bool {
	d, ok := w.reader().(*Dry)
	if !ok || c.p.Index {
		return false
	}
	note(c.data, d, w, c.p.Why)
	return true
}

// failed is the error of a read, with the names of the parts.
func (c *cutter[T]) failed(w *Window[T], err error) error {
	if err == nil || c.p.Failed == nil {
		return err
	}
	return c.p.Failed(w.Parts, err)
}

// ready is how many windows may wait for whoever takes them. Their bytes are bounded
// by the budget; this bounds windows of next to nothing.
const ready = 64

// A queue is one call of Windows: windows that are read ahead, in order.
type queue[T any] struct {
	cutter[T]
	budget *semaphore.Weighted
	limit  int64
	ready  chan *Window[T]
	empty  chan *Window[T] // that were taken
	err    error           // of the parts; to be read when ready is closed
}

// drain ends what is under way and gives all memory back.
func (q *queue[T]) drain(cancel context.CancelFunc) {
	cancel()
	for w := range q.ready { // closed once nothing is added any more
		<-w.done
		w.release()
	}
	for {
		select {
		case w := <-q.empty:
			w.release()
		default:
			return
		}
	}
}

// fill cuts all parts into windows and has these read.
func (q *queue[T]) fill() {
	defer close(q.ready)
	q.err = q.parts()
	if w := q.end(); w != nil { // also before an error: it comes after what is well
		if err := q.emit(w); q.err == nil {
			q.err = err
		}
	}
}

// emit starts to read a window, once those before it leave room.
func (q *queue[T]) emit(w *Window[T]) error {
	if q.noted(w) {
		q.recycle(w)
		return context.Cause(q.data)
	}
	w.share = min(w.held(), q.limit)
	ahead := q.p.Ahead
	if rangeio.Local(w.reader()) { // nothing to hide but the reading of one
		ahead = 1
	}
	if ahead > 0 {
		w.share = max(w.share, q.limit/int64(ahead+1))
	}
	if err := q.budget.Acquire(q.data, w.share); err != nil {
		w.release()
		return context.Cause(q.data)
	}
	q.inherit(w)
	w.done = make(chan struct{})
	read := func() {
		defer close(w.done)
		if w.err = w.read(q.data, nil); w.err == nil && q.p.Came != nil {
			q.p.Came(w)
		}
	}
	if ahead > 0 {
		read()
	} else {
		go read()
	}
	q.ready <- w // whoever takes windows takes all
	return nil
}

// inherit gives a window the memory of one that was taken, if it has none. Else there
// would be more memory about than the budget counts.
func (q *queue[T]) inherit(w *Window[T]) {
	if w.buf != nil {
		return
	}
	select {
	case old := <-q.free:
		w.buf, old.buf = old.buf, nil
		q.recycle(old)
	default:
	}
}

// A spread is one call of Each: windows that are read and taken side by side.
type spread[T any] struct {
	cutter[T]
	take  func(Part[T], []byte) error
	limit int64
	begun bool // another goroutine reads

	// Of goroutines besides the caller's; nil as long as there can be none.
	g      *errgroup.Group
	flying chan struct{} // one for each window that waits for its reader
	hands  chan struct{} // one for each call of take, or for each window of a local reader
	budget *semaphore.Weighted

	queue   chan *Window[T] // of local readers, for workers; nil: none yet
	workers int
}

// share makes a group, whose context ends with the first error, and what its goroutines
// share.
func (s *spread[T]) share(ctx context.Context, parallel int) context.Context {
	s.g, ctx = errgroup.WithContext(ctx)
	s.flying, s.hands = make(chan struct{}, flight), make(chan struct{}, parallel)
	s.budget = semaphore.NewWeighted(s.limit)
	return ctx
}

// shared makes a group if there is none.
func (s *spread[T]) shared() {
	if s.g == nil {
		s.data = s.share(s.data, s.p.parallel())
	}
}

// wait ends the group, and gives the first error: err is that of the caller's goroutine.
func (s *spread[T]) wait(err error) error {
	if err != nil {
		s.g.Go(func() error { return err }) // ends the others, if it is the first
	}
	return s.g.Wait()
}

func (s *spread[T]) emit(w *Window[T]) error {
	if s.noted(w) {
		return context.Cause(s.data)
	}
	if w.quick() {
		return s.enqueue(w)
	}
	s.shared()
	select {
	case s.flying <- struct{}{}:
	case <-s.data.Done():
		return context.Cause(s.data)
	}
	n := min(w.held(), s.limit)
	if err := s.budget.Acquire(s.data, n); err != nil {
		<-s.flying
		return context.Cause(s.data)
	}
	s.begun = true
	s.g.Go(func() error {
		defer func() {
			s.budget.Release(n)
			<-s.flying
		}()
		return s.all(w)
	})
	return nil
}

// enqueue gives a window to workers, of which there are as many as there may be besides
// this goroutine; if they have enough to do, or there are none, it goes ahead here.
func (s *spread[T]) enqueue(w *Window[T]) error {
	if s.p.parallel() == 1 {
		return s.here(w, false)
	}
	if s.queue == nil {
		s.queue = make(chan *Window[T], s.p.parallel()) // windows of short parts are long lists
	}
	if s.workers < s.p.parallel()-1 {
		s.workers++
		s.begun = true
		s.shared()
		s.g.Go(s.work)
	}
	select {
	case s.queue <- w:
		return nil
	default:
		return s.here(w, false)
	}
}

// work reads and takes windows until there will be no more.
func (s *spread[T]) work() error {
	for w := range s.queue {
		if err := s.here(w, false); err != nil {
			return err
		}
	}
	return nil
}

// end reads what is left, unless the parts have ended with an error.
func (s *spread[T]) end(err error) error {
	if s.queue != nil {
		close(s.queue)
	}
	if err == nil {
		err = s.last()
	}
	if err == nil && s.queue != nil {
		err = s.work()
	}
	return err
}

// enter waits for a hand that is free.
func (s *spread[T]) enter() error {
	select {
	case s.hands <- struct{}{}:
		return nil
	case <-s.data.Done():
		return context.Cause(s.data)
	}
}

func (s *spread[T]) leave() { <-s.hands }

// last reads the last window.
func (s *spread[T]) last() error {
	w := s.cutter.end()
	switch {
	case w == nil || s.noted(w):
		return context.Cause(s.data)
	case w.quick():
		return s.here(w, !s.begun)
	case s.begun:
		return s.emit(w)
	}
	s.shared()
	return s.all(w)
}

// here reads and takes a window in this goroutine, or the only one with others.
func (s *spread[T]) here(w *Window[T], only bool) error {
	switch {
	case s.g == nil && s.data.Err() != nil:
		return context.Cause(s.data)
	case s.g != nil:
		n := min(w.held(), s.limit)
		if err := s.budget.Acquire(s.data, n); err != nil {
			return context.Cause(s.data)
		}
		defer s.budget.Release(n)
		if err := s.enter(); err != nil {
			return err
		}
		defer s.leave()
	}
	defer w.release()
	err := w.read(s.data, nil)
	if err != nil {
		return s.failed(w, err)
	}
	if only {
		return s.split(w)
	}
	return w.each(func(i int) error { return s.one(w, i) })
}

// one takes a part.
func (s *spread[T]) one(w *Window[T], i int) error {
	if err := s.take(w.Parts[i], w.Bytes(i)); err != nil {
		return taken{err}
	}
	return nil
}

// all reads a window and takes its parts as they come, with as many hands as are free.
func (s *spread[T]) all(w *Window[T]) error {
	defer w.release()
	err := w.read(s.data, func(i int) error {
		if err := s.enter(); err != nil {
			return err
		}
		defer s.leave()
		return s.one(w, i)
	})
	if _, ok := errors.AsType[taken](err); ok {
		return err
	}
	return s.failed(w, err)
}

// worthParts is how many parts make a goroutine worth its start, however short they are.
const worthParts = 32

// split takes the parts of the only window, which is there, with as many goroutines as
// are worth it.
func (s *spread[T]) split(w *Window[T]) error {
	worth := max(int(w.cost/WorthGoroutine), len(w.Parts)/worthParts)
	if worth == 0 {
		return w.each(func(i int) error { return s.one(w, i) })
	}
	return par.Each(len(w.Parts), min(s.p.parallel(), 1+worth), func(k int) error { return s.one(w, w.nth(k)) })
}
