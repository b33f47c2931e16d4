//go:build unix

package quickstart

import (
	"os/exec"
	"syscall"
)

// apart puts the child into a process group of its own, so that Ctrl-C in the
// terminal reaches this process alone and the child is ended in order.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// stopGroup does the same and makes cancelling end the whole group: go build
// starts compilers.
func stopGroup(cmd *exec.Cmd) {
	apart(cmd)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

func terminate(cmd *exec.Cmd) { _ = cmd.Process.Signal(syscall.SIGTERM) } // it may be gone

func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
