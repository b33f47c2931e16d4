package functions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// ErrSkip is returned by a job for an upload that is not meant for it: one of
// farread's own outputs, or a file that waits for another one, such as the marker of
// its folder. The event is acknowledged and counted.
var ErrSkip = errors.New("nothing to do")

// ErrOwn is the ErrSkip for an object that carries MetaMarker: it ends loops. It
// matches ErrSkip.
var ErrOwn = fmt.Errorf("made by farread: %w", ErrSkip)

// ErrTooLong is a permanent failure: the job does not fit one invocation. It matches
// formats.ErrTooLarge.
var ErrTooLong = fmt.Errorf("too large for one invocation: %w", formats.ErrTooLarge)

// ErrNoTime means that a job was not started because too little time of this
// invocation is left. The event is delivered again.
var ErrNoTime = errors.New("no time left in this invocation")

// errBucket is matched if the bucket of an upload cannot be had. Such a failure says
// nothing about the upload.
var errBucket = errors.New("bucket")

type budgetKey struct{}

// Budget is how long the invocation that ctx belongs to could run jobs when it
// began: its time less Handler.Reserve; 0 if the invocation has no deadline. Jobs
// estimate by it whether they fit one invocation.
func Budget(ctx context.Context) time.Duration {
	d, _ := ctx.Value(budgetKey{}).(time.Duration)
	return d
}

type againKey struct{}

// Again marks ctx: an earlier worker may have started the upload and not finished it.
// Even if the output exists, jobs then do the steps that this worker would have done
// after it. Handle marks messages that come again. Jobs do the same for an upload with
// a Sequencer.
func Again(ctx context.Context) context.Context {
	return context.WithValue(ctx, againKey{}, true)
}

// IsAgain reports whether ctx, or a parent of it, comes from Again.
func IsAgain(ctx context.Context) bool { return ctx.Value(againKey{}) != nil }

// A JobMaker builds the job of a rule, which writes to out. It is called for
// every upload, and should be cheap. Check calls it with a nil bucket, to hear
// whether the rule makes sense. It has to be safe for concurrent use if Handle is
// called concurrently.
type JobMaker func(r Rule, out objstore.Bucket) (Job, error)

// A Handler runs the jobs of a batch of events, one after another, so that a
// worker needs the memory of one job. Set the fields before the first call.
// Handle is safe for concurrent use if the values of the fields are.
type Handler struct {
	Rules Rules
	Jobs  map[string]JobMaker // makers of jobs by Rule.Job
	// Buckets gives a bucket by its bare name. A bucket of outputs has to keep metadata
	// (objstore.PutOptions.Meta) and to obey conditions, as S3 does: the metadata say of
	// which version of an upload an output was made. filestore does not keep them, so a
	// handler would take its own output in a folder for somebody else's (ErrTaken).
	Buckets func(name string) (objstore.Bucket, error)
	Counter func(name string) *objstore.Counter // returns the counter of a bucket of Buckets, for Done.Stats and logs; buckets may share one; nil: not counted
	Command func(r Rule, u Upload) string       // command for an upload that is too long for this function, named in reports of ErrTooLong; nil: none
	Request func(context.Context) string        // id of the invocation; nil: none
	Log     *slog.Logger                        // nil: silent
	Now     func() time.Time                    // nil: time.Now
	Reserve time.Duration                       // time that is kept before the deadline to answer and report; 0: 3 s
	Margin  time.Duration                       // least time before Reserve to start a job; 0: 5 s
}

// A Result is what became of a batch.
type Result struct {
	Queue    bool     `json:"-"`        // the event came from a queue
	Named    bool     `json:"-"`        // the event was the name of an object
	Failures []string `json:"failures"` // ids of messages to deliver again; empty without a queue

	Uploads   int `json:"uploads"`   // objects that the events named, without those of ignored events
	Packed    int `json:"packed"`    // outputs were written
	Unchanged int `json:"unchanged"` // the outputs of this version, or newer ones, were there
	Ignored   int `json:"ignored"`   // test events, folder markers, deletes, uploads that a job skipped
	Own       int `json:"own"`       // our own outputs
	Unmatched int `json:"unmatched"` // uploads that no rule matches
	Elsewhere int `json:"elsewhere"` // the first rule that matches is for a job of another function
	Dropped   int `json:"dropped"`   // the upload was deleted or replaced
	Failed    int `json:"failed"`    // permanent, reported under errors/
	Retry     int `json:"retry"`     // uploads given back, and messages that cannot be understood

	Outputs []objstore.Info `json:"-"` // outputs of the uploads that count as packed
	Done    []Done          `json:"-"` // one for each upload whose job was run
	Err     error           `json:"-"` // why uploads or messages are given back
}

