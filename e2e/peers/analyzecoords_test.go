//go:build peers

package peers

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestAnalyzeCoords: arrays that `farread analyze` writes have the names, the coordinates and
// the attributes that xarray's coarsen gives them.
func TestAnalyzeCoords(t *testing.T) {
	dir, farread := t.TempDir(), program(t)
	file := func(name string) string { return filepath.Join(dir, name) }
	var made []string
	run(t.Context(), t, &made, "analyze_coords.py", "make", dir)
	for _, name := range []string{"coarse", "pad", "days"} {
		if err := os.Mkdir(file(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	source := filepath.Join(file("weather"), "t2m.b2nd")
	for _, args := range [][]string{
		{"pack", file("weather.zarr"), file("weather") + "/"},
		{"analyze", source, "--coarsen", "6,2", "--stat", "mean", "-o", filepath.Join(file("coarse"), "t2m.b2nd")},
		{"analyze", source, "--coarsen", "7,4", "--stat", "mean", "-o", filepath.Join(file("pad"), "t2m.b2nd")},
		{"analyze", source, "--over", "0,2", "--every", "24", "--stats", "mean", "-o", filepath.Join(file("days"), "t2m.b2nd")},
		{"unpack", file("coarse") + "/", file("coarse.zarr")},
		{"unpack", file("pad") + "/", file("pad.zarr")},
		{"unpack", file("days") + "/", file("days.zarr")},
	} {
		if out, err := exec.CommandContext(t.Context(), farread, append(args, "--quiet")...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
	var got judgement
	run(t.Context(), t, &got, "analyze_coords.py", "judge", dir)
	got.held(t, 11)
}
