// Package delivery brings spooled events to functions, as the cloud would: by
// rules, alone or in batches, more than once if need be, and at last into a file
// of dead letters.
package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/localcloud/lambda"
	"github.com/farread/farread/localcloud/notify"
	"github.com/farread/farread/localcloud/spool"
)

// sqsBatch is the most messages of one invocation: the default of Lambda's
// event source mapping for SQS.
const sqsBatch = 10

// Invoke runs a function on an event: the method of a lambda.Pool.
type Invoke func(ctx context.Context, payload []byte) (lambda.Result, error)

// Config is what delivery needs. Functions has one entry for each job of Rules,
// under FunctionName; Spool and DeadLetters must be set. Other zero fields mean the
// defaults.
type Config struct {
	Rules       functions.Rules
	Functions   map[string]Invoke
	Spool       *spool.Spool
	DeadLetters string // path of the file

	Tries       int           // tries of an event before it is a dead letter; default 3
	RetryDelay  time.Duration // before the second try, doubled for each more, up to 1024 times as long; default 1 s
	BatchWindow time.Duration // for shapes with a queue: how long a first message waits for others, 10 at most; default 100 ms
	Concurrency int           // invocations at a time for each function and event shape; default 4
	Region      string        // default us-east-1

	Report func(Invocation) // called after each invocation, from several goroutines; may be nil
	Log    *slog.Logger     // nil drops everything
}

