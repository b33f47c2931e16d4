//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
)

// TestDaskInDocs: the Dask example of docs/analysis.md, over the Zarr face of `farread
// serve`, finds what NumPy finds.
func TestDaskInDocs(t *testing.T) {
	const mark = "<!-- not run: it needs a farread serve of its own; make peers runs it -->\n```python\n"
	_, rest, ok := strings.Cut(string(loaded(t, "../../docs/analysis.md")), mark)
	code, _, ended := strings.Cut(rest, "```\n")
	if !ok || !ended {
		t.Fatal("docs/analysis.md has no example for Dask")
	}
	dir, r := t.TempDir(), seeded(17)
	f4, err := dtype.Parse("<f4")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"temperature", "pressure"} {
		shape := []int64{20, 30, 6}
		head, err := npy.AppendHeader(nil, npy.Header{DType: f4, Shape: shape})
		if err != nil {
			t.Fatal(err)
		}
		for range 20 * 30 * 6 {
			head = append(head, byte(r.IntN(256)), byte(r.IntN(256)), byte(r.IntN(128)), 0x41) // 8 to 32
		}
		file := filepath.Join(dir, name)
		writeFile(t, file+".npy", head)
		if out, err := exec.CommandContext(t.Context(), program(t), "pack", file+".npy", file+".b2nd", "--chunk-shape", "8,10,6", "--quiet").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	in, err := json.Marshal(map[string]any{"url": serveFolder(t, dir), "code": code, "dir": dir})
	if err != nil {
		t.Fatal(err)
	}
	var got *judgement
	runIn(t.Context(), t, bytes.NewReader(in), &got, "dask_docs.py")
	if got == nil {
		t.Skip("no Python with dask and zarr: run 'make venv'")
	}
	got.held(t, 2)
}
