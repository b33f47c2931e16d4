package diskcache

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

func open(tb testing.TB, c Config) *Cache {
	tb.Helper()
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	cache, err := Open(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = cache.Close() })
	return cache
}

// object describes version v of an object whose byte at off is byteOf(key, v, off).
func object(key string, v int, size int64) objstore.Info {
	return objstore.Info{Key: key, Size: size, ETag: fmt.Sprintf(`"v%d"`, v), ModTime: time.Date(2026, 1, 1, v, 0, 0, 0, time.UTC), Meta: map[string]string{"a": "b"}}
}

func byteOf(key string, v int, off int64) byte {
	return byte(uint64(off)*0x9E3779B97F4A7C15>>56) ^ byte(len(key)*31+v*85) ^ key[len(key)-1]
}

func content(key string, v int, s rangeio.Span) rangeio.Span {
	for i := range s.P {
		s.P[i] = byteOf(key, v, s.Off+int64(i))
	}
	return s
}

func span(off, n int64) rangeio.Span { return rangeio.Span{Off: off, P: make([]byte, n)} }

// kept reads a span, compares what is kept of it with what it should be, and returns how
// many bytes are kept.
func kept(tb testing.TB, k objstore.Kept, key string, v int, s rangeio.Span) int64 {
	tb.Helper()
	clear(s.P)
	rest, index := k.Missing([]rangeio.Span{s}, true)
	n := int64(len(s.P))
	at := s.Off
	check := func(to int64) {
		want := content(key, v, span(at, to-at)).P
		if !bytes.Equal(s.P[at-s.Off:to-s.Off], want) {
			tb.Fatalf("other bytes in [%d, %d) of %s", at, to, key)
		}
	}
	for i, r := range rest {
		if index[i] != 0 || r.Off < at || len(r.P) == 0 || r.End() > s.End() || &r.P[0] != &s.P[r.Off-s.Off] {
			tb.Fatalf("part %d: [%d, %d) after %d", i, r.Off, r.End(), at)
		}
		check(r.Off)
		n -= int64(len(r.P))
		at = r.End()
	}
	check(s.End())
	return n
}

// TestKept: what was kept is there, right, in this process and in the next, whatever the
// spans were; what is not kept is asked for exactly once.
func TestKept(t *testing.T) {
	t.Parallel()
	all, runs := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		runs++
		dir := filepath.Join(all, fmt.Sprint(runs))
		const size, first, n = 2 << 20, region - 150_000, 300_000 // all spans lie in these n bytes, across two regions
		in := object("k", 1, size)
		c, err := Open(Config{Dir: dir, MaxBytes: 8 << 20})
		if err != nil {
			t.Fatal(err)
		}
		have := make([]bool, n)
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			k := c.Place("p").Version(in)
			var spans []rangeio.Span
			for range rapid.IntRange(0, 8).Draw(t, "spans") {
				off := rapid.Int64Range(0, n-1).Draw(t, "off")
				s := content("k", 1, span(first+off, min(n-off, rapid.SampledFrom([]int64{1, 100, 5000, 30_000, 200_000}).Draw(t, "len"))))
				spans = append(spans, s)
				for i := s.Off; i < s.End(); i++ {
					have[i-first] = true
				}
			}
			k.Keep(spans)
			if rapid.Bool().Draw(t, "again") {
				_ = c.Close()
				if c, err = Open(Config{Dir: dir, MaxBytes: 8 << 20}); err != nil {
					t.Fatal(err)
				}
				k = c.Place("p").Version(in)
			}
			s := span(first, n)
			rest, _ := k.Missing([]rangeio.Span{s}, true)
			asked := make([]bool, n)
			for _, r := range rest {
				for i := r.Off; i < r.End(); i++ {
					if asked[i-first] {
						t.Fatalf("byte %d is asked for twice", i)
					}
					asked[i-first] = true
				}
			}
			short := 0
			for i := range int64(n) {
				switch {
				case !asked[i] && (!have[i] || s.P[i] != byteOf("k", 1, first+i)):
					t.Fatalf("byte %d is wrong, kept %v", i, have[i])
				case asked[i] && have[i]:
					if short++; short >= worthwhile {
						t.Fatalf("a run of kept bytes before %d is asked for", i)
					}
				default:
					short = 0
				}
			}
			dry, _ := k.Missing([]rangeio.Span{s}, false)
			if len(dry) != len(rest) {
				t.Fatalf("a plan has %d parts, the read %d", len(dry), len(rest))
			}
		}
		_ = c.Close()
	})
}

