package cframe

import (
	"context"
	"math/bits"
	"slices"
	"sync"
)

// A budget is how many bytes may be held. They are counted in powers of two: more
// than the sizes of bufpool, as a pool keeps a buffer or two besides.
type budget struct {
	mu    sync.Mutex
	all   int
	left  int
	queue []waiter
}

// reset makes it one of n bytes. Nobody may hold any.
func (b *budget) reset(n int64) { b.all, b.left = int(n), int(n) }

type waiter struct {
	n     int
	ready chan struct{}
}

// take waits until a buffer of n bytes may be held, alone where it is longer
// than the whole budget, and returns what is to be given back. Who holds
// something must not take more.
func (b *budget) take(ctx context.Context, n int) (int, error) {
	n = min(1<<bits.Len(uint(max(n, 1)-1)), b.all)
	b.mu.Lock()
	if len(b.queue) == 0 && b.left >= n {
		b.left -= n
		b.mu.Unlock()
		return n, nil
	}
	w := waiter{n, make(chan struct{})}
	b.queue = append(b.queue, w)
	b.mu.Unlock()
	select {
	case <-w.ready:
		return n, nil
	case <-ctx.Done():
	}
	b.mu.Lock()
	k := slices.IndexFunc(b.queue, func(q waiter) bool { return q.ready == w.ready })
	if k >= 0 {
		b.queue = slices.Delete(b.queue, k, k+1)
	}
	b.mu.Unlock()
	if k < 0 { // it was given at the same moment
		b.give(n)
	} else {
		b.give(0) // those behind may fit
	}
	return 0, context.Cause(ctx)
}

func (b *budget) give(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
	for len(b.queue) > 0 && b.queue[0].n <= b.left {
		b.left -= b.queue[0].n
		close(b.queue[0].ready)
		b.queue = b.queue[1:]
	}
}
