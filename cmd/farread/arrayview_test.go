package main

import (
	"encoding/binary"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// weather packs an array of time, lat and lon with all that it means.
func weatherArray(t *testing.T) (dir, name string) {
	t.Helper()
	dir = t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	var items, lat, lon, days []byte
	for i := range 20 * 7 * 12 {
		items = binary.LittleEndian.AppendUint32(items, math.Float32bits(280+float32(i%84)))
	}
	for i := range 7 {
		lat = binary.LittleEndian.AppendUint64(lat, math.Float64bits(-90+30*float64(i)))
	}
	for i := range 12 {
		lon = binary.LittleEndian.AppendUint64(lon, math.Float64bits(30*float64(i)))
	}
	for i := range 20 {
		days = binary.LittleEndian.AppendUint64(days, uint64(20_000+i))
	}
	npyFile(t, at("t2m.npy"), "<f4", []int64{20, 7, 12}, false, items)
	npyFile(t, at("lat.npy"), "<f8", []int64{7}, false, lat)
	npyFile(t, at("lon.npy"), "<f8", []int64{12}, false, lon)
	npyFile(t, at("time.npy"), "<M8[D]", []int64{20}, false, days)
	for file, text := range map[string]string{"a.json": `{"long_name":"2 m temperature","units":"K"}`, "lat.json": `{"units":"degrees_north"}`} {
		if err := os.WriteFile(at(file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run(t, "pack", at("t2m.npy"), at("t2m.b2nd"), "--dims", "time,lat,lon", "--coord", "time="+at("time.npy"), "--coord", "lat="+at("lat.npy"), "--coord", "lon="+at("lon.npy"),
		"--attrs", at("a.json"), "--attrs", "lat="+at("lat.json"))
	return dir, at("t2m.b2nd")
}

// TestArrayView: a picture of an array has its names, units, times and numbers; slice
// writes items as pixels alone.
func TestArrayView(t *testing.T) {
	t.Parallel()
	dir, name := weatherArray(t)
	svg := func(args ...string) string {
		out := filepath.Join(dir, "x.svg")
		run(t, append([]string{"view", name, "-o", out}, args...)...)
		return string(testFile(t, out))
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"3"}, []string{"t2m.b2nd, time=2024-10-07", "lat [degrees_north]", ">lon<", "2 m temperature [K]", ">−60<", ">60<", ">300<", "7 × 12"}},
		{[]string{"time=2024-10-07, lat=0:60"}, []string{"time=2024-10-07", "3 × 12"}},
		{[]string{":, 3, 4"}, []string{"lat=0, lon=120", "time, UTC, 2024-10-04 to 2024-10-23", "2 m temperature [K]", "20 items"}},
		{[]string{":, :, 4", "--title", "My <map>"}, []string{"My &lt;map&gt;", "time, UTC", ">Oct 6<"}},
		{[]string{"0, 3, :", "--dark", "--height", "100", "--width", "400"}, []string{"#1B1E23", "12 items"}},
	} {
		text := svg(c.args...)
		for _, want := range c.want {
			if !strings.Contains(text, want) {
				t.Errorf("%q: no %q", c.args, want)
			}
		}
	}
	plain, axes := filepath.Join(dir, "plain.png"), filepath.Join(dir, "axes.png")
	run(t, "slice", name, "3", "-o", plain)
	run(t, "view", name, "3", "-o", axes, "--width", "500", "--colors", "gray", "--range", "280:400")
	for file, wide := range map[string][2]int{plain: {264, 264}, axes: {550, 700}} {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(f)
		_ = f.Close()
		if err != nil || img.Bounds().Dx() < wide[0] || img.Bounds().Dx() > wide[1] {
			t.Errorf("%s: %v, %v", file, err, img.Bounds())
		}
	}
	for _, args := range [][]string{
		{name}, {name, "-o", "x.png"}, {name, "3", "-o", "x.npy"}, {name, "3", "-o", "x.png", "--width", "10"}, {name, "3", "-o", "x.png", "--height", "79"},
		{name, "3", "-o", "x.png", "--track", "1"}, {name, "3", "-o", "x.png", "--level", "1"}, {name, "99", "-o", "x.png"}, {filepath.Join(dir, "lat.npy"), "-o", "x.png"},
	} {
		if r := (runner{}).run(t, append([]string{"view"}, args...)...); r.code == exitOK || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, %s", args, r.code, r.stderr)
		}
	}
	if _, err := os.Stat("x.png"); err == nil {
		t.Error("a refused view left a file")
	}
}

// TestTracksInOne: several tracks are in one plot with their names, and only in pictures.
func TestTracksInOne(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("time,temp_C,dew_C\n")
	for i := range 500 {
		b.WriteString(strings.Join([]string{stampOf(i), "1." + string(rune('0'+i%10)), "-2"}, ",") + "\n")
	}
	csv, name, out := filepath.Join(dir, "w.csv"), filepath.Join(dir, "w.zoom"), filepath.Join(dir, "w.svg")
	if err := os.WriteFile(csv, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, "pack", csv, name)
	run(t, "view", name, "--tracks", "temp_C,2", "--width", "400", "-o", out)
	for _, want := range []string{">w.zoom<", ">temp_C<", ">dew_C<", "1,000 samples"} {
		if !strings.Contains(string(testFile(t, out)), want) {
			t.Errorf("no %s", want)
		}
	}
	for _, args := range [][]string{
		{"--tracks", "1,2", "--width", "400"}, {"--tracks", "1,1", "--width", "400", "-o", out}, {"--tracks", "1,9", "--width", "400", "-o", out}, {"--tracks", "1,2", "--track", "1", "--width", "400", "-o", out},
		{"--tracks", "1,2", "--level", "1"}, {"--track", "1", "--width", "400", "--dark"}, {"--track", "1", "--width", "400", "-o", out, "--colors", "gray"}, {"3", "--track", "1", "--width", "400", "-o", out},
	} {
		if r := (runner{}).run(t, append([]string{"view", name}, args...)...); r.code == exitOK || strings.Count(r.stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, %s", args, r.code, r.stderr)
		}
	}
	if got := run(t, "explain", name, "--tracks", "1,2", "--width", "400"); !strings.Contains(got, "request") {
		t.Error(got)
	}
}

func stampOf(i int) string {
	return "2024-10-01T0" + string(rune('0'+i/100)) + ":" + string(rune('0'+i/20%5)) + string(rune('0'+i/2%10)) + ":" + []string{"00", "30"}[i%2] + "Z"
}
