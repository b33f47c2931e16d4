// Package parts does jobs on many machines: their parts on any, the end on one. A [Plan]
// lies in a [Folder] of a work bucket. A state machine of Step Functions calls [Function]
// for batches of parts, each of which becomes a line beside the plan, and at the end for the
// answers. What is there already stays as it is, so a call that is made twice, and a run
// that is taken up again, change nothing. What a plan asks is known by its [Work] alone.
package parts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/objstore"
)

// A Work is a plan that can be done. Several may do it at the same time, and any part more
// than once.
type Work interface {
	// ID identifies the plan.
	ID() string
	// Parts returns the number of parts.
	Parts() int
	// Part does a part and returns its result, a small JSON. Objects that it leaves
	// elsewhere, such as below Folder.Dir, are the same whoever makes them. It may be
	// called from several goroutines.
	Part(ctx context.Context, part int) ([]byte, error)
	// Take takes the result of a part. The parts come in their order.
	Take(part int, result []byte) error
	// Finish returns the answers, once all parts are taken: a JSON object whose member plan
	// is the ID. What it writes elsewhere may be there already, from a Finish whose answers
	// were not stored.
	Finish(ctx context.Context) ([]byte, error)
}

// An Apart is a Work that has no need of Take before Finish: whoever wants the answers makes
// them of the parts, by Folder.Merge.
type Apart interface {
	Work
	Apart() // does nothing
}

// An Opener makes the Work of a plan that lies in a folder.
type Opener func(ctx context.Context, dir Folder, p *Plan) (Work, error)

// A Function answers events. Set the fields before the first call. Handle is safe for
// concurrent use.
type Function struct {
	Buckets func(name string) (objstore.Bucket, error) // work buckets, by their bare names
	Open    Opener
	Jobs    int           // parts that are made at the same time; 0: 2
	Reserve time.Duration // time before the deadline that is kept for an answer; 0: 3 s
	Log     *slog.Logger  // nil: silent

	mu   sync.Mutex
	last *planned // what the last batch was of
}

// planned is a plan with the Work of it.
type planned struct {
	bucket, key string
	plan        *Plan
	work        Work
}

// An Event is what Handle is asked: one of its members.
type Event struct {
	Make   *BatchEvent  `json:"analyze,omitempty"` // what the first plans asked for
	Failed *FailedEvent `json:"failed,omitempty"`
	Reduce *PlanEvent   `json:"reduce,omitempty"`
}

// A BatchEvent asks for parts.
type BatchEvent struct {
	PlanEvent
	Batch
}

// A FailedEvent tells that a BatchEvent failed for ever.
type FailedEvent struct {
	PlanEvent
	Failure

	Run string `json:"run"`
}

// A PlanEvent asks for the answers, once all parts are there.
type PlanEvent struct {
	Bucket string `json:"bucket"`
	Plan   string `json:"plan"` // key
}

// ErrEvent is matched by errors about events that cannot be understood.
var ErrEvent = errors.New("event")

// ErrMissing is matched by the error for answers of which parts are missing.
var ErrMissing = errors.New("missing")

