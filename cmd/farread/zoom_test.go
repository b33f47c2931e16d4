package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/formats/zoomcache"
)

const (
	zoomDir   = "../../formats/zoomcache/testdata"
	zoomFiles = zoomDir + "/original"
)

// A zoomFixture is a file by the original library, with its content.
type zoomFixture struct {
	File    string   `json:"file"`
	Version string   `json:"version"`
	UTC     []string `json:"utc"`
	Tracks  []struct {
		Track      int32  `json:"track"`
		Codec      string `json:"codec"`
		Channels   int    `json:"channels"`
		Rate       string `json:"rate"`
		Mode       string `json:"mode"`
		Delta      bool   `json:"delta"`
		Zlib       bool   `json:"zlib"`
		Name       string `json:"name"`
		Packets    int64  `json:"packets"`
		Samples    int64  `json:"samples"`
		SamplesSha string `json:"samples_sha256"`
		StampsSha  string `json:"timestamps_sha256"`
		Summaries  map[string]any
	} `json:"tracks"`
}

func zoomFixtures(t *testing.T) (files, malformed []zoomFixture) {
	t.Helper()
	p, err := os.ReadFile(zoomDir + "/manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var m struct{ Files, Malformed []zoomFixture }
	if err := json.Unmarshal(p, &m); err != nil {
		t.Fatal(err)
	}
	m.Files = slices.DeleteFunc(m.Files, func(x zoomFixture) bool { return x.File == "p-million-i16.zoom" }) // the file is not in this folder
	if len(m.Files) < 70 || len(m.Malformed) < 40 {
		t.Fatalf("%d files, %d malformed", len(m.Files), len(m.Malformed))
	}
	return m.Files, m.Malformed
}

// TestZoomFiles: every command on files by the original library, on this machine
// and over HTTP.
func TestZoomFiles(t *testing.T) {
	t.Parallel()
	srv := served(t, zoomFiles)
	files, _ := zoomFixtures(t)
	for i, x := range files {
		x.checkInfo(t, zoomFiles+"/"+x.File)
		x.checkGet(t, zoomFiles+"/"+x.File)
		if got := run(t, "verify", zoomFiles+"/"+x.File); !strings.HasPrefix(got, "ok: ") {
			t.Errorf("verify %s: %q", x.File, got)
		}
		if i%5 == 0 {
			x.checkInfo(t, srv+"/"+x.File, "--scan")
			x.checkGet(t, srv+"/"+x.File)
		}
	}
}

func (x zoomFixture) checkInfo(t *testing.T, uri string, flags ...string) {
	t.Helper()
	var got zoomInfo
	text := run(t, append([]string{"info", uri, "--json"}, flags...)...)
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	want := zoomInfo{Format: "zoomcache", URI: uri, Size: got.Size, ETag: got.ETag, Version: [2]int{3, 0}, Origin: got.Origin, Tracks: []zoomTrack{}}
	if (x.UTC == nil) != (got.Origin == nil) {
		t.Errorf("%s: origin %v, want %v", uri, got.Origin, x.UTC)
	}
	for i := range x.Tracks {
		w := &x.Tracks[i]
		k := zoomTrack{Track: w.Track, Codec: w.Codec, Channels: w.Channels, Name: w.Name, Variable: w.Mode == "vbr", Delta: w.Delta, Zlib: w.Zlib,
			Packets: &w.Packets, Samples: &w.Samples, Levels: new(int)}
		*k.Levels = len(w.Summaries)
		if _, err := fmt.Sscanf(w.Rate, "%d/%d", &k.Rate[0], &k.Rate[1]); err != nil {
			t.Fatal(err)
		}
		if i < len(got.Tracks) {
			k.Entry, k.Exit = got.Tracks[i].Entry, got.Tracks[i].Exit
		}
		want.Tracks = append(want.Tracks, k)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("info %s (-want +got):\n%s", uri, d)
	}
	if listed := lines[zoomTrack](t, run(t, append([]string{"ls", uri, "--json"}, flags...)...)); !cmp.Equal(listed, got.Tracks) && len(listed)+len(got.Tracks) > 0 {
		t.Errorf("ls %s differs from info:\n%s", uri, cmp.Diff(got.Tracks, listed))
	}
	for _, c := range []string{"info", "ls"} {
		if text := run(t, c, uri); len(x.Tracks) > 0 && !strings.Contains(text, x.Tracks[0].Codec) {
			t.Errorf("%s %s:\n%s", c, uri, text)
		}
	}
}

// checkGet compares values and offsets, as .npy and as CSV.
func (x zoomFixture) checkGet(t *testing.T, uri string) {
	t.Helper()
	for i := range x.Tracks {
		w := &x.Tracks[i]
		n := strconv.Itoa(int(w.Track))
		out := filepath.Join(t.TempDir(), "x.npy")
		run(t, "get", uri, "--track", n, "--stamps", "-o", out)
		stamps := npyValues(t, out, w.Samples, 0)
		if got := wideSum(stamps); got != w.StampsSha {
			t.Errorf("%s track %s: stamps %s, want %s", uri, n, got, w.StampsSha)
		}
		var values []string
		if w.Codec == "unit" {
			if r := (runner{}).run(t, "get", uri, "--track", n, "-o", out); r.code != exitUsage {
				t.Errorf("%s track %s: exit %d, %s", uri, n, r.code, r.stderr)
			}
		} else {
			run(t, "get", uri, "--track", n, "-o", out)
			values = npyValues(t, out, w.Samples, int64(w.Channels))
			if got := wideSum(values); got != w.SamplesSha {
				t.Errorf("%s track %s: values %s, want %s", uri, n, got, w.SamplesSha)
			}
		}
		checkCSV(t, run(t, "get", uri, "--track", n, "-o", "-"), w.Codec, stamps, values, max(w.Channels, 1))
	}
}

// npyValues gives the items of a .npy as decimals.
func npyValues(t *testing.T, name string, n int64, more ...int64) (out []string) {
	t.Helper()
	p, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r := bytes.NewReader(p)
	h, at, err := npy.ParseHeader(r)
	if err != nil {
		t.Fatal(err)
	}
	want := []int64{n}
	for _, length := range more { // channels, 0 of a track that is not multichannel
		if length > 0 {
			want = append(want, length)
		}
	}
	if size, err := h.NBytes(); !slices.Equal(h.Shape, want) || h.Fortran || err != nil || size != int64(len(p))-at {
		t.Fatalf("shape %v, want %v; %d bytes of %d, %v", h.Shape, want, int64(len(p))-at, size, err)
	}
	for item := range slices.Chunk(p[at:], h.DType.ItemSize()) {
		out = append(out, string(h.DType.AppendCSV([]byte(h.DType.String()+" "), item)))
	}
	return out
}

// wideSum is the digest of values as 64-bit integers or floats.
func wideSum(values []string) string {
	var p []byte
	for _, v := range values {
		kind, text, _ := strings.Cut(v, " ")
		switch kind[1] {
		case 'b':
			text = map[string]string{"true": "1", "false": "0"}[text]
			fallthrough
		case 'i':
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return err.Error()
			}
			p = binary.LittleEndian.AppendUint64(p, uint64(n))
		case 'u':
			n, err := strconv.ParseUint(text, 10, 64)
			if err != nil {
				return err.Error()
			}
			p = binary.LittleEndian.AppendUint64(p, n)
		default:
			bits := 64
			if kind[2] == '4' {
				bits = 32
			}
			f, err := strconv.ParseFloat(text, bits)
			if err != nil && !errors.Is(err, strconv.ErrRange) {
				return err.Error()
			}
			if text == "nan" { // text does not keep the bits of the original's NaN
				f = math.Float64frombits(0x7ff8 << 48)
			}
			p = binary.LittleEndian.AppendUint64(p, math.Float64bits(f))
		}
	}
	sum := sha256.Sum256(p)
	return hex.EncodeToString(sum[:])
}

