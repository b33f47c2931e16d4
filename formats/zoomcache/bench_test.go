//go:build unix

package zoomcache

import (
	"io"
	"math"
	"syscall"
	"testing"
	"time"
)

// benchAppend writes a million samples of one track in each round, from memory,
// all levels and raw packets.
func benchAppend[T Value](b *testing.B, o WriteOptions, v []T) {
	b.Helper()
	b.Run("samples", func(b *testing.B) {
		w, err := NewWriter(io.Discard, o)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		b.ResetTimer()
		start, best := cpu(b), time.Hour
		for range b.N {
			before := cpu(b)
			if err := WriteSamples(w.Track(1), v); err != nil {
				b.Fatal(err)
			}
			best = min(best, cpu(b)-before)
		}
		b.ReportMetric(float64(len(v))/best.Seconds()/1e6, "best-Msamples/cpu-s")
		b.ReportMetric(float64(b.N)*float64(len(v))/(cpu(b)-start).Seconds()/1e6, "Msamples/cpu-s")
		b.ReportMetric(float64(b.N)*float64(len(v))/b.Elapsed().Seconds()/1e6, "Msamples/s")
	})
}

const benchSamples = 1 << 20

func wave(i int) float64 { return 12000*math.Sin(float64(i)/3000) + 300*math.Sin(float64(i)*1.7) }

func BenchmarkAppend(b *testing.B) {
	var f64 [benchSamples]float64
	var f32 [benchSamples]float32
	var i16 [benchSamples]int16
	var i32 [benchSamples]int32
	var i64 [benchSamples]int64
	for i := range f64 {
		x := wave(i)
		f64[i], f32[i], i16[i], i32[i], i64[i] = x, float32(x), int16(x), int32(x*1000), int64(x)
	}
	for _, c := range []struct {
		name string
		run  func(b *testing.B, o WriteOptions)
		c    Codec
		zlib bool
	}{
		{"f64", func(b *testing.B, o WriteOptions) { b.Helper(); benchAppend(b, o, f64[:]) }, Codec{Kind: F64}, false},
		{"f32", func(b *testing.B, o WriteOptions) { b.Helper(); benchAppend(b, o, f32[:]) }, Codec{Kind: F32}, false},
		{"i16", func(b *testing.B, o WriteOptions) { b.Helper(); benchAppend(b, o, i16[:]) }, Codec{Kind: I16}, false},
		{"i32", func(b *testing.B, o WriteOptions) { b.Helper(); benchAppend(b, o, i32[:]) }, Codec{Kind: I32}, false},
		{"i64", func(b *testing.B, o WriteOptions) { b.Helper(); benchAppend(b, o, i64[:]) }, Codec{Kind: I64}, false},
		{"int", func(b *testing.B, o WriteOptions) { b.Helper(); benchAppend(b, o, i64[:]) }, Codec{Kind: Int}, false},
		{"i16x2", func(b *testing.B, o WriteOptions) { b.Helper(); benchAppend(b, o, i16[:]) }, Codec{Kind: I16, Channels: 2}, false},
		{"f64-by-256", func(b *testing.B, o WriteOptions) { b.Helper(); o.Watermark = 256; benchAppend(b, o, f64[:]) }, Codec{Kind: F64}, false},
		{"i16-by-256", func(b *testing.B, o WriteOptions) { b.Helper(); o.Watermark = 256; benchAppend(b, o, i16[:]) }, Codec{Kind: I16}, false},
		{"i16-delta-zlib", func(b *testing.B, o WriteOptions) { b.Helper(); benchAppend(b, o, i16[:]) }, Codec{Kind: I16}, true},
	} {
		for _, p := range []struct {
			name string
			n    int
		}{{"serial", 1}, {"parallel", 0}} {
			b.Run(c.name+"/"+p.name, func(b *testing.B) {
				b.Helper()
				c.run(b, WriteOptions{Parallel: p.n, Tracks: []Track{{Number: 1, Codec: c.c, Rate: Rate{1000, 1}, Delta: c.zlib, Zlib: c.zlib}}})
			})
		}
	}
}

// cpu is the processor time of this process. Other programs may use the machine too, so
// only this time tells the speed of a core.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
