package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

func newBackfill(a *app) *cobra.Command {
	var rules, since string
	var o backfillOptions
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
it.`,
		Example: `  farread backfill s3://uploads/ --rules rules.json --dry-run
  farread backfill s3://uploads/clips/2026/ --rules rules.json --jobs 8 --checkpoint clips.json
  farread backfill s3://uploads/ --since 36h --json`,
		Args: exactly("PREFIX"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if o.since, err = parseSince(since, time.Now()); err != nil {
				return err
			}
			if _, fixed := parseTime(since); !fixed {
				o.age = since
			}
			if o.jobs < 1 || o.jobs > maxJobs {
				return usagef("--jobs %d: want 1 to %d", o.jobs, maxJobs)
			}
			return a.backfill(cmd.Context(), args[0], rules, o)
		},
	}
	c.Flags().StringVar(&rules, "rules", "", "`FILE` with the rules")
	c.Flags().StringVar(&since, "since", "", "only objects changed at or after `TIME`: 2026-11-02, 2026-11-02T10:00:00Z, or an age: 36h, 7d")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "tell what would be packed, write nothing")
	c.Flags().IntVar(&o.jobs, "jobs", 4, "objects to work on at a time")
	c.Flags().StringVar(&o.checkpoint, "checkpoint", "", "`FILE` that says how far it got; made, read and removed")
	return c
}

// maxJobs bounds memory: a job may take 256 MiB.
const maxJobs = 256

type backfillOptions struct {
	since      time.Time
	age        string // the age it was counted from, if it is not a time
	dryRun     bool
	jobs       int
	checkpoint string
}

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

// A backfillReport counts the objects of a prefix by their outcome, with those of
// earlier runs with the same checkpoint.
type backfillReport struct {
	Prefix    string            `json:"prefix"`
	DryRun    bool              `json:"dry_run"`
	Complete  bool              `json:"complete"` // everything was looked at
	Listed    int64             `json:"listed"`   // objects
	Done      int64             `json:"done"`     // packed; in a dry run: would be
	Skipped   int64             `json:"skipped"`  // the sum of the reasons below
	Unchanged int64             `json:"unchanged"`
	Unmatched int64             `json:"unmatched"` // no rule
	Older     int64             `json:"older"`     // than --since
	Ignored   int64             `json:"ignored"`   // folders, files that wait for their marker, files that the job does not pack
	Own       int64             `json:"own"`       // our own outputs
	Dropped   int64             `json:"dropped"`   // gone or replaced meanwhile
	Failed    int64             `json:"failed"`    // for good, reported under errors/
	Retry     int64             `json:"retry"`     // failed for now
	Failures  []backfillFailure `json:"failures"`  // the first hundred of failed and retry
}

type backfillFailure struct {
	Key   string `json:"key"`
	Error string `json:"error"`
	Retry bool   `json:"retry"`
}

// maxFailures bounds the report.
const maxFailures = 100

// count counts the outcome of one object.
func (r *backfillReport) count(o functions.Outcome) {
	switch o {
	case functions.Packed:
		r.Done++
		return
	case functions.Failed:
		r.Failed++
		return
	case functions.Retried:
		r.Retry++
		return
	case functions.Unchanged:
		r.Unchanged++
	case functions.Own:
		r.Own++
	case functions.Dropped:
		r.Dropped++
	default:
		r.Ignored++
	}
	r.Skipped++
}

// pass counts listed objects that nobody works on.
func (r *backfillReport) pass(p passed) {
	r.Listed += p.unmatched + p.older
	r.Skipped += p.unmatched + p.older
	r.Unmatched += p.unmatched
	r.Older += p.older
}

func (r *backfillReport) fail(key string, err error, retry bool) {
	if len(r.Failures) < maxFailures {
		r.Failures = append(r.Failures, backfillFailure{key, oneLine(err), retry})
	}
}

// err is the error of the command.
func (r *backfillReport) err() error {
	switch {
	case r.Retry > 0:
		return fmt.Errorf("%s %w: %s", plural(r.Retry, "object"), errRetry, r.first(true))
	case r.Failed > 0:
		return fmt.Errorf("%s %w: %s", plural(r.Failed, "object"), errFailed, r.first(false))
	}
	return nil
}

func (r *backfillReport) first(retry bool) string {
	for _, f := range r.Failures {
		if f.Retry == retry {
			return f.Key + ": " + f.Error
		}
	}
	return "see the report of an earlier run"
}

