package pull

import (
	"context"
	"time"

	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

// A slice is a piece of a window of one span that has memory of its own, for no longer
// than its bytes come and are taken.
type slice struct {
	from, to int // positions of its parts in the order of the object
	at, n    int // its bytes in the window
	cost     int64
}

const (
	leastSlice = 1 << 20 // bytes of a slice; a part is in one slice
	mostRuns   = 32      // runs that are under way at the same time
)

// slices cuts w into slices, or returns nil if w is not worth it, or has several spans.
func (w *Window[T]) slices() []slice {
	if len(w.first) != 1 || w.room > 0 || w.size < 2*leastSlice {
		return nil
	}
	var out []slice
	end := 0
	for k := range w.Parts {
		i := w.nth(k)
		if n := len(out); n == 0 || out[n-1].n >= leastSlice {
			out = append(out, slice{from: k, at: end}) // the gap before a part is in its slice
		}
		s := &out[len(out)-1]
		end = w.offsets[i] + int(w.Parts[i].Len)
		s.to, s.n = k+1, end-s.at
		s.cost += w.Parts[i].More + partOverhead
	}
	for k := range out {
		out[k].cost += int64(out[k].n)
	}
	return out
}

// run returns the reader of w and its slices if w can be read as a run: by one request,
// of which each slice takes memory only when its bytes are due.
func (w *Window[T]) run() (rangeio.Runner, []slice) {
	r, ok := w.reader().(rangeio.Runner)
	if !ok {
		return nil, nil
	}
	slices := w.slices()
	if len(slices) < 2 || !r.Runs(w.Parts[w.nth(0)].Off, int64(w.size)) {
		return nil, nil
	}
	return r, slices
}

// emitRun begins a run. So many are under way that each has memory for a slice.
func (s *spread[T]) emitRun(r rangeio.Runner, w *Window[T], slices []slice) error {
	n := s.limit / mostRuns
	for k := range slices {
		n = max(n, min(slices[k].cost, s.limit))
	}
	return s.start(s.runs, n, func() error { return s.takeRun(r, w, slices) })
}

// takeRun reads a run, and takes the parts of each slice as soon as it is there and a
// taker is free.
func (s *spread[T]) takeRun(r rangeio.Runner, w *Window[T], slices []slice) error {
	lens := make([]int64, len(slices))
	for k := range slices {
		lens[k] = int64(slices[k].n)
	}
	var b []byte // memory of the slice that comes
	var n int64  // its share of the budget
	err := r.ReadRun(s.data, &rangeio.Run{Off: w.Parts[w.nth(0)].Off, Lens: lens,
		Memory: func(k int, patience time.Duration) ([]byte, error) {
			n = min(slices[k].cost, s.limit)
			if err := s.memory(n, patience); err != nil {
				return nil, err
			}
			b = bufpool.Get(slices[k].n)
			return b, nil
		},
		Done: func(k int) {
			c, m := b, n
			b = nil
			s.g.Go(func() error {
				defer s.budget.Release(m)
				defer bufpool.Put(c)
				return s.takeSlice(w, &slices[k], c)
			})
		}})
	if b != nil {
		bufpool.Put(b)
		s.budget.Release(n)
	}
	return s.failed(w, err)
}

// memory takes n bytes of the budget, within patience if that is not 0.
func (s *spread[T]) memory(n int64, patience time.Duration) error {
	if s.budget.TryAcquire(n) {
		return nil
	}
	ctx := s.data
	if patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	err := s.budget.Acquire(ctx, n)
	if err != nil && s.data.Err() == nil {
		return rangeio.ErrLater
	}
	return err
}

// takeSlice takes the parts of a slice of w, whose bytes are b.
func (s *spread[T]) takeSlice(w *Window[T], x *slice, b []byte) error {
	for k := x.from; k < x.to; k++ {
		if err := s.acquire(); err != nil {
			return err
		}
		i := w.nth(k)
		at, n := w.offsets[i]-x.at, int(w.Parts[i].Len)
		err := s.take(w.Parts[i], b[at:at+n:at+n])
		s.release()
		if err != nil {
			return taken{err}
		}
	}
	return nil
}
