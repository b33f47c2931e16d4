//go:build unix

package lambda

import (
	"os/exec"
	"syscall"
)

// killGroup kills the process and all that it started and that stayed in its group.
func killGroup(cmd *exec.Cmd) {
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the process may have ended
}
