//go:build unix

package filestore

import (
	"io/fs"
	"syscall"
)

// keeps is true: a file that is open can be replaced and removed.
const keeps = true

// inode returns a number that differs if another file was renamed over this
// one.
func inode(i fs.FileInfo) uint64 {
	if s, ok := i.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino) //nolint:unconvert // 32 bits on some systems
	}
	return 0
}
