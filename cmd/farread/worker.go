package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/cmd/farread/internal/awscall"
	"github.com/farread/farread/cmd/farread/internal/worker"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
)

const rulesVariable = "FARREAD_RULES"

// maxEvent is more than any queue or store delivers. A queue delivers at most ten
// messages of 256 KiB.
const maxEvent = 16 << 20

func newWorker(a *app) *cobra.Command {
	var event, rules string
	c := &cobra.Command{
		Use: "worker --event FILE", Short: "Run one event through the handler of the cloud function",
		Long: `Run one event through the same handler as the cloud function: match the rules, run
the jobs, write what they make. The event is what a function gets: a notification of
S3, alone, in the messages of SQS, or in those of SNS, by way of SQS or not; what
EventBridge tells of a new object, alone or in messages; or {"bucket","key"} and, if it
matters, "versionId". Of an object that comes by name only its current version is
packed.

Rules are JSON: [{"bucket","prefix","suffix","job":"pack","format","records","codec",
"chunk","out":{"bucket","prefix"}}], the first match wins. The format is gulp, b2nd or
bloscpack, or left out: what the content is fit for. The codec is that of arrays and of
Bloscpack, "zstd-1" when left out, and "lz4" for items. Records (lines, jsonl, files,
u32le, u32be, u64le, u64be, varint, chunks) and chunk, in bytes, are for bloscpack.
Raw data need a rule that their note matches, too: grid.raw and grid.raw.json. The job
"zoom" makes .zoom files of WAV, .npy, CSV and raw samples; its codec is what samples
are stored as, "f32" or "pcm-i16".
Rules come from --rules, else from FARREAD_RULES, which holds the text itself or the
path of a file.

The exit code is 0 when every record was acknowledged, 6 when some are to be
delivered again; --json reports on stdout either way. Failures that no repetition
mends are reported under errors/ in the output bucket and acknowledged.

--cache is not used: an upload is read once, as it is now.`,
		Example: `  farread worker --event event.json --rules rules.json
  echo '{"bucket":"uploads","key":"clips/a b.tar"}' | farread worker --event - --rules rules.json
  aws sqs receive-message --queue-url URL --query 'Messages[0].Body' --output text | farread worker --event -`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if event == "" {
				return usagef("missing --event: a file, or - for stdin")
			}
			return a.worker(cmd.Context(), event, rules)
		},
	}
	c.Flags().StringVar(&event, "event", "", "`FILE` with the event; - is stdin")
	c.Flags().StringVar(&rules, "rules", "", "`FILE` with the rules")
	return c
}

// warn reports an upload that was read although a part of it is wrong, or although some
// work was left undone.
func (a *app) warn(key, text string) {
	if !a.flags.quiet {
		fmt.Fprintf(a.stderr, "%s: %s\n", human.Printable(key), human.Lines(text))
	}
}

func (a *app) worker(ctx context.Context, event, rulesFile string) error {
	rules, err := a.rules(rulesFile)
	if err != nil {
		return err
	}
	payload, err := a.readEvent(event)
	if err != nil {
		return err
	}
	h, err := a.handler(ctx, rules)
	if err != nil {
		return err
	}
	r, err := h.Handle(ctx, payload)
	if errors.Is(err, functions.ErrEvent) {
		return usagef("%s: %s", event, err)
	}
	if a.flags.json { // the report comes before any error: it tells what was done
		if r.Failures == nil {
			r.Failures = []string{}
		}
		keys := make([]string, 0, len(r.Outputs))
		for _, o := range r.Outputs {
			keys = append(keys, o.Key)
		}
		if err := writeJSON(a.stdout, workerReport{r, keys}); err != nil {
			return err
		}
	}
	if r.Retry > 0 || err != nil {
		if err == nil {
			err = r.Err
		}
		return fmt.Errorf("%s %w: %w", human.Plural(int64(max(r.Retry, 1)), "record"), errRetry, err)
	}
	if a.flags.json {
		return nil
	}
	return a.tellWorked(r)
}

// handler returns the handler of the cloud functions, with all their jobs.
func (a *app) handler(ctx context.Context, rules functions.Rules) (*functions.Handler, error) {
	buckets := func(name string) (objstore.Bucket, error) { return a.bucket(ctx, name) }
	o := worker.Options{Rules: rules, Buckets: buckets, Counter: &a.counter, Warn: a.warn}
	if a.flags.verbose {
		o.Log = a.logger()
	}
	h, err := worker.New(o)
	if err != nil {
		return nil, usagef("%s", err)
	}
	return h, nil
}

// bucket returns the S3 bucket called name.
func (a *app) bucket(ctx context.Context, name string) (objstore.Bucket, error) {
	b, _, err := a.client.Bucket(ctx, "s3://"+name+"/")
	return b, err
}

// calls are the flags' options for requests to AWS's services besides S3.
func (a *app) calls() awscall.Options {
	f := &a.flags
	return awscall.Options{Region: f.region, Profile: f.profile, Endpoint: f.endpoint, Silence: f.silence()}
}

// workerReport is the JSON of `worker`.
type workerReport struct {
	functions.Result

	Outputs []string `json:"outputs"`
}

// A tally is the number of uploads with one outcome.
type tally struct {
	n    int64
	what string
}

// tallies returns a text about the tallies that are not zero.
func tallies(all ...tally) string {
	text := ""
	for _, t := range all {
		if t.n > 0 {
			text += fmt.Sprintf(", %d %s", t.n, t.what)
		}
	}
	return text
}

func (a *app) tellWorked(r functions.Result) error {
	text := human.Plural(int64(r.Uploads), "upload") + tallies(tally{int64(r.Packed), "packed"}, tally{int64(r.Unchanged), "unchanged"},
		tally{int64(r.Ignored), "ignored"}, tally{int64(r.Own), "our own"}, tally{int64(r.Unmatched), "without a rule"},
		tally{int64(r.Dropped), "gone or replaced"}, tally{int64(r.Failed), "failed for good (see errors/)"})
	for _, o := range r.Outputs {
		text += fmt.Sprintf("\n  %s  %s", human.Printable(o.Key), human.Size(o.Size))
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}

// rules reads the rules document.
func (a *app) rules(file string) (functions.Rules, error) {
	text := ""
	if file == "" {
		text = strings.TrimSpace(a.env(rulesVariable))
		if text == "" {
			return nil, usagef("no rules: give --rules FILE or set %s", rulesVariable)
		}
		if !strings.HasPrefix(text, "[") {
			file = text
		}
	}
	if file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		text = string(b)
	}
	r, err := functions.ParseRules([]byte(text))
	if err != nil {
		return nil, usagef("%s", err)
	}
	return r, nil
}

func (a *app) readEvent(name string) ([]byte, error) {
	in := a.stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close() //nolint:errcheck // only read
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxEvent+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxEvent {
		return nil, usagef("%s: more than %s of event", name, human.Size(maxEvent))
	}
	return b, nil
}
