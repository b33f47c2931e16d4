package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/cmd/farread/internal/deadletters"
	"github.com/farread/farread/cmd/farread/internal/worker"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/internal/human"
)

func newReplayDLQ(a *app) *cobra.Command {
	var o replayOptions
	c := &cobra.Command{
		Use: "replay-dlq --queue URL | --file FILE | --local URL", Short: "Hand dead letters back to the queue",
		Long: `Hand back what was given up, once its cause is mended: uploads that are packed
already cost a few requests and change nothing.

  --queue URL  the dead-letter queue of SQS. Its messages go to the queue whose dead
               letters they are, or to the one of --to. A message is deleted only after
               it was sent: should the command be killed between the two, it is there
               twice, which does no harm. One that fails again comes back under its
               name, and ends the run.
  --file FILE  dead letters, one JSON object a line: events, or the lines of
               dead-letters.jsonl of the local cloud; or one event, on as many lines as
               it has; - is stdin. They go to the queue of --to, of a queue's event each
               message by itself, or through the handler here, with --rules as farread
               worker takes them. The file stays as it is.
  --local URL  the endpoint of a local cloud that runs: it delivers its own again.

--dry-run tells what there is and moves nothing; it hides the messages of a queue for a
few seconds, and each then counts as received once more. The exit code is 6 when some
could not be handed back, or failed again here. With --json each letter is a line, and
the last one is the report.`,
		Example: `  farread replay-dlq --queue https://sqs.eu-central-1.amazonaws.com/123456789012/uploads-dlq --dry-run
  farread replay-dlq --queue URL-OF-DLQ --max 100
  farread replay-dlq --file dead-letters.jsonl --rules rules.json
  farread replay-dlq --local http://127.0.0.1:45277`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return a.replay(cmd.Context(), o)
		},
	}
	c.Flags().StringVar(&o.queue, "queue", "", "`URL` of the dead-letter queue")
	c.Flags().StringVar(&o.file, "file", "", "`FILE` of dead letters; - is stdin")
	c.Flags().StringVar(&o.local, "local", "", "endpoint `URL` of a local cloud")
	c.Flags().StringVar(&o.to, "to", "", "`URL` of the queue that gets them (of --queue: the one they come from)")
	c.Flags().StringVar(&o.rules, "rules", "", "`FILE` with the rules, for --file without --to")
	c.Flags().IntVar(&o.most, "max", 0, "stop after `N` letters (0: all)")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "tell what there is, move nothing")
	return c
}

type replayOptions struct {
	queue, file, local, to, rules string
	most                          int
	dryRun                        bool
}

func (o replayOptions) check() error {
	given := 0
	for _, s := range []string{o.queue, o.file, o.local} {
		if s != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return usagef("want one of --queue, --file and --local")
	case o.most < 0:
		return usagef("--max %d is negative", o.most)
	case o.local != "" && (o.to != "" || o.most > 0):
		return usagef("--local: the local cloud delivers all its dead letters, and to its own functions")
	case o.rules != "" && (o.file == "" || o.to != ""):
		return usagef("--rules are for --file without --to")
	case o.queue != "" && o.to == o.queue:
		return usagef("--to is the queue of the dead letters itself")
	}
	return nil
}

// A replayReport is the last line of --json.
type replayReport struct {
	From   string `json:"from"`
	To     string `json:"to"` // destination of the letters; "": the handler of this command
	DryRun bool   `json:"dry_run"`
	Moved  int    `json:"moved"`  // number of letters that were moved, or in a dry run would be
	Failed int    `json:"failed"` // number of letters that stay where they were
}

// A letter is a dead letter in the report.
type letter struct {
	ID      string   `json:"id"`
	Objects []string `json:"objects"` // objects of its event, as bucket/key
	Error   string   `json:"error,omitempty"`
}

// A replayer gives letters back, and reports each.
type replayer struct {
	a      *app
	o      replayOptions
	report replayReport
	why    error // error of the first letter that failed
}

func (a *app) replay(ctx context.Context, o replayOptions) error {
	r := &replayer{a: a, o: o, report: replayReport{DryRun: o.dryRun, To: o.to}}
	var err error
	switch {
	case o.queue != "":
		r.report.From = o.queue
		err = r.fromQueue(ctx)
	case o.file != "":
		r.report.From = o.file
		err = r.fromFile(ctx)
	default:
		r.report.From, r.report.To = o.local, "its functions"
		r.report.Moved, err = deadletters.Local(ctx, o.local, a.flags.silence(), o.dryRun)
	}
	if bad := (*deadletters.ArgumentError)(nil); errors.As(err, &bad) {
		if err = usagef("%s", bad); o.local != "" {
			err = usagef("--local: %s", bad)
		}
	}
	if terr := r.tellReport(); err == nil {
		err = terr
	}
	if err == nil && r.report.Failed > 0 {
		err = fmt.Errorf("%s %w: %w", human.Plural(int64(r.report.Failed), "letter"), errRetry, r.why)
	}
	return at(r.report.From, err)
}

