package httplimit

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// unsent is how many of the bytes written to c the other side has not taken yet, as
// the kernel counts them; false if the kernel does not tell.
func unsent(c syscall.Conn) (int64, bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	var n int
	cerr := raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	return int64(n), cerr == nil && err == nil
}
