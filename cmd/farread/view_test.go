package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/render"
)

// spiky is a file of n samples of i16 at 1 kHz, a sawtooth with one spike, with an
// index inside or without one.
func spiky(t *testing.T, n, spike int, indexed bool) string {
	t.Helper()
	v := make([]int16, n)
	for i := range v {
		v[i] = int16(i % 1000)
	}
	v[spike] = 30_000
	return written(t, v, indexed, 0)
}

// written is a file of samples, so many in a packet; 0: as usual.
func written(t *testing.T, v []int16, indexed bool, packet int) string {
	t.Helper()
	tracks := []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: zoomcache.Rate{Num: 1000, Den: 1}, Name: "saw"}}
	o := zoomcache.WriteOptions{Tracks: tracks, Watermark: packet}
	if indexed {
		o.Sink = zoomindex.NewBuilder(tracks, zoomindex.WriteOptions{})
	}
	var b bytes.Buffer
	w, err := zoomcache.NewWriter(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := zoomcache.WriteSamples(w.Track(1), v); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "x.zoom")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestViewWidth: the spike is in one point of every form, with an index and
// without.
func TestViewWidth(t *testing.T) {
	t.Parallel()
	for _, indexed := range []bool{true, false} {
		name := spiky(t, 300_000, 123_456, indexed)
		v := viewOf(t, name, "--width", "50")
		high := 0
		for _, p := range v.Points {
			if fmt.Sprint(p["max"]) == "30000" {
				high++
				if fmt.Sprint(p["min"]) != "0" || fmt.Sprint(p["entry"]) > "123457" {
					t.Errorf("%v", p)
				}
			}
		}
		if high != 1 || len(v.Points) < 40 || len(v.Points) > 50 {
			t.Errorf("index %v: %d points, %d of them high", indexed, len(v.Points), high)
		}
		dir := t.TempDir()
		for _, form := range []string{"csv", "npy", "dat", "png", "svg", "json"} {
			run(t, "view", name, "--track", "1", "--width", "500", "--from", "100s", "--to", "200s", "-o", filepath.Join(dir, "v."+form))
		}
		read := func(form string) []byte {
			p, err := os.ReadFile(filepath.Join(dir, "v."+form))
			if err != nil {
				t.Fatal(err)
			}
			return p
		}
		if p, err := png.Decode(bytes.NewReader(read("png"))); err != nil || p.Bounds().Dx() < 500 {
			t.Errorf("png: %v", err)
		}
		if !bytes.Contains(read("svg"), []byte("<svg")) || bytes.Count(read("csv"), []byte(",30000,")) != 1 {
			t.Error("svg or csv")
		}
		checkNpyRows(t, filepath.Join(dir, "v.npy"), read("csv"))
		dat := read("dat")
		if n := binary.LittleEndian.Uint32(dat[16:]); len(dat) != 24+4*int(n) || n < 400 || !bytes.Contains(dat[24:], []byte{0x30, 0x75}) {
			t.Errorf(".dat of %d bytes, %d pixels", len(dat), n)
		}
		var peaks render.Waveform
		if err := json.Unmarshal([]byte(run(t, "view", name, "--width", "7", "--format", "peaks")), &peaks); err != nil || peaks.Version != 2 || len(peaks.Data) != 2*peaks.Length {
			t.Errorf("%+v, %v", peaks, err)
		}
	}
}

// checkNpyRows compares the numbers of a .npy with those of the CSV of the same view.
func checkNpyRows(t *testing.T, name string, table []byte) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(string(table)), "\n")[1:]
	var want []string
	for _, l := range lines {
		f := strings.Split(l, ",") // t0,t1,entry,exit,min,max,mean,rms,first,last,count
		for _, i := range []int{0, 1, 4, 5, 6, 10, 7, 2, 3} {
			v, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, fmt.Sprint("<f8 ", strconv.FormatFloat(v, 'g', -1, 64)))
		}
	}
	got := npyValues(t, name, int64(len(lines)), 1, 9)
	for i, g := range got {
		v, err := strconv.ParseFloat(strings.TrimPrefix(g, "<f8 "), 64)
		if g = fmt.Sprint("<f8 ", strconv.FormatFloat(v, 'g', -1, 64)); err != nil || g != want[i] {
			t.Fatalf("row %d, column %d: %s, want %s", i/9, i%9, g, want[i])
		}
	}
}