// errFailed: some objects cannot be packed, after any number of tries.
var errFailed = errors.New("failed for good")

func (r *backfillReport) tell(w io.Writer) error {
	verb, bad := "packed", "failed for good (see errors/)"
	if r.DryRun {
		verb, bad = "would be packed", "would fail for good" // nothing is reported
	}
	parts := []string{plural(r.Listed, "object"), fmt.Sprintf("%d %s", r.Done, verb)}
	for _, p := range []struct {
		n    int64
		what string
	}{{r.Unchanged, "unchanged"}, {r.Unmatched, "without a rule"}, {r.Older, "older"}, {r.Ignored, "ignored"}, {r.Own, "our own"},
		{r.Dropped, "gone or replaced"}, {r.Failed, bad}, {r.Retry, "failed for now"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	text := strings.Join(parts, ", ")
	if !r.Complete {
		text += "; not all was looked at"
	}
	for _, f := range r.Failures {
		text += fmt.Sprintf("\n  %s: %s", printable(f.Key), f.Error)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// backfill lists, works, and reports; also when it was interrupted.
func (a *app) backfill(ctx context.Context, uri, rulesFile string, o backfillOptions) error {
	rules, err := a.rules(rulesFile)
	if err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(uri, "s3://")
	if !ok {
		return usagef("%s: only objects of S3 keep the metadata by which an output is known; for files there is farread pack", printable(uri))
	}
	name, prefix, _ := strings.Cut(rest, "/")
	f := &filler{o: o, name: name, prefix: prefix, rules: rules, report: backfillReport{Prefix: uri, DryRun: o.dryRun, Failures: []backfillFailure{}}}
	f.handler, err = a.handler(rules, func(name string) (objstore.Bucket, error) {
		b, err := a.bucket(ctx, name)
		if err == nil && o.dryRun {
			b = dryBucket{b}
		}
		return b, err
	})
	if err != nil {
		return err
	}
	if o.jobs > 1 {
		f.handler.Counter = nil // with one counter for all, each would count the requests of the others
	}
	if !f.anyRule() {
		return usagef("no rule is for uploads below %s", printable(uri))
	}
	if f.bucket, err = a.bucket(ctx, name); err != nil {
		return at(uri, err)
	}
	if err := f.resume(); err != nil {
		return err
	}
	f.bar = a.newCounter("backfill")
	f.out, f.json = a.stdout, a.flags.json
	err = f.run(ctx)
	f.bar.clear()
	return a.endBackfill(f, at(uri, err))
}

func (a *app) endBackfill(f *filler, err error) error {
	r := &f.report
	r.Complete = err == nil
	var terr error
	if a.flags.json {
		terr = writeJSON(a.stdout, r)
	} else {
		terr = r.tell(a.stdout)
	}
	if err == nil {
		err = r.err()
	}
	if err == nil {
		err = terr
	}
	return err
}

// A dryBucket can be read, and refuses to be written to.
type dryBucket struct{ objstore.Bucket }

// Unwrap lets optional interfaces be found.
func (b dryBucket) Unwrap() objstore.Bucket { return b.Bucket }

// Create refuses, with the name of the output.
func (b dryBucket) Create(_ context.Context, key string, _ objstore.PutOptions) (objstore.Writer, error) {
	return nil, &dryError{b.Name(), key}
}

// Delete refuses as well.
func (b dryBucket) Delete(_ context.Context, key string) error { return &dryError{b.Name(), key} }

// DeleteIf deletes nothing and succeeds: a job that calls it has written its output,
// or found it unchanged, and a dry run tells that.
func (dryBucket) DeleteIf(context.Context, string, string) error { return nil }

type dryError struct{ bucket, key string }

func (e *dryError) Error() string { return e.bucket + "/" + e.key + " would be written" }

// tellDry says in a line what would be made of an object.
func (f *filler) tellDry(key, job, output string) error {
	if f.json {
		return writeJSON(f.out, struct {
			Key    string `json:"key"`
			Job    string `json:"job"`
			Output string `json:"output"`
		}{key, job, output})
	}
	_, err := fmt.Fprintf(f.out, "%s  %s → %s\n", job, printable(key), printable(output))
	return err
}

// byName is the event that names an object.
func byName(bucket, key string) []byte {
	b, err := json.Marshal(map[string]string{"bucket": bucket, "key": key})
	if err != nil { // strings always encode
		panic(err)
	}
	return b
}
