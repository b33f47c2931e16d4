package pull

import (
	"context"
	"errors"
	"iter"
	"math"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/rangeio"
)

// Windows yields window after window, in the order of the parts. It reads the
// following windows meanwhile: as many as Memory holds, or one if the reader is local,
// since a local reader has no round trip to hide. If a read fails, Windows yields the
// windows before it, then the error with a nil Window, and stops. No read is under way
// any more when the loop has ended.
func (p *Pull[T]) Windows(ctx context.Context) iter.Seq2[*Window[T], error] {
	return func(yield func(*Window[T], error) bool) {
		ctx, cancel := context.WithCancel(rangeio.InOrder(ctx))
		q := queue[T]{limit: p.memory(), ready: make(chan *Window[T], mostReady), empty: make(chan *Window[T], mostReady)}
		q.budget = semaphore.NewWeighted(q.limit)
		q.cutter = p.cutter(ctx, &q)
		q.free = q.empty
		go q.fill()
		defer q.drain(cancel)
		for w := range q.ready {
			<-w.done // done is closed after the end of the context, too, since readers obey it
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
			q.recycle(w) // before Release: the window that gets the share of w in the budget can then reuse its memory
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

// Each calls take once for each part, with its bytes. The bytes are valid during the
// call only. Parts come in any order, and up to Parallel goroutines call take at the
// same time. The first error ends Each; an error of take is returned as it is. All
// calls have ended when Each returns.
//
// If there is only one window, the caller's goroutine reads it and takes it; its
// reader may use more goroutines. A local reader has no round trip to hide: the
// goroutines that take its windows read them, too. If Parallel is 1, only the caller's
// goroutine does.
func (p *Pull[T]) Each(ctx context.Context, take func(p Part[T], b []byte) error) error {
	s := spread[T]{take: take, limit: p.memory()}
	if !quick(p.From) { // a group's context ends waiting reads at the first error
		ctx = s.newGroup(ctx, p.parallel())
	}
	s.cutter = p.cutter(ctx, &s)
	err := s.finish(s.cutParts())
	if s.g != nil {
		err = s.waitGroup(err)
	}
	if t, ok := errors.AsType[taken](err); ok {
		return t.error
	}
	return err
}

// mostInFlight is the most windows that wait for their readers at the same time. Each
// window is one request or more, so this many keep a client busy.
const mostInFlight = 64

// A taken is an error of take. Each returns the error inside it.
type taken struct{ error }

// An emitter receives each window from a cutter.
type emitter[T any] interface{ emit(w *Window[T]) error }

// A cutter puts parts into windows, and passes each full window to its emitter.
type cutter[T any] struct {
	p         *Pull[T]
	to        emitter[T]
	index     context.Context //nolint:containedctx // context of the reads that find the parts; it lives as long as one call
	data      context.Context //nolint:containedctx // context of the reads of the parts
	filling   *Window[T]      // window that parts are added to; nil: none
	size      int64           // most bytes of that window
	lastParts int             // number of parts of the window before
	free      chan *Window[T] // windows to reuse
}

func (p *Pull[T]) cutter(ctx context.Context, to emitter[T]) cutter[T] {
	c := cutter[T]{p: p, to: to, size: p.window()}
	c.index, c.data = rangeio.Steps(ctx)
	if p.First > 0 {
		c.size = min(p.First, c.size)
	}
	return c
}

// cutParts puts all parts into windows, and emits every window except the last.
func (c *cutter[T]) cutParts() error { return c.p.Parts(c.index, c.add) }

func (c *cutter[T]) add(p Part[T]) error {
	if p.From == nil {
		p.From, p.own = c.p.From, true
	}
	if c.filling != nil && !c.filling.fits(&p, c.size, c.p) {
		if err := c.cut(); err != nil {
			return err
		}
	}
	if c.filling == nil {
		c.filling = c.emptyWindow()
	}
	c.filling.add(p)
	if p.Ends {
		return c.cut()
	}
	return nil
}

// cut emits the window that parts were added to.
func (c *cutter[T]) cut() error {
	w := c.lastWindow()
	c.lastParts = len(w.Parts)
	c.size = min(2*c.size, c.p.window())
	return c.to.emit(w)
}

// lastWindow returns the window that parts were added to, or nil if there is
// none.
func (c *cutter[T]) lastWindow() *Window[T] {
	w := c.filling
	if c.filling = nil; w != nil {
		w.layOut()
	}
	return w
}

// emptyWindow returns an empty window, a used one if there is one.
func (c *cutter[T]) emptyWindow() *Window[T] {
	select {
	case w := <-c.free:
		w.reset()
		return w
	default:
		return c.p.newWindow(c.lastParts)
	}
}

func (c *cutter[T]) recycle(w *Window[T]) {
	select {
	case c.free <- w:
	default:
		w.release()
	}
}

// planned reports whether w is only planned, not read. If it is, planned notes
// its requests in the plan.
func (c *cutter[T]) planned(w *Window[T]) bool {
	d, ok := w.reader().(*Dry)
	if !ok || c.p.Index {
		return false
	}
	note(c.data, d, w, c.p.Why)
	return true
}

// failed returns the error err of a read of w, with the names of its parts.
func (c *cutter[T]) failed(w *Window[T], err error) error {
	if err == nil || c.p.Failed == nil {
		return err
	}
	return c.p.Failed(w.Parts, err)
}

// mostReady is the most windows that wait until the caller of Windows takes them. The
// budget bounds their bytes; mostReady bounds the number of very short windows.
const mostReady = 64

// A queue is the state of one call of Windows. It reads windows ahead and keeps
// their order.
type queue[T any] struct {
	cutter[T]
	budget *semaphore.Weighted
	limit  int64
	ready  chan *Window[T]
	empty  chan *Window[T] // windows that the caller has taken
	err    error           // error of the parts; read it only after ready is closed
}

// drain ends the reads that are under way, and releases the memory of all
// windows.
func (q *queue[T]) drain(cancel context.CancelFunc) {
	cancel()
	for w := range q.ready { // fill closes ready after it has added the last window
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

// fill puts all parts into windows and starts to read each window.
func (q *queue[T]) fill() {
	defer close(q.ready)
	q.err = q.cutParts()
	if w := q.lastWindow(); w != nil { // also if Parts failed: the caller gets the windows before the error
		if err := q.emit(w); q.err == nil {
			q.err = err
		}
	}
}

// emit waits until the budget has room for w, and starts to read w.
func (q *queue[T]) emit(w *Window[T]) error {
	if q.planned(w) {
		q.recycle(w)
		return context.Cause(q.data)
	}
	w.share = min(w.held(), q.limit)
	ahead := q.p.Ahead
	if rangeio.Local(w.reader()) { // one window is enough: only the time of its read is to hide
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
	q.ready <- w // does not block for ever: Windows or drain receives every window
	return nil
}

// inherit gives w the memory of a window that the caller has taken, if w has no
// memory. Without it, windows would hold more memory than the budget counts.
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

// A spread is the state of one call of Each. It reads and takes several windows
// at the same time.
type spread[T any] struct {
	cutter[T]
	take    func(Part[T], []byte) error
	limit   int64
	spawned bool // a goroutine besides the caller's has been started

	// The group of goroutines besides the caller's, and what they share. All
	// are nil until a goroutine may be started.
	g        *errgroup.Group
	inFlight chan struct{} // holds one entry for each window of a far or slow reader
	takers   chan struct{} // holds one entry for each call of take, or for each window of a quick local reader
	budget   *semaphore.Weighted
	runs     *semaphore.Weighted // a slice of each run; an eighth more than the budget, so that the next ones are asked for already

	queue   chan *Window[T] // windows of quick local readers, for workers; nil: no such window yet
	workers int
	idle    atomic.Int32 // number of workers that wait for a window
}

// newGroup makes the group, and what its goroutines share. It returns the context of the
// group, which ends with the first error.
func (s *spread[T]) newGroup(ctx context.Context, parallel int) context.Context {
	s.g, ctx = errgroup.WithContext(ctx)
	s.inFlight, s.takers = make(chan struct{}, mostInFlight), make(chan struct{}, parallel)
	s.budget, s.runs = semaphore.NewWeighted(s.limit), semaphore.NewWeighted(s.limit+min(s.limit/8, math.MaxInt64-s.limit))
	return ctx
}

// ensureGroup makes the group if it is not made yet.
func (s *spread[T]) ensureGroup() {
	if s.g == nil {
		s.data = s.newGroup(s.data, s.p.parallel())
	}
}

// waitGroup waits for the end of the group, and returns its first error. err is the error
// of the caller's goroutine.
func (s *spread[T]) waitGroup(err error) error {
	if err != nil {
		s.g.Go(func() error { return err }) // if err is the first error, it ends the other goroutines
	}
	return s.g.Wait()
}

func (s *spread[T]) emit(w *Window[T]) error {
	if s.planned(w) {
		return context.Cause(s.data)
	}
	if w.quick() {
		return s.enqueue(w)
	}
	s.ensureGroup()
	select {
	case s.inFlight <- struct{}{}:
	case <-s.data.Done():
		return context.Cause(s.data)
	}
	if r, slices := w.run(); r != nil {
		return s.emitRun(r, w, slices)
	}
	return s.start(s.budget, min(w.held(), s.limit), func() error { return s.takeAll(w) })
}

// start waits until there is room for n bytes, and then calls take in a goroutine. The caller has a place in
// inFlight, which goes back with the room.
func (s *spread[T]) start(room *semaphore.Weighted, n int64, take func() error) error {
	if err := room.Acquire(s.data, n); err != nil {
		<-s.inFlight
		return context.Cause(s.data)
	}
	s.spawned = true
	s.g.Go(func() error {
		defer func() {
			room.Release(n)
			<-s.inFlight
		}()
		return take()
	})
	return nil
}

// acquire waits until fewer than Parallel goroutines take, and counts this one.
func (s *spread[T]) acquire() error {
	select {
	case s.takers <- struct{}{}:
		return nil
	case <-s.data.Done():
		return context.Cause(s.data)
	}
}

func (s *spread[T]) release() { <-s.takers }

// flushLast reads the last window and takes it.
func (s *spread[T]) flushLast() error {
	w := s.lastWindow()
	switch {
	case w == nil || s.planned(w):
		return context.Cause(s.data)
	case w.quick():
		return s.takeInline(w, !s.spawned)
	case s.spawned:
		return s.emit(w)
	}
	s.ensureGroup()
	return s.takeAll(w)
}

// takeInline reads w in this goroutine and takes its parts. If only is set, w is the
// only window, and other goroutines may help to take its parts.
func (s *spread[T]) takeInline(w *Window[T], only bool) error {
	switch {
	case s.g == nil && s.data.Err() != nil:
		return context.Cause(s.data)
	case s.g != nil:
		n := min(w.held(), s.limit)
		if err := s.budget.Acquire(s.data, n); err != nil {
			return context.Cause(s.data)
		}
		defer s.budget.Release(n)
		if err := s.acquire(); err != nil {
			return err
		}
		defer s.release()
	}
	defer func() {
		w.release()
		s.recycle(w)
	}()
	err := w.read(s.data, nil)
	if err != nil {
		return s.failed(w, err)
	}
	if only {
		return s.takeSplit(w)
	}
	return w.each(func(i int) error { return s.takePart(w, i) })
}

// takePart calls take for part i of w.
func (s *spread[T]) takePart(w *Window[T], i int) error {
	if err := s.take(w.Parts[i], w.Bytes(i)); err != nil {
		return taken{err}
	}
	return nil
}

// takeAll reads w, and takes each part as soon as its bytes are there and a taker is
// free.
func (s *spread[T]) takeAll(w *Window[T]) error {
	defer w.release()
	err := w.read(s.data, func(i int) error {
		if err := s.acquire(); err != nil {
			return err
		}
		defer s.release()
		return s.takePart(w, i)
	})
	if _, ok := errors.AsType[taken](err); ok {
		return err
	}
	return s.failed(w, err)
}

// worthParts is the number of parts from which another goroutine saves time, even if the
// parts are very short.
const worthParts = 32

// takeSplit takes the parts of the only window, after it is read. It uses more goroutines
// if they save time.
func (s *spread[T]) takeSplit(w *Window[T]) error {
	worth := max(int(w.cost/WorthGoroutine), int(w.made/WorthWork), len(w.Parts)/worthParts)
	if worth == 0 {
		return w.each(func(i int) error { return s.takePart(w, i) })
	}
	return par.Each(len(w.Parts), min(s.p.parallel(), 1+worth), func(k int) error { return s.takePart(w, w.nth(k)) })
}