func checkCSV(t *testing.T, text, codec string, stamps, values []string, width int) {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(rows) != len(stamps)+1 || rows[0][0] != "offset" || rows[0][1] != "seconds" {
		t.Fatalf("%d rows for %d samples, %v", len(rows), len(stamps), err)
	}
	if codec == "unit" {
		width = 0
	}
	for i, r := range rows[1:] {
		if len(r) != 2+width || "<i8 "+r[0] != stamps[i] {
			t.Fatalf("row %d: %q, want offset %s and %d values", i, r, stamps[i], width)
		}
		for c, v := range r[2:] {
			if _, want, _ := strings.Cut(values[i*width+c], " "); v != want {
				t.Fatalf("row %d: %q, want %s", i, r, want)
			}
		}
	}
}

// TestZoomMalformed: errors name place and reason in one line, for every command on
// the file; verify always finds the fault.
func TestZoomMalformed(t *testing.T) {
	t.Parallel()
	_, list := zoomFixtures(t)
	for _, x := range list {
		uri := zoomDir + "/" + x.File
		for _, args := range [][]string{{"verify", uri}, {"info", uri, "--json"}, {"info", uri, "--scan"}, {"ls", uri}, {"get", uri, "--track", "1", "-o", filepath.Join(t.TempDir(), "x.npy")}} {
			r := runner{}.run(t, args...)
			switch {
			case r.code == exitOK && args[0] != "verify", r.code == exitUsage && args[0] == "get" && strings.Contains(r.stderr, "--stamps"):
			case r.code != exitCorrupt || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, "zoomcache: ") || !strings.Contains(r.stderr, " at "):
				t.Errorf("farread %v: exit %d: %q", args, r.code, r.stderr)
			}
		}
	}
}

