package pull

import "github.com/farread/farread/internal/par"

// enqueue puts a window into the queue of the workers, and starts a worker while there
// are fewer than Parallel-1. If the queue is full, or Parallel is 1, this goroutine
// reads and takes a window itself: the one that waited longest.
func (s *spread[T]) enqueue(w *Window[T]) error {
	parallel := s.p.parallel()
	if s.free == nil {
		s.free = make(chan *Window[T], parallel)
	}
	if parallel == 1 {
		return s.takeInline(w, false)
	}
	if s.queue == nil {
		s.queue = make(chan *Window[T], parallel) // a short queue: windows of short parts have long lists
	}
	var first *Window[T]
	if len(s.queue) == parallel {
		select {
		case first = <-s.queue:
		default: // a worker has taken the first window
		}
	}
	s.queue <- w // does not block: only this goroutine adds to the queue
	// A worker is offered, for a short read is over before another processor takes it of itself.
	switch {
	case s.workers < parallel-1:
		s.workers++
		s.spawned = true
		s.ensureGroup()
		s.g.Go(s.work)
		par.Offer()
	case s.idle.Load() > 0:
		par.Offer()
	}
	if first == nil {
		return nil
	}
	return s.takeInline(first, false)
}

// work reads and takes windows of the queue until the queue is closed and
// empty.
func (s *spread[T]) work() error {
	for {
		s.idle.Add(1)
		w, more := <-s.queue
		s.idle.Add(-1)
		if !more {
			return nil
		}
		if err := s.takeInline(w, false); err != nil {
			return err
		}
	}
}

// finish closes the queue. If err, the error of the parts, is nil, finish then
// reads and takes the windows that are left.
func (s *spread[T]) finish(err error) error {
	if s.queue != nil {
		close(s.queue)
	}
	if err == nil {
		err = s.flushLast()
	}
	if err == nil && s.queue != nil {
		err = s.work()
	}
	return err
}
