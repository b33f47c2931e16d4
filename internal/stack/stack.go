// Package stack runs localcloud, the project's local cloud, as a child process: for the
// quickstart and, through package teststack, for tests. It knows localcloud as a program
// and imports nothing of the project.
package stack

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Process is a localcloud that answers. Its exported fields do not change.
type Process struct {
	Endpoint  string   `json:"endpoint"`
	AccessKey string   `json:"access_key"`
	SecretKey string   `json:"secret_key"`
	Region    string   `json:"region"`
	Buckets   []string `json:"buckets"`

	URLs map[string]string `json:"urls"` // of functions that answer HTTP, by name

	// Invocations has the runs of functions that have ended. The channel is closed when
	// the process ends. If 4096 runs wait in it, further ones are dropped.
	Invocations <-chan Invocation `json:"-"`
	// Ended is closed when the process has ended.
	Ended <-chan struct{} `json:"-"`

	cmd   *exec.Cmd
	stdin io.Closer
	log   tail
	once  sync.Once
	err   error // error of the process; valid after Ended
}

// An Invocation is a line that localcloud prints when a function has ended.
type Invocation struct {
	Event    string   `json:"event"` // "invocation"
	Function string   `json:"function"`
	Records  []Record `json:"records"`
	MS       float64  `json:"ms"`
	Cold     bool     `json:"cold"`
	OK       bool     `json:"ok"`
	Error    string   `json:"error"`
}

// A Record is an upload that an invocation was told of.
type Record struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
	Size   int64  `json:"size"`
	Failed bool   `json:"failed"`
	Dead   bool   `json:"dead"` // there will be no other try
}

// Start starts the program with those flags and returns when it answers. Call Stop;
// should this process die first, localcloud ends with it. If ctx ends first, the error
// is its cause.
func Start(ctx context.Context, program string, args ...string) (*Process, error) {
	p := &Process{cmd: exec.Command(program, append(args, "--exit-with-stdin")...)} //nolint:gosec,noctx // the project's own program; Stop asks before it kills
	p.cmd.Stderr = &p.log
	p.cmd.WaitDelay = time.Second // a grandchild may hold the log open
	apart(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("localcloud: %w", err)
	}
	p.stdin = in
	runs, ended, first := make(chan Invocation, 4096), make(chan struct{}), make(chan error, 1)
	p.Invocations, p.Ended = runs, ended
	go func() {
		defer close(ended)
		p.read(out, first, runs)
		p.err = p.cmd.Wait()
	}()
	select {
	case err = <-first:
		if err != nil {
			p.stdin.Close() // the line is not from localcloud: end the child
			<-ended
			err = fmt.Errorf("localcloud did not start: %s", p.LastWords())
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = p.Stop(0) // err says more
		return nil, err
	}
	return p, nil
}

func (p *Process) read(out io.Reader, first chan<- error, runs chan<- Invocation) {
	defer close(runs)
	r := bufio.NewReader(out)
	line, err := r.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, p)
	}
	for first <- err; err == nil; {
		var i Invocation
		if line, err = r.ReadBytes('\n'); err != nil || json.Unmarshal(line, &i) != nil || i.Event != "invocation" { // other events are of later versions
			continue
		}
		select {
		case runs <- i:
		default:
		}
	}
	_, _ = io.Copy(io.Discard, r) // so that the child never blocks
}

// Log is the end of what localcloud wrote to its standard error.
func (p *Process) Log() string { return p.log.String() }

// LastWords is the error that localcloud ended with, or how it ended. It may be called
// after the end.
func (p *Process) LastWords() string {
	for _, line := range slices.Backward(strings.Split(p.Log(), "\n")) {
		if s, ok := strings.CutPrefix(line, "localcloud: "); ok {
			return strings.TrimSpace(s)
		}
	}
	if p.err != nil {
		return p.err.Error()
	}
	return "without a word"
}

// Stop ends localcloud and all that it started, and returns when it is gone. If a
// process does not end by itself within grace, it is killed, which is not an error.
// Stop may be called again.
func (p *Process) Stop(grace time.Duration) error {
	var killed atomic.Bool
	p.once.Do(func() {
		p.stdin.Close() // the child may have ended
		terminate(p.cmd)
		t := time.AfterFunc(grace, func() { killed.Store(true); kill(p.cmd) })
		defer t.Stop()
		<-p.Ended
		if killed.Load() {
			p.err = nil
		}
	})
	<-p.Ended
	if p.err != nil {
		return fmt.Errorf("localcloud: %w\n%s", p.err, p.Log())
	}
	return nil
}

// tail keeps the last 64 KiB that were written.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if n := len(t.b) - 64<<10; n > 0 {
		t.b = bytes.Clone(t.b[n:])
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}
