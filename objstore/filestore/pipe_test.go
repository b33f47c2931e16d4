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
	if got := list(t, b, ""); len(got) > 0 {
		t.Errorf("list: %q", got)
	}
}