// makeZoom writes a file of two tracks of 10 000 samples: 0, 1, 2 … at 1 kHz from an
// origin on, and events without values.
func makeZoom(t *testing.T, name string, origin time.Time) {
	t.Helper()
	var b bytes.Buffer
	w, err := zoomcache.NewWriter(&b, zoomcache.WriteOptions{Origin: zoomcache.OriginOf(origin), Tracks: []zoomcache.Track{
		{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: zoomcache.Rate{Num: 1000, Den: 1}, Name: "count"},
		{Number: 7, Codec: zoomcache.Codec{Kind: zoomcache.Unit}, Variable: true}}})
	if err != nil {
		t.Fatal(err)
	}
	v := make([]int16, 10_000)
	for i := range v {
		v[i] = int16(i)
	}
	err = errors.Join(zoomcache.WriteSamples(w.Track(1), v), zoomcache.WriteSamplesAt(w.Track(7), []int64{5, 3}, make([]struct{}, 2)), w.Close())
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, b.Bytes())
}

// TestZoomTimes: --from and --to in every form.
func TestZoomTimes(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "x.zoom")
	makeZoom(t, name, time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC))
	for _, c := range []struct {
		args        []string
		first, last int // offsets; 0: none
	}{
		{nil, 1, 10_000},
		{[]string{"--from", "1", "--to", "1.5"}, 1000, 1499},
		{[]string{"--from", "9.9995"}, 10_000, 10_000},
		{[]string{"--to", "2ms"}, 1, 1},
		{[]string{"--from", "1.0001s", "--to", "1.0002s"}, 0, 0},
		{[]string{"--to", "0.5ms"}, 0, 0},
		{[]string{"--from", "10", "--to", "1h"}, 10_000, 10_000},
		{[]string{"--from", "-5s", "--to", "1d"}, 1, 10_000},
		{[]string{"--from", "2024-05-01T12:00:02Z", "--to", "2024-05-01 12:00:03"}, 2000, 2999},
	} {
		rows := strings.Split(strings.TrimSpace(run(t, append([]string{"get", name, "--track", "1", "-o", "-"}, c.args...)...)), "\n")
		want := []string{"offset,seconds,value"}
		for off := max(c.first, 1); off <= c.last; off++ {
			want = append(want, fmt.Sprintf("%d,%v,%d", off, float64(off)/1000, off-1))
		}
		if !slices.Equal(rows, want) {
			t.Errorf("%v: %d rows from %q to %q, want %d", c.args, len(rows), rows[min(1, len(rows)-1)], rows[len(rows)-1], len(want))
		}
	}
	if got := run(t, "get", name, "--track", "7", "-o", "-"); got != "offset,seconds\n5,0\n3,0\n" {
		t.Errorf("events: %q", got)
	}
	if got := run(t, "info", name); !strings.Contains(got, "2024-05-01T12:00:00Z") || !strings.Contains(got, "count, i16, 1000 Hz, 10,000 samples, 5 levels, 0.001 s to 10 s") {
		t.Errorf("info:\n%s", got)
	}
	other := filepath.Join(t.TempDir(), "y.zoom")
	write(t, other, testFile(t, zoomFiles+"/p-tiny-f64.zoom"))
	npyOut := filepath.Join(t.TempDir(), "y.npy")
	run(t, "unpack", other, npyOut)
	if got := npyValues(t, npyOut, 4, 0); !slices.Equal(got, []string{"<f8 1", "<f8 2", "<f8 4", "<f8 8"}) {
		t.Errorf("unpacked: %v", got)
	}
	for _, c := range []struct {
		code int
		text string
		args []string
	}{
		{exitUsage, "--track 1 (count), 7 (see", []string{"get", name, "-o", "-"}},
		{exitNotFound, "track 2: no such entry", []string{"get", name, "--track", "2", "-o", "-"}},
		{exitUsage, "no rate", []string{"get", name, "--track", "7", "--from", "1", "-o", "-"}},
		{exitUsage, "neither seconds", []string{"get", name, "--track", "1", "--from", "noon", "-o", "-"}},
		{exitUsage, "does not say its origin", []string{"get", other, "--to", "2024-05-02", "-o", "-"}},
		{exitUsage, "--item does not go with a zoomcache", []string{"get", name, "--item", "1", "-o", "-"}},
		{exitUsage, "not as .wav", []string{"get", name, "--track", "1", "-o", "x.wav"}},
		{exitUsage, "events without values", []string{"get", name, "--track", "7", "-o", "x.npy"}},
		{exitUsage, "--track does not go with a gulp", []string{"get", sample(t, t.TempDir()), "--track", "1", "-o", "-"}},
		{exitUsage, "--format", []string{"get", name, "--track", "1", "-o", "x", "--format", "wav"}},
		{exitUsage, "--format does not go", []string{"get", sample(t, t.TempDir()), "-o", "-", "--format", "csv"}},
		{exitUsage, "a folder", []string{"get", name, "--track", "1", "-o", "x/"}},
	} {
		if r := (runner{}).run(t, c.args...); r.code != c.code || !strings.Contains(r.stderr, c.text) {
			t.Errorf("%v: exit %d, %q; want %d, %q", c.args, r.code, r.stderr, c.code, c.text)
		}
	}
}

