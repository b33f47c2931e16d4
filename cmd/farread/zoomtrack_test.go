package main

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
)

// namedZoom writes a track for each name, with two samples a second from 0 to 10 s and
// from 100 s to 110 s, and a track 9 without samples.
func namedZoom(t *testing.T, indexed bool, names ...string) string {
	t.Helper()
	var tracks []zoomcache.Track
	for i, name := range append(names, "none") {
		tracks = append(tracks, zoomcache.Track{Number: int32(i + 1), Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: zoomcache.Rate{Num: 2, Den: 1}, Name: name, Variable: i%2 == 1})
	}
	tracks[len(names)].Number, tracks[len(names)].Variable = 9, false
	o := zoomcache.WriteOptions{Origin: zoomcache.OriginOf(time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)), Tracks: tracks, Watermark: 8}
	if indexed {
		o.Sink = zoomindex.NewBuilder(tracks, zoomindex.WriteOptions{})
	}
	var b bytes.Buffer
	w, err := zoomcache.NewWriter(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	var stamps []int64
	for i := range int64(42) {
		stamps = append(stamps, i+i/21*179)
	}
	for i := range names {
		if i%2 == 1 {
			err = errors.Join(err, zoomcache.WriteSamplesAt(w.Track(int32(i+1)), stamps, make([]int16, 42)))
			continue
		}
		err = errors.Join(err, zoomcache.WriteSamples(w.Track(int32(i+1)), make([]int16, 220)))
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "x.zoom")
	write(t, name, b.Bytes())
	return name
}

// TestTrackNames: every command that takes a track takes its number and its name.
func TestTrackNames(t *testing.T) {
	t.Parallel()
	name := namedZoom(t, true, "temp_C", "Temp_c", "pump", "pump", "7", "left\tright", strings.Repeat("long", 30))
	for text, want := range map[string]string{
		"temp_C": "1", "Temp_c": "2", "5": "5", "7": "7", "0x5": "5", `"left\tright"`: "6", "left\tright": "6", strings.Repeat("long", 30): "7",
		strings.Repeat("long", 14) + "lon…": "7", "NONE": "9", "9": "9",
	} {
		for _, command := range [][]string{{"get", name, "-o", "-"}, {"view", name, "--width", "5", "--json"}, {"view", name, "--level", "1"}, {"explain", name}, {"explain", name, "--width", "9", "--json"}} {
			if got := run(t, append(command, "--track", text)...); got != run(t, append(command, "--track", want)...) {
				t.Errorf("%v --track %q is not track %s: %s", command, text, want, got)
			}
		}
	}
	unnamed := namedZoom(t, false, "")
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitUsage, "--track pump: 2 tracks are called so: take one by its number, 3 (pump), 4 (pump)", []string{name, "--track", "pump"}},
		{exitUsage, "--track TEMP_C: 2 tracks are called so", []string{name, "--track", "TEMP_C"}},
		{exitNotFound, "track pumps: no such entry: there are 1 (temp_C), 2 (Temp_c), 3 (pump), 4 (pump), 5 (7), 6 (\"left\\tright\"), 7 (longlong", []string{name, "--track", "pumps"}},
		{exitNotFound, "track 8: no such entry: there are 1 (", []string{name, "--track", "8"}},
		{exitNotFound, "track 99999999999: no such entry", []string{name, "--track", "99999999999"}},
		{exitUsage, "--track: want a number or a name of 1, 9 (none)", []string{unnamed, "--track", ""}},
		{exitUsage, "which of 2 tracks? --track 1, 9 (none) (see", []string{unnamed}},
		{exitUsage, "which of 8 tracks? --track 1 (temp_C), 2 (Temp_c), 3 (pump), 4 (pump), 5 (7), 6 (\"left\\tright\"), 7 (longlong", []string{name}},
	} {
		for _, command := range [][]string{{"get", "-o", "-"}, {"view", "--width", "5"}, {"explain"}} {
			r := runner{}.run(t, append(command, c.args...)...)
			if r.code != c.code || !strings.Contains(r.stderr, c.want) || strings.Count(r.stderr, "\n") != 1 {
				t.Errorf("%s %v: exit %d, %q; want %d, %q", command[0], c.args, r.code, r.stderr, c.code, c.want)
			}
		}
	}
}

