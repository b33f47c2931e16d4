//go:build unix

package filestore_test

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
)

// TestPipeIsNoObject: opening a pipe for reading would wait for a writer.
func TestPipeIsNoObject(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	b := open(t, filestore.Config{Dir: dir})
	if _, err := read(t, b, "pipe", objstore.GetOptions{}); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("want ErrNotFound, got %v", err)
	}
	for _, prefix := range []string{"", "pipe", "pipe/"} {
		if got := list(t, b, prefix); len(got) > 0 {
			t.Errorf("list %q: %q", prefix, got)
		}
		for e, err := range b.ListFolder(t.Context(), prefix, "") {
			t.Errorf("list the folder %q: %v, %v", prefix, e, err)
		}
	}
}
