//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package filestore

import (
	"os"
	"syscall"
)

// lockFolder waits until no other process is about to rename a file in the folder, so that
// the check of IfMatch and the rename are one step. File systems without such locks, and
// folders that cannot be read, are not locked.
func lockFolder(root *os.Root, name string) (unlock func()) {
	d, err := root.Open(name)
	if err != nil {
		return func() {}
	}
	for {
		if err = syscall.Flock(int(d.Fd()), syscall.LOCK_EX); err != syscall.EINTR { //nolint:errorlint // a bare number
			break
		}
	}
	return func() { _ = d.Close() } // it unlocks
}
