//go:build unix

package filestore

import (
	"io/fs"
	"syscall"
)

// keeps: a file can be renamed over and removed while it is open.
const keeps = true

// inode tells a file from the one that was renamed over it.
func inode(i fs.FileInfo) uint64 {
	if s, ok := i.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Ino) //nolint:unconvert // 32 bits on some systems
	}
	return 0
}
