package lambda

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// ownGroup puts the process in a group of its own and has the kernel kill it
// when this process dies.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// residentMemory is the resident memory of a process in bytes; 0 when it is gone.
func residentMemory(pid int) int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, resident int64 // in pages: proc_pid_statm(5)
	if _, err := fmt.Sscan(string(b), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}
