package main

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

// A process is a separate farread process, for things that only a process shows:
// signals.
type process struct {
	cmd     *exec.Cmd
	errs    bytes.Buffer
	started chan struct{}
	ended   chan struct{}
	err     error // once it has ended
}

// newProcess is one that is not started yet.
func newProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0], args...), started: make(chan struct{}), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), asProgram+"=1", "GOGC=100") // as users have it, whatever tests have
	p.cmd.Stderr = &p.errs
	return p
}

// start runs it, with more arguments if there are any. The server that interrupts it
// is known only then.
func (p *process) start(t *testing.T, more ...string) *process {
	t.Helper()
	p.cmd.Args = append(p.cmd.Args, more...)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	close(p.started)
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p
}

// signal interrupts it once it has started. Its exit code shows whether the signal
// arrived.
func (p *process) signal(s os.Signal) {
	<-p.started
	_ = p.cmd.Process.Signal(s)
}

// running says whether it has not ended.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// wait returns its exit code.
func (p *process) wait() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// interrupted waits for its end, which must be that of an interrupt: one word and its
// exit code.
func (p *process) interrupted(t *testing.T, what string) {
	t.Helper()
	if code := p.wait(); code != exitInterrupted || p.errs.String() != "interrupted\n" {
		t.Errorf("%s: %v: exit %d %q", what, p.err, code, p.errs.String())
	}
}
