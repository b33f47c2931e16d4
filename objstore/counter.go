package objstore

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farread/farread/rangeio"
)

// A Counter counts the cost of a process, a command or a test. Drivers that speak
// HTTP count every request they send, repeated ones included; [Count] counts the
// calls of drivers that do not. Objects add phases, resumed bodies, hedges and
// cache hits. The zero value is ready; a nil Counter counts nothing. It is safe for
// concurrent use.
type Counter struct {
	requests, bytes, retries, hedged, hits, kept atomic.Int64
	phases                                       rangeio.Phases
	wait                                         stopwatch
}

// A stopwatch measures how long at least one of several calls was in progress.
type stopwatch struct {
	mu    sync.Mutex
	calls int
	since time.Time
	sum   time.Duration
}

func (w *stopwatch) start() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls++; w.calls == 1 {
		w.since = time.Now()
	}
}

func (w *stopwatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.calls--; w.calls == 0 {
		w.sum += time.Since(w.since)
	}
}

// Waited returns how long reads of Objects, and looks at them, were in progress, one at
// least, in the context that WithCounter put the Counter into. A call that is still in
// progress does not count yet.
func (c *Counter) Waited() time.Duration {
	if c == nil {
		return 0
	}
	c.wait.mu.Lock()
	defer c.wait.mu.Unlock()
	return c.wait.sum
}

// enter is Begin, and measures the time until end.
func (c *Counter) enter(ctx context.Context) (end func()) {
	if c == nil {
		return func() {}
	}
	c.wait.start()
	done := c.phases.Begin(ctx)
	return func() {
		done()
		c.wait.stop()
	}
}

// Stats returns the counts so far.
func (c *Counter) Stats() rangeio.Stats {
	if c == nil {
		return rangeio.Stats{}
	}
	return rangeio.Stats{Requests: c.requests.Load(), Bytes: c.bytes.Load(), Phases: c.phases.Depth(),
		Retries: c.retries.Load(), Hedged: c.hedged.Load(), CacheHits: c.hits.Load(), KeptBytes: c.kept.Load()}
}

// AddRequest counts one request sent.
func (c *Counter) AddRequest() {
	if c != nil {
		c.requests.Add(1)
	}
}

// AddBytes counts n bytes of a body received.
func (c *Counter) AddBytes(n int64) {
	if c != nil {
		c.bytes.Add(n)
	}
}

// AddRetry counts a request that is sent again, or a body that is continued.
func (c *Counter) AddRetry() {
	if c != nil {
		c.retries.Add(1)
	}
}

// AddHedge counts a request made because another one is slow, which AddRequest counts
// besides.
func (c *Counter) AddHedge() {
	if c != nil {
		c.hedged.Add(1)
	}
}

// AddHits counts n blocks that came from a cache.
func (c *Counter) AddHits(n int64) {
	if c != nil {
		c.hits.Add(n)
	}
}

// AddKept counts n bytes that came from a Keeper.
func (c *Counter) AddKept(n int64) {
	if c != nil {
		c.kept.Add(n)
	}
}

// Begin enters a planned call, which ends by a call of end; see rangeio.Phases.
func (c *Counter) Begin(ctx context.Context) (end func()) {
	if c == nil {
		return func() {}
	}
	return c.phases.Begin(ctx)
}
