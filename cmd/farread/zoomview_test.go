package main

import (
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A storedView is the manifest's entry for the summaries of a level.
type storedView struct {
	Count       int
	First, Last struct {
		Entry    string              `json:"entry_so"`
		Exit     string              `json:"exit_so"`
		Channels []map[string]string `json:"channels"`
	}
}

// viewed is the JSON of view.
type viewed struct {
	Track  int32            `json:"track"`
	Level  int              `json:"level"`
	Origin string           `json:"utc_origin"`
	Points []map[string]any `json:"points"`
}

func viewOf(t *testing.T, args ...string) (v viewed) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(run(t, append([]string{"view", "--json"}, args...)...)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatal(args, err)
	}
	return v
}

// TestZoomViews: the stored summaries of every level of files by the original
// library.
func TestZoomViews(t *testing.T) {
	t.Parallel()
	files, _ := zoomFixtures(t)
	levels := 0
	for _, x := range files {
		for i := range x.Tracks {
			k := &x.Tracks[i]
			for level, raw := range k.Summaries {
				levels++
				p, err := json.Marshal(raw)
				if err != nil {
					t.Fatal(err)
				}
				var want storedView
				if err := json.Unmarshal(p, &want); err != nil {
					t.Fatal(err)
				}
				args := []string{zoomFiles + "/" + x.File, "--track", strconv.Itoa(int(k.Track)), "--level", level}
				got := viewOf(t, args...)
				if (got.Origin == "") != (x.UTC == nil) {
					t.Errorf("%v: origin %q, the file has %v", args, got.Origin, x.UTC)
				}
				if got.Track != k.Track || strconv.Itoa(got.Level) != level || len(got.Points) != want.Count || want.Count == 0 {
					t.Errorf("%v: track %d level %d, %d points, want %d", args, got.Track, got.Level, len(got.Points), want.Count)
					continue
				}
				checkPoint(t, args, got.Points[0], want.First.Entry, want.First.Exit, want.First.Channels, k.Channels > 0)
				checkPoint(t, args, got.Points[want.Count-1], want.Last.Entry, want.Last.Exit, want.Last.Channels, k.Channels > 0)
				text := run(t, append([]string{"view", "-o", "-", "--format", "csv"}, args...)...)
				if rows, err := csv.NewReader(strings.NewReader(text)).ReadAll(); err != nil || len(rows) != 1+want.Count*max(k.Channels, 1) {
					t.Errorf("%v: %d lines of CSV, %v", args, len(rows), err)
				}
			}
		}
	}
	if levels < 200 {
		t.Errorf("%d levels are too few to prove anything", levels)
	}
}

func checkPoint(t *testing.T, args []string, got map[string]any, entry, exit string, channels []map[string]string, multi bool) {
	t.Helper()
	if fmt.Sprint(got["entry"]) != entry || fmt.Sprint(got["exit"]) != exit {
		t.Errorf("%v: [%v, %v], want [%s, %s]", args, got["entry"], got["exit"], entry, exit)
	}
	list := []any{got}
	if multi {
		list, _ = got["channels"].([]any)
	}
	if len(list) != len(channels) {
		t.Fatalf("%v: %d channels, want %d", args, len(list), len(channels))
	}
	for i, w := range channels {
		c, _ := list[i].(map[string]any)
		for field, name := range map[string]string{"first": "entry", "last": "exit", "min": "min", "max": "max", "mean": "avg", "rms": "rms", "count": "count"} {
			want, ok := w[name]
			if field == "mean" && !ok {
				want, ok = w["expected"]
			}
			v, there := c[field]
			if !there {
				t.Fatalf("%v: no %s in %v", args, field, c)
			}
			if got, want := wantText(fmt.Sprint(v), v != nil, field), wantText(want, ok, field); got != want {
				t.Errorf("%v: %s of channel %d is %s, want %s", args, field, i, got, want)
			}
		}
	}
}

