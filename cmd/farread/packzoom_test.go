package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread/internal/teststack"
)

// tideWAV is a WAV of two channels, n samples each.
func tideWAV(n int) []byte {
	le := binary.LittleEndian
	p := append([]byte("RIFF\x00\x00\x00\x00WAVEfmt "), 16, 0, 0, 0, 1, 0, 2, 0, 100, 0, 0, 0, 144, 1, 0, 0, 4, 0, 16, 0)
	p = le.AppendUint32(append(p, "data"...), uint32(4*n))
	for i := range n {
		p = le.AppendUint16(le.AppendUint16(p, uint16(i)), uint16(-i))
	}
	return p
}

// TestPackZoom: each source, with its flags, and the samples that get then writes.
func TestPackZoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := func(base string) string { return filepath.Join(dir, base) }
	write(t, name("a.wav"), tideWAV(3000))
	write(t, name("b.csv"), []byte("when,level,ok\n2026-05-01T12:00:00.5Z,1.5,true\n2026-05-01T12:00:01Z,,false\n"))
	write(t, name("c.raw"), []byte{0, 1, 0, 2, 0, 3, 0, 4})
	write(t, name("c.raw.json"), []byte(`{"dtype":">i2","shape":[2,2],"rate":"1/2","names":["x","y"]}`))
	write(t, name("d.raw"), []byte{1, 2, 3})
	for _, c := range []struct {
		args  string
		info  []string // in the JSON of info
		csv   string   // of the last track
		count int64
	}{
		{"a.wav", []string{`"pcm-i16"`, `"channel 2"`, `[100,1]`}, "", 6000},
		{"a.wav|--codec|f32|--rate|25/2|--origin|2026-05-01T00:00:00Z|--zlib", []string{`"f32"`, `[25,2]`, "2026-05-01T00:00:00Z", `"zlib":true`}, "", 6000},
		{"a.wav|--watermark|100|--delta|--codec|i32", []string{`"i32"`, `"delta":true`}, "", 6000},
		{"b.csv", []string{`"level"`, `"bool"`, `[10,1]`, "2026-05-01T12:00:00Z"}, "5,0.5,true\n10,1,false\n", 3},
		{"c.raw", []string{`"y"`, `[1,2]`}, "1,2,2\n2,4,4\n", 4},
		{"d.raw|--dtype|u1|--shape|3|--rate|10", []string{`"u8"`, `[10,1]`}, "1,0.1,1\n2,0.2,2\n3,0.3,3\n", 3},
	} {
		part := strings.Split(c.args, "|")
		dst := name("out.zoom")
		args := append([]string{"pack", name(part[0]), dst, "--force", "--json"}, part[1:]...)
		var rep seriesReport
		if err := json.Unmarshal([]byte(run(t, args...)), &rep); err != nil || rep.Samples != c.count || rep.Format != "zoomcache" || rep.Stored == 0 || rep.Warnings == nil {
			t.Errorf("%s: %+v, %v", c.args, rep, err)
		}
		run(t, "verify", dst)
		var info bytes.Buffer
		if err := json.Compact(&info, []byte(run(t, "info", dst, "--json"))); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.info {
			if !strings.Contains(info.String(), want) {
				t.Errorf("%s: no %s in %s", c.args, want, info.String())
			}
		}
		if c.csv != "" {
			if got := run(t, "get", dst, "--track", strconv.Itoa(rep.Tracks), "-o", "-"); !strings.HasSuffix(got, c.csv) {
				t.Errorf("%s: %q, want %q", c.args, got, c.csv)
			}
		}
	}
	if text := run(t, "pack", name("a.wav"), name("b.zoom")); !strings.HasPrefix(text, "6,000 samples of 2 tracks, ") {
		t.Error(text)
	}
}

