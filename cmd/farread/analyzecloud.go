package main

import (
	"context"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/functions/parts"
)

// fits refuses what a state machine does not read.
func (x *analysis) fits() error { return x.cloud.remote(x.source.URI) }

// indexed reports whether the index has all answers, so that no part is to be made.
func (x *analysis) indexed(j analyze.Work) bool { return j.Parts() == 0 && !x.cloud.stop }

// onMachine lets a state machine make the parts of a job, after a line about what that will
// take. text is what its last step has left; after --stop there is nothing.
func (x *analysis) onMachine(ctx context.Context, j analyze.Work) (plan *analyze.Plan, head *parts.Plan, text []byte, err error) {
	x.cloud.before = func(parts, batches int) error { return x.foretell(ctx, j, parts, batches) }
	plan = j.Plan(x.source)
	if head, err = parts.NewPlan(plan); err != nil {
		return nil, nil, nil, err
	}
	text, err = x.cloud.run(ctx, x.a, head)
	return plan, head, text, err
}

// elsewhere returns the answers of a state machine.
func (x *analysis) elsewhere(ctx context.Context, j analyze.Work) (*analyze.Answers, error) {
	if err := x.fits(); err != nil {
		return nil, err
	}
	if x.indexed(j) {
		return j.Run(ctx, analyze.Options{})
	}
	plan, _, text, err := x.onMachine(ctx, j)
	if err != nil || text == nil {
		return nil, err
	}
	return plan.DecodeAnswers(text)
}

// partsElsewhere lets a state machine make the parts of an answer that is streamed, and
// returns what takes them one after the other. After --stop that is nil.
func (x *analysis) partsElsewhere(ctx context.Context, j *analyze.Array) (answering, error) {
	if err := x.fits(); err != nil {
		return nil, err
	}
	if x.indexed(j) {
		return func(ctx context.Context, _ analyze.Work) (*analyze.Answers, error) {
			return j.Run(ctx, analyze.Options{})
		}, nil
	}
	_, head, text, err := x.onMachine(ctx, j)
	if err != nil || text == nil {
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
