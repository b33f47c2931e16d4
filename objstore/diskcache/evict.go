package diskcache

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// The bound of bytes is held without locks. All processes note in one file about how
// much they have written: each appends one byte for each block. The one that makes the file
// longer than a share of the bound removes it, looks at all files, and removes those that
// were not used for longest, until a quarter of the bound is free. Between two looks the
// cache grows by that share, and by what each process is just writing, at most as much
// again. So the bound holds for up to seven processes that write without a pause, and for
// many more if the bound is large. A process that writes little looks seldom.
const (
	block      = 4 << 10 // files take whole blocks of a disk
	mostShare  = 1 << 30
	tmpMaxAge  = time.Hour
	lookShare  = 64 // a look at all files after 1/64 of the bound was written
	roomShare  = 8  // eviction begins if less than 1/8 of the bound is free
	evictShare = 4  // and ends when 1/4 is free
)

func blocks(n int64) int64 { return (n + block - 1) / block }

// wrote notes that n bytes were written, and evicts if it is time.
func (c *Cache) wrote(n int64) {
	f, err := c.root.OpenFile(written, os.O_WRONLY|os.O_CREATE|os.O_APPEND, filePerm)
	if err != nil {
		c.failed(err)
		return
	}
	_, err = f.Write(make([]byte, blocks(n)))
	st, err2 := f.Stat()
	if err := errors.Join(err, err2, f.Close()); err != nil {
		c.failed(err)
		return
	}
	if st.Size() >= min(c.cfg.MaxBytes/lookShare, mostShare)/block {
		c.trim()
	}
}

// An entry is a file of the cache.
type entry struct {
	name string
	size int64 // in whole blocks
	used time.Time
}

// trim evicts what was not used for longest, if there is too much.
func (c *Cache) trim() {
	if !c.trimming.TryLock() {
		return
	}
	defer c.trimming.Unlock()
	_ = c.root.Remove(written) // what others write from now on counts for the next look
	var list []entry
	var total int64
	c.walk(func(e entry) {
		list = append(list, e)
		total += e.size
	})
	most := c.cfg.MaxBytes
	if total <= most-most/roomShare {
		return
	}
	slices.SortFunc(list, func(a, b entry) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name)) })
	for _, e := range list {
		if total <= most-most/evictShare {
			return
		}
		err := c.root.Remove(e.name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.failed(err)
			continue
		}
		total -= e.size
		_ = c.root.Remove(path.Dir(e.name)) // fails unless it is empty
	}
}

// walk calls f for each file of objects, and removes old temporary files. It follows no
// links. Files that vanish meanwhile are left out.
func (c *Cache) walk(f func(entry)) {
	fsys := c.root.FS()
	if top, err := fs.ReadDir(fsys, "."); err == nil {
		for _, e := range top {
			if st, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), tmp) && c.now().Sub(st.ModTime()) > tmpMaxAge {
				_ = c.root.RemoveAll(e.Name()) // the next walk finds it again
			}
		}
	}
	_ = fs.WalkDir(fsys, objects, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // another process has removed it
		}
		if st, err := d.Info(); err == nil {
			f(entry{name, blocks(st.Size()) * block, st.ModTime()})
		}
		return nil
	})
}
