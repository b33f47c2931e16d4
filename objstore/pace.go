package objstore

import (
	"sync"
	"time"

	"github.com/farread/farread/rangeio"
)

// A Pace keeps moving estimates of the round trip to a store and of the
// bandwidth of one connection, shared by all handles of a client. Their product
// is the widest gap that is cheaper to read than to ask again for; it bounds a
// policy's MaxGap. The zero value is ready and changes nothing until the first
// measurement. A nil Pace measures nothing.
type Pace struct {
	mu    sync.Mutex
	first time.Duration // to the first byte
	bps   float64       // bytes a second of one body
}

const (
	paceWeight  = 0.2       // of a new measurement: about the last ten count
	paceMinBody = 128 << 10 // shorter bodies arrive with their first packets and tell no bandwidth
)

// note takes in one finished body.
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

// Estimate is the present round trip to the first byte and the bandwidth of a
// connection in bytes a second; 0 where nothing was measured yet.
func (p *Pace) Estimate() (first time.Duration, bytesPerSecond float64) {
	if p == nil {
		return 0, 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first, p.bps
}

// adapt bounds the gaps of a policy by what was measured.
func (p *Pace) adapt(q rangeio.Policy) rangeio.Policy {
	first, bps := p.Estimate()
	if first == 0 || bps == 0 {
		return q
	}
	q.MaxGap = min(q.MaxGap, max(int64(first.Seconds()*bps), q.Free))
	return q
}
