package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/internal/racetest"
)

// weather writes a .npy of temperatures: days, latitudes, longitudes, with noise as measured
// values have.
func weather(t *testing.T, name string, shape []int64) {
	t.Helper()
	n := shape[0] * shape[1] * shape[2]
	items := make([]byte, 0, 4*n)
	noise := uint64(1)
	for i := range n {
		noise = noise*6364136223846793005 + 1442695040888963407
		day, lat, lon := float64(i/shape[1]/shape[2]), float64(i/shape[2]%shape[1]), float64(i%shape[2])
		v := 280 + 20*math.Sin(day/58) + lat/9 + math.Cos(lon/20) + float64(noise>>40)/(1<<24)
		items = binary.LittleEndian.AppendUint32(items, math.Float32bits(float32(v)))
	}
	npyFile(t, name, "<f4", shape, false, items)
}

// adviceOf runs advise --json.
func adviceOf(t *testing.T, args ...string) (a advice) {
	t.Helper()
	if err := json.Unmarshal([]byte(run(t, append([]string{"advise", "--json"}, args...)...)), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// TestAdvise: what advise tells of the chunks of today is what slice then takes, to the byte; what it
// tells of others is what slice takes after packing by its line, within a factor of 1.25 of the bytes
// and 1.5 of the requests: one more or less may be joined, and what the end of the file has comes with
// opening. That line is the one to type.
func TestAdvise(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	shape := []int64{200, 120, 150}
	if racetest.On {
		shape = []int64{100, 60, 100}
	}
	weather(t, at("w.npy"), shape)
	run(t, "pack", at("w.npy"), at("w.b2nd"))
	srv := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer srv.Close()
	texts := []string{":, 50, 90", "40", "10:20, 20:40, 50:70", "::20, ::30, ::40", "-1, ..."}
	for _, policy := range []string{"fast", "few", "lean"}[:racetest.Share(3, 3)] {
		flags := []string{"--policy", policy, "--no-hedge"}
		took := func(uri, text string) adviceCost {
			s := stats(t, append([]string{"slice", uri, text, "-o", at("out.npy"), "-q"}, flags...)...)
			return adviceCost{Requests: s.Requests, Bytes: s.Bytes, Phases: s.Phases}
		}
		a := adviceOf(t, slices.Concat([]string{srv.URL + "/w.b2nd"}, texts, flags)...)
		for _, s := range a.Shapes {
			uri := srv.URL + "/w.b2nd"
			if s.For != today {
				uri = srv.URL + "/" + s.For + ".b2nd"
				if policy == "fast" {
					run(t, "pack", srv.URL+"/w.b2nd", at(s.For+".b2nd"), "--for", s.For)
				}
			}
			for i, r := range s.Reads {
				got := took(uri, texts[i])
				if r.Millis = 0; s.For == today && r.adviceCost != got {
					t.Errorf("%s, %s: %+v, took %+v", policy, r.Slice, r.adviceCost, got)
				}
				near := func(x, y int64, factor float64) bool {
					return float64(x) <= max(float64(y)*factor, float64(y)+1) && float64(y) <= max(float64(x)*factor, float64(x)+1)
				}
				if !near(r.Requests, got.Requests, 1.5) || !near(r.Bytes, got.Bytes, 1.25) || !near(r.Phases, got.Phases, 1) || s.Estimated != (s.For != today) {
					t.Errorf("%s, %s for %s: %+v, took %+v", policy, r.Slice, s.For, r.adviceCost, got)
				}
			}
		}
	}
	got := strings.ReplaceAll(run(t, "advise", srv.URL+"/w.b2nd", texts[0], "-2:"), srv.URL, "http://host")
	golden(t, "advise.txt", got)
	if racetest.On { // no line to type, of so few items
		return
	}
	lines := strings.Split(strings.TrimSpace(got), "\n")
	line := strings.Fields(lines[len(lines)-1])
	if want := "farread pack http://host/w.b2nd w-"; !strings.HasPrefix(strings.Join(line, " "), want) || len(line) != 6 {
		t.Fatalf("%q", line)
	}
	line[2], line[3] = srv.URL+"/w.b2nd", at(line[3])
	run(t, line[1:]...)
	var info struct {
		ChunkShape []int `json:"chunkshape"`
	}
	if err := json.Unmarshal([]byte(run(t, "info", line[3], "--json")), &info); err != nil {
		t.Fatal(err)
	}
	use, err := b2nd.ParseUse(line[5])
	if want, _ := b2nd.ShapesFor(use, shape, 4); err != nil || !slices.Equal(info.ChunkShape, want) {
		t.Errorf("chunks of %v, want %v", info.ChunkShape, want)
	}
}

// golden compares a text with a file of testdata. Under the race detector inputs are smaller, and it is
// not compared.
func golden(t *testing.T, name, got string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if racetest.On {
		return
	}
	if *update {
		write(t, name, []byte(got))
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got), go test ./cmd/farread -update accepts it:\n%s", name, d)
	}
}

// A local array is planned as one of a store, and a .npy as if nothing were compressed.
func TestAdviseLocal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name, packed := filepath.Join(dir, "w.npy"), filepath.Join(dir, "w.b2nd")
	weather(t, name, []int64{60, 50, 80})
	run(t, "pack", name, packed, "--chunk-shape", "1,50,80", "--dims", "time,lat,lon")
	srv := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer srv.Close()
	near, far := adviceOf(t, packed, ":, 5, 5"), adviceOf(t, srv.URL+"/w.b2nd", ":, 5, 5")
	if !reflect.DeepEqual(far.Shapes, near.Shapes) {
		t.Errorf("afar %+v\nlocal %+v", far.Shapes, near.Shapes)
	}
	if near.Better == "" || near.Pack != fmt.Sprintf("farread pack %s %s --for %s", packed, strings.TrimSuffix(packed, ".b2nd")+"-"+near.Better+".b2nd", near.Better) {
		t.Errorf("%q: %s", near.Better, near.Pack)
	}
	a := adviceOf(t, name, ":, 5, 5", "3")
	if s := a.Shapes[0]; s.ChunkShape != nil || s.Reads[1].Bytes < 4*50*80 || a.Stored != a.NBytes || a.NBytes != 4*60*50*80 {
		t.Errorf("%+v of %+v", s, a)
	}
	if got := run(t, "advise", name, "3"); !strings.Contains(got, "as if nothing were compressed") || !strings.HasSuffix(got, "no other shape is clearly better\n") {
		t.Error(got)
	}
	// Each slice counts by itself, and all are added up.
	two := adviceOf(t, packed, ":, 5, 5", " :, 5, 5 ")
	for _, s := range two.Shapes {
		if s.Reads[0] != s.Reads[1] || s.All.Requests != 2*s.Reads[0].Requests || s.All.Bytes != 2*s.Reads[0].Bytes {
			t.Errorf("%+v", s)
		}
	}
	if s := adviceOf(t, packed, "0", "--round-trip", "0s"); s.Shapes[0].All.Millis <= 0 || s.Shapes[0].All.Millis > 5 {
		t.Errorf("%+v", s)
	}
}

func TestAdviseErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name, packed := filepath.Join(dir, "w.npy"), filepath.Join(dir, "w.b2nd")
	weather(t, name, []int64{6, 5, 8})
	run(t, "pack", name, packed)
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"advise", exitUsage, "missing URI and SLICE"},
		{"advise W", exitUsage, "missing SLICE, such as"},
		{"advise W 9", exitUsage, "index 9 for axis 0 of length 6"},
		{"advise W 1:2:3:4", exitUsage, "want a slice such as"},
		{"advise W 0 lat=5", exitUsage, "no names of dimensions"},
		{"advise N lat=5", exitUsage, "a npy has no coordinates"},
		{"advise x.zarr 0", exitNotFound, "x.zarr"},
		{"advise W 0 --round-trip -1s", exitUsage, "--round-trip -1s"},
		{"advise D 0", exitCorrupt, "no array, but a folder"},
		{"advise N.b2nd 0", exitNotFound, "N.b2nd"},
		{"pack N X --for series --chunk-shape 1,2,3", exitUsage, "--for chooses the shapes that --chunk-shape sets: give one of them"},
		{"pack N X --for planes --block-shape 1,2,3", exitUsage, "--for chooses the shapes that --block-shape sets"},
		{"pack N X --for plane", exitUsage, "want one of [series planes both cubes]"},
		{"pack N W --append --for series", exitUsage, "--for does not go with --append"},
		{"pack N D/x.blp --for series", exitUsage, "--for does not go with bloscpack"},
		{"pack W X --dtype <f4 --shape 240", exitUsage, "a .b2nd says what its items are"},
	} {
		args := strings.Fields(c.args)
		for i, s := range args {
			args[i] = strings.NewReplacer("N.b2nd", filepath.Join(dir, "N.b2nd"), "D/x", filepath.Join(dir, "x")).Replace(s)
			if p := map[string]string{"W": packed, "N": name, "D": dir + "/", "X": filepath.Join(dir, "x.b2nd")}[s]; p != "" {
				args[i] = p
			}
		}
		if r := (runner{}).run(t, args...); r.code != c.code || !strings.Contains(r.stderr, c.want) || strings.Count(r.stderr, "\n") != 1 || r.stdout != "" {
			t.Errorf("%q: exit %d: %s", args, r.code, r.stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "x.b2nd")); err == nil {
		t.Error("an output in spite of an error")
	}
}

