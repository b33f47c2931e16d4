//go:build !unix

package stack

import "os/exec"

func apart(*exec.Cmd) {}

// terminate does nothing: the end of its standard input ends the child.
func terminate(*exec.Cmd) {}

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // the process may have ended
