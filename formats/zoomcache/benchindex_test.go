//go:build unix

package zoomcache

import (
	"io"
	"math/rand/v2"
	"testing"
	"time"
)

// benchIndexed writes whole files of 8 Mi samples with their index, from memory.
func benchIndexed[T Value](b *testing.B, codec Codec, parallel int, v []T) {
	b.Helper()
	tracks := []Track{{Number: 1, Codec: codec, Rate: Rate{1000, 1}}}
	b.ReportAllocs()
	const times = 8
	start, best := cpu(b), time.Hour
	for b.Loop() {
		before := cpu(b)
		w, err := NewWriter(io.Discard, WriteOptions{Tracks: tracks, Parallel: parallel, Sink: NewIndexer(tracks, IndexOptions{})})
		if err != nil {
			b.Fatal(err)
		}
		for range times {
			if err := Append(w.Track(1), v); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		best = min(best, cpu(b)-before)
	}
	n := float64(len(v)) * times
	b.ReportMetric(n/best.Seconds()/1e6, "best-Msamples/cpu-s")
	b.ReportMetric(float64(b.N)*n/(cpu(b)-start).Seconds()/1e6, "Msamples/cpu-s")
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds()/1e6, "Msamples/s")
}

func BenchmarkIndexed(b *testing.B) {
	f64, noise := make([]float64, benchSamples), make([]float64, benchSamples)
	i16, i32 := make([]int16, benchSamples), make([]int32, benchSamples)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range f64 {
		x := wave(i)
		f64[i], i16[i], i32[i] = x, int16(x), int32(x*1000)
		noise[i] = 1000 * r.NormFloat64()
	}
	for _, p := range []struct {
		name string
		n    int
	}{{"serial", 1}, {"parallel", 0}} {
		b.Run("f64/"+p.name, func(b *testing.B) { benchIndexed(b, Codec{Kind: F64}, p.n, f64) })
		b.Run("f64-noise/"+p.name, func(b *testing.B) { benchIndexed(b, Codec{Kind: F64}, p.n, noise) })
		b.Run("i16/"+p.name, func(b *testing.B) { benchIndexed(b, Codec{Kind: I16}, p.n, i16) })
		b.Run("i32/"+p.name, func(b *testing.B) { benchIndexed(b, Codec{Kind: I32}, p.n, i32) })
		b.Run("i16x2/"+p.name, func(b *testing.B) { benchIndexed(b, Codec{Kind: I16, Channels: 2}, p.n, i16) })
	}
}