func (r *replayer) tellReport() error {
	if r.a.flags.json {
		return writeJSON(r.a.stdout, r.report)
	}
	verb, to := "handed back", r.report.To
	if r.o.dryRun {
		verb = "to hand back"
	}
	switch {
	case to != "":
	case r.o.queue != "":
		to = "no queue" // the queue was not found
	default:
		to = "the handler"
	}
	text := fmt.Sprintf("%s %s, to %s", human.Plural(int64(r.report.Moved), "letter"), verb, human.Printable(to))
	if r.report.Failed > 0 {
		text += fmt.Sprintf("; %d failed and stay", r.report.Failed)
	}
	_, err := fmt.Fprintln(r.a.stdout, text)
	return err
}

// tell reports a letter that was given back, or says why it was not.
func (r *replayer) tell(l deadletters.Letter) error {
	line := letterOf(l)
	if l.Err != nil {
		r.report.Failed++
		if r.why == nil {
			r.why = l.Err
		}
	} else {
		r.report.Moved++
	}
	if r.a.flags.json {
		return writeJSON(r.a.stdout, line)
	}
	text := human.Printable(line.ID)
	for _, o := range line.Objects {
		text += "  " + human.Printable(o)
	}
	if line.Error != "" {
		text += ": " + line.Error
	}
	_, err := fmt.Fprintln(r.a.stdout, text)
	return err
}

// letterOf returns the line of a letter, with the objects of its event that can be
// understood.
func letterOf(of deadletters.Letter) letter {
	l := letter{ID: of.ID, Objects: []string{}}
	if of.Err != nil {
		l.Error = oneLine(of.Err)
	}
	b, err := functions.Decode(of.Event)
	if err != nil {
		l.Objects = append(l.Objects, "("+oneLine(err)+")")
		return l
	}
	for _, m := range b.Messages {
		for _, u := range m.Uploads {
			l.Objects = append(l.Objects, u.Bucket+"/"+u.Key)
		}
		if m.Err != nil {
			l.Objects = append(l.Objects, "("+oneLine(m.Err)+")")
		}
	}
	return l
}

func (r *replayer) options() deadletters.Options {
	return deadletters.Options{Most: r.o.most, DryRun: r.o.dryRun, Tell: r.tell}
}

// openQueue opens a queue with the options of the flags.
func (r *replayer) openQueue(ctx context.Context, url string) (*deadletters.Queue, error) {
	return deadletters.OpenQueue(ctx, url, deadletters.QueueOptions{
		Options: r.a.calls(),
		Advice:  "check the URL of the queue, and --endpoint-url or AWS_ENDPOINT_URL if one is set (of a local cloud: --local)",
	})
}

func (r *replayer) fromQueue(ctx context.Context) error {
	q, err := r.openQueue(ctx, r.o.queue)
	if err != nil {
		return err
	}
	if r.report.To == "" {
		to, err := q.Sources(ctx)
		switch {
		case err != nil:
			return err
		case len(to) == 0:
			return usagef("%s is the dead-letter queue of none; give --to", r.o.queue)
		case len(to) > 1:
			return usagef("%s is the dead-letter queue of %s; give one of them as --to", r.o.queue, strings.Join(to, " and "))
		}
		r.report.To = to[0]
	}
	return q.Move(ctx, r.report.To, r.options())
}

func (r *replayer) fromFile(ctx context.Context) error {
	give, err := r.giver(ctx)
	if err != nil {
		return err
	}
	in := r.a.stdin
	if r.o.file != "-" {
		f, err := os.Open(r.o.file)
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // only read
		in = f
	}
	return deadletters.Read(ctx, in, give, r.options())
}

// giver returns the function that handles each event of a file.
func (r *replayer) giver(ctx context.Context) (func(event []byte) error, error) {
	if r.o.to != "" {
		q, err := r.openQueue(ctx, r.o.to)
		if err != nil {
			return nil, err
		}
		return func(event []byte) error { return q.Give(ctx, event) }, nil
	}
	rules, err := r.a.rules(r.o.rules)
	if err != nil {
		return nil, err
	}
	h, err := r.a.handler(ctx, rules)
	if err != nil {
		return nil, err
	}
	return func(event []byte) error { return worker.Give(ctx, h, event) }, nil
}
