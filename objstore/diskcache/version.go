package diskcache

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// A version is what is kept of one version of an object. It implements objstore.Kept.
type version struct {
	c  *Cache
	id identity

	loaded  sync.Once
	mu      sync.Mutex
	regions map[int64][]view // by offset / region: views that do not overlap, in order
	pieces  int

	writing sync.Mutex
	own     *segment // segment that Keep appends to; nil: none yet
}

// A segment is a file with pieces.
type segment struct {
	name string
	salt [saltLen]byte
	size int64 // of its own writer: where the next piece goes

	mu      sync.Mutex
	touched time.Time
}

// A view is the part [from, to) of an object that a piece has.
type view struct {
	from, to int64
	seg      *segment
	piece    piece
}

// region is the length of the parts of an object that have a list of views each, so that
// lists stay short. A piece is not longer.
const region = 1 << 20

// load reads the heads of all pieces of the version.
func (v *version) load() {
	list, err := fs.ReadDir(v.c.root.FS(), v.id.dir())
	if err != nil {
		return // nothing is kept
	}
	for _, e := range list {
		if v.pieces >= maxPieces/2 {
			return
		}
		if e.Type().IsRegular() && strings.HasPrefix(e.Name(), v.id.prefix()) {
			v.loadSegment(v.id.dir() + "/" + e.Name())
		}
	}
}

func (v *version) loadSegment(name string) {
	f, err := v.c.root.Open(name)
	if err != nil {
		return
	}
	defer shut(f)
	st, err := f.Stat()
	if err != nil {
		return
	}
	salt, id, from, err := readHead(f)
	if err != nil || id != v.id {
		return // a writer may be at it just now; Verify removes damaged ones
	}
	s := &segment{name: name, salt: salt}
	readPieces(f, from, st.Size(), salt, v.id.Size, func(x piece) bool {
		v.add(s, x)
		return v.pieces < maxPieces/2
	})
}

// add notes a piece, as far as no other piece has its bytes. The caller holds v.mu, or is
// alone.
func (v *version) add(s *segment, x piece) {
	v.pieces++
	end := x.off + int64(x.len)
	for r := x.off / region; r*region < end; r++ {
		from, to := max(x.off, r*region), min(end, (r+1)*region)
		list := v.regions[r]
		i, _ := slices.BinarySearchFunc(list, from, func(w view, off int64) int { return cmp.Compare(w.to, off+1) }) // the first that ends behind from
		for from < to {
			until := to
			if i < len(list) {
				until = min(to, list[i].from)
			}
			if from < until {
				list = slices.Insert(list, i, view{from, until, s, x})
				i++
			}
			if i >= len(list) {
				break
			}
			from = list[i].to
			i++
		}
		v.regions[r] = list
	}
}

// views lists what is kept of [from, to), in order.
func (v *version) views(from, to int64) (out []view) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for r := from / region; r*region < to; r++ {
		list := v.regions[r]
		i, _ := slices.BinarySearchFunc(list, from, func(w view, off int64) int { return cmp.Compare(w.to, off+1) })
		for ; i < len(list) && list[i].from < to; i++ {
			w := list[i]
			w.from, w.to = max(w.from, from), min(w.to, to)
			out = append(out, w)
		}
	}
	return out
}

// lose forgets all pieces of a segment.
func (v *version) lose(s *segment) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for r, list := range v.regions {
		v.regions[r] = slices.DeleteFunc(list, func(w view) bool { return w.seg == s })
	}
}

// worthwhile is the length below which kept bytes between two parts that are missing are
// read again: a request more costs more than these bytes.
const worthwhile = 16 << 10

// Missing implements objstore.Kept.
func (v *version) Missing(spans []rangeio.Span, fill bool) (rest []rangeio.Span, index []int) {
	rd := reading{v: v}
	defer rd.close()
	for i, s := range spans {
		kept := useful(v.views(s.Off, s.End()), s)
		if fill {
			kept = slices.DeleteFunc(kept, func(w view) bool { return !rd.copyTo(s, w) })
		}
		at := s.Off
		hole := func(to int64) {
			if to > at {
				rest, index = append(rest, rangeio.Span{Off: at, P: s.P[at-s.Off : to-s.Off : to-s.Off]}), append(index, i)
			}
		}
		for _, w := range kept {
			hole(w.from)
			at = w.to
		}
		hole(s.End())
	}
	return rest, index
}

