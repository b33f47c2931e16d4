package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/objstore/objstoretest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// badKeys would leave the folder, or have no file of their own.
var badKeys = []string{
	"..", "../x", "a/../../x", "a/..", "/abs", "/", "a/", "a//b", ".", "./a", "a/./b", "a\x00b", "\xff", "a/.farread-x.tmp",
}

// TestConformance runs alone, since it looks at the heap.
func TestConformance(t *testing.T) {
	conform(t, false, objstoretest.Features{BadKeys: badKeys, MaxHeap: 8 << 20})
}

func TestConformanceUnsynced(t *testing.T) {
	t.Parallel()
	conform(t, true, objstoretest.Features{BadKeys: badKeys, ManyKeys: 2100})
}

func conform(t *testing.T, noSync bool, f objstoretest.Features) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "made", "later")
	objstoretest.Run(t, func(t *testing.T) objstore.Bucket {
		t.Helper()
		return open(t, filestore.Config{Dir: dir, NoSync: noSync})
	}, f)
	wantNoTemp(t, dir)
}

// TestFilesFromElsewhere: whatever put them there, files are objects.
func TestFilesFromElsewhere(t *testing.T) {
	t.Parallel()
	objstoretest.RunRead(t, func(t *testing.T, objects map[string][]byte) objstore.Bucket {
		t.Helper()
		dir := t.TempDir()
		for key, data := range objects {
			name := filepath.Join(dir, filepath.FromSlash(key))
			check(t, os.MkdirAll(filepath.Dir(name), 0o750))
			check(t, os.WriteFile(name, data, 0o600))
		}
		return open(t, filestore.Config{Dir: dir})
	}, objstoretest.Features{BadKeys: badKeys})
}

// TestCancelRemovesTheFile: at once, not only when the writer is called again.
func TestCancelRemovesTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, filestore.Config{Dir: dir})
		ctx, cancel := context.WithCancel(t.Context())
		w, err := b.Create(ctx, "a/b/k", objstore.PutOptions{})
		check(t, err)
		_, err = w.Write(make([]byte, 1<<20))
		check(t, err)
		if left, err := os.ReadDir(filepath.Join(dir, "a", "b")); err != nil || len(left) != 1 {
			t.Errorf("while it is written: %v, %v", left, err)
		}
		cancel()
		synctest.Wait()
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("after the end of its context: %v, %v", left, err)
		}
		if _, err := w.Commit(t.Context()); !errors.Is(err, context.Canceled) {
			t.Errorf("commit: %v", err)
		}
		w.Abort()
	})
}

