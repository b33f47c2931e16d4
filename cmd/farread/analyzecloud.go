package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/cmd/farread/internal/machine"
	"github.com/farread/farread/formats"
	fn "github.com/farread/farread/functions/analyze"
	"github.com/farread/farread/internal/human"
)

// An elsewhere is the flags of an analysis that a state machine runs.
type elsewhere struct {
	on, work string
	stop     bool
	batch    sizeFlag
	source   analyze.Source // what is analyzed
	// before is told of a run before it starts.
	before func(parts, batches int) error
}

func (e *elsewhere) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&e.on, "on", "", "let the state machine `ARN` of Step Functions make the parts, and follow it")
	f.StringVar(&e.work, "work", "", "with --on, where plan, parts and answers are kept: `URI`, s3://BUCKET/PREFIX")
	f.Var(&e.batch, "batch-size", "with --on, decoded bytes of the parts that one call of the function makes")
	f.Lookup("batch-size").DefValue = "64 to 256 MiB"
	f.BoolVar(&e.stop, "stop", false, "with --on, end the run that goes on; its parts stay")
}

// check looks at the flags. given tells which flags were.
func (e *elsewhere) check(given func(string) bool) error {
	if e.on == "" {
		if e.work != "" || e.stop || e.batch != 0 {
			return usagef("--work, --batch-size and --stop are for --on")
		}
		return nil
	}
	if _, ok := machine.ParseARN(e.on); !ok {
		return usagef("--on %s: want the ARN of a state machine, arn:aws:states:REGION:ACCOUNT:stateMachine:NAME", human.Printable(e.on))
	}
	if name, _, _ := strings.Cut(strings.TrimPrefix(e.work, "s3://"), "/"); name == "" || !strings.HasPrefix(e.work, "s3://") {
		return usagef("--on: want --work s3://BUCKET/PREFIX, which the state machine may read and write")
	}
	if e.batch < 0 {
		return usagef("--batch-size %s is negative", &e.batch)
	}
	for _, name := range []string{"checkpoint", "jobs"} {
		if given(name) {
			return usagef("--%s is for a run on this machine, not for --on", name)
		}
	}
	return nil
}

// A planner is a Work whose plan is data.
type planner interface {
	analyze.Work
	Plan(src analyze.Source) *analyze.Plan
}

// fits refuses what a state machine does not run.
func (e *elsewhere) fits(w analyze.Work) error {
	if _, ok := w.(planner); !ok {
		return fmt.Errorf("--on takes b2nd arrays only: %w", formats.ErrUnsupported)
	}
	if scheme, _, ok := strings.Cut(e.source.URI, "://"); !ok || strings.EqualFold(scheme, "file") {
		return usagef("--on: a file of this machine is read only here; want s3:// or https://")
	}
	return nil
}

// A cloudRun is an analysis on a state machine.
type cloudRun struct {
	a    *app
	e    *elsewhere
	dir  fn.Folder
	plan *analyze.Plan
	next int // the first part that is missing, as far as is known
	left int // how many are
}

