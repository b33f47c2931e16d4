package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/render"
)

// bignums are the integers from which a file of the original library was made.
func bignums(t *testing.T, name string) (list []string) {
	t.Helper()
	f, err := os.Open(filepath.Clean(zoomDir + "/inputs/" + name + ".txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(z); s.Scan(); {
		if w := strings.Fields(s.Text()); w[0] == "w" || w[0] == "v" {
			list = append(list, w[len(w)-1])
		}
	}
	return list
}

// TestBignums: integers of any length come back whole with --bignum, and not
// without.
func TestBignums(t *testing.T) {
	t.Parallel()
	long := 0
	for _, name := range []string{"p-extreme-integer", "p-codec-integer-cbr", "p-codec-integer-vbr-d-z"} {
		file := zoomFiles + "/" + name + ".zoom"
		column := func(args ...string) (list []string) {
			for _, l := range strings.Split(strings.TrimSpace(run(t, append([]string{"get", file, "-o", "-"}, args...)...)), "\n")[1:] {
				list = append(list, l[strings.LastIndexByte(l, ',')+1:])
			}
			return list
		}
		want := bignums(t, name)
		if d := cmp.Diff(want, column("--bignum")); d != "" || len(want) == 0 {
			t.Errorf("%s: %d values: %s", name, len(want), d)
		}
		for i, low := range column() {
			if len(want[i]) > 20 {
				long++
				if low == want[i] {
					t.Errorf("%s: %s is no number of 64 bits", name, low)
				}
			}
		}
		if v := viewOf(t, file, "--level", "1", "--bignum"); len(v.Points) == 0 || v.Points[0]["first"].(json.Number).String() != want[0] {
			t.Errorf("%s: %v", name, v.Points)
		}
	}
	if long == 0 {
		t.Error("no integer is long")
	}
	for _, c := range []struct {
		text string
		args []string
	}{
		{"no place in a .npy", []string{zoomFiles + "/p-extreme-integer.zoom", "--bignum", "-o", "x.npy"}},
		{"is of codec i32", []string{zoomFiles + "/p-extreme-i32.zoom", "--bignum", "-o", "-"}},
	} {
		if r := (runner{}).run(t, append([]string{"get"}, c.args...)...); r.code != exitUsage || !strings.Contains(r.stderr, c.text) {
			t.Errorf("%v: exit %d, %q", c.args, r.code, r.stderr)
		}
	}
}

// stereo is a file of n samples of two channels at 1 kHz, with the samples.
func stereo(t *testing.T, n int) (name string, v []int16) {
	t.Helper()
	var b bytes.Buffer
	w, err := zoomcache.NewWriter(&b, zoomcache.WriteOptions{Tracks: []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I16, Channels: 2}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(8, 16))
	for range 2 * n {
		v = append(v, int16(rng.NormFloat64()*6000))
	}
	if err := zoomcache.WriteSamples(w.Track(1), v); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name = filepath.Join(t.TempDir(), "s.zoom")
	write(t, name, b.Bytes())
	return name, v
}

// TestWaveforms: a .dat and its JSON follow the format's description, for both widths,
// and the bounds of every pixel enclose its samples.
func TestWaveforms(t *testing.T) {
	t.Parallel()
	name, v := stereo(t, 10_007)
	for _, bits := range []string{"8", "16"} {
		out := filepath.Join(t.TempDir(), "x.dat")
		run(t, "view", name, "--width", "100", "--bits", bits, "-o", out)
		p := testFile(t, out)
		var head struct{ Version, Flags, Rate, Samples, Length, Channels int32 }
		if err := binary.Read(bytes.NewReader(p), binary.LittleEndian, &head); err != nil {
			t.Fatal(err)
		}
		unit, size, flags := 1, 2, int32(0)
		if bits == "8" {
			unit, size, flags = 256, 1, 1
		}
		if head.Version != 2 || head.Flags != flags || head.Rate != 1000 || head.Channels != 2 || head.Length < 90 || head.Length > 101 ||
			int64(head.Samples)*int64(head.Length) < 10_007 || len(p) != 24+4*size*int(head.Length) {
			t.Fatalf("%s bits: %+v, %d bytes", bits, head, len(p))
		}
		var w render.Waveform
		if err := json.Unmarshal([]byte(run(t, "view", name, "--width", "100", "--bits", bits, "--format", "peaks")), &w); err != nil {
			t.Fatal(err)
		}
		data := make([]int, 0, len(w.Data))
		for at := p[24:]; len(at) > 0; at = at[size:] {
			if size == 1 {
				data = append(data, int(int8(at[0])))
			} else {
				data = append(data, int(int16(binary.LittleEndian.Uint16(at))))
			}
		}
		for i, x := range w.Data {
			if int(x) != data[i] {
				t.Fatalf("%s bits: number %d is %d in JSON, %d in the .dat", bits, i, x, data[i])
			}
		}
		if want := (render.Waveform{Version: 2, Channels: 2, Rate: 1000, Samples: int64(head.Samples), Bits: 8 * size, Length: int(head.Length), Data: w.Data}); cmp.Diff(want, w) != "" {
			t.Errorf("%s", cmp.Diff(want, w))
		}
		for i := range len(v) / 2 {
			for c := range 2 {
				x, at := int(v[2*i+c]), 2*(i/int(head.Samples)*2+c)
				if lo, hi := data[at]*unit, (data[at+1])*unit; x < lo || x > hi && data[at+1] != 127 {
					t.Fatalf("%s bits: sample %d of channel %d is %d, its pixel has %d to %d", bits, i, c, x, lo, hi)
				}
			}
		}
	}
	for _, c := range []struct {
		text string
		args []string
	}{
		{"want 8 or 16", []string{"--width", "9", "--bits", "24", "--format", "dat"}},
		{"--bits goes with .dat", []string{"--width", "9", "--bits", "8", "--format", "csv"}},
		{"--bits goes with --width", []string{"--level", "1", "--bits", "8"}},
	} {
		if r := (runner{}).run(t, append([]string{"view", name}, c.args...)...); r.code != exitUsage || !strings.Contains(r.stderr, c.text) {
			t.Errorf("%v: exit %d, %q", c.args, r.code, r.stderr)
		}
	}
}

// TestViewResync: a view of a damaged file is an error, or with --resync a view of its
// whole parts.
func TestViewResync(t *testing.T) {
	t.Parallel()
	name := spiky(t, 50_000, 100, false)
	p := testFile(t, name)
	at := bytes.Index(p[len(p)/2:], []byte("\xe5ZXp4ck\x00")) + len(p)/2
	p[at+2] ^= 1
	write(t, name, p)
	if r := (runner{}).run(t, "view", name, "--width", "10"); r.code != exitCorrupt {
		t.Errorf("exit %d, %q", r.code, r.stderr)
	}
	r := runner{}.run(t, "view", name, "--width", "10", "--resync", "--json")
	var v viewed
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil || r.code != exitOK || !strings.Contains(r.stderr, "passed over bytes") {
		t.Fatalf("exit %d, %q, %v", r.code, r.stderr, err)
	}
	n := 0.0
	for _, x := range v.Points {
		c, _ := x["count"].(float64)
		n += c
	}
	if n != 50_000-1024 {
		t.Errorf("%v samples of 50,000, of which 1,024 are lost", n)
	}
}