// TestPackZoomErrors: refused sources and flags are told with the reason, and nothing
// is left.
func TestPackZoomErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := func(base string) string { return filepath.Join(dir, base) }
	write(t, name("a.wav"), tideWAV(10))
	write(t, name("cut.wav"), tideWAV(10)[:60])
	write(t, name("b.csv"), []byte("time,a\n1,2\n2,x\n"))
	write(t, name("c.csv"), []byte("time,a\n2026-05-01,2\n"))
	write(t, name("d.raw"), []byte{1, 2, 3})
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"a.wav|b.csv", exitUsage, "2 SRC"},
		{"a.wav|--rate|0", exitUsage, "--rate"},
		{"a.wav|--origin|noon", exitUsage, "--origin"},
		{"a.wav|--codec|zstd", exitUsage, "--codec zstd"},
		{"a.wav|--watermark|-1", exitUsage, "--watermark"},
		{"a.wav|--chunk|1MiB", exitUsage, "--chunk does not go with zoomcache"},
		{"a.wav|--level|5", exitUsage, "--level does not go with zoomcache"},
		{"a.wav|--codec|u8", exitCorrupt, "track 2: -1: does not fit"},
		{"b.csv", exitCorrupt, "line 3 at 11"},
		{"c.csv|--rate|5", exitCorrupt, "every sample has a stamp"},
		{"c.csv|--origin|2026-05-01", exitCorrupt, "no other origin"},
		{"d.raw", exitCorrupt, "no note"},
		{"missing.wav", exitNotFound, "missing.wav"},
	} {
		part := strings.Split(c.args, "|")
		args := []string{"pack"}
		for _, p := range part {
			if strings.Contains(p, ".") && !strings.HasPrefix(p, "-") && len(args) < 3 {
				p = name(p)
			}
			args = append(args, p)
		}
		flags := len(args)
		for i, p := range args {
			if strings.HasPrefix(p, "--") {
				flags = i
				break
			}
		}
		args = append(args[:flags:flags], append([]string{name("out.zoom")}, args[flags:]...)...)
		r := runner{}.run(t, args...)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%s: exit %d, want %d and %q: %s", c.args, r.code, c.code, c.want, r.stderr)
		}
		if _, err := os.Stat(name("out.zoom")); err == nil {
			t.Fatalf("%s: something was left", c.args)
		}
	}
	r := runner{}.run(t, "pack", name("cut.wav"), name("cut.zoom"))
	if r.code != 0 || !strings.Contains(r.stderr, "more bytes of samples than the 16") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
	if r := (runner{}).run(t, "pack", name("a.wav"), name("cut.zoom")); r.code != exitChanged {
		t.Errorf("a DST that exists: exit %d: %s", r.code, r.stderr)
	}
}

// TestPackZoomDates: either the unit that was assumed for a CSV's times is told, or
// the file is refused with the flag that tells the unit.
func TestPackZoomDates(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		code  int
		want  string
		begin string
	}{
		"t,v\n19580329.0,2\n19580330.0,3\n":     {exitCorrupt, `"19580329.0" and all others may be dates (YYYYMMDD, UTC) or seconds: --times UNIT`, ""},
		"timestamp,v\n19900101,1\n19900201,2\n": {exitCorrupt, `"19900101" and all others may be dates (YYYYMMDD, UTC) or seconds: --times UNIT`, ""},
		"epoch,v\n19900101,1\n":                 {exitOK, `stamps such as 19900101 are taken for seconds; --times date says`, ""},
		"date,v\n19580329.0,2\n":                {exitOK, `stamps such as 19580329.0 are taken for dates (YYYYMMDD, UTC); --times UNIT`, "1958-03-29T00:00:00Z"},
		"datetime,v\n20240501120000,1\n":        {exitOK, `stamps such as 20240501120000 are taken for dates and times (YYYYMMDDhhmmss, UTC); --times UNIT`, "2024-05-01T12:00:00Z"},
	} {
		src, dst := filepath.Join(t.TempDir(), "a.csv"), filepath.Join(t.TempDir(), "a.zoom")
		if err := os.WriteFile(src, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := runner{}.run(t, "pack", src, dst)
		if r.code != c.code || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%q: exit %d, want %d and %q: %s", text, r.code, c.code, c.want, r.stderr)
		}
		if c.code != exitOK {
			continue
		}
		if info := run(t, "info", dst); c.begin != "" && !strings.Contains(info, c.begin) || c.begin == "" && strings.Contains(info, "begin") {
			t.Errorf("%q: info says %s", text, info)
		}
	}
}

