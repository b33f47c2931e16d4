package filestore

import (
	"syscall"
	"time"
)

// lookPeriod is how long a read of a version may not notice that the key leads elsewhere
// because a folder on its way was moved or became a link. The bytes are of the version all
// the while.
const lookPeriod = time.Second

// began is the zero of kept.looked.
var began = time.Now()

// stays reports whether look finds the open file, as it was when it was opened. It is called
// for each read, and asks for the open file first, without a FileInfo: that takes a third of
// a look along the path. A file that was replaced, removed or renamed has another time of
// change, or fewer links. What happens to folders leaves the file as it is, and is looked for
// once in lookPeriod.
func (k *kept) stays() bool {
	at := int64(time.Since(began))
	if last := k.looked.Load(); last > 0 && at-last < int64(lookPeriod) && k.untouched() {
		return true
	}
	i, ok := k.look()
	if !ok || !unchanged(i, k.info) {
		return false
	}
	k.looked.Store(at)
	return true
}

// untouched reports whether nothing at all has happened to the open file.
func (k *kept) untouched() bool {
	was, ok := k.info.Sys().(*syscall.Stat_t)
	var now syscall.Stat_t
	return ok && syscall.Fstat(int(k.f.Fd()), &now) == nil &&
		now.Mode == was.Mode && now.Size == was.Size && now.Mtim == was.Mtim && now.Ctim == was.Ctim && now.Nlink == was.Nlink
}
