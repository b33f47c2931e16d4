package rangeio

import (
	"context"
	"sync"
)

// Stats count what reads cost.
type Stats struct {
	Requests  int64 `json:"requests"`   // sent
	Bytes     int64 `json:"bytes"`      // of bodies, received
	Phases    int64 `json:"phases"`     // depth of dependence: see Phases
	Retries   int64 `json:"retries"`    // requests sent again, and bodies continued
	CacheHits int64 `json:"cache_hits"` // blocks that needed no request
}

// Phases measures how deep requests depend on each other. All requests of one
// planned call share a phase; a call that begins after a call of phase n ended
// may have been planned from its bytes and is phase n+1. Calls that overlap in
// time do not depend on each other. The zero value is ready.
type Phases struct {
	mu    sync.Mutex
	ended int64
	depth int64
}

// Begin enters a call that sends requests. Call the result once, when the call
// has ended.
func (p *Phases) Begin(ctx context.Context) (end func()) {
	p.mu.Lock()
	n := p.ended + 1
	if g, ok := ctx.Value(phaseKey{}).(*phaseGroup); ok {
		n = g.number(p, n)
	}
	p.depth = max(p.depth, n)
	p.mu.Unlock()
	return func() {
		p.mu.Lock()
		p.ended = max(p.ended, n)
		p.mu.Unlock()
	}
}

// Depth is the number of phases so far.
func (p *Phases) Depth() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.depth
}

// OnePhase marks calls that are made side by side although the clock may run
// them one after the other: all calls under the returned context count as one
// phase.
func OnePhase(ctx context.Context) context.Context {
	return context.WithValue(ctx, phaseKey{}, &phaseGroup{})
}

type phaseKey struct{}

type phaseGroup struct {
	mu sync.Mutex
	n  map[*Phases]int64
}

func (g *phaseGroup) number(p *Phases, next int64) int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	if n, ok := g.n[p]; ok {
		return n
	}
	if g.n == nil {
		g.n = map[*Phases]int64{}
	}
	g.n[p] = next
	return next
}
