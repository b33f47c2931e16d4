// Package par runs a bounded number of goroutines over an index range.
package par

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// A Panic carries a panic of a work function to the goroutine that called
// [Do], with the stack where it happened.
type Panic struct {
	Value any
	Stack []byte
}

// String shows the value and the stack of the goroutine that panicked.
func (p *Panic) String() string {
	return fmt.Sprintf("%v\n\nin a goroutine of par.Do:\n%s", p.Value, p.Stack)
}

// Unwrap returns the panic's value if it was an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Error makes a recovered Panic usable with errors.As.
func (p *Panic) Error() string { return p.String() }

// Do calls f(ctx, i) once for each i in [0, n), at most limit at the same time;
// a limit below 1 stands for GOMAXPROCS. Indexes start in ascending order, and
// Do returns after every started call has ended, so that f may use the caller's
// memory.
//
// The first error cancels the context that the calls see, keeps further indexes
// from starting, and is returned. If ctx ends before all indexes have started,
// Do returns its cause. A panic in f stops the rest in the same way and panics
// again in the caller's goroutine, as a [*Panic].
//
// With a limit of 1, or a single index, f runs in the caller's goroutine.
func Do(ctx context.Context, n, limit int, f func(ctx context.Context, i int) error) error {
	if n <= 0 {
		return nil
	}
	if limit < 1 {
		limit = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	limit = min(limit, n)
	if limit == 1 {
		return inline(ctx, n, f)
	}
	r := run{n: int64(n), f: f, cancel: cancel}
	var wg sync.WaitGroup
	for range limit {
		wg.Go(func() { r.work(ctx) })
	}
	wg.Wait()
	if r.panicked != nil {
		panic(r.panicked)
	}
	return r.err
}

// Each is Do for work on memory, which waits for nothing and so has nothing to
// cancel: f(i) once for each i, and the first error.
func Each(n, limit int, f func(i int) error) error {
	return Do(context.Background(), n, limit, func(_ context.Context, i int) error { return f(i) })
}

// inline is Do without goroutines.
func inline(ctx context.Context, n int, f func(context.Context, int) error) error {
	for i := range n {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := f(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// A run has the data that the workers of one Do share.
type run struct {
	n      int64
	next   atomic.Int64
	f      func(context.Context, int) error
	cancel context.CancelFunc

	mu       sync.Mutex // guards the rest
	err      error
	panicked *Panic
}

// work takes indexes until none is left or the run was stopped.
func (r *run) work(ctx context.Context) {
	finished := false
	defer func() {
		if finished {
			return
		}
		// f panicked, or ended its goroutine with runtime.Goexit. After Goexit recover
		// gives nil, and the run must not look like a success.
		v := recover()
		if v == nil {
			v = "runtime.Goexit called by the work function"
		}
		r.stop(nil, &Panic{Value: v, Stack: debug.Stack()})
	}()
	for {
		i := r.next.Add(1) - 1
		if i >= r.n {
			break
		}
		if ctx.Err() != nil {
			r.stop(context.Cause(ctx), nil)
			break
		}
		if err := r.f(ctx, int(i)); err != nil {
			r.stop(err, nil)
			break
		}
	}
	finished = true
}

// stop records why the run ends early; the first reason of each kind stays.
func (r *run) stop(err error, p *Panic) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	if r.panicked == nil {
		r.panicked = p
	}
	r.cancel()
}

// Offer makes another processor run the goroutine that was started or woken last. The
// scheduler keeps it for the current processor, whose own goroutine may block at once, and
// other processors may take it only 50 to 100 us later. An empty goroutine replaces it in that
// place.
func Offer() { go func() {}() }
