package backfill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

const (
	// tries is how often an object that fails for now is tried, as often as by a
	// queue of the local cloud.
	tries = 3
	// firstPause is the pause before the second try. It doubles.
	firstPause = 200 * time.Millisecond
	// maxAhead bounds how far behind the first unfinished object others are begun,
	// and so the memory for them: 10 000 keys are at most 10 MB.
	maxAhead = 10_000
	// giveUp is how many objects in a row may fail for now before the run ends:
	// then the objects are not the cause.
	giveUp = 100
	// saveEach is how many finished objects, and saveAge how much time, lie between
	// two checkpoints at most.
	saveEach = 500
	saveAge  = 5 * time.Second
)

// ErrGiveUp means that the store, or the way to it, is broken.
var ErrGiveUp = errors.New("too many objects in a row failed")

// A Filler runs one backfill.
type Filler struct {
	o       Options
	resumed bool // an earlier run ended early, perhaps while it worked on an object

	mu     sync.Mutex
	moved  sync.Cond       // signals that first has moved on, or that the run ends
	report Report          // report of all objects so far
	mark   checkpoint      // the checkpoint that is on disk, or will be; its report is of the objects up to its key
	retry  map[string]bool // keys up to the checkpoint's that failed for now, in this run or the previous one
	first  int64           // number of the next object to begin
	next   int64           // the number of the next one to begin
	keys   map[int64]spot  // outcomes of finished objects by their number, from first on
	ended  map[int64]fate  // finished, from first on
	listed string          // the last key that the listing gave
	passed passed          // objects passed since the last object that was begun
	inRow  int             // failures for now since the last success
	unsave int             // objects finished since the last checkpoint
	saved  time.Time       // time of the last checkpoint
	stop   error           // reason why no more objects are begun
}

// New makes a Filler, and reads its checkpoint if there is one.
func New(o Options) (*Filler, error) {
	h := *o.Handler
	o.Handler = &h
	if o.Jobs > 1 {
		h.Counter = nil // jobs run at the same time: a shared counter would mix their requests
	}
	if buckets := h.Buckets; o.DryRun {
		h.Buckets = func(name string) (objstore.Bucket, error) {
			b, err := buckets(name)
			return dryBucket{b}, err
		}
	}
	o.Jobs = max(o.Jobs, 1)
	if o.Done == nil {
		o.Done = func() {}
	}
	if o.Text == nil {
		o.Text = error.Error
	}
	f := &Filler{
		o: o, report: Report{Prefix: o.URI, DryRun: o.DryRun, Failures: []Failure{}},
		retry: map[string]bool{}, keys: map[int64]spot{}, ended: map[int64]fate{},
	}
	f.moved.L = &f.mu
	return f, f.resume()
}

// A spot is the place of an object in the listing.
type spot struct {
	key    string
	before passed // objects in the listing between the one begun before and this one
}

// item is an object to work on.
type item struct {
	n   int64
	key string
}

// Run works until everything is done, an error occurs, or ctx ends. Even with an error
// it returns the report of the objects so far. Call Run once.
func (f *Filler) Run(ctx context.Context) (Report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() { f.halt(context.Cause(ctx)) })()
	items := make(chan item)
	var workers sync.WaitGroup
	for range f.o.Jobs {
		workers.Go(func() {
			for i := range items {
				if err := f.work(ctx, i); err != nil {
					f.halt(err)
				}
			}
		})
	}
	err := f.list(ctx, items)
	close(items)
	workers.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		err = f.stop
	}
	err = errors.Join(err, f.save(err == nil))
	f.report.Complete = err == nil
	return f.report, err
}

// halt lets no more objects begin.
func (f *Filler) halt(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stop == nil {
		f.stop = err
	}
	f.moved.Broadcast()
}

// list gives the workers the objects that failed last time, then the listed ones.
func (f *Filler) list(ctx context.Context, items chan<- item) error {
	for _, key := range f.mark.Again {
		if err := f.begin(ctx, items, key, false); err != nil {
			return err
		}
	}
	for info, err := range objstore.ListAfter(ctx, f.o.Bucket, f.o.Prefix, f.mark.After) {
		if err != nil {
			return err
		}
		if err := f.see(ctx, items, info); err != nil {
			return err
		}
	}
	return nil
}

