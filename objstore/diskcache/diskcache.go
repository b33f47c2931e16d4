// Package diskcache keeps bytes of remote objects in a folder, so that the next run of
// a program does not read them again.
//
// A [Cache] belongs to a folder that nobody else writes to. Any number of processes may
// use the folder at the same time: there are no locks. [Cache.Place] gives the
// [objstore.Keeper] of one bucket, for objstore.OpenOptions.
//
// The folder:
//
//	farread-cache-1                says that the folder is a cache, and its version
//	written                        one byte for about 4 KiB written since the last look at all files
//	objects/4f/9a…/last-…          the Info of an object as the last Open saw it
//	objects/4f/9a…/<version>-….seg segments: bytes of one version
//	tmp-…                          files that will be renamed or removed
//
// A segment has a head, which names the object and the version, and then pieces of at
// most 256 KiB, each with its offset, its length and a CRC-32C. Only the Cache that made a
// segment appends to it, by one system call for a few pieces. So a crash leaves whole
// pieces and perhaps a torn one, at which a reader stops. A piece has exactly bytes that
// somebody asked for: aligned blocks would read more than the first run needs, and a file
// for each request would make thousands of files for one column of an array. Segments are
// also what is evicted: those that were not used for longest are removed, as the dates of
// the files tell.
//
// A piece whose bytes do not match its checksum is not used; its segment is removed.
package diskcache

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farread/farread/internal/lru"
	"github.com/farread/farread/objstore"
)

// Config says where a Cache lies and how large it may become. Only Dir is needed.
type Config struct {
	Dir      string        // folder of the cache; made if it does not exist
	MaxBytes int64         // most bytes of its files; 0: DefaultMaxBytes. At least MinBytes
	MaxAge   time.Duration // how long an object counts as unchanged after the store was asked; 0: each Open asks
	Logger   *slog.Logger  // gets a warning if the folder cannot be written to, or has damaged files; nil: none
}

// Bounds of Config.MaxBytes.
const (
	DefaultMaxBytes = 10 << 30
	MinBytes        = 1 << 20
)

// A Cache is a folder of kept bytes. It is safe for concurrent use, by several
// processes, too. It needs no Close, but Close frees the folder's handle.
type Cache struct {
	cfg     Config
	root    *os.Root
	piece   int // most bytes of a piece
	segment int64

	mu       sync.Mutex
	versions lru.Cache[string, *version] // by the place, the key and the version; costs are numbers of pieces

	trimming sync.Mutex
	paused   atomic.Int64 // time in Unix seconds until which nothing is written, after an error
	warned   atomic.Bool
	doubt    atomic.Int64 // time of the last Distrust

	write func(f *os.File, p []byte, off int64) error // for tests that have a full disk
	now   func() time.Time
}

const (
	marker  = "farread-cache-1"
	markers = "farread-cache-" // of all versions
	written = "written"
	objects = "objects"
	tmp     = "tmp-"

	filePerm = 0o600
	dirPerm  = 0o700

	maxPiece   = 256 << 10
	maxSegment = 16 << 20
	maxPieces  = 1 << 20 // in memory, 64 bytes each
)

// Open opens the cache in a folder, and makes the folder if there is none. A folder that
// has files and is no cache, is a cache of another version, or can be written to by
// everybody is refused with objstore.ErrInvalid, as are bounds that are too small.
func Open(c Config) (*Cache, error) {
	if c.MaxBytes == 0 {
		c.MaxBytes = DefaultMaxBytes
	}
	if c.MaxBytes < MinBytes || c.MaxAge < 0 || c.Dir == "" {
		return nil, fmt.Errorf("cache %q of %d bytes, with an age of %v: %w", c.Dir, c.MaxBytes, c.MaxAge, objstore.ErrInvalid)
	}
	if err := os.MkdirAll(c.Dir, dirPerm); err != nil {
		return nil, fmt.Errorf("cache: %w: %w", objstore.ErrInvalid, err)
	}
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("cache: %w: %w", objstore.ErrInvalid, err)
	}
	if err := claim(root); err != nil {
		shut(root)
		return nil, fmt.Errorf("cache %s: %w", c.Dir, err)
	}
	return &Cache{cfg: c, root: root, piece: int(min(maxPiece, c.MaxBytes/128)), segment: min(maxSegment, c.MaxBytes/32),
		versions: lru.Cache[string, *version]{Max: maxPieces}, now: time.Now,
		write: func(f *os.File, p []byte, off int64) error { _, err := f.WriteAt(p, off); return err }}, nil
}

// Close frees the handle of the folder. Objects that use the cache go on without it.
func (c *Cache) Close() error { return c.root.Close() }

// Dir is the folder of the cache.
func (c *Cache) Dir() string { return c.cfg.Dir }

