package main

import (
	"context"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/functions/parts"
)

// A planner is a Work whose plan is data.
type planner interface {
	analyze.Work
	Plan(src analyze.Source) *analyze.Plan
}

var _, _, _, _ planner = (*analyze.Array)(nil), (*analyze.Series)(nil), (*analyze.Items)(nil), (*analyze.Gulp)(nil)

// fits refuses what a state machine does not read.
func (x *analysis) fits() error { return x.cloud.remote(x.source.URI) }

// elsewhere returns the answers of a state machine.
func (x *analysis) elsewhere(ctx context.Context, w analyze.Work) (*analyze.Answers, error) {
	if err := x.fits(); err != nil {
		return nil, err
	}
	p := w.(planner)                     // as all are
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

// partsElsewhere lets a state machine make the parts of an answer that is streamed, and
// returns what takes them one after the other. After --stop that is nil.
func (x *analysis) partsElsewhere(ctx context.Context, j *analyze.Array) (answering, error) {
	if err := x.cloud.remote(x.source.URI); err != nil {
		return nil, err
	}
	if j.Parts() == 0 && !x.cloud.stop {
		return func(ctx context.Context, _ analyze.Work) (*analyze.Answers, error) {
			return j.Run(ctx, analyze.Options{})
		}, nil
	}
	head, err := parts.NewPlan(j.Plan(x.source))
	if err != nil {
		return nil, err
	}
	if text, err := x.cloud.run(ctx, x.a, head); err != nil || text == nil {
		return nil, err
	}
	_, dir, err := x.cloud.folder(ctx, x.a, head.ID)
	return func(ctx context.Context, _ analyze.Work) (*analyze.Answers, error) {
		if err := dir.Merge(ctx, head, int64(x.a.flags.maxMemory)/16, j.Take); err != nil {
			return nil, err
		}
		return j.Finish(ctx)
	}, err
}