// TestSliceRemark: a slice that took thousands of times what it has is remarked on, once, and only
// where remarks are made.
func TestSliceRemark(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name, packed := filepath.Join(dir, "w.npy"), filepath.Join(dir, "w.b2nd")
	weather(t, name, []int64{90, 200, 250})
	run(t, "pack", name, packed, "--chunk-shape", "1,200,250", "--block-shape", "1,200,250", "--codec", "lz4-1")
	series := []string{"slice", packed, ":, 5, 5", "-o", filepath.Join(dir, "out.npy")}
	r := runner{}.run(t, series...)
	if r.code != 0 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, fmt.Sprintf("for 360 B: see farread advise %s ':, 5, 5'", packed)) {
		t.Errorf("exit %d: %q", r.code, r.stderr)
	}
	run(t, append(series, "-q")...)
	run(t, append(series, "--json")...)
	stats(t, series...)
	run(t, "slice", packed, ":, :10, :10", "-o", filepath.Join(dir, "out.npy")) // not so much
	run(t, "slice", packed, "5, 5, 5", "-o", filepath.Join(dir, "out.npy"))     // not so long
}

// TestPackAgain: a .b2nd is packed anew with all that it means, and keeps its chunks unless others are
// wanted.
func TestPackAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	weather(t, at("w.npy"), []int64{40, 30, 50})
	write(t, at("a.json"), []byte(`{"units": "K"}`))
	npyFile(t, at("lat.npy"), "<f4", []int64{30}, false, make([]byte, 120))
	run(t, "pack", at("w.npy"), at("w.b2nd"), "--chunk-shape", "3,30,50", "--block-shape", "1,10,20", "--dims", "time,lat,lon", "--coord", "lat="+at("lat.npy"), "--attrs", at("a.json"))
	type info struct {
		ChunkShape, BlockShape []int
		Dims                   []string
		Attrs                  map[string]string
		Codec                  string
		Coords                 []struct{ Dim string }
	}
	look := func(name string) (i info) {
		if err := json.Unmarshal([]byte(run(t, "info", at(name), "--json")), &i); err != nil {
			t.Fatal(err)
		}
		return i
	}
	was := look("w.b2nd")
	run(t, "pack", at("w.b2nd"), at("same.b2nd"), "--codec", "lz4")
	run(t, "pack", at("w.b2nd"), at("series.b2nd"), "--for", "series", "--dims", "time,y,lon")
	run(t, "pack", at("w.b2nd"), dir+"/again/", "--format", "b2nd", "--for", "cubes")
	same := look("same.b2nd")
	if same.Codec != "lz4" {
		t.Errorf("codec %s", same.Codec)
	}
	if same.Codec = was.Codec; !reflect.DeepEqual(was, same) || len(same.Coords) != 1 {
		t.Errorf("%+v, was %+v", same, was)
	}
	s := look("series.b2nd")
	if want, block := b2nd.ShapesFor(b2nd.Series, []int64{40, 30, 50}, 4); !slices.Equal(s.ChunkShape, want) || !slices.Equal(s.BlockShape, block) {
		t.Errorf("%+v", s)
	}
	if s.Dims[1] != "y" || s.Attrs["units"] != "K" || len(s.Coords) != 0 {
		t.Errorf("%+v", s)
	}
	want, err := os.ReadFile(at("w.npy"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"same.b2nd", "series.b2nd", "again/w.b2nd"} {
		run(t, "unpack", at(name), at("back.npy"), "--force")
		if got, err := os.ReadFile(at("back.npy")); err != nil || string(got) != string(want) {
			t.Errorf("%s: other items, %v", name, err)
		}
	}
}