// run returns the answers of a state machine.
func (e *elsewhere) run(ctx context.Context, a *app, w analyze.Work) (*analyze.Answers, error) {
	if err := e.fits(w); err != nil {
		return nil, err
	}
	p := w.(planner)               //nolint:errcheck,forcetypeassert // it fits
	if p.Parts() == 0 && !e.stop { // the index has all answers
		return p.Run(ctx, analyze.Options{})
	}
	name, prefix, _ := strings.Cut(strings.TrimPrefix(e.work, "s3://"), "/")
	b, err := a.bucket(ctx, name)
	if err != nil {
		return nil, err
	}
	if prefix = strings.TrimSuffix(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	r := &cloudRun{a: a, e: e, plan: p.Plan(e.source), dir: fn.Folder{Bucket: b, Dir: prefix + p.ID() + "/"}}
	if e.stop {
		return nil, r.stop(ctx)
	}
	return r.answers(ctx, name)
}

func (r *cloudRun) config() machine.Config {
	return machine.Config{Options: r.a.calls()}
}

// answers takes those that are there, or follows a run: one that goes on, or else a new
// one for what is missing.
func (r *cloudRun) answers(ctx context.Context, bucket string) (*analyze.Answers, error) {
	if a, ok, err := r.dir.Answers(ctx, r.plan); ok || err != nil {
		return a, err
	}
	run, x, err := r.running(ctx)
	if err == nil && x == nil {
		run, x, err = r.start(ctx, bucket)
	}
	if err != nil {
		return nil, err
	}
	bar := r.a.newBar("analyze", r.plan.Bytes)
	defer bar.clear()
	r.left = r.plan.Parts
	err = machine.Watch(ctx, x, func(ctx context.Context) error {
		err := r.count(ctx)
		bar.set(int64(float64(r.plan.Bytes)*float64(r.plan.Parts-r.left)/float64(r.plan.Parts)), r.plan.Bytes)
		return err
	})
	bar.clear()
	end := (*machine.EndError)(nil)
	switch {
	case ctx.Err() != nil:
		if !r.a.flags.quiet {
			fmt.Fprintln(r.a.stderr, "the run goes on: the same command follows it, and with --stop ends it")
		}
		return nil, context.Cause(ctx)
	case errors.As(err, &end):
		return nil, r.failed(ctx, run, end)
	case err != nil:
		return nil, err
	}
	a, ok, err := r.dir.Answers(ctx, r.plan)
	if err == nil && !ok {
		err = fmt.Errorf("the run has ended and left no answers: is %s the state machine of analysis? %w", r.e.on, formats.ErrNoEntry)
	}
	return a, err
}

// running returns the run that goes on, if one does.
func (r *cloudRun) running(ctx context.Context) (run string, x *machine.Execution, err error) {
	if run, err = r.dir.LastRun(ctx); err != nil || run == "" {
		return "", nil, err
	}
	x, err = machine.Find(ctx, r.config(), r.e.on, run)
	return run, x, err
}

// runName tells plans apart for people; the time makes the names of runs sort.
func runName(plan string, now time.Time) string {
	return plan[:12] + "-" + strings.ReplaceAll(now.UTC().Format("20060102T150405.000"), ".", "") + "Z"
}

// start starts a run for the parts that are missing.
func (r *cloudRun) start(ctx context.Context, bucket string) (run string, x *machine.Execution, err error) {
	missing, err := r.dir.Missing(ctx, 0, r.plan.Parts)
	if err != nil {
		return "", nil, err
	}
	list, err := fn.Batches(r.plan, missing, int64(r.e.batch))
	if err != nil {
		return "", nil, usagef("--part-size %s: %s", human.Size(r.plan.Array.PartBytes), err)
	}
	if err := r.e.before(len(missing), len(list)); err != nil {
		return "", nil, err
	}
	if err := r.dir.PutPlan(ctx, r.plan); err != nil {
		return "", nil, err
	}
	run = runName(r.plan.ID, time.Now())
	if err := r.dir.PutList(ctx, run, list); err != nil {
		return "", nil, err
	}
	x, err = machine.Start(ctx, r.config(), r.e.on, run, map[string]string{"bucket": bucket, "plan": r.dir.PlanKey(), "list": r.dir.ListKey(run)})
	return run, x, err
}

// count counts the parts that are missing.
func (r *cloudRun) count(ctx context.Context) error {
	missing, err := r.dir.Missing(ctx, r.next, r.plan.Parts)
	if err != nil {
		return err
	}
	if r.left = len(missing); r.left > 0 {
		r.next = missing[0]
	}
	return nil
}

// stop ends the run that goes on.
func (r *cloudRun) stop(ctx context.Context) error {
	_, x, err := r.running(ctx)
	if err != nil {
		return err
	}
	if x == nil {
		return fmt.Errorf("no run of this plan goes on: %w", formats.ErrNoEntry)
	}
	return x.Stop(ctx, "farread analyze --stop")
}

// A cloudError tells what failed on a state machine.
type cloudError struct {
	text      string
	permanent bool
}

func (e *cloudError) Error() string { return e.text }

// Is makes the exit code: another try may help, or not.
func (e *cloudError) Is(target error) bool { return e.permanent && target == errFailed }

// maxReasons is how many failures an error tells.
const maxReasons = 8

// failed tells which parts failed, and why.
func (r *cloudRun) failed(ctx context.Context, run string, end *machine.EndError) error {
	list, err := r.dir.Failures(ctx, run)
	if err != nil {
		return errors.Join(end, err)
	}
	missing, err := r.dir.Missing(ctx, 0, r.plan.Parts)
	if err != nil {
		return errors.Join(end, err)
	}
	if len(list) == 0 || len(missing) == 0 {
		return &cloudError{end.Error(), end.Code == "Permanent" && len(missing) == 0}
	}
	out := &cloudError{text: fmt.Sprintf("%d of %d parts failed: ", len(missing), r.plan.Parts)}
	for i, f := range list {
		out.permanent = out.permanent || f.Error == "Permanent"
		if i > maxReasons {
			continue
		}
		if i > 0 {
			out.text += "; "
		}
		if i == maxReasons {
			out.text += "…"
			continue
		}
		what := "part"
		if f.To > f.From+1 {
			what = "parts"
		}
		numbers := make([]int, 0, f.To-f.From)
		for n := f.From; n < f.To; n++ {
			numbers = append(numbers, n)
		}
		out.text += fmt.Sprintf("%s %s: %s", what, fn.Spelled(numbers), human.Printable(f.Cause))
	}
	return out
}
