package filestore_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/google/go-cmp/cmp"
)

// answer is what a Get came to.
type answer struct {
	Data string
	Info objstore.Info
	Err  error
}

func (a answer) is(b answer) bool {
	return a.Data == b.Data && errors.Is(a.Err, b.Err) && cmp.Equal(a.Info, b.Info)
}

func ask(t *testing.T, b objstore.Bucket, key string, o objstore.GetOptions) answer {
	t.Helper()
	r, info, err := b.Get(t.Context(), key, o)
	if err != nil {
		return answer{Err: kind(err)}
	}
	defer r.Close()
	p, err := io.ReadAll(r)
	return answer{string(p), info, kind(err)}
}

func kind(err error) error {
	for _, s := range []error{objstore.ErrNotFound, objstore.ErrChanged, objstore.ErrDenied, objstore.ErrInvalid, objstore.ErrBadRange} {
		if errors.Is(err, s) {
			return s
		}
	}
	return err
}

// changes are all that may happen to the file sub/k of a folder between two
// Gets. The folder out lies beside it, want is what the next Get without
// conditions must come to.
var changes = []struct {
	name   string
	change func(t *testing.T, b objstore.Bucket, dir, out string)
	want   answer
}{
	{"nothing", func(*testing.T, objstore.Bucket, string, string) {}, answer{Data: "old bytes"}},
	{"put", func(t *testing.T, b objstore.Bucket, _, _ string) { t.Helper(); put(t, b, "sub/k", "new bytes") }, answer{Data: "new bytes"}},
	{"renamed over", func(t *testing.T, _ objstore.Bucket, dir, _ string) {
		t.Helper()
		write(t, filepath.Join(dir, "sub", "new"), "new bytes")
		check(t, os.Rename(filepath.Join(dir, "sub", "new"), filepath.Join(dir, "sub", "k")))
	}, answer{Data: "new bytes"}},
	{"removed and written anew", func(t *testing.T, _ objstore.Bucket, dir, _ string) {
		t.Helper()
		check(t, os.Remove(filepath.Join(dir, "sub", "k")))
		write(t, filepath.Join(dir, "sub", "k"), "new bytes")
	}, answer{Data: "new bytes"}},
	{"written in place", func(t *testing.T, _ objstore.Bucket, dir, _ string) {
		t.Helper()
		write(t, filepath.Join(dir, "sub", "k"), "new, and longer")
	}, answer{Data: "new, and longer"}},
	{"emptied", func(t *testing.T, _ objstore.Bucket, dir, _ string) {
		t.Helper()
		check(t, os.Truncate(filepath.Join(dir, "sub", "k"), 0))
	}, answer{}},
	{"touched", func(t *testing.T, _ objstore.Bucket, dir, _ string) {
		t.Helper()
		check(t, os.Chtimes(filepath.Join(dir, "sub", "k"), time.Time{}, time.Now().Add(time.Hour)))
	}, answer{Data: "old bytes"}},
	{"deleted", func(t *testing.T, b objstore.Bucket, _, _ string) {
		t.Helper()
		check(t, b.Delete(t.Context(), "sub/k"))
	}, answer{Err: objstore.ErrNotFound}},
	{"removed", func(t *testing.T, _ objstore.Bucket, dir, _ string) {
		t.Helper()
		check(t, os.Remove(filepath.Join(dir, "sub", "k")))
	}, answer{Err: objstore.ErrNotFound}},
	{"moved away with its folder", func(t *testing.T, _ objstore.Bucket, dir, out string) {
		t.Helper()
		check(t, os.Rename(filepath.Join(dir, "sub"), filepath.Join(out, "sub")))
	}, answer{Err: objstore.ErrNotFound}},
	{"moved away with the bucket", func(t *testing.T, _ objstore.Bucket, dir, out string) {
		t.Helper()
		check(t, os.Rename(dir, filepath.Join(out, "was")))
	}, answer{Err: objstore.ErrNotFound}},
	{"another bucket in its place", func(t *testing.T, _ objstore.Bucket, dir, out string) {
		t.Helper()
		check(t, os.Rename(dir, filepath.Join(out, "was")))
		check(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
		write(t, filepath.Join(dir, "sub", "k"), "new bytes")
	}, answer{Data: "new bytes"}},
	{"a folder in its place", func(t *testing.T, _ objstore.Bucket, dir, _ string) {
		t.Helper()
		check(t, os.Remove(filepath.Join(dir, "sub", "k")))
		check(t, os.Mkdir(filepath.Join(dir, "sub", "k"), 0o700))
	}, answer{Err: objstore.ErrNotFound}},
	// The same bytes of the same inode, but no longer by a way inside.
	{"a link to it, moved out", func(t *testing.T, _ objstore.Bucket, dir, out string) {
		t.Helper()
		check(t, os.Rename(filepath.Join(dir, "sub", "k"), filepath.Join(out, "k")))
		link(t, filepath.Join(out, "k"), filepath.Join(dir, "sub", "k"))
	}, answer{Err: objstore.ErrInvalid}},
	{"a link to its folder, moved out", func(t *testing.T, _ objstore.Bucket, dir, out string) {
		t.Helper()
		check(t, os.Rename(filepath.Join(dir, "sub"), filepath.Join(out, "sub")))
		link(t, filepath.Join(out, "sub"), filepath.Join(dir, "sub"))
	}, answer{Err: objstore.ErrInvalid}},
	{"a link to it, moved inside", func(t *testing.T, _ objstore.Bucket, dir, _ string) {
		t.Helper()
		check(t, os.Rename(filepath.Join(dir, "sub", "k"), filepath.Join(dir, "k")))
		link(t, filepath.Join("..", "k"), filepath.Join(dir, "sub", "k"))
	}, answer{Data: "old bytes"}},
	{"not readable any more", func(t *testing.T, _ objstore.Bucket, dir, _ string) {
		t.Helper()
		if os.Geteuid() <= 0 {
			t.Skip("everything is readable here")
		}
		check(t, os.Chmod(filepath.Join(dir, "sub", "k"), 0))
	}, answer{Err: objstore.ErrDenied}},
}

func write(t *testing.T, file, data string) {
	t.Helper()
	check(t, os.WriteFile(file, []byte(data), 0o600))
}

func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skipf("no links here: %v", err)
	}
}

