package lambda

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// A Pool runs one function in up to Concurrency processes, which stay warm
// between invocations, until Close. It is safe for concurrent use.
type Pool struct {
	cfg   Config
	sp    *spawner
	slots chan struct{}

	mu     sync.Mutex
	idle   []*environment // the last used one last
	all    map[*environment]bool
	closed bool
}

// ErrClosed is what Invoke answers after Close.
var ErrClosed = errors.New("the pool is closed")

// NewPool checks the configuration. It starts no process; processes start when they
// are needed. The pool must be closed.
func NewPool(cfg Config) (*Pool, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	return &Pool{cfg: cfg, sp: newSpawner(), slots: make(chan struct{}, cfg.Concurrency), all: map[*environment]bool{}}, nil
}

// Invoke waits until fewer than Concurrency processes are busy, runs the function on
// an event, and waits for its end. If the invocation fails, the error matches one of
// ErrFunction to ErrExit. The end of ctx kills the process. With an error the Result
// has the fields that are known.
func (p *Pool) Invoke(ctx context.Context, payload []byte) (Result, error) {
	return p.run(ctx, payload, nil)
}

// Stream is Invoke for an answer that is written to w as it comes; the Result has no Body.
// If the invocation fails in the middle of its answer, w has a part of it. If w fails,
// the function goes on to its end.
func (p *Pool) Stream(ctx context.Context, payload []byte, w io.Writer) (Result, error) {
	from, to := io.Pipe()
	var r Result
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		r, err = p.run(ctx, payload, to)
		_ = to.Close() // it never fails
	}()
	_, failed := io.Copy(w, from)
	_ = from.Close() // it never fails
	<-done
	return r, errors.Join(err, failed)
}

// run is Invoke, with the answer to stream unless that is nil.
func (p *Pool) run(ctx context.Context, payload []byte, stream io.Writer) (Result, error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	for {
		v := newInvocation(payload, stream)
		r := Result{RequestID: v.id}
		began := time.Now()
		e, cold, err := p.take(ctx)
		if err == nil {
			r.Cold = cold
			r.Body, err = e.invoke(ctx, v)
			p.give(e, err)
		}
		r.Took = time.Since(began)
		if errors.Is(err, errNotTaken) {
			continue
		}
		return r, err
	}
}

// take is a warm environment or a new one.
func (p *Pool) take(ctx context.Context) (e *environment, cold bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, false, ErrClosed
	}
	for len(p.idle) > 0 {
		e = p.idle[len(p.idle)-1]
		p.idle = p.idle[:len(p.idle)-1]
		if !e.gone() {
			return e, false, nil
		}
		delete(p.all, e)
	}
	if e, err = start(ctx, p.cfg, p.sp); err != nil {
		return nil, false, err
	}
	p.all[e] = true
	return e, true, nil
}

// give keeps an environment whose invocation ended in an orderly way, and stops
// others.
func (p *Pool) give(e *environment, err error) {
	keep := err == nil || errors.Is(err, ErrFunction)
	p.mu.Lock()
	if keep && !p.closed && !e.gone() {
		p.idle = append(p.idle, e)
		p.mu.Unlock()
		return
	}
	delete(p.all, e)
	p.mu.Unlock()
	e.stop()
}

// Close kills every process and returns when all are gone. Invocations in
// flight end with an error, later ones with ErrClosed.
func (p *Pool) Close() {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.closed = true
	all := p.all
	p.all = map[*environment]bool{}
	p.mu.Unlock()
	var wg sync.WaitGroup
	for e := range all {
		wg.Go(e.stop)
	}
	wg.Wait()
	p.sp.close()
}
