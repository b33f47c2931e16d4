package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/functions"
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
	To     string `json:"to"` // "": the handler of this command
	DryRun bool   `json:"dry_run"`
	Moved  int    `json:"moved"`  // in a dry run: would be
	Failed int    `json:"failed"` // letters that stay where they were
}

// A letter is a dead letter in the report.
type letter struct {
	ID      string   `json:"id"`
	Objects []string `json:"objects"` // the objects of its event, bucket/key
	Error   string   `json:"error,omitempty"`
}

// A replayer hands letters back, and reports each.
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
		r.report.From = o.local
		err = r.fromLocal(ctx)
	}
	if terr := r.tellReport(); err == nil {
		err = terr
	}
	if err == nil && r.report.Failed > 0 {
		err = fmt.Errorf("%s %w: %w", plural(int64(r.report.Failed), "letter"), errRetry, r.why)
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
	text := fmt.Sprintf("%s %s, to %s", plural(int64(r.report.Moved), "letter"), verb, printable(to))
	if r.report.Failed > 0 {
		text += fmt.Sprintf("; %d failed and stay", r.report.Failed)
	}
	_, err := fmt.Fprintln(r.a.stdout, text)
	return err
}

// tell reports a letter that was handed back, or why it was not.
func (r *replayer) tell(l letter, failed error) error {
	if failed != nil {
		r.report.Failed++
		l.Error = oneLine(failed)
		if r.why == nil {
			r.why = failed
		}
	} else {
		r.report.Moved++
	}
	if r.a.flags.json {
		return writeJSON(r.a.stdout, l)
	}
	text := printable(l.ID)
	for _, o := range l.Objects {
		text += "  " + printable(o)
	}
	if l.Error != "" {
		text += ": " + l.Error
	}
	_, err := fmt.Fprintln(r.a.stdout, text)
	return err
}

// letterOf names the objects of an event, as far as it can be understood.
func letterOf(id string, event []byte) letter {
	l := letter{ID: id, Objects: []string{}}
	b, err := functions.Decode(event)
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

// full says that --max is reached.
func (r *replayer) full() bool {
	return r.o.most > 0 && r.report.Moved+r.report.Failed >= r.o.most
}

// maxLetter is the longest line of a file: a message of SQS has at most 1 MiB, and
// quoting may make it longer.
const maxLetter = 8 << 20

// fromFile reads letters and sends each on, or handles it here.
func (r *replayer) fromFile(ctx context.Context) error {
	give, err := r.giver(ctx)
	if err != nil {
		return err
	}
	in, err := r.a.openIn(r.o.file)
	if err != nil {
		return err
	}
	defer in.Close()
	for n, line := range lettersIn(in) {
		if line.err != nil {
			return line.err
		}
		if r.full() {
			return nil
		}
		event, err := line.event()
		l := letterOf(fmt.Sprintf("line %d", n), event)
		if err == nil && !r.o.dryRun {
			err = give(event)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.tell(l, err); err != nil {
			return err
		}
	}
	return nil
}

// giver is the function that takes the events of a file.
func (r *replayer) giver(ctx context.Context) (func(event []byte) error, error) {
	if r.o.to != "" {
		q, err := r.a.queues(ctx, r.o.to)
		if err != nil {
			return nil, err
		}
		return func(event []byte) error {
			for _, body := range bodiesOf(event) {
				if err := send(ctx, q, r.o.to, body); err != nil {
					return err
				}
			}
			return nil
		}, nil
	}
	rules, err := r.a.rules(r.o.rules)
	if err != nil {
		return nil, err
	}
	h, err := r.a.handler(rules, r.a.buckets(ctx))
	if err != nil {
		return nil, err
	}
	return func(event []byte) error {
		res, err := h.Handle(ctx, event)
		if err == nil {
			err = res.Err
		}
		return err
	}, nil
}

// bodiesOf are the bodies of messages from which a function gets event: those of its
// messages, if the event came from a queue itself.
func bodiesOf(event []byte) []string {
	var e struct {
		Records []struct {
			Source string  `json:"eventSource"`
			Body   *string `json:"body"`
		} `json:"Records"`
	}
	if json.Unmarshal(event, &e) != nil {
		return []string{string(event)}
	}
	var bodies []string
	for _, r := range e.Records {
		if r.Source == "aws:sqs" && r.Body != nil {
			bodies = append(bodies, *r.Body)
		}
	}
	if len(bodies) == 0 || len(bodies) != len(e.Records) {
		return []string{string(event)}
	}
	return bodies
}

// A fileLine is a line of a file of dead letters.
type fileLine struct {
	text []byte
	err  error
}

// event is the event of a line. A letter of the local cloud holds one record of a
// notification, which is the event; any other line is an event itself.
func (l fileLine) event() ([]byte, error) {
	var own struct {
		Function string          `json:"function"`
		Record   json.RawMessage `json:"record"`
	}
	if err := json.Unmarshal(l.text, &own); err != nil {
		return l.text, fmt.Errorf("%w: %w", functions.ErrEvent, err)
	}
	if own.Function == "" || own.Record == nil {
		return l.text, nil
	}
	return json.Marshal(map[string]any{"Records": []json.RawMessage{own.Record}})
}

// openIn opens a file to read, or stdin.
func (a *app) openIn(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(a.stdin), nil
	}
	return openFile(name)
}

// localStatus is the status that a local cloud reports.
type localStatus struct {
	DeadLetters *int `json:"dead_letters"`
	Redriven    *int `json:"redriven"`
}

// fromLocal asks a local cloud to deliver its dead letters again.
func (r *replayer) fromLocal(ctx context.Context) error {
	base := strings.TrimSuffix(r.o.local, "/") + "/_localcloud/"
	r.report.To = "its functions"
	if r.o.dryRun {
		s, err := askLocal(ctx, r.a.flags.silence(), "GET", base+"status")
		if err == nil && s.DeadLetters == nil {
			err = errNoLocal
		}
		if err == nil {
			r.report.Moved = *s.DeadLetters
		}
		return err
	}
	s, err := askLocal(ctx, r.a.flags.silence(), "POST", base+"redrive")
	if err == nil && s.Redriven == nil {
		err = errNoLocal
	}
	if err == nil {
		r.report.Moved = *s.Redriven
	}
	return err
}
