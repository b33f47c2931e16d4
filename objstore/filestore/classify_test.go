package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/farread/farread/objstore"
)

// TestClassify: an error of the system matches one of the sentinels, and still itself.
func TestClassify(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]error{
		syscall.ENOENT: objstore.ErrNotFound, fs.ErrNotExist: objstore.ErrNotFound, syscall.ENOTDIR: objstore.ErrNotFound,
		syscall.EACCES: objstore.ErrDenied, syscall.EPERM: objstore.ErrDenied, syscall.EROFS: objstore.ErrDenied,
		syscall.ENAMETOOLONG: objstore.ErrInvalid, syscall.EINVAL: objstore.ErrInvalid, syscall.EISDIR: objstore.ErrInvalid, syscall.ELOOP: objstore.ErrInvalid,
		syscall.ENOSPC: objstore.ErrUnavailable, syscall.EIO: objstore.ErrUnavailable, syscall.EMFILE: objstore.ErrUnavailable,
		errors.New("path escapes from parent"): objstore.ErrInvalid,
	} {
		if got := classify(fmt.Errorf("open: %w", err)); !errors.Is(got, want) || !errors.Is(got, err) {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
	if got := classify(objstore.ErrChanged); got != objstore.ErrChanged {
		t.Error(got)
	}
}

// TestBlocked: a file and a folder of one name are the caller's affair, all else is
// said as it is.
func TestBlocked(t *testing.T) {
	t.Parallel()
	for err, invalid := range map[error]bool{syscall.ENOTDIR: true, syscall.EISDIR: true, fs.ErrExist: true, syscall.EIO: false} {
		if got := blocked(err); !errors.Is(got, err) || errors.Is(got, objstore.ErrInvalid) != invalid {
			t.Errorf("%v: %v", err, got)
		}
	}
	if err := blocked(nil); err != nil {
		t.Error(err)
	}
}

// TestWriteIsSwept: if another process removes hidden files, it also removes a file
// that is being written. Then Commit returns an error, and nothing is published.
func TestWriteIsSwept(t *testing.T) {
	t.Parallel()
	for _, absent := range []bool{false, true} {
		dir := t.TempDir()
		b, err := New(Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		w, err := b.Create(t.Context(), "k", objstore.PutOptions{IfAbsent: absent})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("text")); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || !strings.HasPrefix(entries[0].Name(), ".") {
			t.Fatal(entries, err)
		}
		if err := os.Remove(filepath.Join(dir, entries[0].Name())); err != nil {
			t.Fatal(err)
		}
		if info, err := w.Commit(t.Context()); err == nil || strings.Contains(err.Error(), tempPrefix) {
			t.Errorf("absent %v: %+v, %v", absent, info, err)
		}
		if _, err := b.Head(t.Context(), "k"); !errors.Is(err, objstore.ErrNotFound) {
			t.Errorf("absent %v: %v", absent, err)
		}
	}
}

// TestNamesInErrors: an error of a write has the name of the object, not that of a
// temporary file, whatever fails: here the folder of the object is gone.
func TestNamesInErrors(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(w objstore.Writer) error{
		"commit": func(w objstore.Writer) error { _, err := w.Commit(t.Context()); return err },
		"rehead": func(w objstore.Writer) error { return w.Rehead(0, []byte("before")) },
	} {
		for _, absent := range []bool{false, true} {
			dir := t.TempDir()
			b, err := New(Config{Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			w, err := b.Create(t.Context(), "sub/k", objstore.PutOptions{IfAbsent: absent})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write([]byte("text")); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(filepath.Join(dir, "sub")); err != nil {
				t.Fatal(err)
			}
			var pe *fs.PathError
			if err := fail(w); !errors.As(err, &pe) || pe.Path != filepath.Join("sub", "k") || strings.Contains(err.Error(), tempPrefix) || !errors.Is(err, objstore.ErrNotFound) {
				t.Errorf("%s, absent %v: %v", name, absent, err)
			}
			w.Abort()
		}
	}
	// Rename and link have two names, and wrap what they say.
	w := &writer{name: "k"}
	if err := w.named(&os.LinkError{Op: "renameat", Old: tempPrefix + "A" + tempSuffix, New: "k", Err: syscall.EISDIR}); err.Error() != "renameat k: is a directory" {
		t.Error(err)
	}
	other := &fs.PathError{Op: "mkdirat", Path: "sub", Err: syscall.ENOTDIR}
	if err := w.named(other); err != error(other) || w.named(nil) != nil {
		t.Error(err)
	}
}
