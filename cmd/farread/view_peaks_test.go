package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/render"
)

// TestPixels: the pixels of a waveform have the bounds of their samples, never less.
// They have more only if bins serve more samples than are read one by one.
func TestPixels(t *testing.T) {
	t.Parallel()
	for _, inside := range []bool{false, true} {
		name, v := sound(t, 700_003, inside)
		for _, width := range []int{1, 7, 100, 999, 2000, 5000, 40_000} {
			var w render.Waveform
			if err := json.Unmarshal([]byte(run(t, "view", name, "--width", strconv.Itoa(width), "--format", "peaks")), &w); err != nil {
				t.Fatal(err)
			}
			if w.Length > width || w.Length < width/3 || int64(w.Length) != (int64(len(v))-1)/w.Samples+1 {
				t.Errorf("width %d: %d pixels of %d samples", width, w.Length, w.Samples)
			}
			exact := !inside || width < 999
			checkPixels(t, fmt.Sprintf("index %v, width %d", inside, width), w, v, exact)
		}
		var w render.Waveform
		if err := json.Unmarshal([]byte(run(t, "view", name, "--from", "1.234s", "--to", "61.233s", "--width", "1700", "--format", "peaks")), &w); err != nil {
			t.Fatal(err)
		}
		checkPixels(t, fmt.Sprintf("index %v, a window", inside), w, v[1233:61_233], true) // offsets count from 1
	}
}

func checkPixels(t *testing.T, where string, w render.Waveform, v []int16, exact bool) {
	t.Helper()
	wrong := 0
	for k := range w.Length {
		part := v[min(k*int(w.Samples), len(v)):min((k+1)*int(w.Samples), len(v))]
		if len(part) == 0 {
			wrong++
			continue
		}
		lo, hi := slices.Min(part), slices.Max(part)
		if a, b := w.Data[2*k], w.Data[2*k+1]; a > lo || b < hi || exact && (a != lo || b != hi) {
			wrong++
		}
	}
	if wrong > 0 {
		t.Errorf("%s: %d of %d pixels of %d samples are not as their samples", where, wrong, w.Length, w.Samples)
	}
}

// sound is a file of n samples of noise at 1 kHz, with the samples.
func sound(t *testing.T, n int, inside bool) (name string, v []int16) {
	t.Helper()
	var b bytes.Buffer
	o := zoomcache.WriteOptions{Tracks: []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}}}
	if inside {
		o.Sink = zoomindex.NewBuilder(o.Tracks, zoomindex.WriteOptions{})
	}
	w, err := zoomcache.NewWriter(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range n {
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
