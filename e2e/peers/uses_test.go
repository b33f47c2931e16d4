//go:build peers

package peers

import (
	"path/filepath"
	"testing"
)

// TestUses: python-blosc2 reads what is packed for a use, and packed again of that.
func TestUses(t *testing.T) {
	dir, bin := t.TempDir(), program(t)
	at := func(name string) string { return filepath.Join(dir, name) }
	var names, faults []string
	run(t.Context(), t, &names, "uses.py", "make", dir)
	for _, name := range names {
		for _, use := range []string{"series", "planes", "both", "cubes"} {
			command(t, bin, "pack", at(name+".npy"), at(name+"-"+use+".b2nd"), "--for", use, "-q")
		}
		command(t, bin, "pack", at(name+"-series.b2nd"), at(name+"-again.b2nd"), "--for", "planes", "--codec", "lz4", "-q")
	}
	run(t.Context(), t, &faults, "uses.py", "read", dir)
	for _, fault := range faults {
		t.Error(fault)
	}
}
