//go:build !linux

package httplimit

import "syscall"

// unsent works on Linux only.
func unsent(syscall.Conn) (int64, bool) { return 0, false }