// TestIndexMemory: an index takes a quarter of --max-memory at most.
func TestIndexMemory(t *testing.T) {
	t.Parallel()
	v := make([]int16, 6_000_000)
	for i := range v {
		v[i] = int16(uint32(i*i) * 2654435761 >> 16) // what looks random takes room in an index
	}
	name := written(t, v, false, 32)
	sizes := map[sizeFlag]int64{}
	for _, memory := range []sizeFlag{16 << 20, 1 << 30} {
		a, out := ready(t), &bytes.Buffer{}
		a.flags.maxMemory, a.flags.json, a.stdout = memory, true, out
		var r indexReport
		if err := errors.Join(a.index(t.Context(), name, indexOptions{force: true}), json.Unmarshal(out.Bytes(), &r)); err != nil {
			t.Fatal(err)
		}
		sizes[memory] = r.Size
	}
	if low, high := sizes[16<<20], sizes[1<<30]; low > 4<<20 || high <= 4<<20 {
		t.Errorf("an index of %d bytes within 16 MiB, of %d within 1 GiB", low, high)
	}
}

// TestIndex: a file without an index gets one beside it, which is used until the file
// changes.
func TestIndex(t *testing.T) {
	t.Parallel()
	name := spiky(t, 300_000, 5, false)
	if got := run(t, "index", name); !strings.Contains(got, "x.zoom.fri: ") {
		t.Error(got)
	}
	if got := run(t, "index", name); !strings.Contains(got, "up to date") {
		t.Error(got)
	}
	with := run(t, "view", name, "--width", "100")
	other, err := os.ReadFile(spiky(t, 300_000, 222_222, false))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, other, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(t, "view", name, "--width", "100"); got == with || !strings.Contains(got, "30000") {
		t.Error("the index of what the file was is used")
	}
	if got := run(t, "index", name, "--json"); !strings.Contains(got, `"written":true`) {
		t.Error(got)
	}
	if got := run(t, "index", spiky(t, 5000, 5, true)); !strings.Contains(got, "inside") {
		t.Error(got)
	}
}

// TestViewLetters: a PNG that has boxes in the place of letters says so, and an SVG has the letters.
func TestViewLetters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write(t, at("a.csv"), []byte("time,温度\n2025-01-01,1\n2025-01-02,2\n2025-01-03,3\n"))
	write(t, at("b.csv"), []byte("time,temp\n2025-01-01,1\n2025-01-02,2\n2025-01-03,3\n"))
	for _, name := range []string{"a", "b"} {
		run(t, "pack", at(name+".csv"), at(name+".zoom"))
	}
	writeNPY(t, at("c.npy"), "<f4", []int64{8, 8}, func(i int) float64 { return float64(i) })
	run(t, "pack", at("c.npy"), at("c.b2nd"), "--dims", "緯度,lon")
	for _, c := range []struct {
		src, out, title, boxes string
	}{
		{"a.zoom", "a.png", "x", "温度"}, {"a.zoom", "a.svg", "x", ""}, {"b.zoom", "b.png", "日本 日", "日本"}, {"b.zoom", "d.png", "Größe", ""},
		{"c.b2nd", "c.png", "x", "緯度"}, {"c.b2nd", "c.svg", "x", ""},
	} {
		r := runner{}.run(t, "view", at(c.src), "-o", at(c.out), "--title", c.title)
		if r.code != 0 || (c.boxes == "") != (r.stderr == "") || !strings.Contains(r.stderr, c.boxes) || c.boxes != "" && strings.Count(r.stderr, "boxes for letters") != 1 {
			t.Errorf("%s to %s: exit %d: %q, want %q", c.src, c.out, r.code, r.stderr, c.boxes)
		}
	}
	if got := string(read(t, at("c.svg"))); !strings.Contains(got, "緯度") {
		t.Error("an SVG without the letters")
	}
}
