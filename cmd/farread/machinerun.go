package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/farread/farread/cmd/farread/internal/machine"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions/parts"
	"github.com/farread/farread/internal/human"
)

// An elsewhere is the flags of a plan that a state machine does.
type elsewhere struct {
	name     string // of the command
	on, work string
	stop     bool
	batch    sizeFlag
	// before is told of a run before it starts; nil: nobody is told.
	before func(parts, batches int) error
}

func (e *elsewhere) register(c *cobra.Command) {
	e.name = c.Name()
	f := c.Flags()
	f.StringVar(&e.on, "on", "", "let the state machine `ARN` of Step Functions make the parts, and follow it")
	f.StringVar(&e.work, "work", "", "with --on, where plan, parts and answers are kept: `URI`, s3://BUCKET/PREFIX")
	f.Var(&e.batch, "batch-size", "with --on, decoded bytes of the parts that one call of the function makes")
	f.Lookup("batch-size").DefValue = "64 to 256 MiB"
	f.BoolVar(&e.stop, "stop", false, "with --on, end the run that goes on; its parts stay")
}

// check looks at the flags. given tells which flags were; here are those that only a run on
// this machine has.
func (e *elsewhere) check(given func(string) bool, here ...string) error {
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
	for _, name := range here {
		if given(name) {
			return usagef("--%s is for a run on this machine, not for --on", name)
		}
	}
	return nil
}

// A machineRun is a plan on a state machine.
type machineRun struct {
	a    *app
	e    *elsewhere
	dir  parts.Folder
	plan *parts.Plan
	next int // the first part that is missing, as far as is known
	left int // how many are
}

// remote looks whether a machine elsewhere can read what a URI names.
func (e *elsewhere) remote(uri string) error {
	if scheme, _, ok := strings.Cut(uri, "://"); !ok || strings.EqualFold(scheme, "file") {
		return usagef("--on: a file of this machine is read only here; want s3:// or https://")
	}
	return nil
}

// folder returns that of a plan, and the name of its bucket.
func (e *elsewhere) folder(ctx context.Context, a *app, id string) (bucket string, dir parts.Folder, err error) {
	bucket, prefix, _ := strings.Cut(strings.TrimPrefix(e.work, "s3://"), "/")
	b, err := a.bucket(ctx, bucket)
	if prefix = strings.TrimSuffix(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	return bucket, parts.Folder{Bucket: b, Dir: prefix + id + "/"}, err
}

// run returns the answers of a state machine to a plan; after --stop there are none.
func (e *elsewhere) run(ctx context.Context, a *app, p *parts.Plan) ([]byte, error) {
	name, dir, err := e.folder(ctx, a, p.ID)
	if err != nil {
		return nil, err
	}
	r := &machineRun{a: a, e: e, plan: p, dir: dir}
	if e.stop {
		return nil, r.stop(ctx)
	}
	return r.answers(ctx, name)
}

func (r *machineRun) config() machine.Config {
	return machine.Config{Options: r.a.calls()}
}

// answers takes those that are there, or follows a run: one that goes on, or else a new
// one for what is missing.
func (r *machineRun) answers(ctx context.Context, bucket string) ([]byte, error) {
	if a, ok, err := r.dir.Answers(ctx, r.plan.ID); ok || err != nil {
		return a, err
	}
	run, x, err := r.running(ctx)
	if err == nil && x == nil {
		run, x, err = r.start(ctx, bucket)
	}
	if err != nil {
		return nil, err
	}
	bar := r.a.newBar(r.e.name, r.plan.Bytes)
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
	a, ok, err := r.dir.Answers(ctx, r.plan.ID)
	if err == nil && !ok {
		err = fmt.Errorf("the run has ended and left no answers: is %s the right state machine? %w", r.e.on, formats.ErrNoEntry)
	}
	return a, err
}

// running returns the run that goes on, if one does.
func (r *machineRun) running(ctx context.Context) (run string, x *machine.Execution, err error) {
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
func (r *machineRun) start(ctx context.Context, bucket string) (run string, x *machine.Execution, err error) {
	missing, err := r.dir.Missing(ctx, 0, r.plan.Parts)
	if err != nil {
		return "", nil, err
	}
	list, err := parts.Batches(r.plan, missing, int64(r.e.batch))
	if err != nil {
		return "", nil, usagef("--part-size: %s", err)
	}
	if r.e.before != nil {
		if err := r.e.before(len(missing), len(list)); err != nil {
			return "", nil, err
		}
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
func (r *machineRun) count(ctx context.Context) error {
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
func (r *machineRun) stop(ctx context.Context) error {
	_, x, err := r.running(ctx)
	if err != nil {
		return err
	}
	if x == nil {
		return fmt.Errorf("no run of this plan goes on: %w", formats.ErrNoEntry)
	}
	return x.Stop(ctx, "farread "+r.e.name+" --stop")
}

// A machineError tells what failed on a state machine.
type machineError struct {
	text      string
	permanent bool
}

func (e *machineError) Error() string { return e.text }

// Is makes the exit code: another try may help, or not.
func (e *machineError) Is(target error) bool { return e.permanent && target == errFailed }

// maxReasons is how many failures an error tells.
const maxReasons = 8

// failed tells which parts failed, and why.
func (r *machineRun) failed(ctx context.Context, run string, end *machine.EndError) error {
	list, err := r.dir.Failures(ctx, run)
	if err != nil {
		return errors.Join(end, err)
	}
	missing, err := r.dir.Missing(ctx, 0, r.plan.Parts)
	if err != nil {
		return errors.Join(end, err)
	}
	if len(list) == 0 || len(missing) == 0 {
		return &machineError{end.Error(), end.Code == "Permanent" && len(missing) == 0}
	}
	out := &machineError{text: fmt.Sprintf("%d of %d parts failed: ", len(missing), r.plan.Parts)}
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
		out.text += fmt.Sprintf("%s %s: %s", what, f.Spelled(), human.Printable(f.Cause))
	}
	return out
}
