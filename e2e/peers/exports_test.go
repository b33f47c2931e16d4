//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExports: what `farread slice` writes as Arrow and as b2nd, pyarrow and python-blosc2
// read as blosc2 reads the array.
func TestExports(t *testing.T) {
	type export struct {
		Name  string `json:"name"`
		File  string `json:"file"`
		Arrow string `json:"arrow"`
		B2nd  string `json:"b2nd"`
	}
	var all []export
	dir, farread := t.TempDir(), program(t)
	for _, match := range []string{"dtype_*", "nd[1-4]*", "empty_*", "scalar_*", "make_arange*", "make_nans*", "n_by_one*"} {
		files, err := filepath.Glob(filepath.Join(b2ndFixtures, match+".b2nd"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			x := export{Name: filepath.Base(file), File: file}
			for suffix, to := range map[string]*string{".arrow": &x.Arrow, ".out.b2nd": &x.B2nd} {
				*to = filepath.Join(dir, x.Name+suffix)
				if out, err := exec.CommandContext(t.Context(), farread, "slice", file, "...", "-o", *to, "--quiet").CombinedOutput(); err != nil {
					t.Errorf("%s as %s: %v: %s", x.Name, suffix, err, out)
					*to = ""
				}
			}
			all = append(all, x)
		}
	}
	in, err := json.Marshal(map[string]any{"arrays": all})
	if err != nil {
		t.Fatal(err)
	}
	var out *struct {
		Read   map[string]int
		Faults []string
	}
	runIn(t.Context(), t, bytes.NewReader(in), &out, "read_exports.py")
	switch {
	case out != nil:
	case os.Getenv("FARREAD_PEERS_REQUIRE") != "":
		t.Fatal("no Python with pyarrow: run 'make venv'")
	default:
		t.Skip("no Python with pyarrow: run 'make venv'")
	}
	if len(out.Faults) > 0 {
		t.Error(strings.Join(out.Faults, "\n"))
	}
	if out.Read["arrow"] < 40 || out.Read["b2nd"] < 40 {
		t.Errorf("read %v of %d", out.Read, len(all))
	}
}