func open(t *testing.T, c filestore.Config) *filestore.Bucket {
	t.Helper()
	b, err := filestore.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func put(t *testing.T, b objstore.Bucket, key, data string) objstore.Info {
	t.Helper()
	info, err := objstore.Put(t.Context(), b, key, strings.NewReader(data), objstore.PutOptions{})
	if err != nil {
		t.Fatalf("put %q: %v", key, err)
	}
	return info
}

func read(t *testing.T, b objstore.Bucket, key string, o objstore.GetOptions) (string, error) {
	t.Helper()
	r, _, err := b.Get(t.Context(), key, o)
	if err != nil {
		return "", err
	}
	defer r.Close()
	p, err := io.ReadAll(r)
	return string(p), err
}

// wantNoTemp: every writer has cleaned up behind itself.
func wantNoTemp(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(p, ".tmp") {
			t.Errorf("left behind: %s", p)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func list(t *testing.T, b objstore.Bucket, prefix string) []string {
	t.Helper()
	keys := []string{}
	for info, err := range b.List(t.Context(), prefix) {
		if err != nil {
			t.Fatalf("list %q: %v", prefix, err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

// TestLinksStayInside: files outside the folder are not read, written or listed.
func TestLinksStayInside(t *testing.T) {
	t.Parallel()
	outside, dir := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, filestore.Config{Dir: dir})
	put(t, b, "in/side", "data")
	for link, target := range map[string]string{
		"file": secret, "folder": outside, "up": "..", "inner": "in/side", "infolder": "in", "loop": "loop", "dangling": "nothing",
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	for _, key := range []string{"file", "folder/secret", "up/x", "loop"} {
		if got, err := read(t, b, key, objstore.GetOptions{}); !errors.Is(err, objstore.ErrInvalid) && !errors.Is(err, objstore.ErrNotFound) {
			t.Errorf("get %q: %q, %v", key, got, err)
		}
		if _, err := b.Head(t.Context(), key); err == nil {
			t.Errorf("head %q succeeds", key)
		}
	}
	for _, key := range []string{"folder/secret", "folder/new", "up/new"} {
		if _, err := objstore.Put(t.Context(), b, key, strings.NewReader("x"), objstore.PutOptions{}); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("put %q: want ErrInvalid, got %v", key, err)
		}
		if err := b.Delete(t.Context(), key); err == nil {
			t.Errorf("delete %q succeeds", key)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) != 1 {
		t.Errorf("outside are now %v, %v", left, err)
	}
	if p, err := os.ReadFile(secret); err != nil || string(p) != "secret" {
		t.Errorf("the file outside: %q, %v", p, err)
	}
	if got, err := read(t, b, "infolder/side", objstore.GetOptions{}); err != nil || got != "data" {
		t.Errorf("a link that stays inside: %q, %v", got, err)
	}
	if got, want := list(t, b, ""), []string{"in/side", "inner"}; !slices.Equal(got, want) {
		t.Errorf("list: %q, want %q", got, want)
	}
	if err := b.Delete(t.Context(), "file"); err != nil { // the link, not its target
		t.Error(err)
	}
	if _, err := os.Stat(secret); err != nil {
		t.Error(err)
	}
}

// TestFileChangesUnderTheReader: whatever is done to a file while it is read
// gives the old bytes or ErrChanged.
func TestFileChangesUnderTheReader(t *testing.T) {
	t.Parallel()
	old, changed := strings.Repeat("old!", 50_000), strings.Repeat("new!", 50_000)
	for _, c := range []struct {
		name   string
		change func(t *testing.T, b objstore.Bucket, file string)
		want   error
	}{
		{"truncated", func(t *testing.T, _ objstore.Bucket, file string) { t.Helper(); check(t, os.Truncate(file, 1000)) }, objstore.ErrChanged},
		{"emptied", func(t *testing.T, _ objstore.Bucket, file string) { t.Helper(); check(t, os.Truncate(file, 0)) }, objstore.ErrChanged},
		{"grown", func(t *testing.T, _ objstore.Bucket, file string) { t.Helper(); check(t, os.Truncate(file, 1e6)) }, objstore.ErrChanged},
		{"rewritten", func(t *testing.T, _ objstore.Bucket, file string) {
			t.Helper()
			check(t, os.WriteFile(file, []byte(changed), 0o600))
		}, objstore.ErrChanged},
		{"touched", func(t *testing.T, _ objstore.Bucket, file string) {
			t.Helper()
			check(t, os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)))
		}, objstore.ErrChanged},
		{"replaced", func(t *testing.T, b objstore.Bucket, _ string) { t.Helper(); put(t, b, "a/k", changed) }, nil},
		{"removed", func(t *testing.T, b objstore.Bucket, _ string) { t.Helper(); check(t, b.Delete(t.Context(), "a/k")) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			b := open(t, filestore.Config{Dir: dir})
			info := put(t, b, "a/k", old)
			r, _, err := b.Get(t.Context(), "a/k", objstore.GetOptions{IfMatch: info.ETag})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			head := make([]byte, 400)
			if _, err := io.ReadFull(r, head); err != nil {
				t.Fatal(err)
			}
			c.change(t, b, filepath.Join(dir, "a", "k"))
			rest, err := io.ReadAll(r)
			if !errors.Is(err, c.want) {
				t.Errorf("want %v, got %v", c.want, err)
			}
			if got := string(head) + string(rest); !strings.HasPrefix(old, got) || err == nil && got != old {
				t.Errorf("%d bytes that are not those of the object", len(got))
			}
			_, err = read(t, b, "a/k", objstore.GetOptions{IfMatch: info.ETag, Range: objstore.Range{Len: 5}})
			if !errors.Is(err, objstore.ErrChanged) && !errors.Is(err, objstore.ErrNotFound) {
				t.Errorf("the next get with the ETag of before: %v", err)
			}
		})
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestETagsNeverRepeat: objects of one size written in quick succession use the
// same inodes again.
func TestETagsNeverRepeat(t *testing.T) {
	t.Parallel()
	b := open(t, filestore.Config{Dir: t.TempDir(), NoSync: true})
	seen := map[string]int{}
	for i := range 500 {
		info := put(t, b, "k", "same size")
		if j, ok := seen[info.ETag]; ok {
			t.Fatalf("writes %d and %d have the ETag %s", j, i, info.ETag)
		}
		seen[info.ETag] = i
	}
}

func TestFoldersComeAndGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, filestore.Config{Dir: dir, NoSync: true})
	put(t, b, "a/b/c", "x") // what is refused below must not take it along
	for key, want := range map[string]error{"a": objstore.ErrInvalid, "a/b": objstore.ErrInvalid, "a/b/c/d": objstore.ErrInvalid} {
		for _, o := range []objstore.PutOptions{{}, {IfAbsent: true}} {
			if _, err := objstore.Put(t.Context(), b, key, strings.NewReader("x"), o); !errors.Is(err, want) {
				t.Errorf("put %q %+v: want %v, got %v", key, o, want, err)
			}
		}
	}
	if _, err := b.Head(t.Context(), "a/b"); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("head of a folder: %v", err)
	}
	if _, err := b.Head(t.Context(), "a/b/c/d"); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("head below a file: %v", err)
	}
	if got, err := read(t, b, "a/b/c", objstore.GetOptions{}); err != nil || got != "x" {
		t.Fatalf("the object: %q, %v", got, err)
	}
	check(t, b.Delete(t.Context(), "a/b/c"))
	put(t, b, "a", "the name is free again")
	check(t, b.Delete(t.Context(), "a"))
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
}

// TestDeleteWhileOthersWrite: removing empty folders takes none from under a
// writer.
func TestDeleteWhileOthersWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, filestore.Config{Dir: dir, NoSync: true})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for range 100 {
				key := fmt.Sprintf("a/b/%d", g)
				if _, err := objstore.Put(t.Context(), b, key, strings.NewReader("x"), objstore.PutOptions{}); err != nil {
					t.Error(err)
					return
				}
				if err := b.Delete(t.Context(), key); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	wantNoTemp(t, dir)
}

func TestForeignFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, filestore.Config{Dir: dir})
	if got := list(t, b, "none/"); len(got) > 0 {
		t.Errorf("list of nothing: %q", got)
	}
	check(t, os.MkdirAll(filepath.Join(dir, "sub", "empty"), 0o750))
	for _, name := range []string{"sub/x.bin", "sub/.farread-OLD.tmp", "bad\xff", ".hidden"} {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600))
	}
	if got, want := list(t, b, ""), []string{".hidden", "sub/x.bin"}; !slices.Equal(got, want) {
		t.Errorf("list: %q, want %q", got, want)
	}
	for _, prefix := range []string{"..", "../", "/", "//", "sub/../", "sub//", "\x00", "\xff"} {
		if got := list(t, b, prefix); len(got) > 0 {
			t.Errorf("list %q: %q", prefix, got)
		}
	}
	if b := open(t, filestore.Config{Dir: filepath.Join(dir, "missing")}); len(list(t, b, "")) > 0 {
		t.Error("a missing folder lists something")
	}
}

