//go:build peers

package peers

import (
	"fmt"
	"path/filepath"
	"testing"
)

// TestAppended: arrays that python-blosc2 has written, and pack has appended to, are what
// NumPy puts together, and python-blosc2 goes on with them.
func TestAppended(t *testing.T) {
	farread, dir := program(t), t.TempDir()
	var parts map[string]int
	run(t.Context(), t, &parts, "append_parts.py", "make", dir)
	for name, n := range parts {
		for i := range n {
			command(t, farread, "pack", "--append", filepath.Join(dir, fmt.Sprintf("%s-%d.npy", name, i)), filepath.Join(dir, name+".b2nd"))
		}
		command(t, farread, "verify", filepath.Join(dir, name+".b2nd"))
	}
	var same map[string]bool
	run(t.Context(), t, &same, "append_parts.py", "check", dir)
	for name, ok := range same {
		if !ok {
			t.Errorf("%s: other items", name)
		}
	}
	if len(same) != len(parts) || len(same) == 0 {
		t.Errorf("%d of %d arrays", len(same), len(parts))
	}
}
