package sink

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestNamesInErrors: an error of a rename has the name of the output, not that of the
// temporary file.
func TestNamesInErrors(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(bin *Trash, out string) (Sink, error){
		"file": func(bin *Trash, out string) (Sink, error) { return NewFile(bin, out) },
		"folder": func(bin *Trash, out string) (Sink, error) {
			return NewFolder(bin, out, func(string) error { return fs.ErrExist })
		},
	} {
		var bin Trash
		out := filepath.Join(t.TempDir(), "out")
		s, err := begin(&bin, out)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(out, "in the way"), 0o700); err != nil {
			t.Fatal(err)
		}
		pe := (*fs.PathError)(nil)
		if err := s.Commit(); !errors.As(err, &pe) || pe.Path != out || errors.As(err, new(*os.LinkError)) {
			t.Errorf("%s: %v", name, err)
		}
		s.Abort()
		left, err := os.ReadDir(filepath.Dir(out))
		if err != nil || len(left) != 1 {
			t.Errorf("%s: left %v, %v", name, left, err)
		}
	}
}
