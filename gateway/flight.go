package gateway

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// flights joins calls for the same thing: the first one begins the work, those that come
// meanwhile wait for it. No caller's deadline is that of the work, which ends early only
// if all callers have left.
type flights[T any] struct {
	mu sync.Mutex
	m  map[string]*flight[T]
}

type flight[T any] struct {
	done    chan struct{} // closed when value and err are there
	cancel  context.CancelFunc
	waiting int // callers that wait, or waited until the end
	value   T
	err     error
}

// valued is the context of work: it ends with one context, and has the values of another
// one, that of the request that began the work, such as the span of a trace.
type valued struct {
	context.Context //nolint:containedctx // the context that ends the work

	values context.Context //nolint:containedctx // that of the request
}

func (c valued) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.values.Value(key)
}

// do returns the result of fn for key, and whether another call began the work. fn gets
// the number of callers at its end through landed, which holds whatever those share.
func (f *flights[T]) do(ctx, base context.Context, limit time.Duration, key string, fn func(ctx context.Context) (T, error), landed func(v T, callers int)) (v T, joined bool, err error) {
	f.mu.Lock()
	l, joined := f.m[key]
	if !joined {
		work, cancel := context.WithTimeout(valued{base, ctx}, limit)
		l = &flight[T]{done: make(chan struct{}), cancel: cancel}
		if f.m == nil {
			f.m = map[string]*flight[T]{}
		}
		f.m[key] = l
		go f.run(work, key, l, fn, landed) //nolint:contextcheck // it outlives the request that begins it
	}
	l.waiting++
	f.mu.Unlock()
	select {
	case <-l.done:
		return l.value, joined, l.err
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-l.done: // it has counted this caller
		return l.value, joined, l.err
	default:
	}
	if l.waiting--; l.waiting == 0 {
		l.cancel()
		if f.m[key] == l {
			delete(f.m, key) // who comes now begins anew
		}
	}
	return v, joined, context.Cause(ctx)
}

func (f *flights[T]) run(ctx context.Context, key string, l *flight[T], fn func(ctx context.Context) (T, error), landed func(v T, callers int)) {
	defer l.cancel()
	v, err := guarded(ctx, fn)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.m[key] == l {
		delete(f.m, key)
	}
	if l.value, l.err = v, err; err == nil && landed != nil {
		landed(v, l.waiting)
	}
	close(l.done)
}

// errPanic is what guarded returns of a panic.
var errPanic = errors.New("panic")

// guarded turns a panic into an error: nobody else would recover from it.
func guarded[T any](ctx context.Context, fn func(ctx context.Context) (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack())
		}
	}()
	return fn(ctx)
}