// TestPackZoomColumns: the flags about the columns of a CSV.
func TestPackZoomColumns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	src, dst := filepath.Join(dir, "a.csv"), filepath.Join(dir, "a.zoom")
	write(t, src, []byte("when;site;temp_C;pump on\n03/02/2026 10:00;roof;20,5;1\n04/02/2026 10:00;roof;21,5;0\n"))
	write(t, filepath.Join(dir, "a.wav"), tideWAV(10))
	for _, c := range []struct {
		args       string
		code       int
		said, info string
	}{
		{"", exitOK, "read as %m/%d/%Y, and not as %d/%m/%Y, which fits all of them, too; --time-format FORMAT", "2026-03-02T10:00:00Z"},
		{"--time-format|%d/%m/%Y %H:%M", exitOK, `passed over: "site"`, "2026-02-03T10:00:00Z"},
		{"--time-format|%d/%m/%Y %H:%M|--tz|Europe/Berlin|--columns|temp_C", exitOK, "", "2026-02-03T09:00:00Z"},
		{"--time|when|--skip|site,pump on", exitOK, "read as", "temp_C"},
		{"--columns|site", exitCorrupt, `column "site": "roof" in line 2 is no number`, ""},
		{"--time-column|who", exitCorrupt, `no column "who": there are "when", "site", "temp_C", "pump on"`, ""},
		{"--times|s|--time-format|%Y", exitUsage, "want one of them", ""},
		{"--tz|Mars", exitUsage, `"Mars" is no time zone`, ""},
		{"--time-format|%d", exitUsage, "it has no year", ""},
	} {
		args := append([]string{"pack", src, dst, "--force"}, strings.Split(c.args, "|")...)
		if c.args == "" {
			args = args[:4]
		}
		r := runner{}.run(t, args...)
		if r.code != c.code || !strings.Contains(r.stderr, c.said) || c.said == "" && r.stderr != "" {
			t.Errorf("%s: exit %d, want %d and %q: %s", c.args, r.code, c.code, c.said, r.stderr)
		}
		if info := run(t, "info", dst); c.info != "" && !strings.Contains(info, c.info) {
			t.Errorf("%s: %s", c.args, info)
		}
	}
	if got := run(t, "get", dst, "--track", "temp_C", "-o", "-"); !strings.Contains(got, "20.5") {
		t.Error(got)
	}
	if r := (runner{}).run(t, "pack", filepath.Join(dir, "a.wav"), dst, "--force", "--skip", "a"); r.code != exitUsage || !strings.Contains(r.stderr, "--skip is for a .csv, .tsv or .parquet") {
		t.Errorf("exit %d: %s", r.code, r.stderr)
	}
}

// TestPackZoomOnS3: from S3 to S3 the worker's job runs: packing the same version
// again does nothing.
func TestPackZoomOnS3(t *testing.T) {
	if testing.Short() {
		t.Skip("starts the local cloud")
	}
	cloudHere(t, teststack.Options{Buckets: []string{"uploads", "series"}})
	dir := t.TempDir()
	upload(t, "s3://uploads/a b.wav", tideWAV(5000))
	for n := range 2 {
		var rep seriesReport
		if err := json.Unmarshal([]byte(run(t, "pack", "s3://uploads/a b.wav", "s3://series/p/a b.wav.zoom", "--json")), &rep); err != nil || rep.Unchanged != (n == 1) || rep.Tracks != 2 {
			t.Fatalf("%+v, %v", rep, err)
		}
	}
	run(t, "verify", "s3://series/p/a b.wav.zoom")
	rules := filepath.Join(dir, "rules.json")
	write(t, rules, []byte(`[{"bucket":"uploads","job":"zoom","out":{"bucket":"series","prefix":"p/"}}]`))
	write(t, filepath.Join(dir, "event.json"), []byte(`{"Records":[{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"uploads"},"object":{"key":"a+b.wav","size":1}}}]}`))
	if text := run(t, "worker", "--event", filepath.Join(dir, "event.json"), "--rules", rules); !strings.Contains(text, "1 unchanged") {
		t.Error(text)
	}
}