// TestKeptFilesAreSeenToChange: a bucket that has read a file answers as one
// that has not, whatever happened to it since.
func TestKeptFilesAreSeenToChange(t *testing.T) {
	t.Parallel()
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			dir, out := filepath.Join(top, "dir"), filepath.Join(top, "out")
			check(t, os.Mkdir(out, 0o700))
			b := open(t, filestore.Config{Dir: dir})
			check(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o700))
			write(t, filepath.Join(dir, "sub", "k"), "old bytes")
			old := ask(t, b, "sub/k", objstore.GetOptions{}).Info
			for range 3 {
				if got, want := ask(t, b, "sub/k", objstore.GetOptions{IfMatch: old.ETag}), (answer{"old bytes", old, nil}); !got.is(want) {
					t.Fatalf("before: %+v, want %+v", got, want)
				}
			}
			c.change(t, b, dir, out)
			plain := objstore.GetOptions{}
			same := open(t, filestore.Config{Dir: dir})
			for range 2 {
				for _, o := range []objstore.GetOptions{plain, {IfMatch: old.ETag}, {Range: objstore.Range{Off: 4, Len: 3}}, {Range: objstore.Range{Off: -5}}} {
					if got, want := ask(t, b, "sub/k", o), ask(t, open(t, filestore.Config{Dir: dir}), "sub/k", o); !got.is(want) {
						t.Errorf("%+v: %+v, a new bucket says %+v", o, got, want)
					}
				}
				for _, b := range []objstore.Bucket{b, same} {
					if got := ask(t, b, "sub/k", plain); got.Data != c.want.Data || !errors.Is(got.Err, c.want.Err) {
						t.Errorf("%+v, want %+v", got, c.want)
					}
				}
				if got := ask(t, b, "sub/k", objstore.GetOptions{IfMatch: old.ETag}); got.Err == nil && got.Info.ETag != old.ETag {
					t.Errorf("with the ETag of before: %+v", got)
				}
			}
		})
	}
}

// opened counts the open files below dir, those removed meanwhile too, or those
// of this name.
func opened(t *testing.T, dir string) int {
	t.Helper()
	const all = "/proc/self/fd"
	fds, err := os.ReadDir(all)
	if err != nil {
		t.Skipf("open files cannot be counted here: %v", err)
	}
	n := 0
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join(all, fd.Name())); err == nil && (to == dir || strings.HasPrefix(to, dir+"/")) {
			n++
		}
	}
	return n
}

