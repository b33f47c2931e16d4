package cframe

import (
	"context"

	"github.com/farread/farread/rangeio"
)

// A phaseSet names the phases of a call, or of several.
type phaseSet [3]context.Context

func newPhases(ctx context.Context) *phaseSet {
	var p phaseSet
	p[0] = rangeio.OnePhase(ctx)
	for i := 1; i < len(p); i++ {
		p[i] = rangeio.NextPhase(p[i-1])
	}
	return &p
}

type togetherKey struct{}

// Together marks the parts of one logical read that is split to bound memory:
// all reads of chunks under the returned context, of a Frame or of an array,
// share their phases, as calls under rangeio.OnePhase share one.
func Together(ctx context.Context) context.Context {
	return context.WithValue(ctx, togetherKey{}, newPhases(ctx))
}

// phasesOf are the phases that a call under ctx goes through.
func phasesOf(ctx context.Context) *phaseSet {
	if p, ok := ctx.Value(togetherKey{}).(*phaseSet); ok {
		return p
	}
	return newPhases(ctx)
}
