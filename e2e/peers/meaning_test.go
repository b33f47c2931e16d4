//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/rangeio"
)

// meaning is what a test array of days, latitudes and stations means.
var meaning = arraymeta.Meta{
	Dims:  []string{"time", "lat", "station"},
	Attrs: map[string]json.RawMessage{"units": json.RawMessage(`"K"`), "scale_factor": json.RawMessage(`1.0`), "levels": json.RawMessage(`[1,2.5,null]`)},
	Fill:  json.RawMessage(`"NaN"`),
	Coords: []arraymeta.Coord{
		{Dim: "time", DType: "<i8", Start: "0", Step: "1", Attrs: map[string]json.RawMessage{"units": json.RawMessage(`"days since 2025-01-01"`), "calendar": json.RawMessage(`"proleptic_gregorian"`)}},
		{Dim: "lat", DType: "<f4", Start: "90", Step: "-0.5"},
		{Dim: "station", DType: "<i2", Values: []byte{1, 0, 5, 0, 2, 0, 9, 0}},
	},
}

// writeMeaning writes an array of 10, 6 and 4 items with the layer.
func writeMeaning(t *testing.T, path string) {
	t.Helper()
	layer, err := meaning.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	var b buffer
	w, err := b2nd.NewWriter(&b, b2nd.Meta{Shape: []int64{10, 6, 4}, ChunkShape: []int{4, 6, 4}, BlockShape: []int{2, 3, 4}, DType: "<f4"},
		b2nd.WriteOptions{Index: cframe.WithIndex, VLMetalayers: []cframe.Metalayer{{Name: arraymeta.Layer, Data: layer}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(bytes.Repeat([]byte{0, 0, 0x80, 0x3f}, 240)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestArrayMeta: msgpack of Python reads what an array means, and python-blosc2 keeps it
// when it edits the array.
func TestArrayMeta(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.b2nd")
	writeMeaning(t, path)
	var got struct {
		Before, After map[string]any
		Shape         []int64
	}
	run(t.Context(), t, &got, "edit_meaning.py", path)
	want := map[string]any{
		"dims":  []any{"time", "lat", "station"},
		"attrs": map[string]any{"units": "K", "scale_factor": 1.0, "levels": []any{1.0, 2.5, nil}}, "fill": "NaN",
		"coords": []any{
			map[string]any{"dim": "time", "dtype": "<i8", "start": 0.0, "step": 1.0, "attrs": map[string]any{"units": "days since 2025-01-01", "calendar": "proleptic_gregorian"}},
			map[string]any{"dim": "lat", "dtype": "<f4", "start": 90.0, "step": -0.5},
			map[string]any{"dim": "station", "dtype": "<i2", "values": "0100050002000900"},
		},
	}
	if diff := cmp.Diff(want, got.Before); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, got.After); diff != "" || !slices.Equal(got.Shape, []int64{13, 6, 4}) {
		t.Error(diff, got.Shape)
	}
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	a, err := b2nd.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	layers, err := a.Frame().VLMetalayers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(layers, func(l cframe.Metalayer) bool { return l.Name == arraymeta.Layer })
	if at < 0 {
		t.Fatal("the layer is gone")
	}
	back, err := arraymeta.Decode(layers[at].Data, got.Shape, formats.Limits{})
	if diff := cmp.Diff(meaning, back); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

// TestServedMeaning: xarray sees dimensions, attributes, fill value and coordinates of an
// array that farread packed and serves, and those that the arrays of a folder share.
func TestServedMeaning(t *testing.T) {
	dir := t.TempDir()
	var none any
	run(t.Context(), t, &none, "pack_meaning.py", "make", dir)
	at := func(name string) string { return filepath.Join(dir, name) }
	pack := func(to, lon string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program(t), "pack", at("t2m.npy"), at(to), "--dims", "time,lat,lon", "--attrs", at("t2m.json"), "--fill", "nan",
			"--coord", "time="+at("time.npy"), "--coord", "lat="+at("lat.npy"), "--coord", "lon="+at(lon), "--attrs", "lat="+at("lat.json"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	pack("t2m.b2nd", "lon.npy")
	for to, lon := range map[string]string{"three/t2m.b2nd": "lon.npy", "three/twice.b2nd": "lon.npy", "three/east.b2nd": "east.npy", "three/pair/t2m.b2nd": "lon.npy", "three/pair/twice.b2nd": "lon.npy"} {
		pack(to, lon)
	}
	url := serveFolder(t, dir) + "/group/data/"
	var faults *[]string
	run(t.Context(), t, &faults, "pack_meaning.py", "read", dir, url+"t2m.b2nd", url+"three")
	switch {
	case faults != nil:
	case os.Getenv("FARREAD_PEERS_REQUIRE") != "":
		t.Fatal("no Python with xarray: run 'make venv'")
	default:
		t.Skip("no Python with xarray: run 'make venv'")
	}
	for _, fault := range *faults {
		t.Error(fault)
	}
}