// TestTimesBesideAll: a time before or behind the track, or turned round, is refused
// with the extent of the track, before anything is written. A time in a gap, or over
// an end, is not refused.
func TestTimesBesideAll(t *testing.T) {
	t.Parallel()
	const has = "track 1 has samples from 0.5 s to 110 s, which is 2024-05-01T00:00:00.5Z to 2024-05-01T00:01:50Z"
	const stamped = "track 2 has samples from 0 s to 110 s, which is 2024-05-01T00:00:00Z to 2024-05-01T00:01:50Z"
	for _, indexed := range []bool{true, false} {
		name := namedZoom(t, indexed, "a", "b")
		out := filepath.Join(t.TempDir(), "out.")
		for _, c := range []struct {
			want string // "": no mistake
			args []string
		}{
			{"--from 25h is past the end: " + has, []string{"--track", "1", "--from", "25h"}},
			{"--from 110.1 is past the end: " + has, []string{"--track", "1", "--from", "110.1", "--to", "25h"}},
			{"--from 2024-05-02 is past the end: " + has, []string{"--track", "1", "--from", "2024-05-02"}},
			{"--to 0 is before the beginning: " + has, []string{"--track", "1", "--to", "0"}},
			{"--to -1s is before the beginning: " + has, []string{"--track", "1", "--from", "-5", "--to", "-1s"}},
			{"--from 2h is not before --to 1h: " + has, []string{"--track", "1", "--from", "2h", "--to", "1h"}},
			{"--from 5 is not before --to 2024-05-01: " + has, []string{"--track", "1", "--from", "5", "--to", "2024-05-01"}},
			{"--from 1m is not before --to 60: " + has, []string{"--track", "1", "--from", "1m", "--to", "60"}},
			{"--from 25h is past the end: " + stamped, []string{"--track", "2", "--from", "25h"}},
			{"--to 0 is before the beginning: " + stamped, []string{"--track", "2", "--to", "0"}},
			{"--from 2 is not before --to 1: " + stamped, []string{"--track", "2", "--from", "2", "--to", "1"}},
			{"--from 2 is not before --to 1: track 9 has no samples", []string{"--track", "9", "--from", "2", "--to", "1"}},
			{"", []string{"--track", "1", "--from", "109", "--to", "25h"}},
			{"", []string{"--track", "1", "--from", "-25h", "--to", "1"}},
			{"", []string{"--track", "1", "--to", "0.1"}},
			{"", []string{"--track", "2", "--from", "20", "--to", "50"}},
			{"", []string{"--track", "9", "--from", "5"}},
			{"", []string{"--track", "9", "--to", "5"}},
		} {
			for _, command := range [][]string{
				{"get", name, "-o", "-"}, {"get", name, "-o", "-", "--format", "npy"}, {"get", name, "-o", out + "npy"}, {"get", name, "-o", out + "csv", "--stamps"},
				{"view", name, "--width", "7", "-o", out + "png"}, {"view", name, "--width", "7", "--json"}, {"view", name, "--level", "1"}, {"explain", name}, {"explain", name, "--width", "9"}, {"explain", name, "--level", "1"},
			} {
				args := append(append([]string(nil), command...), c.args...)
				r := runner{}.run(t, args...)
				if c.want == "" {
					if r.code != exitOK {
						t.Errorf("%v: exit %d, %q", args, r.code, r.stderr)
					}
					continue
				}
				if command[0] == "explain" && !indexed && !strings.Contains(c.want, "not before") {
					continue // it is not known without reading
				}
				if r.code != exitUsage || !strings.Contains(r.stderr, c.want) || r.stdout != "" || strings.Count(r.stderr, "\n") != 1 {
					t.Errorf("index %v, %v: exit %d, %q, %q; want %q", indexed, args, r.code, r.stdout, r.stderr, c.want)
				}
			}
		}
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x.zoom"), testFile(t, namedZoom(t, false, "a")))
	if r := (runner{}).run(t, "view", served(t, dir)+"/x.zoom", "--track", "1", "--from", "25h", "--width", "10"); r.code != exitUsage || !strings.Contains(r.stderr, has) {
		t.Errorf("far away and without an index: exit %d, %q", r.code, r.stderr)
	}
}

// TestLongTimes: centuries in seconds, and ticks of a nanosecond, are whole numbers.
func TestLongTimes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "x.zoom")
	write(t, filepath.Join(dir, "years.csv"), []byte("year,v\n1000,1\n2199,2\n"))
	run(t, "pack", filepath.Join(dir, "years.csv"), name, "--quiet")
	if got := run(t, "info", name); !strings.Contains(got, ", 0 s to 37836806400 s") {
		t.Error(got)
	}
	write(t, filepath.Join(dir, "ns.csv"), []byte("time,v\n0.000000001,1\n12.5,2\n"))
	run(t, "pack", filepath.Join(dir, "ns.csv"), name, "--force")
	if got := run(t, "info", name); !strings.Contains(got, "ticks at 1000000000 Hz") || !strings.Contains(got, ", 1e-09 s to 12.5 s") {
		t.Error(got)
	}
}
