package diskcache

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"path"
	"strings"
	"time"
)

// A Usage says what a cache holds.
type Usage struct {
	Objects  int       `json:"objects"`
	Segments int       `json:"segments"`
	Bytes    int64     `json:"bytes"`           // of all files, in whole blocks of 4 KiB
	Oldest   time.Time `json:"oldest,omitzero"` // last use of the file that is evicted next; zero: there is none
}

// Usage looks at all files of the cache.
func (c *Cache) Usage() Usage {
	var u Usage
	seen := map[string]bool{}
	c.walk(func(e entry) {
		seen[path.Dir(e.name)] = true
		u.Bytes += e.size
		if strings.HasSuffix(e.name, ".seg") {
			u.Segments++
		}
		if u.Oldest.IsZero() || e.used.Before(u.Oldest) {
			u.Oldest = e.used
		}
	})
	u.Objects = len(seen)
	return u
}

// A Verification says what Verify found.
type Verification struct {
	Segments int   `json:"segments"`
	Pieces   int   `json:"pieces"`
	Bytes    int64 `json:"bytes"`   // of pieces that are intact
	Damaged  int   `json:"damaged"` // files that were damaged, or written to the middle, and are removed
}

// Verify reads all files, and removes those that are damaged or that a crash has left
// unfinished. A segment that another process is just writing may go, too: its bytes are
// then read from the store again. The error is that of ctx.
func (c *Cache) Verify(ctx context.Context) (Verification, error) {
	var got Verification
	c.walk(func(e entry) {
		if ctx.Err() != nil {
			return
		}
		var ok bool
		if strings.HasSuffix(e.name, ".seg") {
			got.Segments++
			ok = c.verifySegment(e.name, &got)
		} else {
			p, _, err := c.readFile(e.name)
			if err == nil {
				_, err = parseLast(p)
			}
			ok = err == nil
		}
		if !ok && ctx.Err() == nil && !errors.Is(c.root.Remove(e.name), fs.ErrNotExist) {
			got.Damaged++
		}
	})
	return got, ctx.Err()
}

// verifySegment reads all pieces of a segment.
func (c *Cache) verifySegment(name string, got *Verification) bool {
	if st, err := c.root.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return false
	}
	f, err := c.root.Open(name)
	if err != nil {
		return false
	}
	defer shut(f)
	st, err := f.Stat()
	if err != nil {
		return false
	}
	salt, id, from, err := readHead(f)
	if err != nil || id.dir() != path.Dir(name) || !strings.HasPrefix(path.Base(name), id.prefix()) {
		return false
	}
	p := make([]byte, maxPiece)
	intact := true
	end := readPieces(f, from, st.Size(), salt, id.Size, func(x piece) bool {
		_, err := f.ReadAt(p[:x.len], x.pos)
		if intact = err == nil && crc32.Checksum(p[:x.len], castagnoli) == x.crc; intact {
			got.Pieces++
			got.Bytes += int64(x.len)
		}
		return intact
	})
	return intact && end == st.Size()
}

// Clear removes all that is kept. The folder stays a cache; processes that use it go on.
func (c *Cache) Clear() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	gone := tmp + random()
	if err := c.root.Rename(objects, gone); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("cache %s: %w", c.cfg.Dir, err)
	}
	if err := errors.Join(c.root.RemoveAll(gone), c.root.RemoveAll(written)); err != nil {
		return fmt.Errorf("cache %s: %w", c.cfg.Dir, err)
	}
	return nil
}
