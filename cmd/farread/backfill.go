package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/farread/farread/cmd/farread/internal/backfill"
	"github.com/farread/farread/internal/human"
)

func newBackfill(a *app) *cobra.Command {
	var rules, since string
	var o backfill.Options
	var on backfillOn
	c := &cobra.Command{
		Use: "backfill s3://BUCKET/PREFIX", Short: "The event path over objects that are already there",
		Long: `Run every object below a prefix through the handler of the cloud functions, as if it
had just been uploaded: match the rules, run the jobs of all functions, write what they
make. What was packed before is told by the metadata of its output and skipped, so that
a second run costs a few requests an object, and running it beside the functions does no
harm.

Rules are those of farread worker (see there): --rules, else FARREAD_RULES.

The listing is read as it is worked on, page by page. With --checkpoint the file says
how far everything is done; the same command continues there, and first tries again
what failed for now. An age of --since counts from the first of these runs, and the
report is of all of them, each object once. The file is removed when nothing is left to
do. After an interrupt the jobs that run are given up, and no output of theirs is seen.

--dry-run reads what it needs to tell what an object would become, and writes nothing.
What breaks further on in an object it does not see.

Failures that no repetition mends are reported under errors/ in the output bucket, as
the functions do it; others are tried three times. The exit code is 0 when all is done
or skipped, 6 when some are to be tried again, 7 when some failed for good. With --json
the report is an object; of a dry run each object that would be packed has a line before
it.

With --on a state machine calls the functions that are deployed, for batches of the
objects, and the report is of what they answer; --rules are theirs, and tell which
objects there are. The list and the results lie below --work, in s3://, and are not
removed. After an interrupt the run goes on there: the same command follows it. A run
that has ended is done again, which costs what skipping costs.

--cache is not used: an object is read once, as it is now.`,
		Example: `  farread backfill s3://uploads/ --rules rules.json --dry-run
  farread backfill s3://uploads/clips/2026/ --rules rules.json --jobs 8 --checkpoint clips.json
  farread backfill s3://uploads/ --since 36h --json
  farread backfill s3://uploads/ --rules rules.json --on arn:aws:states:REGION:ACCOUNT:stateMachine:NAME --work s3://jobs`,
		Args: exactly("PREFIX"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.Since, err = parseSince(since, time.Now()); err != nil {
				return err
			}
			if _, fixed := parseTime(since); !fixed {
				o.Age = since
			}
			if o.Jobs < 1 || o.Jobs > maxJobs {
				return usagef("--jobs %d: want 1 to %d", o.Jobs, maxJobs)
			}
			if err := on.check(cmd.Flags().Changed); err != nil {
				return err
			}
			return a.backfill(cmd.Context(), args[0], rules, o, on)
		},
	}
	c.Flags().StringVar(&rules, "rules", "", "`FILE` with the rules")
	c.Flags().StringVar(&since, "since", "", "only objects changed at or after `TIME`: 2026-11-02, 2026-11-02T10:00:00Z, or an age: 36h, 7d")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "tell what would be packed, write nothing")
	c.Flags().IntVar(&o.Jobs, "jobs", 4, "objects to work on at a time")
	on.register(c)
	c.Flags().StringVar(&o.Mark, "checkpoint", "", "`FILE` that says how far it got; made, read and removed")
	return c
}

// maxJobs bounds memory: a job may take 256 MiB.
const maxJobs = 256

// parseSince reads a time, a day, or an age.
func parseSince(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, ok := parseTime(text); ok {
		return t, nil
	}
	age, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); err != nil && ok {
		var n int
		n, err = strconv.Atoi(days)
		age = time.Duration(min(max(n, -1), 36500)) * 24 * time.Hour
	}
	if err != nil || age < 0 {
		return time.Time{}, usagef("--since %q: want 2026-11-02, 2026-11-02T10:00:00Z, 36h or 7d", text)
	}
	return now.Add(-age), nil
}

