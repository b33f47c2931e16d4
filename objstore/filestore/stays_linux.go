package filestore

import "syscall"

// stays reports whether look finds the open file, as it was when it was opened. It is called
// for each read, so it asks the system without a FileInfo.
func (k *kept) stays() bool {
	was, ok := k.info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	var now syscall.Stat_t
	last := len(k.paths) - 1
	for _, p := range k.paths[:last] {
		if syscall.Lstat(p, &now) != nil || now.Mode&syscall.S_IFMT != syscall.S_IFDIR {
			return false
		}
	}
	return syscall.Lstat(k.paths[last], &now) == nil &&
		now.Dev == was.Dev && now.Ino == was.Ino && now.Mode == was.Mode && now.Size == was.Size && now.Mtim == was.Mtim
}
