package httplimit

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// unsent is how many bytes that were written to c the other side has not taken yet, as
// the kernel knows it; false where it does not tell.
func unsent(c syscall.Conn) (int64, bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	var n int
	cerr := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return int64(n), cerr == nil && err == nil
}