// small makes a cache of one object of a few pieces, and returns its span.
func small(tb testing.TB, dir string) rangeio.Span {
	tb.Helper()
	c := open(tb, Config{Dir: dir})
	in := object("k", 1, 600)
	k := c.Place("p").Version(in)
	k.Keep([]rangeio.Span{content("k", 1, span(0, 60)), content("k", 1, span(100, 20)), content("k", 1, span(140, 40))})
	k.Keep([]rangeio.Span{content("k", 1, span(400, 200))})
	k.Seen("", in)
	_ = c.Close()
	return span(0, 600)
}

// filesOf returns the files of a cache with their bytes, without the marker.
func filesOf(tb testing.TB, dir string) map[string][]byte {
	tb.Helper()
	list := map[string][]byte{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == marker {
			return err
		}
		p, err := os.ReadFile(name)
		list[name] = p
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

// TestDamage: whichever byte of a file is wrong, and wherever a file ends, no wrong byte
// comes out, and what is read anew is kept again.
func TestDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := small(t, dir)
	list := filesOf(t, dir)
	cases := 0
	for name, good := range list {
		try := func(p []byte) {
			cases++
			for name, good := range list {
				if err := os.MkdirAll(filepath.Dir(name), dirPerm); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, good, filePerm); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(name, p, filePerm); err != nil {
				t.Fatal(err)
			}
			want := object("k", 1, 600)
			c, err := Open(Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			place := c.Place("p")
			if in, fresh, ok := place.Last("k", ""); ok && (fresh || fmt.Sprint(in) != fmt.Sprint(want)) {
				t.Fatalf("%s: %v", name, in)
			}
			k := place.Version(want)
			kept(t, k, "k", 1, s)
			k.Keep([]rangeio.Span{content("k", 1, s)})
			if n := kept(t, k, "k", 1, s); n != 600 {
				t.Fatalf("%s: %d bytes after another read", name, n)
			}
			next, err := Open(Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			defer next.Close()
			if n := kept(t, next.Place("p").Version(want), "k", 1, s); n != 600 {
				t.Fatalf("%s: %d bytes in the next run", name, n)
			}
		}
		for i := range good {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << (i % 8)
			try(bad)
			if strings.HasSuffix(name, ".seg") && i%5 == 0 {
				try(good[:i])
			}
		}
	}
	if cases < 600 {
		t.Errorf("only %d cases", cases)
	}
}

// TestVerify: damaged files are found and removed, whole ones stay.
func TestVerify(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := small(t, dir)
	c := open(t, Config{Dir: dir})
	if v, err := c.Verify(t.Context()); err != nil || v.Damaged != 0 || v.Segments != 1 || v.Bytes != 320 || v.Pieces != 4 {
		t.Errorf("%+v, %v", v, err)
	}
	if u := c.Usage(); u.Objects != 1 || u.Segments != 1 || u.Bytes != 8192 || u.Oldest.IsZero() {
		t.Errorf("%+v", u)
	}
	for name, p := range filesOf(t, dir) {
		if strings.HasSuffix(name, ".seg") {
			p[len(p)-1] ^= 1
		}
		if err := os.WriteFile(name, p, filePerm); err != nil {
			t.Fatal(err)
		}
	}
	if v, err := c.Verify(t.Context()); err != nil || v.Damaged != 1 || v.Segments != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	k := c.Place("p").Version(object("k", 1, 600))
	if n := kept(t, k, "k", 1, s); n != 0 {
		t.Errorf("%d bytes are kept", n)
	}
	if err := c.Clear(); err != nil || c.Usage() != (Usage{}) {
		t.Errorf("%v, %+v", err, c.Usage())
	}
	k.Keep([]rangeio.Span{content("k", 1, s)})
	if n := kept(t, k, "k", 1, s); n != 600 {
		t.Errorf("%d bytes after Clear and Keep", n)
	}
	if err := errors.Join(c.Clear(), c.Clear()); err != nil {
		t.Error(err)
	}
}

// TestReplaced: the bytes of an earlier version are not served, and go.
func TestReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	small(t, dir)
	c := open(t, Config{Dir: dir})
	for _, in := range []objstore.Info{
		object("k", 2, 600), object("k", 1, 601), object("l", 1, 600), func() objstore.Info { i := object("k", 1, 600); i.VersionID = "x"; return i }(),
		func() objstore.Info { i := object("k", 1, 600); i.ModTime = i.ModTime.Add(time.Second); return i }(),
		func() objstore.Info { i := object("k", 1, 600); i.ContentEncoding = "gzip"; return i }(),
		func() objstore.Info { i := object("k", 1, 600); i.ETag = "\"v1\xff\""; return i }(),
	} {
		k := c.Place("p").Version(in)
		if n := kept(t, k, "k", 1, span(0, 600)); n != 0 {
			t.Errorf("%+v: %d bytes", in, n)
		}
	}
	if n := kept(t, c.Place("q").Version(object("k", 1, 600)), "k", 1, span(0, 600)); n != 0 {
		t.Errorf("another place: %d bytes", n)
	}
	if _, _, ok := c.Place("q").Last("k", ""); ok {
		t.Error("another place is known")
	}
	if _, _, ok := c.Place("p").Last("k", "x"); ok {
		t.Error("another version is known")
	}
	next := object("k", 2, 600)
	c.Place("p").Version(next).Seen("", next)
	if in, _, ok := c.Place("p").Last("k", ""); !ok || in.ETag != next.ETag {
		t.Errorf("%+v", in)
	}
	for name := range filesOf(t, dir) {
		if strings.HasSuffix(name, ".seg") {
			t.Errorf("%s is left", name)
		}
	}
}

// TestMaxAge: a description counts as new for so long after the store was asked.
func TestMaxAge(t *testing.T) {
	t.Parallel()
	c := open(t, Config{Dir: t.TempDir(), MaxAge: time.Hour})
	in := object("k", 1, 600)
	k := c.Place("p").Version(in)
	k.Seen("", in)
	for age, want := range map[time.Duration]bool{time.Minute: true, 59 * time.Minute: true, 2 * time.Hour: false, -time.Hour: false} {
		c.now = func() time.Time { return time.Now().Add(age) }
		if _, fresh, ok := c.Place("p").Last("k", ""); !ok || fresh != want {
			t.Errorf("after %v: %v, %v", age, fresh, ok)
		}
	}
	c.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	k.Seen("", in)
	if _, fresh, _ := c.Place("p").Last("k", ""); !fresh {
		t.Error("not fresh after Seen")
	}
	k.Drop()
	if _, _, ok := c.Place("p").Last("k", ""); ok {
		t.Error("known after Drop")
	}
}

// TestFolders: only an empty folder or a cache of this layout is taken; files are for
// their owner alone.
func TestFolders(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes of Unix")
	}
	dir := filepath.Join(t.TempDir(), "a", "b")
	small(t, dir)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		st, err2 := d.Info()
		if err = errors.Join(err, err2); err == nil && st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", name, st.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	refused := func(what string, c Config) {
		t.Helper()
		before := filesOf(t, c.Dir)
		if _, err := Open(c); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
		if len(filesOf(t, c.Dir)) != len(before) {
			t.Errorf("%s: other files than before", what)
		}
	}
	foreign := t.TempDir()
	if err := os.WriteFile(filepath.Join(foreign, "letter.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("foreign files", Config{Dir: foreign})
	refused("a file", Config{Dir: filepath.Join(foreign, "letter.txt")})
	later := t.TempDir()
	if err := os.WriteFile(filepath.Join(later, "farread-cache-2"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused("another layout", Config{Dir: later})
	public := t.TempDir()
	if err := os.Chmod(public, 0o777); err != nil {
		t.Fatal(err)
	}
	refused("a public folder", Config{Dir: public})
	refused("a small bound", Config{Dir: t.TempDir(), MaxBytes: MinBytes - 1})
	refused("a negative age", Config{Dir: t.TempDir(), MaxAge: -1})
}

// TestLinks: nothing is read, written or removed behind a link that leads out.
func TestLinks(t *testing.T) {
	t.Parallel()
	out, dir := t.TempDir(), t.TempDir()
	s := small(t, out)
	before := filesOf(t, out)
	open(t, Config{Dir: dir})
	if err := os.Symlink(filepath.Join(out, objects), filepath.Join(dir, objects)); err != nil {
		t.Skip(err)
	}
	c := open(t, Config{Dir: dir, MaxBytes: MinBytes})
	k := c.Place("p").Version(object("k", 1, 600))
	if n := kept(t, k, "k", 1, s); n != 0 {
		t.Errorf("%d bytes are kept", n)
	}
	k.Keep([]rangeio.Span{content("k", 1, s)})
	k.Seen("", object("k", 1, 600))
	k.Drop()
	c.trim()
	if _, err := c.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Clear(); err != nil {
		t.Error(err)
	}
	after := filesOf(t, out)
	for name, p := range before {
		if !bytes.Equal(after[name], p) {
			t.Errorf("%s has changed", name)
		}
	}
	if len(after) != len(before) {
		t.Errorf("%d files, %d before", len(after), len(before))
	}
}

// TestBound: the files stay below the bound, and what was used last stays.
func TestBound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const bound = 4 << 20
	c := open(t, Config{Dir: dir, MaxBytes: bound})
	old := time.Now().Add(-time.Hour)
	often := content("often", 1, span(0, 50_000))
	k := c.Place("p").Version(object("often", 1, 50_000))
	k.Keep([]rangeio.Span{often})
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		key := fmt.Sprint("key", i)
		n := int64(1 + r.IntN(400_000))
		c.Place("p").Version(object(key, 1, n)).Keep([]rangeio.Span{content(key, 1, span(0, n))})
		if u := c.Usage(); u.Bytes > bound {
			t.Fatalf("%d bytes after %d objects", u.Bytes, i+1)
		}
		for name := range filesOf(t, dir) { // all but the last ones become old, one second after the other
			if strings.HasSuffix(name, ".seg") {
				if st, err := os.Stat(name); err == nil && time.Since(st.ModTime()) < time.Minute {
					_ = os.Chtimes(name, old, old)
				}
			}
		}
		old = old.Add(time.Second)
		again := open(t, Config{Dir: dir, MaxBytes: bound}).Place("p").Version(object("often", 1, 50_000))
		if n := kept(t, again, "often", 1, span(0, 50_000)); n != 50_000 {
			t.Fatalf("%d bytes of an object that is read often after %d others", n, i+1)
		}
		if i > 30 {
			if v := c.Place("p").Version(object("key0", 1, 1)); kept(t, v, "key0", 1, span(0, 1)) != 0 {
				t.Fatal("the oldest object is still kept")
			}
		}
	}
	if u := c.Usage(); u.Bytes < bound/2 {
		t.Errorf("only %d bytes are left", u.Bytes)
	}
}

// warnings counts the lines of a log.
type warnings struct{ bytes.Buffer }

func (w *warnings) count() int { return strings.Count(w.String(), "\n") }

// TestFull: if the disk is full, even in the middle of a write, reads go on, there is one
// warning, and what is in the folder is still right. Later, writing goes on.
func TestFull(t *testing.T) {
	t.Parallel()
	for room := 0; room < 12_000; room += 211 {
		dir := t.TempDir()
		var log warnings
		c := open(t, Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		left := room
		c.write = func(f *os.File, p []byte, off int64) error {
			n := min(left, len(p))
			left -= n
			if _, err := f.WriteAt(p[:n], off); err != nil || n == len(p) {
				return err
			}
			return syscall.ENOSPC
		}
		in := object("k", 1, 10_000)
		k := c.Place("p").Version(in)
		for off := int64(0); off < 10_000; off += 1000 {
			k.Keep([]rangeio.Span{content("k", 1, span(off, 1000))})
			kept(t, k, "k", 1, span(0, 10_000))
			k.Seen("", in)
		}
		again := open(t, Config{Dir: dir})
		n := kept(t, again.Place("p").Version(in), "k", 1, span(0, 10_000))
		if left == 0 && log.count() != 1 || n > int64(room) {
			t.Fatalf("room for %d bytes: %d kept, warnings %q", room, n, log.String())
		}
		c.now = func() time.Time { return time.Now().Add(2 * rest) }
		left = 1 << 20
		k.Keep([]rangeio.Span{content("k", 1, span(0, 10_000))})
		if n := kept(t, k, "k", 1, span(0, 10_000)); n != 10_000 || log.count() > 1 {
			t.Fatalf("later: %d bytes, %q", n, log.String())
		}
	}
}

// TestCannotWrite: a cache that cannot be written to is read.
func TestCannotWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := small(t, dir)
	if err := os.Mkdir(filepath.Join(dir, written), dirPerm); err == nil {
		t.Fatal("no ledger")
	}
	if err := errors.Join(os.Remove(filepath.Join(dir, written)), os.Mkdir(filepath.Join(dir, written), dirPerm)); err != nil {
		t.Fatal(err)
	}
	var log warnings
	c := open(t, Config{Dir: dir, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	k := c.Place("p").Version(object("k", 1, 600))
	for range 3 {
		kept(t, k, "k", 1, s)
		k.Keep([]rangeio.Span{content("k", 1, span(200, 2))})
	}
	if n := kept(t, k, "k", 1, s); n != 260 || log.count() != 1 {
		t.Errorf("%d bytes, %q", n, log.String())
	}
}
