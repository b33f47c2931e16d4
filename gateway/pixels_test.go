package gateway

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/objstore"
)

// waveform reads the .dat of audiowaveform, version 2, of 16 bits.
func waveform(t *testing.T, p []byte) (rate, span, length, channels uint32, data []int16) {
	t.Helper()
	if len(p) < 24 || binary.LittleEndian.Uint32(p) != 2 || binary.LittleEndian.Uint32(p[4:]) != 0 {
		t.Fatalf("%d bytes: % x", len(p), p[:min(len(p), 24)])
	}
	for i, to := range []*uint32{&rate, &span, &length, &channels} {
		*to = binary.LittleEndian.Uint32(p[8+4*i:])
	}
	for k := 24; k+2 <= len(p); k += 2 {
		data = append(data, int16(binary.LittleEndian.Uint16(p[k:])))
	}
	return rate, span, length, channels, data
}

// TestPixels: a waveform has pixels of exactly as many samples as were asked for, with the
// least and the greatest of these.
func TestPixels(t *testing.T) {
	g := newGround(t, Config{})
	left := make([]int16, 200*1024)
	for i := range left {
		left[i] = int16(i / 1024 * (i % 1024))
	}
	for _, x := range []struct {
		span, from, to int // samples; to is the last one, -1: all
		query          string
	}{
		{1024, 0, -1, ""}, {2048, 0, -1, ""}, {4096, 0, -1, ""}, {1000, 0, -1, ""}, {7, 0, -1, ""}, {512, 0, -1, ""}, {1 << 30, 0, -1, ""},
		{1024, 10_239, 20_478, "&from=10.24&to=20.48"}, // offsets count from 1, and to is not one of them
		{100, 999, 1998, "&from=1&to=2"},
	} {
		path := fmt.Sprintf("/view/d/day.zoom?track=1&samples_per_pixel=%d%s&format=dat", x.span, x.query)
		rate, span, length, channels, data := waveform(t, g.get(t, path).Body.Bytes())
		part := left[x.from:]
		if x.to >= 0 {
			n := (x.to - x.from + x.span) / x.span * x.span
			part = part[:min(len(part), n)]
		}
		want := (len(part)-1)/x.span + 1
		if rate != 1000 || span != uint32(x.span) || channels != 1 || int(length) != want || len(data) != 2*want {
			t.Errorf("%s: rate %d, %d pixels of %d, want %d", path, rate, length, span, want)
			continue
		}
		for k := range want {
			lo, hi := part[k*x.span], part[k*x.span]
			for _, v := range part[k*x.span : min((k+1)*x.span, len(part))] {
				lo, hi = min(lo, v), max(hi, v)
			}
			if data[2*k] != lo || data[2*k+1] != hi {
				t.Errorf("%s: pixel %d is %d to %d, not %d to %d", path, k, data[2*k], data[2*k+1], lo, hi)
				break
			}
		}
	}
	v := object(t, g.get(t, "/view/d/day.zoom?track=2&samples_per_pixel=3000"))
	points, _ := v["points"].([]any)
	first, _ := points[0].(map[string]any)
	if len(points) != 69 || fmt.Sprint(first["count"], first["min"], first["max"]) != "3000 0 2.9287109375" {
		t.Errorf("%d points, %v", len(points), first)
	}
}

// TestPixelCost: pixels of whole packets take their summaries, others the samples; what is
// too much is refused before it is read.
func TestPixelCost(t *testing.T) {
	var bytes atomic.Int64
	g := newGround(t, Config{MaxRead: 100_000}, objstore.Trace(func(e objstore.Event) { bytes.Add(e.Bytes) }))
	g.get(t, "/info/d/day.zoom")
	for path, want := range map[string]string{
		"samples_per_pixel=1024":                    "200 ",
		"samples_per_pixel=1000":                    "413 too-much",
		"samples_per_pixel=1000&from=10&to=20":      "200 ",
		"samples_per_pixel=1&format=csv":            "413 too-large", // 204,800 pixels
		"samples_per_pixel=0":                       "400 bad-samples_per_pixel",
		"samples_per_pixel=-1":                      "400 bad-samples_per_pixel",
		"samples_per_pixel=1.5":                     "400 bad-samples_per_pixel",
		"samples_per_pixel=99999999999999999999":    "400 bad-samples_per_pixel",
		"samples_per_pixel=4611686018427387904":     "200 ",
		"samples_per_pixel=9223372036854775807":     "413 too-much",
		"samples_per_pixel=4294967296&format=dat":   "400 bad-samples_per_pixel",
		"samples_per_pixel=4294967296&format=peaks": "200 ",
		"samples_per_pixel=10&width=5":              "400 bad-width",
		"samples_per_pixel=10&format=png":           "400 bad-samples_per_pixel",
	} {
		bytes.Store(0)
		w := g.ask("GET", "/view/d/day.zoom?track=1&"+path)
		got := fmt.Sprintf("%d ", w.Code)
		if w.Code != 200 {
			got += code(t, w)
		}
		if got != want || bytes.Load() > 100_000 {
			t.Errorf("%s: %s, want %s, %d bytes: %.200s", path, got, want, bytes.Load(), w.Body)
		}
	}
}
