package pull

import (
	"context"
	"errors"
	"iter"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/farread/farread/rangeio"
)

// errStop ends the adding of parts when whoever takes them wants no more.
var errStop = errors.New("no more parts are wanted")

// Windows yields window after window, in the order of the parts. The windows that
// follow are read meanwhile, as many as Memory holds. An error comes with a nil
// Window and ends it. No read is under way any more when the loop has ended.
func (p *Pull[T]) Windows(ctx context.Context) iter.Seq2[*Window[T], error] {
	return func(yield func(*Window[T], error) bool) {
		err := p.queue(ctx, yield)
		if err != nil && !errors.Is(err, errStop) {
			yield(nil, err)
		}
	}
}

// Each calls take for each part once its bytes, which are valid during the call only,
// have come: in any order, from several goroutines, Parallel at a time. The first
// error ends it; that of take is returned as it is. All calls have ended when Each
// returns. A single window is read and taken by the caller's goroutine, but for what
// its reader does side by side.
func (p *Pull[T]) Each(ctx context.Context, take func(p Part[T], b []byte) error) error {
	g, gctx := errgroup.WithContext(ctx)
	s := spread[T]{g: g, take: take, hands: make(chan struct{}, p.parallel()),
		budget: semaphore.NewWeighted(p.memory()), limit: p.memory()}
	s.cutter = p.cutter(gctx, s.emit)
	err := s.parts()
	if err == nil {
		err = s.last()
	}
	if werr := g.Wait(); werr != nil {
		err = werr // what made the adding of parts end
	}
	if t, ok := errors.AsType[taken](err); ok {
		return t.error
	}
	return err
}

// A taken error is one of take, which goes back as it came.
type taken struct{ error }

// A cutter cuts parts into windows and emits these.
type cutter[T any] struct {
	p     *Pull[T]
	emit  func(*Window[T]) error
	index context.Context //nolint:containedctx // of what is read to know parts, for the length of a call
	data  context.Context //nolint:containedctx // of the parts
	now   *Window[T]      // being filled
	size  int64           // that it may have
	free  []*Window[T]
}

func (p *Pull[T]) cutter(ctx context.Context, emit func(*Window[T]) error) cutter[T] {
	c := cutter[T]{p: p, emit: emit, index: rangeio.OnePhase(ctx), size: p.window()}
	c.data = rangeio.NextPhase(c.index)
	if p.First > 0 {
		c.size = min(p.First, c.size)
	}
	return c
}

// parts takes all parts and emits all windows but the last.
func (c *cutter[T]) parts() error { return c.p.Parts(c.index, c.add) }

func (c *cutter[T]) add(p Part[T]) error {
	if p.From == nil {
		p.From = c.p.From
	}
	if c.now != nil && !c.now.fits(&p, c.size) {
		w := c.now
		c.now = nil
		w.lay()
		c.size = min(2*c.size, c.p.window())
		if err := c.emit(w); err != nil {
			return err
		}
	}
	if c.now == nil {
		c.now = c.fresh()
	}
	c.now.add(p)
	return nil
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
	w := &Window[T]{}
	if k := len(c.free); k > 0 {
		w, c.free = c.free[k-1], c.free[:k-1]
	}
	w.reset(c.p.Room)
	return w
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

// A queue is one call of Windows: windows that are read ahead, in order. It is
// filled and emptied by the goroutine of the caller.
type queue[T any] struct {
	cutter[T]
	yield func(*Window[T], error) bool
	ahead []*Window[T] // under way, or read and not yet given
	held  int64        // bytes of these
	limit int64
	ended bool // by an error of a read, or by whoever takes windows
}

func (p *Pull[T]) queue(ctx context.Context, yield func(*Window[T], error) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	q := queue[T]{yield: yield, limit: p.memory()}
	q.cutter = p.cutter(ctx, q.emit)
	defer func() {
		cancel()
		for _, w := range q.ahead {
			<-w.done
			w.release()
		}
	}()
	if err := q.parts(); err != nil {
		if q.ended {
			return err
		}
		if first := q.rest(); first != nil { // what came before is handed on first
			return first
		}
		return err
	}
	return q.rest()
}

// rest gives what is left: the window that was being filled, and those under way.
func (q *queue[T]) rest() error {
	if w := q.end(); w != nil && !q.noted(w) {
		if len(q.ahead) == 0 { // the only one, or one that waits for nothing
			return q.give(w, w.read(q.data, nil))
		}
		if err := q.start(w); err != nil {
			return err
		}
	}
	for len(q.ahead) > 0 {
		if err := q.turn(); err != nil {
			return err
		}
	}
	return nil
}

// emit starts to read a window, once those before it leave room.
func (q *queue[T]) emit(w *Window[T]) error {
	if q.noted(w) {
		q.free = append(q.free, w)
		return q.data.Err()
	}
	return q.start(w)
}

func (q *queue[T]) start(w *Window[T]) error {
	for len(q.ahead) > 0 && q.held+w.cost > q.limit {
		if err := q.turn(); err != nil {
			return err
		}
	}
	w.done = make(chan struct{})
	q.ahead, q.held = append(q.ahead, w), q.held+w.cost
	go func() {
		defer close(w.done)
		w.err = w.read(q.data, nil)
	}()
	return nil
}

// turn gives the next window.
func (q *queue[T]) turn() error {
	w := q.ahead[0]
	<-w.done // ends with the context, too: readers obey it
	q.ahead, q.held = q.ahead[1:], q.held-w.cost
	return q.give(w, w.err)
}

func (q *queue[T]) give(w *Window[T], err error) error {
	defer w.release()
	q.ended = true
	if err != nil {
		return q.failed(w, err)
	}
	if err := context.Cause(q.data); err != nil {
		return err
	}
	if !q.yield(w, nil) {
		return errStop
	}
	q.ended = false
	q.free = append(q.free, w)
	return nil
}

// A spread is one call of Each: windows that are read and taken side by side.
type spread[T any] struct {
	cutter[T]
	g      *errgroup.Group
	take   func(Part[T], []byte) error
	hands  chan struct{} // one for each call of take
	budget *semaphore.Weighted
	limit  int64
	begun  bool // another goroutine reads
}

func (s *spread[T]) emit(w *Window[T]) error {
	if s.noted(w) {
		s.free = append(s.free, w)
		return s.data.Err()
	}
	n := min(w.cost, s.limit)
	if err := s.budget.Acquire(s.data, n); err != nil {
		return context.Cause(s.data)
	}
	s.begun = true
	s.g.Go(func() error {
		defer s.budget.Release(n)
		return s.all(w)
	})
	return nil
}

// last reads what is left.
func (s *spread[T]) last() error {
	w := s.end()
	switch {
	case w == nil || s.noted(w):
		return s.data.Err()
	case s.begun:
		return s.emit(w)
	}
	return s.all(w)
}

// all reads a window and takes its parts.
func (s *spread[T]) all(w *Window[T]) error {
	defer w.release()
	err := w.read(s.data, func(i int) error {
		select {
		case s.hands <- struct{}{}:
		case <-s.data.Done():
			return context.Cause(s.data)
		}
		defer func() { <-s.hands }()
		if err := s.take(w.Parts[i], w.Bytes(i)); err != nil {
			return taken{err}
		}
		return nil
	})
	if _, ok := errors.AsType[taken](err); ok {
		return err
	}
	return s.failed(w, err)
}