// wantText is a number in one spelling: integers in full, unless they are a mean.
func wantText(s string, ok bool, field string) string {
	f, err := strconv.ParseFloat(s, 64)
	switch {
	case !ok || math.IsNaN(f):
		return "null"
	case field != "mean" && field != "rms" && strings.Trim(s, "-0123456789") == "" || err != nil && !math.IsInf(f, 0):
		return s
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// TestZoomResync: --resync gives the whole parts of a damaged file.
func TestZoomResync(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "x.zoom")
	makeZoom(t, name, time.Time{})
	p := testFile(t, name)
	at := strings.LastIndex(string(p[:len(p)/2]), "\xe5ZXp4ck\x00\x00\x00\x00\x01") // a packet of track 1
	p[at+2] ^= 1
	write(t, name, p)
	r := runner{}.run(t, "get", name, "--track", "1", "-o", "-")
	if r.code != exitCorrupt || !strings.Contains(r.stderr, strconv.Itoa(at)) {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
	r = runner{}.run(t, "get", name, "--track", "1", "--resync", "-o", "-")
	if n := strings.Count(r.stdout, "\n"); r.code != exitOK || n != 1+10_000-1024 || strings.Count(r.stderr, "\n") != 1 || !strings.Contains(r.stderr, fmt.Sprintf("passed over bytes %d to ", at)) {
		t.Errorf("exit %d, %d lines, %q", r.code, n, r.stderr)
	}
	if r = (runner{}).run(t, "get", name, "--track", "1", "--resync", "-q", "-o", "-"); r.code != exitOK || r.stderr != "" {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
}

// TestZoomViewLargeNumbers: floats beyond 2^53 are not spelled as integers: some
// readers of JSON would take them for integers of another value. Integers are written
// in full.
func TestZoomViewLargeNumbers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	raw, float, whole := filepath.Join(dir, "x.raw"), filepath.Join(dir, "f.zoom"), filepath.Join(dir, "i.zoom")
	const number = 61921306694328836096.0 // shortest: 61921306694328840000
	write(t, raw, binary.LittleEndian.AppendUint64(nil, math.Float64bits(number)))
	run(t, "pack", raw, float, "--dtype", "<f8", "--shape", "1")
	write(t, raw, binary.LittleEndian.AppendUint64(nil, 1<<62+1))
	run(t, "pack", raw, whole, "--dtype", "<i8", "--shape", "1")
	for name, want := range map[string]string{float: "6.192130669432884e+19", whole: "4611686018427387905"} {
		if v := viewOf(t, name, "--width", "10"); len(v.Points) != 1 || fmt.Sprint(v.Points[0]["max"]) != want {
			t.Errorf("%v, want the maximum %s", v.Points, want)
		}
	}
}

// TestZoomViewNoLevel: a level that the track does not have is refused with a list of
// its levels, with an index or without. A track without samples has none, and that is
// no mistake.
func TestZoomViewNoLevel(t *testing.T) {
	t.Parallel()
	single := filepath.Join(t.TempDir(), "single.zoom")
	makeZoom(t, single, time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC))
	out := filepath.Join(t.TempDir(), "out.csv")
	for _, c := range []struct {
		want string // "": no mistake
		args []string
	}{
		{"view: --level 6: track 1 has none; its levels: 1 to 5 (see", []string{single, "--track", "1", "--level", "6"}},
		{"view: --level 99: track 1 has none; its levels: 1 to 5 (see", []string{single, "--track", "1", "--level", "99"}},
		{"view: --level 99: track 1 has none; its levels: 1 to 5 (see", []string{single, "--track", "1", "--level", "99", "--from", "1", "--to", "2"}},
		{"view: --level 99: track 1 has none; its levels: 1 to 5 (see", []string{single, "--track", "1", "--level", "99", "-o", out}},
		{"view: --level 3: track 7 has none; its levels: 1, 2 (see", []string{single, "--track", "7", "--level", "3"}},
		{"view: --level 50: track 1 has none; its levels: 1 to ", []string{namedZoom(t, true, "a"), "--track", "1", "--level", "50"}},
		{"view: --level 50: track 1 has none; its levels: 1 to ", []string{namedZoom(t, false, "a"), "--track", "1", "--level", "50"}},
		{"", []string{namedZoom(t, true, "a"), "--track", "9", "--level", "1"}},
		{"", []string{namedZoom(t, false, "a", "b"), "--track", "2", "--level", "1", "--from", "20", "--to", "50"}},
	} {
		r := runner{}.run(t, append([]string{"view"}, c.args...)...)
		if c.want == "" && r.code != 0 || c.want != "" && (r.code != exitUsage || r.stdout != "" || !strings.HasPrefix(r.stderr, c.want)) {
			t.Errorf("%v: exit %d, %q %q; want %q", c.args, r.code, r.stdout, r.stderr, c.want)
		}
	}
	if _, err := os.Stat(out); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an output was left: %v", err)
	}
}

