package objstore

import (
	"math"
	"sync"
	"time"
)

// usual records how long answers of a store, and the bytes of their bodies, usually
// take. It also limits the requests that are made because another one takes longer. The
// zero value is ready; a nil usual allows no such request. It is safe for concurrent
// use.
type usual struct {
	mu     sync.Mutex
	answer histogram // times from a Get to its answer
	gap    histogram // for each body, the longest time without a byte
	debt   float64   // number of hedges, less hedgeShare for each request
}

// Limits that say what is slow, and how many requests may be made because of it.
const (
	slowTimes  = 3                      // times the 99th percentile is slow, or times the median for one whose followers wait
	slowNext   = 100 * time.Millisecond // shortest time that is slow for an answer whose followers wait
	slowAnswer = 500 * time.Millisecond // shortest time that is slow, after answers were measured
	slowBody   = time.Second            // shortest time that is slow for a body: a lost packet takes some hundred ms
	slowFirst  = time.Second            // time that is slow while nothing is measured
	slowMost   = 30 * time.Second

	hedgeShare = 0.05 // hedges for each request
	hedgeFirst = 2    // hedges before any request: for the head and the tail of a first object
	hedgeMost  = 10   // most hedges at once, after many requests that took no longer than usual
)

// slow returns how long an answer may take before a hedge is made. limit is the limit
// of silence; the result is at most a quarter of it. inOrder tells that the bytes of later
// requests wait for this answer: then an answer is slow that takes longer than most, not
// longer than nearly all.
func (u *usual) slow(limit time.Duration, inOrder bool) time.Duration {
	if u == nil {
		return 0
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	d := mostly(u.answer.most(), slowAnswer, limit)
	if median := u.answer.below(2); inOrder && median > 0 {
		d = min(d, max(slowTimes*median, slowNext))
	}
	return d
}

// stalled returns how long a body may bring nothing before its rest is asked for on
// another connection. The time doubles with each of the times that this happens to one
// request. 0 means never.
func (u *usual) stalled(limit time.Duration, times int) time.Duration {
	if u == nil {
		return 0
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	d := mostly(u.gap.most(), slowBody, limit) << min(times, 10)
	if limit > 0 && d >= limit/2 { // the clock ends the body by then
		return 0
	}
	return d
}

func mostly(p99, least, limit time.Duration) time.Duration {
	d := slowFirst
	if p99 > 0 {
		d = max(slowTimes*p99, least)
	}
	most := slowMost
	if limit > 0 {
		most = min(most, limit/4)
	}
	return min(d, most)
}

// asked counts a request that may get a hedge.
func (u *usual) asked() {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.debt = max(u.debt-hedgeShare, hedgeFirst-hedgeMost)
}

// spend reports whether a hedge may be made. If so, it counts the hedge.
func (u *usual) spend() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.debt+1 > hedgeFirst {
		return false
	}
	u.debt++
	return true
}

// save takes back a spend if the second request was not made after all.
func (u *usual) save() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.debt--
}

// answered records how long an answer took.
func (u *usual) answered(d time.Duration) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answer.add(d)
}

// read records the longest time that a body brought no byte.
func (u *usual) read(d time.Duration) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.gap.add(d)
}

// A histogram counts durations by their length, in two steps for each doubling. Older
// durations count less and less.
type histogram struct {
	n     [40]uint16 // counts of durations up to 1 ms, 1.4 ms, 2 ms … 12 min
	total int
}

const (
	shortest   = time.Millisecond
	histEnough = 16   // with fewer durations nothing is known
	histFull   = 1024 // with so many durations all counts are halved
)

func (h *histogram) add(d time.Duration) {
	i := 0
	if d > shortest {
		i = min(int(math.Ceil(2*math.Log2(float64(d)/float64(shortest)))), len(h.n)-1)
	}
	h.n[i]++
	if h.total++; h.total < histFull {
		return
	}
	h.total = 0
	for i := range h.n {
		h.n[i] /= 2
		h.total += int(h.n[i])
	}
}

// most returns the 99th percentile, rounded up to a step, or 0 if it is not known yet.
func (h *histogram) most() time.Duration { return h.below(100) }

// below returns the duration, rounded up to a step, that all but one in part of the
// durations are below, or 0 if it is not known yet.
func (h *histogram) below(part int) time.Duration {
	if h.total < histEnough {
		return 0
	}
	above := h.total / part
	for i := len(h.n) - 1; i > 0; i-- {
		if above -= int(h.n[i]); above < 0 {
			return time.Duration(float64(shortest) * math.Exp2(float64(i)/2))
		}
	}
	return shortest
}