// see counts a listed object, and passes it to a worker if a rule matches it.
func (f *Filler) see(ctx context.Context, items chan<- item, info objstore.Info) error {
	_, matched := f.o.Handler.Rules.Match(f.o.Name, info.Key)
	older := info.ModTime.Before(f.o.Since)
	f.mu.Lock()
	if matched && !older {
		f.report.Listed++
		f.mu.Unlock()
		return f.begin(ctx, items, info.Key, true)
	}
	defer f.mu.Unlock()
	var p passed
	if matched {
		p.older = 1
	} else {
		p.unmatched = 1
	}
	f.report.pass(p)
	f.passed = passed{f.passed.unmatched + p.unmatched, f.passed.older + p.older}
	f.listed = info.Key
	return f.stop
}

// begin passes an object to a worker. listed tells that the object comes from
// the listing.
func (f *Filler) begin(ctx context.Context, items chan<- item, key string, listed bool) error {
	f.mu.Lock()
	for f.stop == nil && f.next-f.first >= maxAhead {
		f.moved.Wait()
	}
	if f.stop != nil {
		defer f.mu.Unlock()
		return f.stop
	}
	i := item{f.next, key}
	f.next++
	if listed {
		f.listed = key
		f.keys[i.n] = spot{key, f.passed}
		f.passed = passed{}
	}
	f.mu.Unlock()
	select {
	case items <- i:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// work packs one object and enters its outcome. Its error ends the run.
func (f *Filler) work(ctx context.Context, i item) error {
	d := f.try(ctx, i.key)
	if ctx.Err() != nil && d.Outcome == functions.Retried {
		return context.Cause(ctx) // interrupted: the object has to be done again
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var dry *dryError
	switch {
	case f.o.DryRun && errors.As(d.NotReported, &dry):
		d.Outcome = functions.Failed
	case f.o.DryRun && errors.As(d.Err, &dry):
		d.Outcome = functions.Packed
		if err := f.o.Would(i.key, d.Rule.Job, dry.bucket+"/"+dry.key); err != nil {
			return err
		}
	}
	f.inRow++
	if d.Outcome != functions.Retried {
		f.inRow = 0
	}
	end := fate{key: i.key, outcome: d.Outcome}
	if d.Err != nil {
		end.text = f.o.Text(d.Err)
	}
	f.report.count(end)
	f.finish(i.n, end)
	f.o.Done()
	if f.inRow >= giveUp || len(f.retry) > maxAhead {
		return fmt.Errorf("%w: %w", ErrGiveUp, d.Err)
	}
	if f.unsave++; f.unsave >= saveEach || time.Since(f.saved) > saveAge {
		return f.save(false)
	}
	return nil
}

// finish moves first on over all objects that are finished. These will not be listed
// again, so the checkpoint counts them and no others.
func (f *Filler) finish(n int64, e fate) {
	f.ended[n] = e
	for {
		e, ok := f.ended[f.first]
		if !ok {
			break
		}
		if p, ok := f.keys[f.first]; ok {
			f.mark.Report.pass(p.before)
			f.mark.Report.Listed++
			f.mark.After = p.key
		}
		f.mark.Report.count(e)
		if delete(f.retry, e.key); e.outcome == functions.Retried {
			f.retry[e.key] = true
		}
		delete(f.ended, f.first)
		delete(f.keys, f.first)
		f.first++
	}
	f.moved.Broadcast()
}

// try runs the handler until the object is done, or fails for now too often.
func (f *Filler) try(ctx context.Context, key string) functions.Done {
	event, err := json.Marshal(map[string]string{"bucket": f.o.Name, "key": key})
	if err != nil { // strings always encode
		panic(err)
	}
	for n := 1; ; n++ {
		if f.resumed || n > 1 {
			ctx = functions.Again(ctx)
		}
		r, err := f.o.Handler.Handle(ctx, event)
		d := functions.Done{Outcome: functions.Ignored, Err: err}
		if len(r.Done) > 0 {
			d = r.Done[0]
		} else if err != nil {
			d.Outcome = functions.Retried
		}
		var dry *dryError
		if d.Outcome != functions.Retried || n == tries || ctx.Err() != nil || errors.As(d.Err, &dry) || errors.As(d.NotReported, &dry) {
			return d
		}
		pause := firstPause << (n - 1)
		t := time.NewTimer(pause/2 + rand.N(pause)) //nolint:gosec // jitter needs no secrecy
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
		}
	}
}