// TestZoomViewForms: windows of time, tables and files, and refused arguments.
func TestZoomViewForms(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "x.zoom")
	makeZoom(t, name, time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC))
	if v := viewOf(t, name, "--track", "1", "--level", "1", "--from", "1.1", "--to", "2024-05-01T12:00:02.048Z"); len(v.Points) != 1 || fmt.Sprint(v.Points[0]["entry"]) != "1025" || fmt.Sprint(v.Points[0]["t1"]) != "2.048" {
		t.Errorf("%v", v)
	}
	table := run(t, "view", name, "--track", "1", "--level", "5")
	if lines := strings.Split(strings.TrimSpace(table), "\n"); len(lines) != 2 || !strings.HasPrefix(strings.TrimSpace(lines[0]), "T0 ") || !strings.Contains(lines[1], " 9999 ") {
		t.Errorf("table:\n%s", table)
	}
	out := filepath.Join(dir, "x.csv")
	run(t, "view", name, "--track", "7", "--level", "1", "-o", out)
	if got := string(testFile(t, out)); got != "t0,t1,entry,exit,min,max,mean,rms,first,last,count\n0,0,5,3,,,,,,,2\n" {
		t.Errorf("events: %q", got)
	}
	out = filepath.Join(dir, "x.json")
	run(t, "view", name, "--track", "1", "--level", "5", "-o", out)
	if got := string(testFile(t, out)); got != run(t, "view", name, "--track", "1", "--level", "5", "--json") {
		t.Errorf("%s", got)
	}
	for _, picture := range []string{"x.png", "x.svg"} {
		run(t, "view", name, "--track", "1", "-o", filepath.Join(dir, picture))
		got := testFile(t, filepath.Join(dir, picture))
		run(t, "view", name, "--track", "1", "--width", "1000", "-o", filepath.Join(dir, picture))
		if string(got) != string(testFile(t, filepath.Join(dir, picture))) {
			t.Errorf("%s without --width is another", picture)
		}
	}
	for _, c := range []struct {
		code int
		text string
		args []string
	}{
		{exitUsage, "missing --width", []string{name, "--track", "1"}},
		{exitUsage, "1 is the finest", []string{name, "--track", "1", "--level", "0"}},
		{exitUsage, "--track 1 (count), 7 (see", []string{name, "--level", "1"}},
		{exitNotFound, "track 3", []string{name, "--track", "3", "--level", "1"}},
		{exitUsage, "--format", []string{name, "--track", "1", "--level", "1", "-o", "x.wav"}},
		{exitUsage, "want json", []string{name, "--track", "1", "--level", "1", "--format", "xml"}},
		{exitUsage, "--level does not go with a gulp", []string{sample(t, t.TempDir()), "--level", "1"}},
		{exitNotFound, "not found", []string{filepath.Join(dir, "none.zoom"), "--level", "1"}},
	} {
		if r := (runner{}).run(t, append([]string{"view"}, c.args...)...); r.code != c.code || !strings.Contains(r.stderr, c.text) {
			t.Errorf("%v: exit %d, %q; want %d, %q", c.args, r.code, r.stderr, c.code, c.text)
		}
	}
}
