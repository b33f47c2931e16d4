package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/cmd/farread/internal/backfill"
	"github.com/farread/farread/cmd/farread/internal/machine"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

// A backfillOn is the flags of a backfill that a state machine runs.
type backfillOn struct{ on, work string }

func (e *backfillOn) register(c *cobra.Command) {
	c.Flags().StringVar(&e.on, "on", "", "let the state machine `ARN` of Step Functions call the functions, and follow it")
	c.Flags().StringVar(&e.work, "work", "", "with --on, where the list and the results are kept: `URI`, s3://BUCKET/PREFIX")
}

// check looks at the flags. given tells which flags were.
func (e *backfillOn) check(given func(string) bool) error {
	if e.on == "" {
		if e.work != "" {
			return usagef("--work is for --on")
		}
		return nil
	}
	if _, ok := machine.ParseARN(e.on); !ok {
		return usagef("--on %s: want the ARN of a state machine, arn:aws:states:REGION:ACCOUNT:stateMachine:NAME", human.Printable(e.on))
	}
	if name, _, _ := strings.Cut(strings.TrimPrefix(e.work, "s3://"), "/"); name == "" || !strings.HasPrefix(e.work, "s3://") {
		return usagef("--on: want --work s3://BUCKET/PREFIX, which the state machine may read and write")
	}
	for _, name := range []string{"checkpoint", "jobs", "dry-run"} {
		if given(name) {
			return usagef("--%s is for a run on this machine, not for --on", name)
		}
	}
	return nil
}

// run lists the objects, has them worked on, and returns the report, also of a part of them;
// nil: nothing was begun.
func (e *backfillOn) run(ctx context.Context, a *app, o backfill.Options) (*backfill.Report, error) {
	name, prefix, _ := strings.Cut(strings.TrimPrefix(e.work, "s3://"), "/")
	work, err := a.bucket(ctx, name)
	if err != nil {
		return nil, at(e.work, err)
	}
	p, err := backfill.NewPlan(ctx, o)
	if err != nil {
		return nil, at(o.URI, err)
	}
	defer p.Close()
	if prefix = strings.TrimSuffix(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	r := p.Results(work, backfill.Input{}, "") // none, if there is nothing to do
	if p.Batches > 0 {
		if r, err = e.follow(ctx, a, p, work, name, prefix); r == nil {
			return nil, err
		}
	}
	ended := err == nil || errors.As(err, new(*machine.EndError))
	report, rerr := r.Report(ended)
	return &report, cmp.Or(err, rerr)
}

// follow starts an execution and reads what becomes of the batches until it ends. Without
// an execution there are no results.
func (e *backfillOn) follow(ctx context.Context, a *app, p *backfill.Plan, work objstore.Bucket, bucket, prefix string) (*backfill.Results, error) {
	in, err := p.Put(ctx, work, bucket, prefix)
	if err != nil {
		return nil, at(e.work, err)
	}
	x, err := machine.Start(ctx, machine.Config{Options: a.calls()}, e.on, "backfill-"+p.ID, in)
	if err != nil {
		return nil, at(e.on, err)
	}
	r := p.Results(work, in, x.ARN[strings.LastIndexByte(x.ARN, ':')+1:])
	var polled error
	err = machine.Watch(ctx, x, func(ctx context.Context) error { polled = r.Poll(ctx); return polled })
	switch {
	case ctx.Err() != nil:
		if !a.flags.quiet {
			fmt.Fprintf(a.stderr, "the run goes on: the same command follows it; aws stepfunctions stop-execution --execution-arn %s ends it\n", x.ARN)
		}
		err = context.Cause(ctx)
	case errors.Is(polled, backfill.ErrGiveUp):
		err = errors.Join(err, x.Stop(ctx, "farread backfill: "+polled.Error()))
	}
	return r, at(e.on, err)
}
