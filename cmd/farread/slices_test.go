package main

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
)

// npyFile writes items behind a header.
func npyFile(t *testing.T, name, text string, shape []int64, fortran bool, items []byte) {
	t.Helper()
	d, err := dtype.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p, err := npy.AppendHeader(nil, npy.Header{DType: d, Shape: shape, Fortran: fortran})
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, append(p, items...))
}

// TestCSVOfEmptyTexts: a line of one empty cell is not written as an empty line, which
// readers of CSV skip.
func TestCSVOfEmptyTexts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	items := []byte("a\x00\x00\x00\x00\x00" + "\x00\x00b\x00\x00\x00" + "\r\x00,\x00\x00\"")
	for name, x := range map[string]struct {
		dtype string
		shape []int64
		want  [][]string
	}{
		"axis":   {"|S2", []int64{9}, [][]string{{"a"}, {""}, {""}, {""}, {"b"}, {""}, {"\r"}, {","}, {"\x00\""}}},
		"column": {"|S2", []int64{9, 1}, [][]string{{"a"}, {""}, {""}, {""}, {"b"}, {""}, {"\r"}, {","}, {"\x00\""}}},
		"row":    {"|S2", []int64{3, 3}, [][]string{{"a", "", ""}, {"", "b", ""}, {"\r", ",", "\x00\""}}},
		"member": {"[('m', 'S2')]", []int64{3, 3}, [][]string{{"m"}, {"a"}, {""}, {""}, {""}, {"b"}, {""}, {"\r"}, {","}, {"\x00\""}}},
	} {
		src, dst := filepath.Join(dir, name+".npy"), filepath.Join(dir, name+".b2nd")
		npyFile(t, src, x.dtype, x.shape, false, items)
		run(t, "pack", src, dst)
		text := run(t, "slice", dst, "...", "-o", "-", "--format", "csv")
		got, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || fmt.Sprint(got) != fmt.Sprint(x.want) {
			t.Errorf("%s: %q of %q, %v", name, got, text, err)
		}
	}
	if got := run(t, "slice", filepath.Join(dir, "axis.b2nd"), "1", "-o", "-", "--format", "csv"); got != "\"\"\n" {
		t.Errorf("one item: %q", got)
	}
}

// TestErrorsOfSlice: faults of the command line are told as such, with each name once.
func TestErrorsOfSlice(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`slice: --format "foo": want npy, raw, json, csv, png, b2nd, arrow or text (see: farread slice --help)`: {bloscDir + "/nd2.b2nd", ":", "--format", "foo"},
		"slice " + bloscDir + "/nd3.b2nd [:, 5]: not found":                                                     {bloscDir + "/nd3.b2nd", ":, 5"},
	} {
		r := runner{}.run(t, append([]string{"slice"}, args...)...)
		if r.stderr != want+"\n" || r.code != exitUsage && r.code != exitNotFound {
			t.Errorf("exit %d %q, want %q", r.code, r.stderr, want)
		}
	}
}

// TestFlagsThatDoNothing: flags that exclude each other, and flags that change nothing
// in the output, are refused.
func TestFlagsThatDoNothing(t *testing.T) {
	t.Parallel()
	array, zoom, dir := bloscDir+"/nd2.b2nd", spiky(t, 1000, 5, false), t.TempDir()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"--range and --robust: only one of them", []string{"slice", array, ":", "-o", "x.png", "--robust", "--range", "250:300"}},
		{"--robust goes with .png", []string{"slice", array, ":", "-o", "x.npy", "--robust"}},
		{"--colors goes with .png", []string{"slice", array, ":", "--colors", "viridis"}},
		{"--range goes with .png", []string{"slice", array, ":", "-o", "-", "--format", "csv", "--range", "1:2"}},
		{"--resync does not go with a b2nd", []string{"get", array, "--resync", "-o", "x.bin"}},
		{"--resync does not go with a gulp", []string{"get", sample(t, dir), "--resync", "-o", "x"}},
		{"--level and --width: only one of them", []string{"explain", zoom, "--width", "5", "--level", "2"}},
		{"--level and --width: only one of them", []string{"view", zoom, "--width", "5", "--level", "2"}},
	} {
		if r := (runner{}).run(t, c.args...); r.code != exitUsage || !strings.Contains(r.stderr, c.want) || r.stdout != "" {
			t.Errorf("%v: exit %d, %q; want %q", c.args, r.code, r.stderr, c.want)
		}
	}
	for _, args := range [][]string{{"slice", array, ":3, :3"}, {"view", zoom, "--width", "5"}} {
		want := run(t, append(args, "--json")...)
		for _, more := range [][]string{{"--json", "-o", "-"}, {"--json", "--format", "json"}, {"-o", "-", "--format", "json"}} {
			if got := run(t, append(slices.Clone(args), more...)...); got != want || !strings.HasPrefix(got, "[") && !strings.HasPrefix(got, "{") {
				t.Errorf("%v %v: %s", args, more, got)
			}
		}
	}
}