// parseTime reads a time or a day.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// backfill lists objects, processes them and reports. It also reports after an
// interrupt.
func (a *app) backfill(ctx context.Context, uri, rulesFile string, o backfill.Options, on backfillOn) error {
	rules, err := a.rules(rulesFile)
	if err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(uri, "s3://")
	if !ok {
		return usagef("%s: only objects of S3 keep the metadata by which an output is known; for files there is farread pack", human.Printable(uri))
	}
	o.URI = uri
	o.Name, o.Prefix, _ = strings.Cut(rest, "/")
	if o.Handler, err = a.handler(ctx, rules); err != nil {
		return err
	}
	if !backfill.AnyRule(rules, o.Name, o.Prefix) {
		return usagef("no rule is for uploads below %s", human.Printable(uri))
	}
	if o.Bucket, err = a.bucket(ctx, o.Name); err != nil {
		return at(uri, err)
	}
	bar := a.newCounter("backfill")
	o.Done, o.Text, o.Would = func() { bar.add(1) }, oneLine, a.tellDry
	r, err := fill(ctx, a, o, on)
	bar.clear()
	if r == nil {
		return err
	}
	terr := a.tellFilled(*r)
	if err == nil {
		err = fillError(*r)
	}
	if err == nil {
		err = terr
	}
	return err
}

// fill works on the objects, here or on a state machine. Its report is of what was done, even
// if there is an error; nil: nothing was begun.
func fill(ctx context.Context, a *app, o backfill.Options, on backfillOn) (*backfill.Report, error) {
	if on.on != "" {
		return on.run(ctx, a, o)
	}
	f, err := newFiller(o)
	if err != nil {
		return nil, err
	}
	r, err := f.Run(ctx)
	return &r, at(o.URI, err)
}

// newFiller makes a Filler. Its errors about the checkpoint name the flag.
func newFiller(o backfill.Options) (*backfill.Filler, error) {
	if o.Mark != "" && o.DryRun {
		return nil, usagef("--checkpoint: a dry run gets nowhere")
	}
	f, err := backfill.New(o)
	switch {
	case errors.Is(err, backfill.ErrMark):
		err = usagef("--checkpoint %s: is none of this command", o.Mark)
	case errors.Is(err, backfill.ErrOther):
		err = usagef("--checkpoint %s: is of another prefix, --since or rules; give another file", o.Mark)
	}
	return f, err
}

// errFailed says that some objects cannot be packed, however often they are tried.
var errFailed = errors.New("failed for good")

// fillError is the error of the command if some objects failed.
func fillError(r backfill.Report) error {
	n, sentinel := r.Retry, errRetry
	if n == 0 {
		n, sentinel = r.Failed, errFailed
	}
	if n == 0 {
		return nil
	}
	first := "see the report of an earlier run"
	if i := slices.IndexFunc(r.Failures, func(f backfill.Failure) bool { return f.Retry == (r.Retry > 0) }); i >= 0 {
		first = r.Failures[i].Key + ": " + r.Failures[i].Error
	}
	return fmt.Errorf("%s %w: %s", human.Plural(n, "object"), sentinel, first)
}

func (a *app) tellFilled(r backfill.Report) error {
	if a.flags.json {
		return writeJSON(a.stdout, r)
	}
	verb, bad := "packed", "failed for good (see errors/)"
	if r.DryRun {
		verb, bad = "would be packed", "would fail for good" // a dry run writes nothing to errors/
	}
	text := fmt.Sprintf("%s, %d %s", human.Plural(r.Listed, "object"), r.Done, verb) + tallies(tally{r.Unchanged, "unchanged"},
		tally{r.Unmatched, "without a rule"}, tally{r.Older, "older"}, tally{r.Ignored, "ignored"}, tally{r.Own, "our own"},
		tally{r.Dropped, "gone or replaced"}, tally{r.Failed, bad}, tally{r.Retry, "failed for now"})
	if !r.Complete {
		text += "; not all was looked at"
	}
	for _, f := range r.Failures {
		text += fmt.Sprintf("\n  %s: %s", human.Printable(f.Key), f.Error)
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}

// tellDry prints a line that says which output an object would become.
func (a *app) tellDry(key, job, output string) error {
	if a.flags.json {
		return writeJSON(a.stdout, struct {
			Key    string `json:"key"`
			Job    string `json:"job"`
			Output string `json:"output"`
		}{key, job, output})
	}
	_, err := fmt.Fprintf(a.stdout, "%s  %s → %s\n", job, human.Printable(key), human.Printable(output))
	return err
}
