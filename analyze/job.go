// Package analyze reduces remote data to small answers. A [Job] is cut into parts: Map
// makes the result of a part, from any goroutine, and Merge takes the results in the order
// of the parts, so that the answer does not depend on how many run at the same time.
// [Run] runs a job of any kind, tells its progress, and keeps the results of its parts in a
// [Checkpoint], so that a run that was ended can go on.
//
// [NewArray] makes the job that reduces a b2nd array over axes and windows. Its answers are
// exact, or do not depend on the order of the items: they are the same bytes for any number
// of goroutines and any size of parts, with statistics in an index or without.
package analyze

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/farread/farread/formats"
)

// A Job is work that is cut into parts.
type Job[T any] struct {
	// ID says what the job is and how it is cut. Two jobs of one ID have the same parts
	// and the same results of parts.
	ID    string
	Parts int
	// Map returns the result of a part. It may be called from several goroutines.
	Map func(ctx context.Context, part int) (T, error)
	// Merge takes the results in the order of the parts, one call at a time.
	Merge func(part int, result T) error
	// Encode and Decode turn a result into a line of JSON and back, for a Checkpoint.
	Encode func(result T) ([]byte, error)
	Decode func(line []byte) (T, error)
}

// Options tune Run.
type Options struct {
	Jobs       int              // parts that run at the same time; 0: 2
	Progress   formats.Progress // told the number of parts that are merged, and of all; nil: not told
	Checkpoint *Checkpoint      // keeps the results of parts; nil: nobody does
}

// errPut is matched by errors of those who take an answer that is streamed.
var errPut = errors.New("the answer cannot be written")

// maxFailures is how many parts may fail before a run that has a checkpoint gives up.
const maxFailures = 8

// A PartError is the error of a part.
type PartError struct {
	Part int
	Err  error
}

// Error names the part, from 0.
func (e *PartError) Error() string { return fmt.Sprintf("part %d: %v", e.Part, e.Err) }

// Unwrap returns the cause.
func (e *PartError) Unwrap() error { return e.Err }

// A FailedError lists the parts of a run that failed.
type FailedError struct {
	Parts  int // of the job
	Errors []*PartError
}

// Error is one line.
func (e *FailedError) Error() string {
	list := make([]string, 0, len(e.Errors))
	for _, p := range e.Errors {
		list = append(list, p.Error())
	}
	return fmt.Sprintf("%d of %d parts failed: %s", len(e.Errors), e.Parts, strings.Join(list, "; "))
}

// Unwrap returns the errors of the parts.
func (e *FailedError) Unwrap() []error {
	out := make([]error, 0, len(e.Errors))
	for _, p := range e.Errors {
		out = append(out, p)
	}
	return out
}

// Run runs a job. If parts fail, the error is a *FailedError. Without a checkpoint Run ends
// with the first one; with one it goes on, up to 8, so that another run has less to do. At
// the end of ctx it returns the cause. At most twice Options.Jobs results wait for those of
// earlier parts.
func Run[T any](ctx context.Context, j *Job[T], o Options) error {
	if o.Jobs < 1 {
		o.Jobs = 2
	}
	if err := o.Checkpoint.start(j.ID, j.Parts); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	queue := make(chan chan outcome[T], 2*o.Jobs-1)
	go launch(ctx, j, o, queue)
	defer func() {
		cancel()
		for done := range queue { // whoever was started has ended when Run returns
			<-done
		}
	}()
	failed := &FailedError{Parts: j.Parts}
	for part := range j.Parts {
		done, ok := <-queue
		if !ok {
			return context.Cause(ctx)
		}
		r := <-done
		if r.err == nil {
			r.err = take(j, o, part, &r)
		}
		switch {
		case r.err == nil:
			o.Progress.Tell(int64(part+1), int64(j.Parts))
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(r.err, errPut):
			return r.err
		default:
			failed.Errors = append(failed.Errors, &PartError{part, r.err})
			if o.Checkpoint == nil || len(failed.Errors) == maxFailures || errors.Is(r.err, errCheckpoint) {
				return failed
			}
		}
	}
	if len(failed.Errors) > 0 {
		return failed
	}
	return nil
}

// An outcome is the result of a part, or its error.
type outcome[T any] struct {
	result T
	kept   bool // the checkpoint has it
	err    error
}

// launch starts the parts in order, so many at the same time, and puts where each will
// give its outcome into a queue.
func launch[T any](ctx context.Context, j *Job[T], o Options, queue chan<- chan outcome[T]) {
	defer close(queue)
	room := make(chan struct{}, o.Jobs)
	for part := range j.Parts {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return
		}
		done := make(chan outcome[T], 1)
		select {
		case queue <- done:
		case <-ctx.Done():
			return
		}
		go func() {
			defer func() { <-room }()
			done <- run(ctx, j, o, part)
		}()
	}
}

// run returns the outcome of a part: that of the checkpoint, or else that of Map.
func run[T any](ctx context.Context, j *Job[T], o Options, part int) (r outcome[T]) {
	if line, ok := o.Checkpoint.kept(part); ok {
		if r.result, r.err = j.Decode(line); r.err == nil {
			r.kept = true
			return r
		}
		r.err = fmt.Errorf("%w: %w", errCheckpoint, r.err)
		return r
	}
	if r.err = context.Cause(ctx); r.err == nil {
		r.result, r.err = j.Map(ctx, part)
	}
	return r
}

// take keeps and merges a result.
func take[T any](j *Job[T], o Options, part int, r *outcome[T]) error {
	if o.Checkpoint != nil && !r.kept {
		line, err := j.Encode(r.result)
		if err != nil {
			return err
		}
		if err := o.Checkpoint.keep(part, line); err != nil {
			return err
		}
	}
	return j.Merge(part, r.result)
}