// TestWholeArraysAreReadOnce: an array whose chunks lie across the order of its
// items is fetched once, if memory allows.
func TestWholeArraysAreReadOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	srv := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer srv.Close()
	const memory = 16 << 20 // the least memory: with it 2 MiB are read at a time unless more is needed
	for columns, most := range map[int64]float64{512: 1.1, 1024: 1.1, 1536: 9} {
		name := fmt.Sprintf("%d.b2nd", columns)
		src, obj := filepath.Join(dir, name+".npy"), filepath.Join(dir, name)
		items := make([]byte, 1024*8*columns)
		for i := range items {
			items[i] = byte(i * i >> (i % 13))
		}
		npyFile(t, src, "<f8", []int64{1024, columns}, true, items)
		run(t, "pack", src, obj, "--chunk-shape", "1024,64", "--block-shape", "1024,8", "--codec", "lz4")
		info, err := os.Stat(obj)
		if err != nil {
			t.Fatal(err)
		}
		for slice, step := range map[string]int64{"...": 1, ":, ::-2": 2} {
			out := filepath.Join(dir, "out.raw")
			s := stats(t, "slice", srv.URL+"/"+name, slice, "-o", out, "--max-memory", fmt.Sprint(memory))
			if got := float64(s.Bytes) / float64(info.Size()); got > most {
				t.Errorf("%d columns, %s: %.2f times the object", columns, slice, got)
			}
			p, err := os.ReadFile(out)
			if err != nil || len(p) != len(items)/int(step) {
				t.Fatalf("%d bytes, %v", len(p), err)
			}
			for r := range int64(1024) {
				for c := range columns / step {
					from := c
					if step == 2 {
						from = columns - 1 - 2*c
					}
					if got, want := p[(r*columns/step+c)*8:][:8], items[(from*1024+r)*8:][:8]; string(got) != string(want) {
						t.Fatalf("%d columns, %s: item %d, %d is %x, want %x", columns, slice, r, c, got, want)
					}
				}
			}
		}
	}
}

// TestExplainSparse: sizes that the index of a sparse frame does not tell are taken to
// be the usual ones. If all chunks have one length, nothing else is read.
func TestExplainSparse(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1 << 10, 1 << 16, 1 << 18} {
		dir := t.TempDir()
		out, err := farread.New(farread.Config{NoHedge: true}).Output(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		w, err := cframe.NewSetWriter(t.Context(), out, cframe.WriteOptions{Encode: blosc.EncodeOptions{Level: blosc.LevelStore}})
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(i * i >> 3)
		}
		for range 5 {
			if err := w.WriteChunk(p); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for _, policy := range []string{"fast", "few", "lean"} {
			explained(t, dir, "--policy", policy)
			explained(t, dir, "--policy", policy, "--chunk", "3")
		}
	}
}

// TestExplainField: explain takes the flags by which get and slice pick items of an
// array.
func TestExplainField(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src, obj := filepath.Join(dir, "a.npy"), filepath.Join(dir, "a.b2nd")
	npyFile(t, src, "[('a', '<i4'), ('b', '<f8')]", []int64{500, 70}, false, make([]byte, 500*70*12))
	run(t, "pack", src, obj)
	explained(t, obj, "--field", "b")
	explained(t, obj, "--field", "b", "--dtype", "<i8")
	if r := (runner{}).run(t, "explain", obj, ":3", "--field", "c"); r.code != exitNotFound {
		t.Errorf("exit %d %q", r.code, r.stderr)
	}
}
