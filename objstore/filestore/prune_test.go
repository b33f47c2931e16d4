package filestore

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPruneTakesEmptyFoldersOnly: prune leaves a file or a link in the place of a
// folder, also if it comes between the look and the removal; the slash in the path is
// for that.
func TestPruneTakesEmptyFoldersOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"full/empty/empty", "empty/empty", "target"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file", "full/file"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	links := os.Symlink("target", filepath.Join(dir, "link")) == nil
	if err := root.Remove("file" + string(filepath.Separator)); err == nil {
		t.Error("a file was removed as a folder")
	}
	for _, name := range []string{"file/x", "link/x", "full/empty/empty/x", "empty/empty/x", "gone/x"} {
		prune(root, filepath.FromSlash(name))
	}
	for name, want := range map[string]bool{"file": true, "link": links, "target": true, "full/file": true, "full/empty": false, "empty": false} {
		if _, err := root.Lstat(filepath.FromSlash(name)); (err == nil) != want {
			t.Errorf("%s: there: %t, want %t", name, err == nil, want)
		}
	}
}
