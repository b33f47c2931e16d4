// Package analyze makes the parts of an analysis on many machines, and its answers on one:
// what [analyze.Plan] is to package parts.
package analyze

import (
	"context"
	"encoding/json"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/functions/parts"
)

// An Opener plans again what a plan is of, with the source that it names.
type Opener func(ctx context.Context, p *analyze.Plan) (analyze.Work, error)

// Open makes an opener one of a parts.Function.
func Open(open Opener) parts.Opener {
	return func(ctx context.Context, _ parts.Folder, head *parts.Plan) (parts.Work, error) {
		p, err := analyze.ParsePlan(head.Text)
		if err != nil {
			return nil, err
		}
		w, err := open(ctx, p)
		if err != nil {
			return nil, err
		}
		if p.Array != nil && p.Array.Streamed {
			return streamed{w, p}, nil
		}
		return work{w, p}, nil
	}
}

// A work is an analysis whose answers are text.
type work struct {
	analyze.Work

	plan *analyze.Plan
}

func (w work) Finish(ctx context.Context) ([]byte, error) {
	a, err := w.Work.Finish(ctx)
	if err != nil {
		return nil, err
	}
	return w.plan.EncodeAnswers(a)
}

// A streamed is an analysis whose answer may be longer than memory has room for: the command
// that wants it makes it of the parts, as they are written.
type streamed struct {
	analyze.Work

	plan *analyze.Plan
}

// Apart makes it a parts.Apart.
func (streamed) Apart() {}

func (w streamed) Finish(context.Context) ([]byte, error) {
	text, err := json.Marshal(struct {
		Plan     string `json:"plan"`
		Streamed bool   `json:"streamed"`
	}{w.plan.ID, true})
	return append(text, '\n'), err
}