// useful leaves out views of short runs that have missing bytes on both sides.
func useful(views []view, s rangeio.Span) []view {
	out := views[:0]
	for len(views) > 0 {
		n := 1
		for n < len(views) && views[n].from == views[n-1].to {
			n++
		}
		from, to := views[0].from, views[n-1].to
		if from == s.Off || to == s.End() || to-from >= worthwhile {
			out = append(out, views[:n]...)
		}
		views = views[n:]
	}
	return out
}

// A reading reads pieces for one call of Missing.
type reading struct {
	v     *version
	files map[*segment]*os.File // nil: cannot be read

	buf []byte // the last piece of which only a part was wanted
	seg *segment
	pos int64
}

func (r *reading) close() {
	for _, f := range r.files {
		if f != nil {
			shut(f)
		}
	}
	if r.buf != nil {
		bufpool.Put(r.buf)
	}
}

// file opens a segment, and makes it the one used last.
func (r *reading) file(s *segment) *os.File {
	f, ok := r.files[s]
	if ok {
		return f
	}
	f, err := r.v.c.root.Open(s.name)
	if err != nil { // evicted
		f = nil
		r.v.lose(s)
	}
	if r.files == nil {
		r.files = map[*segment]*os.File{}
	}
	r.files[s] = f
	if f != nil {
		r.v.c.touch(s)
	}
	return f
}

// copyTo copies the bytes of a view into the span, and returns whether they are intact.
func (r *reading) copyTo(s rangeio.Span, w view) bool {
	f := r.file(w.seg)
	if f == nil {
		return false
	}
	dst := s.P[w.from-s.Off : w.to-s.Off]
	if len(dst) == int(w.piece.len) {
		return r.load(f, w, dst)
	}
	if r.seg != w.seg || r.pos != w.piece.pos {
		if r.buf == nil {
			r.buf = bufpool.Get(maxPiece)
		}
		if r.seg = nil; !r.load(f, w, r.buf[:w.piece.len]) {
			return false
		}
		r.seg, r.pos = w.seg, w.piece.pos
	}
	copy(dst, r.buf[w.from-w.piece.off:])
	return true
}

// load reads a whole piece. If its bytes are damaged, the segment goes.
func (r *reading) load(f *os.File, w view, p []byte) bool {
	_, err := f.ReadAt(p, w.piece.pos)
	if err == nil && crc32.Checksum(p, castagnoli) == w.piece.crc {
		return true
	}
	r.v.c.warn("a file of the cache is damaged, and was removed", fmt.Errorf("%s: %w", w.seg.name, errors.Join(errDamaged, err)))
	_ = r.v.c.root.Remove(w.seg.name) // if that fails, the next run finds the same
	r.v.lose(w.seg)
	shut(f)
	r.files[w.seg] = nil
	return false
}

// touched is how often the date of a segment is set while it is read.
const touched = time.Minute

// touch makes a segment the one used last, for eviction by any process.
func (c *Cache) touch(s *segment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := c.now(); now.Sub(s.touched) >= touched {
		s.touched = now
		_ = c.root.Chtimes(s.name, now, now) // a folder that cannot be written to has no order
	}
}

// Seen implements objstore.Kept.
func (v *version) Seen(versionID string, in objstore.Info) {
	l := lastOf(v.id.Place, versionID, in)
	p := l.encode()
	if p == nil || v.c.resting() {
		return
	}
	name := v.id.dir() + "/" + lastName(versionID)
	before, _, err := v.c.readFile(name)
	if err == nil && string(before) == string(p) {
		now := v.c.now()
		_ = v.c.root.Chtimes(name, now, now) // the next Open asks the store
		return
	}
	if old, err := parseLast(before); err == nil && old.Place == v.id.Place && old.Key == v.id.Key {
		if was := identityOf(v.id.Place, old.info()); was != v.id {
			v.c.forget(was)
		}
	}
	if err := v.c.replaceFile(name, p); err != nil {
		v.c.failed(err)
	}
}

// Drop implements objstore.Kept.
func (v *version) Drop() {
	v.mu.Lock()
	clear(v.regions)
	v.pieces = 0
	v.mu.Unlock()
	v.c.forget(v.id)
}

// forget removes the segments of a version, and what says that it is the present one.
func (c *Cache) forget(id identity) {
	dir := id.dir()
	list, err := fs.ReadDir(c.root.FS(), dir)
	if err != nil {
		return
	}
	for _, e := range list {
		if strings.HasPrefix(e.Name(), id.prefix()) || strings.HasPrefix(e.Name(), "last-") {
			_ = c.root.Remove(dir + "/" + e.Name()) // another process was quicker, or the next Open asks the store
		}
	}
}
