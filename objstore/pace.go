package objstore

import (
	"sync"
	"time"

	"github.com/farread/farread/rangeio"
)

// A Pace keeps moving estimates of the round trip to a store and of the
// bandwidth of one connection, for all Objects that were opened with it. Their
// product is the widest gap that is cheaper to read than to ask again for; it
// lowers a policy's MaxGap, at most down to Free. The zero value is ready and
// changes nothing until both were measured, the bandwidth by a body of 128 KiB or
// more. A nil Pace measures nothing. It is safe for concurrent use.
//
// A Pace also learns how long answers and stalls of bodies are as a rule, and counts
// what was spent on requests that take longer: see Hedge. So there is one Pace for each
// store.
type Pace struct {
	mu    sync.Mutex
	first time.Duration // time to the first byte
	bps   float64       // bytes a second of one body

	usual usual
}

const (
	paceWeight  = 0.2       // weight of a new measurement: the average is over about the last ten
	paceMinBody = 128 << 10 // shorter bodies arrive with their first packets and tell no bandwidth
)

// note records one finished body.
func (p *Pace) note(first time.Duration, n int64, took time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == 0 {
		p.first = first
	} else {
		p.first += time.Duration(paceWeight * float64(first-p.first))
	}
	if n < paceMinBody || took <= 0 {
		return
	}
	bps := float64(n) / took.Seconds()
	if p.bps == 0 {
		p.bps = bps
	} else {
		p.bps += paceWeight * (bps - p.bps)
	}
}

// Estimate is the present round trip, from a Get to its answer, and the bandwidth of a
// connection in bytes a second. Each is 0 until it was measured. Waiting in a Limit is
// no part of the round trip: one request more costs its own, however long the queue is.
func (p *Pace) Estimate() (first time.Duration, bytesPerSecond float64) {
	if p == nil {
		return 0, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first, p.bps
}

// adapt limits the gaps of a policy to what pays off at the measured pace.
func (p *Pace) adapt(q rangeio.Policy) rangeio.Policy {
	first, bps := p.Estimate()
	if first == 0 || bps == 0 {
		return q
	}
	q.MaxGap = min(q.MaxGap, max(int64(first.Seconds()*bps), q.Free))
	return q
}
