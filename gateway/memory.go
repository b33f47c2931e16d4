package gateway

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// maxWaiters is the most requests that wait for memory.
const maxWaiters = 256

// memory is the bytes that buffers of answers may take, first come, first served.
type memory struct {
	all     int64
	sem     *semaphore.Weighted
	used    atomic.Int64
	waiting atomic.Int64
}

func newMemory(n int64) *memory { return &memory{all: n, sem: semaphore.NewWeighted(n)} }

// errBusy refuses a request for want of memory.
func errBusy() error {
	return &refusal{http.StatusServiceUnavailable, "busy", "too many requests at once", [2]string{"Retry-After", "1"}}
}

// take waits for n bytes, at most for a time.
func (m *memory) take(ctx context.Context, n int64, wait time.Duration) (*loan, error) {
	if n > m.all {
		return nil, tooLarge("buffers", n, m.all)
	}
	if !m.sem.TryAcquire(n) {
		defer m.waiting.Add(-1)
		if m.waiting.Add(1) > maxWaiters {
			return nil, errBusy()
		}
		waiting, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		if err := m.sem.Acquire(waiting, n); err != nil {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			return nil, errBusy()
		}
	}
	m.used.Add(n)
	l := &loan{m: m, n: n}
	l.holders.Store(1)
	return l, nil
}

// spare takes memory for up to k buffers of n bytes, if at most half of all is in use then.
// It does not wait, and returns nil if there is none for one of them.
func (m *memory) spare(n, k int64) *loan {
	k = min(k, (m.all/2-m.used.Load())/max(n, 1))
	if k <= 0 || !m.sem.TryAcquire(k*n) {
		return nil
	}
	m.used.Add(k * n)
	l := &loan{m: m, n: k * n}
	l.holders.Store(1)
	return l
}

// A loan is memory that several requests may hold together.
type loan struct {
	m       *memory
	n       int64
	holders atomic.Int64
}

// shrink gives back all but n bytes. Only the first holder may call it.
func (l *loan) shrink(n int64) {
	if more := l.n - n; more > 0 {
		l.n = n
		l.m.used.Add(-more)
		l.m.sem.Release(more)
	}
}

// held says how many requests hold the loan.
func (l *loan) held(n int) {
	l.holders.Store(int64(n))
	if n == 0 {
		l.holders.Store(1)
		l.release()
	}
}

// release ends the holding of one request.
func (l *loan) release() {
	if l != nil && l.holders.Add(-1) == 0 {
		l.m.used.Add(-l.n)
		l.m.sem.Release(l.n)
	}
}
