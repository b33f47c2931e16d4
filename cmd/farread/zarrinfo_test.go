package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestZarrInfo: info says what a folder of Zarr has, and the line that packs it; that line
// works.
func TestZarrInfo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	z := filepath.Join(dir, "x.zarr")
	run(t, "unpack", bloscDir+"/nd2.b2nd", z)
	var in zarrInfo
	if err := json.Unmarshal([]byte(run(t, "info", z, "--json")), &in); err != nil {
		t.Fatal(err)
	}
	if len(in.Arrays) != 1 || in.Arrays[0].DType != "<i2" || !slices.Equal(in.Arrays[0].Shape, []int64{101, 87}) || !slices.Equal(in.Arrays[0].ChunkShape, []int64{40, 33}) {
		t.Errorf("%+v", in)
	}
	if text := run(t, "info", z); !strings.Contains(text, "<i2 (101, 87), chunks of (40, 33)") {
		t.Errorf("%s", text)
	}
	words := strings.Fields(in.Pack)
	if len(words) != 4 {
		t.Fatalf("%q", in.Pack)
	}
	packed := filepath.Join(dir, words[3])
	run(t, words[1], words[2], packed)
	if got, want := run(t, "slice", packed, ":", "-o", "-", "--format", "raw"), run(t, "slice", bloscDir+"/nd2.b2nd", ":", "-o", "-", "--format", "raw"); got != want {
		t.Error("other items")
	}
	write(t, filepath.Join(dir, "e.zarr", "readme"), []byte("no Zarr"))
	if text := run(t, "info", filepath.Join(dir, "e.zarr")); !strings.Contains(text, "objects") {
		t.Errorf("%s", text)
	}
}