func testFile(t *testing.T, name string) []byte {
	t.Helper()
	p, err := os.ReadFile(filepath.Clean(name))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestZoomPlans: explain names the requests that get makes, and a .npy on stdout
// is the same as in a file.
func TestZoomPlans(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b bytes.Buffer
	w, err := zoomcache.NewWriter(&b, zoomcache.WriteOptions{Tracks: []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.F64, Channels: 2}, Rate: zoomcache.Rate{Num: 10, Den: 1}}}})
	if err == nil {
		err = errors.Join(zoomcache.WriteSamples(w.Track(1), make([]float64, 400_000)), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "x.zoom"), b.Bytes())
	srv := served(t, dir) + "/x.zoom"
	explained(t, srv)
	explained(t, srv, "--track", "1", "--stamps")
	out := filepath.Join(dir, "x.npy")
	run(t, "get", srv, "-o", out)
	// The pass ends in its first window, of 1 MiB. The next one, of 2, is under way by then:
	// all of it has come, or nothing, as the scheduler will.
	const opened = 64 << 10
	if got := stats(t, "get", srv, "--to", "100", "-o", out); got.Requests > 5 || got.Bytes > 3<<20+opened {
		t.Errorf("100 s at the start: %+v", got)
	}
	npyValues(t, out, 999, 2)
	if got := run(t, "get", srv, "--to", "100", "-o", "-", "--format", "npy"); got != string(testFile(t, out)) {
		t.Errorf("on stdout: %d other bytes", len(got))
	}
}
