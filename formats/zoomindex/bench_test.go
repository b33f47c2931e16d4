//go:build unix

package zoomindex

import (
	"io"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/farread/farread/formats/zoomcache"
)

// benchIndexed writes whole files of 8 Mi samples with their index, from memory.
func benchIndexed[T zoomcache.Value](b *testing.B, codec zoomcache.Codec, behind bool, v []T) {
	b.Helper()
	tracks := []zoomcache.Track{{Number: 1, Codec: codec, Rate: zoomcache.Rate{Num: 1000, Den: 1}}}
	b.ReportAllocs()
	start, best, wall := cpu(b), time.Hour, time.Hour
	for b.Loop() {
		before, began := cpu(b), time.Now()
		w, err := zoomcache.NewWriter(io.Discard, zoomcache.WriteOptions{Tracks: tracks, Parallel: 1, Sink: NewBuilder(tracks, WriteOptions{Behind: behind})})
		if err != nil {
			b.Fatal(err)
		}
		if err := zoomcache.WriteSamples(w.Track(1), v); err != nil {
			b.Fatal(err)
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
		best, wall = min(best, cpu(b)-before), min(wall, time.Since(began))
	}
	n := float64(len(v))
	b.ReportMetric(n/best.Seconds()/1e6, "best-Msamples/cpu-s")
	b.ReportMetric(n/wall.Seconds()/1e6, "best-Msamples/s")
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
		name   string
		behind bool
	}{{"serial", false}, {"behind", true}} {
		b.Run("f64/"+p.name, func(b *testing.B) { benchIndexed(b, zoomcache.Codec{Kind: zoomcache.F64}, p.behind, f64) })
		b.Run("f64-noise/"+p.name, func(b *testing.B) { benchIndexed(b, zoomcache.Codec{Kind: zoomcache.F64}, p.behind, noise) })
		b.Run("i16/"+p.name, func(b *testing.B) { benchIndexed(b, zoomcache.Codec{Kind: zoomcache.I16}, p.behind, i16) })
		b.Run("i32/"+p.name, func(b *testing.B) { benchIndexed(b, zoomcache.Codec{Kind: zoomcache.I32}, p.behind, i32) })
		b.Run("i16x2/"+p.name, func(b *testing.B) { benchIndexed(b, zoomcache.Codec{Kind: zoomcache.I16, Channels: 2}, p.behind, i16) })
	}
}

const benchSamples = 8 << 20

func wave(i int) float64 { return 12000*math.Sin(float64(i)/3000) + 300*math.Sin(float64(i)*1.7) }

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
