package rangeio

import (
	"context"
	"sync"
)

// Stats count what reads cost.
type Stats struct {
	Requests  int64 `json:"requests"`   // sent
	Bytes     int64 `json:"bytes"`      // bytes received in bodies
	Phases    int64 `json:"phases"`     // depth of dependence: see Phases
	Retries   int64 `json:"retries"`    // requests sent again, and bodies continued
	Hedged    int64 `json:"hedged"`     // requests made because another one was slow: beside it, or in place of a body that stalled
	CacheHits int64 `json:"cache_hits"` // blocks of the cache in memory that needed no request
	KeptBytes int64 `json:"kept_bytes"` // bytes that came from the cache on disk
}

// Phases measures how deep requests depend on each other. All requests of one
// planned call share a phase; a call that begins after a call of phase n ended
// may have been planned from its bytes and is phase n+1. Calls that overlap in
// time do not depend on each other. The zero value is ready. Its methods are safe
// for concurrent use.
type Phases struct {
	mu    sync.Mutex
	ended int64
	depth int64
	name  *phasesName // nil before the first call in a chain
}

// A phasesName stands for a Phases in chains, which may outlive it, and with it all that
// it is a field of: an object, and the bytes that this keeps.
type phasesName struct{ _ byte } // not empty: all such may have one address

// Begin enters a call that sends requests. Call the result once, when the call
// has ended.
func (p *Phases) Begin(ctx context.Context) (end func()) {
	p.mu.Lock()
	n := p.ended + 1
	if g, ok := ctx.Value(phaseKey{}).(*phaseGroup); ok {
		if p.name == nil {
			p.name = &phasesName{}
		}
		n = g.number(p.name, n)
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

// OnePhase marks calls that do not depend on each other, although the clock may
// run them one after the other: all calls under the returned context count as one
// phase.
func OnePhase(ctx context.Context) context.Context {
	return &phaseContext{ctx, phaseGroup{&phaseChain{}, 0, maxLinks}}
}

// Steps returns contexts for the two steps of a read: calls under data are planned from
// bytes of calls under index. A call under data counts one phase deeper than the calls
// made so far under index; their numbers do not matter. Steps may be nested: if ctx
// comes from OnePhase or Steps, the new steps are inside it. So reads under one such
// context share the phases of their indexes, and of their data.
func Steps(ctx context.Context) (index, data context.Context) {
	var s struct { // a single allocation, since short reads use steps, too
		index, data phaseContext
		chain       phaseChain
	}
	g, ok := ctx.Value(phaseKey{}).(*phaseGroup)
	if !ok {
		g = &phaseGroup{&s.chain, 0, maxLinks}
	}
	half := g.links / 2
	s.index = phaseContext{ctx, phaseGroup{g.chain, g.at, max(half, 1)}}
	s.data = phaseContext{ctx, phaseGroup{g.chain, g.at + half, max(half, 1)}}
	return &s.index, &s.data
}

// A phaseContext is a context with a phaseGroup.
type phaseContext struct {
	context.Context //nolint:containedctx // as context.WithValue has it
	group           phaseGroup
}

// Value returns the value for key.
func (c *phaseContext) Value(key any) any {
	if key == (phaseKey{}) {
		return &c.group
	}
	return c.Context.Value(key)
}

type phaseKey struct{}

// maxLinks allows Steps that are nested four deep; steps nested deeper count as one
// phase.
const maxLinks = 16

// A phaseGroup is a link of a chain of phases. It owns the unused links after it,
// which nested Steps take.
type phaseGroup struct {
	chain     *phaseChain
	at, links int
}

type phaseChain struct {
	mu sync.Mutex
	n  map[*phasesName]*chainNumbers
}

// chainNumbers are the numbers that one Phases gave to the phases of a chain.
type chainNumbers struct {
	first int64   // depth of the first call in any link
	of    []int64 // depth of each link; 0: no call
}

// number returns the phase of a call. If the call is the first of the chain, its phase
// is next.
func (g *phaseGroup) number(p *phasesName, next int64) int64 {
	g.chain.mu.Lock()
	defer g.chain.mu.Unlock()
	c, ok := g.chain.n[p]
	if !ok {
		c = &chainNumbers{first: next}
		if g.chain.n == nil {
			g.chain.n = map[*phasesName]*chainNumbers{}
		}
		g.chain.n[p] = c
	}
	for len(c.of) <= g.at {
		c.of = append(c.of, 0)
	}
	n := max(c.first, c.of[g.at])
	for _, before := range c.of[:g.at] {
		if before > 0 {
			n = max(n, before+1)
		}
	}
	c.of[g.at] = n
	return n
}
