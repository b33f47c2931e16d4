//go:build peers

package peers

import (
	"fmt"
	"path/filepath"
	"testing"
)

// TestAppendedKinds: frames of python-blosc2, series and items that pack has appended to are, to
// the readers that are not ours, what was packed at once, and python-blosc2 goes on with the
// frames.
func TestAppendedKinds(t *testing.T) {
	farread, dir := program(t), t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var parts map[string]int
	run(t.Context(), t, &parts, "append_kinds.py", "make", dir)
	for name, kind := range map[string][2]string{"bytes": {".bin", ".b2frame"}, "words": {".bin", ".b2frame"}, "tide": {".csv", ".zoom"}, "log": {".txt", ".blp"}} {
		dst := at(name + kind[1])
		for i := range parts[name] {
			src := at(fmt.Sprintf("%s-%d%s", name, i, kind[0]))
			switch {
			case i > 0:
				command(t, farread, "pack", "-q", "--append", src, dst)
			case kind[1] != ".b2frame": // python-blosc2 has made the first part of those
				command(t, farread, "pack", "-q", src, dst)
			}
		}
		command(t, farread, "verify", dst)
	}
	var same map[string]bool
	run(t.Context(), t, &same, "append_kinds.py", "check", dir)
	for name, ok := range same {
		if !ok {
			t.Errorf("%s: not the sum of its parts", name)
		}
	}
	if len(same) != len(parts) || len(same) == 0 {
		t.Errorf("%d of %d files", len(same), len(parts))
	}
}