// An Answer is what a function says of an object that it was given by name.
type Answer struct {
	Outcome Outcome `json:"outcome"`
	Error   string  `json:"error,omitempty"` // why it has Failed
}

// maxReason bounds Answer.Error, so that the answers for a batch of objects fit what a state
// machine passes on.
const maxReason = 1000

// Answer is the response of a function. A queue that reports failures one by one reads
// {"batchItemFailures":[]}, the list never null; who gave an object by name reads an Answer;
// nobody else reads it, and it is null.
func (r Result) Answer() []byte {
	type failure struct {
		ID string `json:"itemIdentifier"`
	}
	var answer any
	switch {
	case r.Queue:
		list := make([]failure, 0, len(r.Failures))
		for _, id := range r.Failures {
			list = append(list, failure{id})
		}
		answer = struct {
			Failures []failure `json:"batchItemFailures"`
		}{list}
	case r.Named:
		a := Answer{Outcome: Ignored}
		if len(r.Done) > 0 {
			if a.Outcome = r.Done[0].Outcome; r.Done[0].Err != nil && a.Outcome == Failed {
				a.Error = strings.ToValidUTF8(fmt.Sprintf("%.*s", maxReason, r.Done[0].Err), "")
			}
		}
		answer = a
	}
	b, err := json.Marshal(answer)
	if err != nil { // strings always encode
		panic(err)
	}
	return b
}

func (h *Handler) withDefaults() *Handler {
	c := *h
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Reserve <= 0 {
		c.Reserve = 3 * time.Second
	}
	if c.Margin <= 0 {
		c.Margin = 5 * time.Second
	}
	return &c
}

// Check reports everything that is wrong with the handler's configuration. One
// document of rules serves all functions: all rules have to be valid, at least one has
// to be for a job in Jobs, and only the makers of those are asked.
func (h *Handler) Check() error {
	errs := []error{h.Rules.Validate(slices.Sorted(maps.Keys(h.Jobs))...)}
	mine := false
	for i, r := range h.Rules {
		maker := h.Jobs[r.Job]
		if maker == nil {
			continue
		}
		mine = true
		if _, err := maker(r, nil); err != nil {
			errs = append(errs, fmt.Errorf("rules: rule %d: %w", i, err))
		}
	}
	if !mine && len(h.Rules) > 0 {
		errs = append(errs, fmt.Errorf("rules: none is for a job of this worker, %q; they are for %q", slices.Sorted(maps.Keys(h.Jobs)), h.Rules.jobs()))
	}
	if h.Buckets == nil {
		errs = append(errs, errors.New("handler: no buckets"))
	}
	return errors.Join(errs...)
}

// Handle runs the jobs of one event. If the event came from a queue, the error is nil and
// Result.Failures says which messages to deliver again. Without a queue there is one
// message, and its error is returned, so that the caller delivers the whole event again;
// what was done is not done twice. A job that has failed for good is not an error:
// Result.Failed counts it, and its Done has the reason. If the payload cannot be
// understood, the error matches ErrEvent. A panic of a job gives back its message only.
func (h *Handler) Handle(ctx context.Context, payload []byte) (Result, error) {
	h = h.withDefaults()
	b, err := Decode(payload)
	if err != nil {
		h.Log.ErrorContext(ctx, "event refused", "error", err.Error(), "request", h.request(ctx))
		return Result{Retry: 1, Err: err}, err
	}
	r := Result{Queue: b.Queue, Named: b.Named, Failures: []string{}}
	jobs, cancel := h.jobContext(ctx)
	defer cancel()
	started := 0
	for i := range b.Messages {
		if err := h.message(ctx, jobs, &b.Messages[i], &r, &started); err != nil {
			r.Err = errors.Join(r.Err, err)
			if b.Queue {
				r.Failures = append(r.Failures, b.Messages[i].ID)
			}
		}
	}
	if b.Queue {
		return r, nil
	}
	return r, r.Err
}

