//go:build unix

package stack

import (
	"os/exec"
	"syscall"
)

// apart puts the child into a process group of its own, so that Ctrl-C in the
// terminal reaches this process alone and the child is ended in order.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminate(cmd *exec.Cmd) { _ = cmd.Process.Signal(syscall.SIGTERM) } // the process may have ended

func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