func (c Config) withDefaults() Config {
	if c.Tries == 0 {
		c.Tries = 3
	}
	if c.RetryDelay == 0 {
		c.RetryDelay = time.Second
	}
	if c.BatchWindow == 0 {
		c.BatchWindow = 100 * time.Millisecond
	}
	if c.Concurrency == 0 {
		c.Concurrency = 4
	}
	if c.Region == "" {
		c.Region = "us-east-1"
	}
	if c.Report == nil {
		c.Report = func(Invocation) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// FunctionName is the function that does a job.
func FunctionName(job string) string { return "fn-" + job }

// An Invocation is one finished run of a function, as reported.
type Invocation struct {
	Event     string   `json:"event"` // "invocation"
	Function  string   `json:"function"`
	RequestID string   `json:"request_id"`
	Shape     string   `json:"shape"` // shape of the event, as in the rules
	Records   []Object `json:"records"`
	MS        float64  `json:"ms"`
	Cold      bool     `json:"cold"`
	OK        bool     `json:"ok"` // every record is done
	Error     string   `json:"error,omitempty"`
}

// An Object is a record of an invocation. A record that Failed comes again unless it
// is Dead.
type Object struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
	Size   int64  `json:"size"`
	Try    int    `json:"try"`              // number of the try, from 1
	Failed bool   `json:"failed,omitempty"` // the record failed in this try
	Dead   bool   `json:"dead,omitempty"`   // the last try has failed
}

// Status counts events since the start.
type Status struct {
	Pending     int64 `json:"pending"`      // events not done yet: queued, in flight, or waiting for the next try
	Delivered   int64 `json:"delivered"`    // done by a function
	Ignored     int64 `json:"ignored"`      // matched by no rule, or not of a new object
	Dead        int64 `json:"dead"`         // became dead letters
	Invocations int64 `json:"invocations"`  // runs of functions, failed ones included
	DeadLetters int   `json:"dead_letters"` // letters that the file has now
}

// A Delivery is running from New to Close. It is safe for concurrent use.
type Delivery struct {
	cfg    Config
	queues map[string]*queue // queues by function and shape
	dead   *deadLetters
	wg     sync.WaitGroup

	pending, delivered, ignored, died, invocations atomic.Int64
}

// New starts delivery. The end of ctx ends invocations in flight; their events stay in
// the spool. A rule without its function is an error. Close ends what New started.
func New(ctx context.Context, cfg Config) (*Delivery, error) {
	d := &Delivery{cfg: cfg.withDefaults(), queues: map[string]*queue{}}
	for i, r := range d.cfg.Rules {
		name := FunctionName(r.Job)
		if d.cfg.Functions[name] == nil {
			return nil, fmt.Errorf("rule %d: no function %s", i, name)
		}
		if id := name + "/" + shape(r); d.queues[id] == nil {
			d.queues[id] = newQueue()
		}
	}
	var err error
	if d.dead, err = openDeadLetters(d.cfg.DeadLetters); err != nil {
		return nil, err
	}
	for _, r := range d.cfg.Rules {
		q := d.queues[FunctionName(r.Job)+"/"+shape(r)]
		if q.started {
			continue
		}
		q.started = true
		for range d.cfg.Concurrency {
			d.wg.Go(func() { d.work(ctx, FunctionName(r.Job), shape(r), q) })
		}
	}
	return d, nil
}

// Close ends delivery. If New's context was not cancelled before, it waits for
// invocations in flight. Events that are queued stay in the spool, which stays open.
func (d *Delivery) Close() {
	for _, q := range d.queues {
		q.close()
	}
	d.wg.Wait()
}

// shape is a rule's event shape.
func shape(r functions.Rule) string {
	if r.Shape == "" {
		return shapeS3
	}
	return r.Shape
}

// Add queues a spooled event, or marks it as done if no rule matches it or it is not of
// a new object.
func (d *Delivery) Add(e spool.Entry) error {
	key, err := e.Record.Key()
	if err != nil {
		return err
	}
	rule, ok := d.cfg.Rules.Match(e.Record.S3.Bucket.Name, key)
	if !ok || !e.Record.Created() {
		d.ignored.Add(1)
		return d.cfg.Spool.Ack(e.ID)
	}
	d.pending.Add(1)
	d.queues[FunctionName(rule.Job)+"/"+shape(rule)].put(&message{Entry: e, key: key})
	return nil
}

// Status is how things stand. It reads the file of dead letters.
func (d *Delivery) Status() (Status, error) {
	n, err := d.dead.count()
	return Status{
		Pending: d.pending.Load(), Delivered: d.delivered.Load(), Ignored: d.ignored.Load(),
		Dead: d.died.Load(), Invocations: d.invocations.Load(), DeadLetters: n,
	}, err
}

// Redrive spools and queues every dead letter again, then removes their file, and
// returns how many there were. After an error the file stays, and some letters may
// have been queued.
func (d *Delivery) Redrive() (int, error) {
	var entries []spool.Entry
	err := d.dead.drain(func(l Letter) error {
		e, err := d.cfg.Spool.Again(l.Record)
		entries = append(entries, e)
		return err
	})
	for _, e := range entries { // entries before an error are spooled as well
		if e.ID != 0 {
			err = errors.Join(err, d.Add(e))
		}
	}
	return len(entries), err
}

// work takes messages until the queue closes.
func (d *Delivery) work(ctx context.Context, function, shape string, q *queue) {
	most, window := 1, time.Duration(0)
	if queued(shape) {
		most, window = sqsBatch, d.cfg.BatchWindow
	}
	for {
		batch := q.take(most, window)
		if batch == nil {
			return
		}
		d.deliver(ctx, function, shape, q, batch)
	}
}

// deliver runs the function once on a batch and settles each of its messages.
func (d *Delivery) deliver(ctx context.Context, function, shape string, q *queue, batch []*message) {
	for _, m := range batch {
		m.tries++
	}
	payload, err := encode(shape, function, d.cfg.Region, batch)
	var res lambda.Result
	if err == nil {
		res, err = d.cfg.Functions[function](ctx, payload)
	}
	if ctx.Err() != nil && err != nil {
		return // stopped: the spool still has them
	}
	failed := map[*message]bool{}
	if err == nil && queued(shape) {
		failed, err = partial(res.Body, batch)
	}
	inv := Invocation{
		Event: "invocation", Function: function, RequestID: res.RequestID, Shape: shape,
		MS: float64(res.Took.Microseconds()) / 1000, Cold: res.Cold, OK: err == nil && len(failed) == 0,
	}
	switch {
	case err != nil:
		inv.Error = err.Error()
	case len(failed) > 0:
		err = fmt.Errorf("%d of %d records failed", len(failed), len(batch))
		inv.Error = err.Error()
	}
	for _, m := range batch {
		o := Object{Bucket: m.Record.S3.Bucket.Name, Key: m.key, Size: m.Record.Size(), Try: m.tries}
		if o.Failed = err != nil && (len(failed) == 0 || failed[m]); o.Failed {
			o.Dead = d.retry(q, m, function, shape, res.RequestID, err)
		} else {
			d.done(m, &d.delivered)
		}
		inv.Records = append(inv.Records, o)
	}
	d.invocations.Add(1)
	d.cfg.Report(inv)
}

// retry queues a failed message for later, or makes it a dead letter and returns true.
func (d *Delivery) retry(q *queue, m *message, function, shape, request string, cause error) (dead bool) {
	if m.tries < d.cfg.Tries {
		q.putAfter(m, d.cfg.RetryDelay<<min(m.tries-1, 10))
		return false
	}
	l := Letter{Function: function, Shape: shape, RequestID: request, Tries: m.tries, Error: cause.Error(),
		Time: time.Now().UTC(), Record: m.Record}
	if err := d.dead.add(l); err != nil {
		// The event stays in the spool and comes again after a restart.
		d.cfg.Log.Error("dead letter not written", "bucket", m.Record.S3.Bucket.Name, "key", m.key, "error", err)
		d.pending.Add(-1)
		return true
	}
	d.cfg.Log.Warn("dead letter", "function", function, "bucket", m.Record.S3.Bucket.Name, "key", m.key, "tries", m.tries, "error", cause)
	d.done(m, &d.died)
	return true
}

// done marks a message as done in the spool.
func (d *Delivery) done(m *message, count *atomic.Int64) {
	if err := d.cfg.Spool.Ack(m.ID); err != nil {
		d.cfg.Log.Error("event not marked as done: it will come again after a restart", "key", m.key, "error", err)
	}
	count.Add(1)
	d.pending.Add(-1)
}

// message is an event that is being delivered.
type message struct {
	spool.Entry
	key   string
	tries int
}

func (m *message) id() string {
	return fmt.Sprintf("%08x-0000-4000-8000-%012x", m.ID>>48, m.ID&(1<<48-1))
}

// notification returns the notification of one message.
func (m *message) notification() notify.Notification {
	return notify.Notification{Records: []notify.Record{m.Record}}
}