// jobContext ends Reserve before the deadline of ctx, so that time is left to
// report and answer.
func (h *Handler) jobContext(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	end = end.Add(-h.Reserve)
	return context.WithDeadline(context.WithValue(ctx, budgetKey{}, end.Sub(h.Now())), end)
}

// message runs all uploads of a message, and returns why the message has to come
// again.
func (h *Handler) message(ctx, jobs context.Context, m *Message, r *Result, started *int) error {
	r.Ignored += m.Ignored
	r.Uploads += len(m.Uploads)
	if m.Err != nil {
		r.Retry++
		h.Log.ErrorContext(ctx, "message refused", "message", m.ID, "receives", m.Receives, "error", m.Err.Error(), "request", h.request(ctx))
		return fmt.Errorf("message %s: %w", m.ID, m.Err)
	}
	if m.Receives > 1 {
		jobs = Again(jobs)
	}
	var errs []error
	for _, u := range m.Uploads {
		if end, ok := jobs.Deadline(); jobs.Err() != nil || ok && end.Sub(h.Now()) < h.Margin {
			r.Retry++
			h.Log.WarnContext(ctx, "given back", "bucket", u.Bucket, "key", u.Key, "request", h.request(ctx))
			errs = append(errs, fmt.Errorf("%s/%s: %w", u.Bucket, u.Key, ErrNoTime))
			continue
		}
		// If this is not the first try and the job has the whole invocation, a meter
		// finds out why it does not end: another try may not help.
		last := *started == 0 && m.Receives > 1
		*started++
		if err := h.upload(ctx, jobs, u, last, r); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// upload runs one job and enters its outcome in r. It returns an error if the upload
// has to come again.
func (h *Handler) upload(ctx, jobs context.Context, u Upload, last bool, r *Result) error {
	rule, ok := h.Rules.Match(u.Bucket, u.Key)
	if !ok {
		r.Unmatched++
		h.Log.DebugContext(ctx, "no rule", "bucket", u.Bucket, "key", u.Key)
		return nil
	}
	if h.Jobs[rule.Job] == nil {
		r.Elsewhere++
		h.Log.DebugContext(ctx, "another function's", "bucket", u.Bucket, "key", u.Key, "job", rule.Job)
		return nil
	}
	d := Done{Rule: rule, Upload: u}
	begun, before := h.Now(), h.stats(rule)
	var m *meter
	if last && Budget(jobs) > 0 {
		m = newMeter(u)
	}
	d.Outputs, d.Err = h.run(jobs, rule, &d.Upload, m)
	if m != nil && jobs.Err() != nil && errors.Is(d.Err, context.DeadlineExceeded) {
		d.Err = m.judge(Budget(jobs), d.Err)
	}
	again := h.settle(ctx, &d, r)
	d.Took, d.Stats = h.Now().Sub(begun), since(before, h.stats(rule))
	h.log(ctx, d)
	r.Done = append(r.Done, d)
	return again
}

// settle enters the outcome of a job in r. It returns an error if the upload has to
// come again.
func (h *Handler) settle(ctx context.Context, d *Done, r *Result) error {
	switch classify(d.Err, d.Upload.Key) {
	case outcomeDone:
		if len(d.Outputs) == 0 {
			r.Unchanged++
			d.Outcome = Unchanged
			return nil
		}
		r.Outputs = append(r.Outputs, d.Outputs...)
		r.Packed++
		d.Outcome = Packed
	case outcomeOwn:
		r.Own++
		d.Outcome = Own
	case outcomeSkip:
		r.Ignored++
		d.Outcome = Ignored
	case outcomeGone:
		r.Dropped++
		d.Outcome = Dropped
	case outcomePermanent:
		if d.Report, d.NotReported = h.report(ctx, d.Rule, d.Upload, d.Err); d.NotReported != nil {
			r.Retry++
			d.Outcome = Retried
			return errors.Join(d.Err, d.NotReported)
		}
		r.Failed++
		d.Outcome = Failed
	default:
		r.Retry++
		d.Outcome = Retried
		return fmt.Errorf("%s/%s: %w", d.Upload.Bucket, d.Upload.Key, d.Err)
	}
	return nil
}

// run calls the job. A panic in the job becomes an error that may pass. m, unless it
// is nil, measures the job.
func (h *Handler) run(ctx context.Context, rule Rule, u *Upload, m *meter) (infos []objstore.Info, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	src, err := h.Buckets(u.Bucket)
	if err != nil {
		return nil, fmt.Errorf("%w %s: %w", errBucket, u.Bucket, err)
	}
	out, err := h.Buckets(rule.Out.Bucket)
	if err != nil {
		return nil, output(err)
	}
	if m != nil {
		src, out = m.around(src, true), m.around(out, false)
	}
	job, err := h.Jobs[rule.Job](rule, out)
	if err != nil {
		return nil, err
	}
	if err := u.resolve(ctx, src); err != nil {
		return nil, err
	}
	return job.Run(ctx, src, *u)
}

// resolve completes an upload that came by name alone: it is the version that its key
// holds now. If another version was asked for, it is out of date.
func (u *Upload) resolve(ctx context.Context, src objstore.Bucket) error {
	if u.ETag != "" || u.Sequencer != "" {
		return nil
	}
	info, err := src.Head(ctx, u.Key)
	if err != nil {
		return err
	}
	if u.VersionID != "" && u.VersionID != info.VersionID {
		return &objstore.Error{Op: "head", Bucket: src.Name(), Key: u.Key, Err: fmt.Errorf("version %.80q is not the current one: %w", u.VersionID, objstore.ErrChanged)}
	}
	u.ETag, u.VersionID, u.Size = info.ETag, info.VersionID, info.Size
	if folderMarker(*u) {
		return fmt.Errorf("a folder: %w", ErrSkip)
	}
	return nil
}

type outcome int

const (
	outcomeDone outcome = iota
	outcomeOwn
	outcomeSkip
	outcomeGone
	outcomePermanent
	outcomeAgain
)

// classify decides what to do about an error of the upload called key. Sentinels of
// the formats come first: corrupt bytes stay corrupt, even if something else failed
// while the job ended.
func classify(err error, key string) outcome {
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	switch {
	case err == nil:
		return outcomeDone
	case is(ErrOwn):
		return outcomeOwn
	case is(ErrSkip):
		return outcomeSkip
	case is(formats.ErrCorrupt, formats.ErrUnsupported, formats.ErrTooLarge, formats.ErrNoEntry):
		return outcomePermanent
	case is(ErrOutput, ErrBusy, errBucket):
		return outcomeAgain
	case gone(err, key):
		return outcomeGone
	}
	return outcomeAgain
}

// gone reports whether err proves that the object of an event for key does not
// exist any more. Only then may the event be dropped. Stores also say "not found"
// of buckets, access keys and missing routes, which may come back.
func gone(err error, key string) bool {
	var e *objstore.Error
	switch {
	case !errors.As(err, &e) || e.Key != key:
		return false
	case errors.Is(err, objstore.ErrChanged):
		return e.Status != http.StatusConflict // two writers are in conflict: that says nothing about a read
	case !errors.Is(err, objstore.ErrNotFound):
		return false
	}
	switch e.Code {
	case "NoSuchKey", "NoSuchVersion", "": // the empty code is for stores without codes
		return true
	case "NotFound":
		return e.Op == "head" // the answer to a HEAD has no body with a code; any other 404 without a code may come from a proxy
	}
	return false
}

func (h *Handler) request(ctx context.Context) string {
	if h.Request == nil {
		return ""
	}
	return h.Request(ctx)
}

// stats is the cost so far of the buckets of a rule.
func (h *Handler) stats(r Rule) rangeio.Stats {
	if h.Counter == nil {
		return rangeio.Stats{}
	}
	in, out := h.Counter(r.Bucket), h.Counter(r.Out.Bucket)
	s := in.Stats()
	if out != in {
		o := out.Stats()
		s.Requests, s.Bytes, s.Retries = s.Requests+o.Requests, s.Bytes+o.Bytes, s.Retries+o.Retries
	}
	return s
}
