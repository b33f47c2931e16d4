//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestXarrayGroup: a dataset that xarray wrote, in both versions, packed and unpacked again, is the same
// to xarray: dimensions, coordinates, attributes and values, and how they are encoded.
func TestXarrayGroup(t *testing.T) {
	dir, farread := t.TempDir(), program(t)
	var names []string
	run(t.Context(), t, &names, "xarray_group.py", "make", dir)
	for i, name := range names {
		at := filepath.Join(dir, name)
		args := []string{"unpack", at + "/", at + ".out.zarr", "-q"}
		if i%2 == 1 {
			args = append(args, "--shard", "20,6,14")
			if strings.HasPrefix(name, "irregular") {
				args[len(args)-1] = "9000"
			}
		}
		for _, args := range [][]string{{"pack", at + ".zarr", at + "/", "--format", "b2nd", "-q"}, args} {
			if out, err := exec.CommandContext(t.Context(), farread, args...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v: %s", args, err, out)
			}
		}
	}
	in, err := json.Marshal(names)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Read   int
		Faults []string
	}
	runIn(t.Context(), t, bytes.NewReader(in), &out, "xarray_group.py", "compare", dir)
	if len(out.Faults) > 0 || out.Read != 5 {
		t.Errorf("%d read\n%s", out.Read, strings.Join(out.Faults, "\n"))
	}
}