// Permanent reports whether another try would end in the same error.
func Permanent(err error) bool {
	if e, ok := errors.AsType[*analyze.FailedError](err); ok {
		return !slices.ContainsFunc(e.Errors, func(p *analyze.PartError) bool { return !Permanent(p.Err) })
	}
	for _, target := range []error{
		ErrEvent, ErrMissing, formats.ErrCorrupt, formats.ErrUnsupported, formats.ErrTooLarge, formats.ErrNoEntry, analyze.ErrOtherPlan, analyze.ErrOtherSource,
		analyze.ErrQuestion, objstore.ErrNotFound, objstore.ErrExists, objstore.ErrChanged, objstore.ErrDenied, objstore.ErrInvalid,
	} {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}

// Handle does what an event asks for, and returns a small JSON.
func (f *Function) Handle(ctx context.Context, payload []byte) (answer []byte, err error) {
	log, begun := f.Log, time.Now()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	var e Event
	defer func() {
		if p := recover(); p != nil {
			log.ErrorContext(ctx, "panic", "what", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
		args := append(e.attributes(), "ms", time.Since(begun).Milliseconds())
		if err != nil {
			log.ErrorContext(ctx, "failed", append(args, "permanent", Permanent(err), "error", err.Error())...)
			return
		}
		log.InfoContext(ctx, "done", append(args, "answer", string(answer))...)
	}()
	if end, ok := ctx.Deadline(); ok {
		reserve := f.Reserve
		if reserve <= 0 {
			reserve = 3 * time.Second
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-reserve))
		defer cancel()
	}
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	switch {
	case e.Make != nil:
		return f.batch(ctx, *e.Make)
	case e.Failed != nil:
		return f.failed(ctx, *e.Failed)
	case e.Reduce != nil:
		return f.reduce(ctx, *e.Reduce)
	}
	return nil, fmt.Errorf("%w: want one of analyze, failed and reduce", ErrEvent)
}

// attributes are those of a line of the log.
func (e *Event) attributes() []any {
	switch {
	case e.Make != nil:
		return []any{"plan", e.Make.Plan, "from", e.Make.From, "to", e.Make.To}
	case e.Failed != nil:
		return []any{"plan", e.Failed.Plan, "from", e.Failed.From, "to", e.Failed.To, "noted", e.Failed.Cause}
	case e.Reduce != nil:
		return []any{"plan", e.Reduce.Plan, "reduce", true}
	}
	return nil
}

func (f *Function) folder(e PlanEvent) (Folder, error) {
	if e.Bucket == "" {
		return Folder{}, fmt.Errorf("%w: no bucket", ErrEvent)
	}
	b, err := f.Buckets(e.Bucket)
	if err != nil {
		return Folder{}, err
	}
	return FolderOf(b, e.Plan)
}

// batch makes the parts of a batch that are not there.
func (f *Function) batch(ctx context.Context, e BatchEvent) ([]byte, error) {
	dir, err := f.folder(e.PlanEvent)
	if err != nil {
		return nil, err
	}
	p, err := f.planned(ctx, e.PlanEvent, dir)
	if err != nil {
		return nil, err
	}
	if e.From < 0 || e.To <= e.From || e.To > p.plan.Parts {
		return nil, fmt.Errorf("%w: parts from %d to %d of %d", ErrEvent, e.From, e.To, p.plan.Parts)
	}
	missing, err := dir.Missing(ctx, e.From, e.To)
	if err != nil {
		return nil, err
	}
	var g errgroup.Group // a part that fails does not end the others
	g.SetLimit(max(f.Jobs, 1))
	if f.Jobs == 0 {
		g.SetLimit(2)
	}
	errs := make([]error, len(missing))
	for i, part := range missing {
		g.Go(func() error {
			if errs[i] = context.Cause(ctx); errs[i] == nil {
				errs[i] = makePart(ctx, dir, p, part)
			}
			return nil
		})
	}
	_ = g.Wait() // errs has them
	failed := &analyze.FailedError{Parts: e.To - e.From}
	for i, err := range errs {
		if err != nil {
			failed.Errors = append(failed.Errors, &analyze.PartError{Part: missing[i], Err: err})
		}
	}
	if len(failed.Errors) > 0 {
		return nil, failed
	}
	return fmt.Appendf(nil, `{"parts":%d,"made":%d}`, e.To-e.From, len(missing)), nil
}

// makePart makes a part.
func makePart(ctx context.Context, dir Folder, p *planned, part int) error {
	result, err := p.work.Part(ctx, part)
	if err != nil {
		return err
	}
	line, err := p.plan.Line(part, result)
	if err != nil {
		return err
	}
	return dir.putPart(ctx, p.plan, part, line)
}

// planned returns the plan of an event and its Work. That of the last event is kept: an
// instance of a function makes many batches of one plan.
func (f *Function) planned(ctx context.Context, e PlanEvent, dir Folder) (*planned, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := f.last; p != nil && p.bucket == e.Bucket && p.key == e.Plan {
		return p, nil
	}
	plan, err := dir.Plan(ctx)
	if err != nil {
		return nil, err
	}
	w, err := f.open(ctx, dir, plan)
	if err != nil {
		return nil, err
	}
	f.last = &planned{e.Bucket, e.Plan, plan, w}
	return f.last, nil
}

// open makes the Work of a plan, and looks whether it is that.
func (f *Function) open(ctx context.Context, dir Folder, p *Plan) (Work, error) {
	w, err := f.Open(ctx, dir, p)
	if err != nil {
		return nil, err
	}
	if w.ID() != p.ID || w.Parts() != p.Parts {
		return nil, fmt.Errorf("%w: this program plans %d parts as %.12s, and the plan has %d as %.12s", analyze.ErrOtherPlan, w.Parts(), w.ID(), p.Parts, p.ID)
	}
	return w, nil
}

// maxCause bounds what is noted of a failure.
const maxCause = 4 << 10

// failed notes a failure.
func (f *Function) failed(ctx context.Context, e FailedEvent) ([]byte, error) {
	dir, err := f.folder(e.PlanEvent)
	if err != nil {
		return nil, err
	}
	if e.Run == "" || strings.ContainsAny(e.Run, "/\\") || e.From < 0 || e.To <= e.From {
		return nil, fmt.Errorf("%w: a failure of parts from %d to %d in the run %.100q", ErrEvent, e.From, e.To, e.Run)
	}
	// Lambda's cause is JSON with the message of the error.
	var said struct {
		Message string `json:"errorMessage"`
	}
	if json.Unmarshal([]byte(e.Cause), &said) == nil && said.Message != "" {
		e.Cause = said.Message
	}
	if len(e.Cause) > maxCause {
		e.Cause = strings.ToValidUTF8(e.Cause[:maxCause], "") + " …"
	}
	text, err := json.Marshal(e.Failure)
	if err != nil {
		return nil, err
	}
	_, err = dir.create(ctx, fmt.Sprintf("%s%08d.json", dir.failures(e.Run), e.From), append(text, '\n'))
	return []byte("{}"), err
}

// reduce makes the answers of the parts.
func (f *Function) reduce(ctx context.Context, e PlanEvent) ([]byte, error) {
	dir, err := f.folder(e)
	if err != nil {
		return nil, err
	}
	plan, err := dir.Plan(ctx)
	if err != nil {
		return nil, err
	}
	if _, ok, err := dir.Answers(ctx, plan.ID); ok || err != nil {
		return []byte("{}"), err
	}
	sizes, err := dir.whole(ctx, plan)
	if err != nil {
		return nil, err
	}
	w, err := f.open(ctx, dir, plan) // the states of a Work are used up
	if err != nil {
		return nil, err
	}
	if _, apart := w.(Apart); !apart {
		if err := dir.merge(ctx, plan, sizes, mergeBytes, w.Take); err != nil {
			return nil, err
		}
	}
	text, err := w.Finish(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkAnswers(plan.ID, text); err != nil {
		return nil, err
	}
	made, err := dir.create(ctx, dir.AnswersKey(), text)
	if err == nil && !made { // another one was faster
		_, _, err = dir.Answers(ctx, plan.ID)
	}
	return []byte("{}"), err
}