func TestNameAndLocate(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := filestore.New(filestore.Config{}); !errors.Is(err, objstore.ErrInvalid) {
		t.Errorf("a bucket without folder: %v", err)
	}
	if got := open(t, filestore.Config{Dir: dir}).Name(); got != "file:///"+strings.TrimPrefix(filepath.ToSlash(dir), "/") {
		t.Errorf("name %q", got)
	}
	_, err := open(t, filestore.Config{Dir: dir, Name: "scratch"}).Head(t.Context(), "k")
	if want := "head scratch/k: not found: "; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %q, want %q…", err, want)
	}
	sep := string(filepath.Separator)
	for _, c := range []struct{ name, dir, key string }{
		{"", ".", ""},
		{"f.gulp", ".", "f.gulp"},
		{"x" + sep + "f.gulp", "x", "f.gulp"},
		{"x" + sep + "y" + sep, "x" + sep + "y", ""},
		{"..", "..", ""},
		{sep, sep, ""},
		{sep + "f", sep, "f"},
		{dir, dir, ""},
		{filepath.Join(dir, "f"), dir, "f"},
	} {
		if d, k := filestore.Locate(c.name); d != c.dir || k != c.key {
			t.Errorf("Locate(%q) = %q, %q; want %q, %q", c.name, d, k, c.dir, c.key)
		}
	}
}
