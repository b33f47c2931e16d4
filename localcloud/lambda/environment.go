package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// How long to wait.
const (
	memoryCheck = 20 * time.Millisecond  // between two looks at a process's memory
	pipeGrace   = 200 * time.Millisecond // wait for output after the end: a grandchild may hold the pipe open
)

// environment is one process and its Runtime API. It works on one invocation at a
// time. It is thrown away unless that invocation ends in an orderly way.
type environment struct {
	cfg Config
	cmd *exec.Cmd
	srv *http.Server
	out *logWriter

	queue      chan *invocation
	current    atomic.Pointer[invocation]
	last       atomic.Pointer[string] // request id for log lines
	ready      chan struct{}          // closed at the first request for work
	readyOnce  sync.Once
	initFailed chan error    // holds one
	exited     chan struct{} // closed after the end, when exit is set
	exit       error
	served     chan struct{} // closed when the API has ended
	used       bool
}

// start starts a process and its API.
func start(ctx context.Context, cfg Config, sp *spawner) (*environment, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	e := &environment{
		cfg: cfg, queue: make(chan *invocation), ready: make(chan struct{}), initFailed: make(chan error, 1),
		exited: make(chan struct{}), served: make(chan struct{}),
	}
	e.out = &logWriter{log: cfg.Log.With("function", cfg.Name), id: &e.last}
	e.srv = &http.Server{Handler: e.handler(), ReadHeaderTimeout: time.Minute}
	go func() { defer close(e.served); _ = e.srv.Serve(ln) }() // ends by Close

	e.cmd = exec.Command(cfg.Path) //nolint:noctx // it outlives the call that started it
	e.cmd.Dir = filepath.Dir(cfg.Path)
	e.cmd.Env = cfg.environ(ln.Addr().String(), requestID())
	e.cmd.Stdout, e.cmd.Stderr = e.out, e.out
	e.cmd.WaitDelay = pipeGrace
	ownGroup(e.cmd)
	if err := sp.start(e.cmd); err != nil {
		_ = e.srv.Close()
		<-e.served
		return nil, fmt.Errorf("%w: %w", ErrInit, err)
	}
	go e.wait()
	return e, nil
}

// wait collects the process.
func (e *environment) wait() {
	err := e.cmd.Wait()
	killGroup(e.cmd) // kill processes that it may have left; as long as one is left, the group's number is not reused
	e.out.flush()
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		err = errors.New(e.cmd.ProcessState.String())
	}
	e.exit = err
	_ = e.srv.Close()
	close(e.exited)
}

// stop kills the process and returns when nothing is left of it.
func (e *environment) stop() {
	if !e.gone() {
		killGroup(e.cmd)
	}
	<-e.exited
	<-e.served
}

// gone reports whether the process has ended.
func (e *environment) gone() bool {
	select {
	case <-e.exited:
		return true
	default:
		return false
	}
}

// errNotTaken means that a warm process ended before it got the event: another
// process can take it.
var errNotTaken = errors.New("the process had ended")

// invoke hands an event over and waits for its outcome. After an error other
// than ErrFunction the environment is of no more use.
func (e *environment) invoke(ctx context.Context, v *invocation) ([]byte, error) {
	if err := e.handOver(ctx, v); err != nil {
		return nil, err
	}
	deadline := time.NewTimer(e.cfg.Timeout)
	defer deadline.Stop()
	look := time.NewTicker(memoryCheck)
	defer look.Stop()
	for {
		select {
		case o := <-v.done:
			return o.body, o.err
		case <-e.exited:
			select {
			case o := <-v.done: // the process answered and then ended
				return o.body, o.err
			default:
			}
			return nil, fmt.Errorf("%w: %w", ErrExit, e.exit)
		case <-deadline.C:
			return nil, fmt.Errorf("%w after %s", ErrTimeout, e.cfg.Timeout)
		case <-look.C:
			if n := residentMemory(e.cmd.Process.Pid); n > e.cfg.Memory {
				return nil, fmt.Errorf("%w: %d MiB of %d MiB", ErrMemory, n>>20, e.cfg.Memory>>20)
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// handOver waits until the process has the event. Only a new process has a time limit
// for that: a warm one already waits for work.
func (e *environment) handOver(ctx context.Context, v *invocation) error {
	init := time.NewTimer(e.cfg.InitTimeout)
	defer init.Stop()
	select {
	case e.queue <- v:
		<-v.taken
		e.used = true
		return nil
	case err := <-e.initFailed:
		return err
	case <-e.exited:
		if e.used {
			return errNotTaken
		}
		select {
		case err := <-e.initFailed:
			return err
		default:
		}
		return fmt.Errorf("%w: %w", ErrInit, e.exit)
	case <-init.C:
		return fmt.Errorf("%w: no request for work after %s", ErrInit, e.cfg.InitTimeout)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// firstOf is the message of an error document. Of any other body it is the start.
func firstOf(body []byte) string {
	var d struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	if json.Unmarshal(body, &d) == nil && d.Type+d.Message != "" {
		return strings.TrimPrefix(d.Type+": "+d.Message, ": ")
	}
	return string(body[:min(len(body), 200)])
}