// claim looks whether a folder is a cache, and marks an empty folder as one. The marker
// is a file whose name says all, since two processes may do this at once, and one of
// them may see the file before it has content.
func claim(root *os.Root) error {
	if st, err := root.Stat("."); err != nil {
		return fmt.Errorf("%w: %w", objstore.ErrInvalid, err)
	} else if runtime.GOOS != "windows" && st.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("everybody may write to the folder: %w", objstore.ErrInvalid)
	}
	for {
		list, err := fs.ReadDir(root.FS(), ".")
		if err != nil {
			return fmt.Errorf("%w: %w", objstore.ErrInvalid, err)
		}
		foreign := ""
		for _, e := range list {
			switch name := e.Name(); {
			case name == marker:
				return nil
			case strings.HasPrefix(name, markers):
				return fmt.Errorf("the cache has the layout %s, this program has %s: %w", name, marker, objstore.ErrInvalid)
			case name != "lost+found":
				foreign = name
			}
		}
		if foreign != "" {
			return fmt.Errorf("the folder has files (%q) and is no cache of farread: %w", foreign, objstore.ErrInvalid)
		}
		f, err := root.OpenFile(marker, os.O_WRONLY|os.O_CREATE|os.O_EXCL, filePerm)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("%w: %w", objstore.ErrInvalid, err)
		}
		_, _ = f.WriteString("This folder is a cache of farread. It may be deleted at any time.\n") // only for people
		return f.Close()
	}
}

// Place gives the Keeper of a bucket. place must be different for different buckets,
// also of different stores, and must not be secret: it is written to the folder.
func (c *Cache) Place(place string) objstore.Keeper { return keeper{c, place} }

type keeper struct {
	c     *Cache
	place string
}

// Last implements objstore.Keeper.
func (k keeper) Last(key, versionID string) (in objstore.Info, fresh, ok bool) {
	name := objectDir(k.place, key) + "/" + lastName(versionID)
	p, at, err := k.c.readFile(name)
	if err != nil {
		return in, false, false
	}
	l, err := parseLast(p)
	if err != nil || l.Place != k.place || l.Key != key || l.Asked != versionID {
		return in, false, false
	}
	age := k.c.now().Sub(at)
	return l.info(), age >= 0 && age < k.c.cfg.MaxAge && at.UnixNano() > k.c.doubt.Load(), true
}

// Distrust implements objstore.Keeper, for all places.
func (k keeper) Distrust() { k.c.Distrust() }

// Distrust ends the MaxAge of all that the store was asked about before now, for this
// Cache. Call it if objects turn out not to belong together: one of them was replaced.
func (c *Cache) Distrust() { c.doubt.Store(c.now().UnixNano()) }

// Version implements objstore.Keeper.
func (k keeper) Version(in objstore.Info) objstore.Kept {
	id := identityOf(k.place, in)
	name := id.dir() + "/" + id.prefix()
	v := k.c.known(name, func() *version { return &version{c: k.c, id: id, regions: map[int64][]view{}} })
	v.loaded.Do(func() {
		v.load()
		k.c.mu.Lock()
		defer k.c.mu.Unlock()
		k.c.versions.Put(name, v, int64(1+v.pieces))
	})
	return v
}

// known returns the version of a name, or a new one.
func (c *Cache) known(name string, fresh func() *version) *version {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.versions.Get(name)
	if !ok {
		v = fresh()
		c.versions.Put(name, v, 1)
	}
	return v
}

// maxLast bounds a file with an Info, whose metadata may be of any length in plain HTTP.
const maxLast = 256 << 10

// readFile reads a small file, and returns when it was written or touched.
func (c *Cache) readFile(name string) ([]byte, time.Time, error) {
	f, err := c.root.Open(name)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer shut(f)
	st, err := f.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	if !st.Mode().IsRegular() || st.Size() > maxLast {
		return nil, time.Time{}, fmt.Errorf("%s of %d bytes: %w", name, st.Size(), errDamaged)
	}
	p := make([]byte, st.Size())
	if _, err := f.ReadAt(p, 0); err != nil {
		return nil, time.Time{}, err
	}
	return p, st.ModTime(), nil
}

// replaceFile writes a small file in one step.
func (c *Cache) replaceFile(name string, p []byte) error {
	if c.resting() {
		return nil
	}
	from := tmp + random()
	f, err := c.root.OpenFile(from, os.O_WRONLY|os.O_CREATE|os.O_EXCL, filePerm)
	if err != nil {
		return err
	}
	err = errors.Join(c.write(f, p, 0), f.Close())
	if err == nil {
		if err = c.root.Rename(from, name); errors.Is(err, fs.ErrNotExist) {
			if err = c.root.MkdirAll(dirOf(name), dirPerm); err == nil {
				err = c.root.Rename(from, name)
			}
		}
	}
	if err != nil {
		_ = c.root.Remove(from) // it is found as an old temporary file later
		return err
	}
	c.wrote(int64(len(p)))
	return nil
}

// shut closes what was only read, or is not used after an error.
func shut(f io.Closer) { f.Close() }

func dirOf(name string) string { return name[:strings.LastIndexByte(name, '/')] }

func random() string {
	var p [8]byte
	_, _ = rand.Read(p[:]) // never fails
	return hex.EncodeToString(p[:])
}

// rest is how long nothing is written after an error: a full disk may have room later.
const rest = time.Minute

func (c *Cache) resting() bool { return c.now().Unix() < c.paused.Load() }

// failed notes that the folder could not be written to. The first time is a warning.
func (c *Cache) failed(err error) {
	c.paused.Store(c.now().Add(rest).Unix())
	if !c.warned.Swap(true) {
		c.warn("the cache cannot be written to; reads go on without it", err)
	}
}

func (c *Cache) warn(text string, err error) {
	if c.cfg.Logger != nil {
		c.cfg.Logger.Warn(text, "dir", c.cfg.Dir, "err", err)
	}
}
