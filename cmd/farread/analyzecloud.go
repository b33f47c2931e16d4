package main

import (
	"context"
	"fmt"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/parts"
)

// A planner is a Work whose plan is data.
type planner interface {
	analyze.Work
	Plan(src analyze.Source) *analyze.Plan
}

// fits refuses what a state machine does not run.
func (x *analysis) fits(w analyze.Work) error {
	if _, ok := w.(planner); !ok {
		return fmt.Errorf("--on takes b2nd arrays only: %w", formats.ErrUnsupported)
	}
	return x.cloud.remote(x.source.URI)
}

// elsewhere returns the answers of a state machine.
func (x *analysis) elsewhere(ctx context.Context, w analyze.Work) (*analyze.Answers, error) {
	if err := x.fits(w); err != nil {
		return nil, err
	}
	p := w.(planner) //nolint:errcheck,forcetypeassert // it fits
	if p.Parts() == 0 && !x.cloud.stop { // the index has all answers
		return p.Run(ctx, analyze.Options{})
	}
	plan := p.Plan(x.source)
	head, err := parts.NewPlan(plan)
	if err != nil {
		return nil, err
	}
	text, err := x.cloud.run(ctx, x.a, head)
	if err != nil || text == nil {
		return nil, err
	}
	return plan.DecodeAnswers(text)
}