// TestFewFilesAreKept: however many are read, and bodies outlast their place in
// the list.
func TestFewFilesAreKept(t *testing.T) {
	t.Parallel()
	const keys = 300
	dir := t.TempDir()
	for i := range keys {
		write(t, filepath.Join(dir, fmt.Sprint(i)), fmt.Sprint(i))
	}
	b := open(t, filestore.Config{Dir: dir})
	for i := range keys {
		if got := ask(t, b, fmt.Sprint(i), objstore.GetOptions{}); got.Data != fmt.Sprint(i) {
			t.Fatalf("%d: %+v", i, got)
		}
		if i%10 == 0 {
			if n := opened(t, filepath.Join(dir, "0")); n != 1 && runtime.GOOS != "windows" {
				t.Fatalf("after %d keys %d are open of the one that is read again and again", i+1, n)
			}
			ask(t, b, "0", objstore.GetOptions{})
		}
		if n := opened(t, dir); n > 16 {
			t.Fatalf("after %d keys %d files are open", i+1, n)
		}
	}
	if n := opened(t, dir); n != 16 && runtime.GOOS != "windows" {
		t.Errorf("%d files are kept, want 16", n)
	}
	bodies := map[int]io.ReadCloser{}
	for i := range keys {
		r, _, err := b.Get(t.Context(), fmt.Sprint(i), objstore.GetOptions{})
		check(t, err)
		bodies[i] = r
	}
	b.CloseIdleConnections()
	for i, r := range bodies {
		if p, err := io.ReadAll(r); err != nil || string(p) != fmt.Sprint(i) {
			t.Errorf("%d: %q, %v", i, p, err)
		}
		check(t, r.Close())
		check(t, r.Close()) // gives nothing back twice
	}
	if n := opened(t, dir); n > 0 {
		t.Errorf("%d files are open at the end", n)
	}
}

// TestRemovedFilesAreNotKept: else the disk would not get their space back.
func TestRemovedFilesAreNotKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, filestore.Config{Dir: dir})
	for name, remove := range map[string]func(){
		"put":     func() { put(t, b, "k", "new") },
		"delete":  func() { check(t, b.Delete(t.Context(), "k")) },
		"foreign": func() { check(t, os.Remove(filepath.Join(dir, "k"))); ask(t, b, "k", objstore.GetOptions{}) },
	} {
		put(t, b, "k", "old")
		ask(t, b, "k", objstore.GetOptions{})
		if n := opened(t, dir); n != 1 && runtime.GOOS != "windows" {
			t.Errorf("%s: %d files are kept, want 1", name, n)
		}
		remove()
		if n := opened(t, dir); n > 0 {
			t.Errorf("%s: %d files are open after it", name, n)
		}
	}
}

func TestIdleFilesAreClosed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, filestore.Config{Dir: dir})
		put(t, b, "busy", "x")
		put(t, b, "idle", "x")
		for range 2 { // the second time from nothing again
			ask(t, b, "idle", objstore.GetOptions{})
			for range 20 {
				ask(t, b, "busy", objstore.GetOptions{})
				time.Sleep(time.Second)
			}
			if n := opened(t, dir); n != 1 {
				t.Errorf("%d files are open while one is in use", n)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			if n := opened(t, dir); n != 0 {
				t.Errorf("%d files are open after a minute", n)
			}
		}
	})
}

// TestReadersAndWritersStorm: every body is one object whole, and who has
// written an object gets that one.
func TestReadersAndWritersStorm(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, filestore.Config{Dir: dir, NoSync: true})
	ctx, cancel := context.WithCancel(t.Context())
	var readers, writers sync.WaitGroup
	for g := range 3 {
		writers.Go(func() { storm(t, b, fmt.Sprintf("a/%d", g)) })
	}
	for range 4 {
		readers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				got := ask(t, b, fmt.Sprintf("a/%d", i%3), objstore.GetOptions{})
				if got.Err == nil && (got.Info.Size != int64(len(got.Data)) || strings.Trim(got.Data, got.Data[:1]) != "") {
					t.Errorf("bytes of several objects in %d of %d", len(got.Data), got.Info.Size)
				}
				if got.Err != nil && !errors.Is(got.Err, objstore.ErrNotFound) {
					t.Error(got.Err)
				}
				if i%50 == 0 {
					b.CloseIdleConnections()
				}
			}
		})
	}
	writers.Wait()
	cancel()
	readers.Wait()
	b.CloseIdleConnections()
	wantNoTemp(t, dir)
	if n := opened(t, dir); n > 0 {
		t.Errorf("%d files are open at the end", n)
	}
}

func storm(t *testing.T, b objstore.Bucket, key string) {
	t.Helper()
	for i := range 150 {
		data := strings.Repeat(string(rune('a'+i%26)), 1000+i%7)
		info, err := objstore.Put(t.Context(), b, key, strings.NewReader(data), objstore.PutOptions{})
		if err != nil {
			t.Error(err)
			return
		}
		if got, want := ask(t, b, key, objstore.GetOptions{IfMatch: info.ETag}), (answer{data, info, nil}); !got.is(want) {
			t.Errorf("after a put: %+v, want %+v", got, want)
		}
		if i%10 != 9 {
			continue
		}
		if err := b.Delete(t.Context(), key); err != nil {
			t.Error(err)
		}
		if got := ask(t, b, key, objstore.GetOptions{}); !errors.Is(got.Err, objstore.ErrNotFound) {
			t.Errorf("after a delete: %+v", got)
		}
	}
}
