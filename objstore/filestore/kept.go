package filestore

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/farread/farread/internal/lru"
)

const (
	// keepFiles is how many files a bucket keeps open at most: the chunks that a
	// reader of one dataset goes to and fro between, and few beside the 256 open
	// files that macOS gives a process.
	keepFiles = 16
	// keepPeriod: a file that no Get asks for is closed after one to two of them.
	// Until then the disk does not get back the space of one that was removed by
	// another process.
	keepPeriod = 5 * time.Second
)

// A kept file stays open for the next Get. It is closed when the list and all
// bodies have given it back.
type kept struct {
	f     *os.File
	info  fs.FileInfo // as it was when it was opened
	etag  string      // of info
	paths []string    // the folders below the bucket's that lead to it, and the file

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
	open  lru.Cache[string, *kept] // by key; New sets its bound
	timer *time.Timer
}

// gone gives back, for the list, a file that left it. The caller holds mu.
func gone(_ string, k *kept) {
	if k.refs--; k.refs == 0 {
		_ = k.f.Close() // only read from
	}
}

// take lends the file of key to a body; nil: it is not kept.
func (s *keeper) take(key string) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.open.Get(key)
	if ok {
		k.lend()
	}
	return k
}

// lend counts one more who has the file. The caller holds keeper.mu.
func (k *kept) lend() {
	k.refs++
	k.fresh = true
}

// release gives a file back, and closes it if that was the last one.
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

// put keeps the file of key in place of an earlier one, and of the one that was
// not used for longest.
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

// forget takes key off the list. The caller holds mu.
func (s *keeper) forget(key string) {
	s.open.Remove(key)
	if s.open.Len() == 0 && s.timer != nil {
		s.timer.Stop()
	}
}

// drop takes key off the list, as long as it stands for k; nil: whatever it
// stands for.
func (s *keeper) drop(key string, k *kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, _ := s.open.Peek(key); k == nil || now == k {
		s.forget(key)
	}
}

// sweep drops what no Get asked for since the last sweep.
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
	k.paths = b.paths(name)
	if _, ok := k.look(); ok {
		b.kept.put(key, k)
	}
}

// paths are what must be looked at to see that name still leads to the same
// file without a link.
func (b *Bucket) paths(name string) []string {
	var all []string
	p := b.c.Dir
	for part := range strings.SplitSeq(name, string(filepath.Separator)) {
		p = filepath.Join(p, part)
		all = append(all, p)
	}
	return all
}

// look is what the key leads to now, if that is this very file: the same inode,
// which nothing else can have while it is open, reached through folders only,
// and with the permissions that it was opened under. A key that leads through a
// link is never kept, so that os.Root judges each time where the link goes.
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

// tag is the ETag of the file as i describes it.
func (k *kept) tag(i fs.FileInfo) string {
	if unchanged(i, k.info) {
		return k.etag
	}
	return etag(i)
}

// unchanged says whether two looks at one inode give one ETag.
func unchanged(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
