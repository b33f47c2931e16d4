package delivery

import (
	"sync"
	"time"
)

// queue holds messages in memory; the spool holds them on disk.
type queue struct {
	started bool // workers; only New looks at it

	mu     sync.Mutex
	filled *sync.Cond
	items  []*message
	closed bool
	timers map[*time.Timer]struct{} // timers of messages that are not visible yet
}

func newQueue() *queue {
	q := &queue{timers: map[*time.Timer]struct{}{}}
	q.filled = sync.NewCond(&q.mu)
	return q
}

func (q *queue) put(m *message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, m)
	q.filled.Broadcast()
}

// putAfter makes a message visible again after a delay.
func (q *queue) putAfter(m *message, delay time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(delay, func() {
		q.mu.Lock()
		delete(q.timers, t)
		q.mu.Unlock()
		q.put(m)
	})
	q.timers[t] = struct{}{}
}

// take waits for messages and returns up to most of them, in order. With a
// window it waits that long for a batch to fill. It returns nil after close.
func (q *queue) take(most int, window time.Duration) []*message {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		for len(q.items) == 0 && !q.closed {
			q.filled.Wait()
		}
		if window > 0 && len(q.items) < most && !q.closed {
			over := false
			t := time.AfterFunc(window, func() {
				q.mu.Lock()
				defer q.mu.Unlock()
				over = true
				q.filled.Broadcast()
			})
			for !over && len(q.items) < most && !q.closed {
				q.filled.Wait()
			}
			t.Stop()
		}
		if q.closed {
			return nil
		}
		if len(q.items) == 0 {
			continue // another worker has taken them
		}
		n := min(most, len(q.items))
		batch := q.items[:n:n]
		q.items = q.items[n:]
		return batch
	}
}

// close lets every worker go. Messages that are left stay in the spool.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for t := range q.timers {
		t.Stop()
	}
	q.filled.Broadcast()
}
