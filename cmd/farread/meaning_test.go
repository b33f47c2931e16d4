package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
)

// writeNPY writes an array of int64 or float32 items that f gives.
func writeNPY(t *testing.T, path, typ string, shape []int64, f func(i int) float64) {
	t.Helper()
	d, err := dtype.Parse(typ)
	if err != nil {
		t.Fatal(err)
	}
	p, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: shape})
	if err != nil {
		t.Fatal(err)
	}
	n := int64(1)
	for _, k := range shape {
		n *= k
	}
	for i := range int(n) {
		if d.ItemSize() == 4 {
			p = binary.LittleEndian.AppendUint32(p, math.Float32bits(float32(f(i))))
		} else {
			p = binary.LittleEndian.AppendUint64(p, uint64(int64(f(i))))
		}
	}
	if err := os.WriteFile(path, p, 0o600); err != nil {
		t.Fatal(err)
	}
}

// meant packs an array of 365 days, 19 latitudes and 4 items without a coordinate.
func meant(t *testing.T) (at func(name string) string) {
	t.Helper()
	dir := t.TempDir()
	at = func(name string) string { return filepath.Join(dir, name) }
	writeNPY(t, at("a.npy"), "<f4", []int64{365, 19, 4}, func(i int) float64 { return float64(i) })
	writeNPY(t, at("time.npy"), "<i8", []int64{365}, func(i int) float64 { return float64(i) })
	writeNPY(t, at("lat.npy"), "<f4", []int64{19}, func(i int) float64 { return 90 - 10*float64(i) })
	for name, text := range map[string]string{"a.json": `{"units":"K","levels":[1,2.5]}`, "time.json": `{"units":"days since 2025-01-01"}`, "bad.json": `[1]`} {
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "pack", at("a.npy"), at("a.b2nd"), "--dims", "time, lat,n", "--attrs", at("a.json"), "--fill", "-999", "--chunk-shape", "40,19,4",
		"--coord", "time="+at("time.npy"), "--coord", "lat="+at("lat.npy"), "--attrs", "time="+at("time.json"))
	return at
}

func TestMeaning(t *testing.T) {
	at := meant(t)
	text := run(t, "info", at("a.b2nd"))
	for _, want := range []string{"time 2025-01-01 … 2025-12-31, 365 days", "lat 90 … -90, 19 by -10", "n, 4", "fill          -999", "units: K", "levels: [1,2.5]"} {
		if !strings.Contains(text, want) {
			t.Errorf("info has no %q:\n%s", want, text)
		}
	}
	var got struct {
		Dims   []string
		Coords []farread.Coordinate
		Attrs  map[string]json.RawMessage
		Fill   json.RawMessage
	}
	if err := json.Unmarshal([]byte(run(t, "info", at("a.b2nd"), "--json")), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Coords) != 2 || !slices.Equal(got.Dims, []string{"time", "lat", "n"}) || string(got.Fill) != "-999" || string(got.Attrs["units"]) != `"K"` {
		t.Fatalf("%+v", got)
	}
	if c := got.Coords[0]; !c.Time || *c.Start != 1735689600 || *c.Step != 86400 || c.Last != "2025-12-31" {
		t.Errorf("%+v", c)
	}
	// Slices by labels are those by positions.
	for labels, positions := range map[string]string{
		"time=2025-03-01:2025-04-01, lat=40:60": "59:91, 3:6",
		"time=2025-12-31, 2":                    "364, 2",
		"..., lat=-90":                          ":, -1",
		"time=2025-02, lat=0, 3":                "31:59, 9, 3",
	} {
		run(t, "slice", at("a.b2nd"), labels, "-o", at("x.raw"))
		run(t, "slice", at("a.b2nd"), positions, "-o", at("y.raw"))
		x, y := read(t, at("x.raw")), read(t, at("y.raw"))
		if len(x) == 0 || !bytes.Equal(x, y) {
			t.Errorf("%s: %d bytes, by positions %d", labels, len(x), len(y))
		}
	}
	if x := run(t, "slice", at("a.b2nd"), "time=2025-03-01T08:00, lat=44, 0", "--nearest"); x != fmt.Sprintf("%d\n", 59*76+5*4) {
		t.Errorf("nearest: %q", x)
	}
	x, y := stats(t, "explain", at("a.b2nd"), "time=2025-03-01:2025-03-05"), stats(t, "explain", at("a.b2nd"), "59:64")
	if x != y {
		t.Errorf("the plan by labels costs %+v, by positions %+v", x, y)
	}
	for labels, want := range map[string]string{
		"time=2026":       "the axis has 2025-01-01 … 2025-12-31",
		"lat=44":          "it lies between 50 and 40",
		"lat=60:40, n=1":  "it has no coordinate",
		"lon=4":           "dimensions are time, lat, n",
		"lat=60, 1, 2, 3": "3 positions for 2 axes",
		"lat=":            "want NAME=LABEL",
	} {
		if r := (runner{}).run(t, "slice", at("a.b2nd"), labels); r.code != 2 || !strings.Contains(r.stderr, want) || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %s", labels, r.code, r.stderr)
		}
	}
}

// TestMeaningKept: edits and slices keep what the items mean.
func TestMeaningKept(t *testing.T) {
	at := meant(t)
	run(t, "slice", at("a.b2nd"), "10:300:2, lat=50:20, 1", "-o", at("part.b2nd"))
	text := run(t, "info", at("part.b2nd"))
	for _, want := range []string{"time 2025-01-11 … 2025-10-26, 145 by 2 days", "lat 50 … 20, 4 by -10", "units: K", "fill          -999"} {
		if !strings.Contains(text, want) {
			t.Errorf("info has no %q:\n%s", want, text)
		}
	}
	f, err := os.OpenFile(at("a.b2nd"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e, err := b2nd.Edit(t.Context(), f, b2nd.EditOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Extend(make([]byte, 2*19*4*4)); err != nil {
		t.Fatal(err)
	}
	if err := e.Commit(); err != nil {
		t.Fatal(err)
	}
	if text := run(t, "info", at("a.b2nd")); !strings.Contains(text, "time 2025-01-01 … 2026-01-02, 367 days") || !strings.Contains(text, "units: K") {
		t.Errorf("after an edit:\n%s", text)
	}
}

func TestMeaningRefused(t *testing.T) {
	at := meant(t)
	for want, flags := range map[string][]string{
		"--coord needs --dims":               {"--coord", "time=" + at("time.npy")},
		"has 2 names, the array 3 a":         {"--dims", "a,b"},
		"is no dimension":                    {"--dims", "a,b,"},
		"want NAME=FILE":                     {"--dims", "a,b,c", "--coord", at("time.npy")},
		"has 365 values, the axis 19":        {"--dims", "a,b,c", "--coord", "b=" + at("time.npy")},
		"a coordinate is a .npy of one axis": {"--dims", "a,b,c", "--coord", "b=" + at("a.npy")},
		"one JSON object":                    {"--attrs", at("bad.json")},
		"a second file":                      {"--attrs", at("a.json"), "--attrs", at("time.json")},
		"is no <f4":                          {"--fill", "x"},
		"--dims does not go with":            {"--format", "bloscpack", "--dims", "a"},
	} {
		r := runner{}.run(t, append([]string{"pack", at("a.npy"), at("new.b2nd")}, flags...)...)
		if want == "is no dimension" {
			want = "name \"\""
		}
		if r.code == 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("%q: exit %d, %s", flags, r.code, r.stderr)
		}
		if _, err := os.Stat(at("new.b2nd")); err == nil {
			t.Errorf("%q wrote something", flags)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
