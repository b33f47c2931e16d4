package filestore

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farread/farread/internal/lru"
	"github.com/farread/farread/objstore"
)

const (
	// keepFiles bounds the files that a bucket keeps open. A reader that alternates
	// between the chunks of one dataset needs about as many; macOS allows a process 256
	// open files.
	keepFiles = 16
	// keepPeriod is how long a file stays open without a Get; it is closed after one to
	// two periods. If another process removes the file, the disk gets the space back
	// only then.
	keepPeriod = 5 * time.Second
)

// A kept file stays open for the next Get. It is closed when the list and all
// bodies have given it back.
type kept struct {
	f     *os.File
	info  fs.FileInfo   // the file's state when it was opened
	etag  string        // ETag for info
	was   objstore.Info // what describes info
	paths []string      // the folders below the bucket's that lead to it, and the file

	looked atomic.Int64 // when stays last asked look; see began

	// Guarded by keeper.mu.
	refs  int
	fresh bool // asked for since the last sweep
}

// keeper is the list of kept files. It starts no goroutine, and its timer runs only
// while a file is kept.
//
// The list is worth its code (BenchmarkReadFrame, files in the page cache): a Get of
// 12 KiB from a kept file takes 4 µs, one that opens the file 15 µs, since os.Root
// opens folder and file anew and looks at the file twice. If more files are read in
// turn than are kept, each Get opens its file and closes another, and the list costs
// 2 to 6 µs.
type keeper struct {
	mu    sync.Mutex
	open  lru.Cache[string, *kept] // kept files by key; New sets Max
	timer *time.Timer
}

// gone releases a file that left the list. The caller holds mu.
func gone(_ string, k *kept) {
	if k.refs--; k.refs == 0 {
		_ = k.f.Close() // only read from
	}
}

// take lends the file of key to a body. It returns nil if the file is not kept.
func (s *keeper) take(key string) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.open.Get(key)
	if ok {
		k.lend()
	}
	return k
}

// lend counts one more user of the file. The caller holds keeper.mu.
func (k *kept) lend() {
	k.refs++
	k.fresh = true
}

// release gives a file back. The last release closes the file.
func (s *keeper) release(k *kept) error {
	s.mu.Lock()
	k.refs--
	last := k.refs == 0
	s.mu.Unlock()
	if last {
		return k.f.Close()
	}
	return nil
}

// put keeps the file of key. An earlier file of that key leaves the list, and, if the
// list is full, the file that was used least recently.
func (s *keeper) put(key string, k *kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(key)
	k.lend()
	s.open.Put(key, k, 1)
	if s.open.Len() == 1 {
		s.timer = time.AfterFunc(keepPeriod, s.sweep)
	}
}

// forget removes key from the list. The caller holds mu.
func (s *keeper) forget(key string) {
	s.open.Remove(key)
	if s.open.Len() == 0 && s.timer != nil {
		s.timer.Stop()
	}
}

// drop removes key from the list if the file of key is k, or if k is nil.
func (s *keeper) drop(key string, k *kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, _ := s.open.Peek(key); k == nil || now == k {
		s.forget(key)
	}
}

// sweep drops the files that no Get asked for since the last sweep.
func (s *keeper) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, k := range s.open.All() {
		if !k.fresh {
			s.forget(key)
		}
		k.fresh = false
	}
	if s.open.Len() > 0 {
		s.timer.Reset(keepPeriod)
	}
}

// clear drops everything.
func (s *keeper) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.open.All() {
		s.forget(key)
	}
}

// CloseIdleConnections closes the files that are kept open for the next Get, as
// the method of this name does with connections elsewhere. A file that bodies
// still read is closed with the last of them. The bucket stays usable.
func (b *Bucket) CloseIdleConnections() { b.kept.clear() }

// keep puts a file on the list, unless a link leads to it.
func (b *Bucket) keep(key, name string, k *kept) {
	k.paths, k.was = b.paths(name), describe(key, k.info, k.etag)
	if _, ok := k.look(); ok {
		b.kept.put(key, k)
	}
}

// paths are the places to check: name still leads to the same file if none of them has
// become a link.
func (b *Bucket) paths(name string) []string {
	var all []string
	p := b.c.Dir
	for part := range strings.SplitSeq(name, string(filepath.Separator)) {
		p = filepath.Join(p, part)
		all = append(all, p)
	}
	return all
}

// look describes the file that the key leads to now. ok is false if that is not the
// open file: it must have the same inode, which no other file can have while this one
// is open, lie in plain folders, and have the same permissions. A key that leads
// through a link is never kept, so that os.Root judges each time where the link goes.
func (k *kept) look() (fs.FileInfo, bool) {
	last := len(k.paths) - 1
	for _, p := range k.paths[:last] {
		if i, err := os.Lstat(p); err != nil || !i.IsDir() {
			return nil, false
		}
	}
	i, err := os.Lstat(k.paths[last])
	return i, err == nil && i.Mode() == k.info.Mode() && os.SameFile(i, k.info)
}

// tag is the ETag of the file that i describes.
func (k *kept) tag(i fs.FileInfo) string {
	if unchanged(i, k.info) {
		return k.etag
	}
	return etag(i)
}

// unchanged reports whether a and b, two descriptions of one inode, give the same
// ETag.
func unchanged(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
