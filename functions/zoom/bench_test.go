//go:build unix

package zoom_test

import (
	"context"
	"encoding/binary"
	"io"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/farread/farread/functions/zoom"
)

// cpu is the processor time that this process has used: on a shared machine it says
// more than the time that passed.
func cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWrite is the whole way from an object in memory, of 128 MiB (a CSV of 16)
// that is read as one of S3 is, to the bytes of a zoom-cache file.
func BenchmarkWrite(b *testing.B) {
	const n, size = 1 << 20, 128 << 20
	le := binary.LittleEndian
	var i16, f64 []byte
	for i := range n {
		x := 12000*math.Sin(float64(i)/3000) + 300*math.Sin(float64(i)*1.7)
		i16 = le.AppendUint16(i16, uint16(int16(x)))
		f64 = le.AppendUint64(f64, math.Float64bits(x))
	}
	data := append([]byte("data"), packed(le, uint32(size))...)
	const lines = "12345.678,1234567,-0.333333333\n"
	for _, c := range []struct {
		name, key  string
		head, body []byte
		size       int64
	}{
		{"wav-i16", "x.wav", wav("RIFF", form(le, 1, 1, 2, 16), data), i16, size},
		{"wav-i16-stereo", "x.wav", wav("RIFF", form(le, 1, 2, 4, 16), data), i16, size},
		{"wav-i24", "x.wav", wav("RIFF", form(le, 1, 1, 3, 24), data), i16, size / 3 * 3},
		{"wav-f64", "x.wav", wav("RIFF", form(le, 3, 1, 8, 64), data), f64, size},
		{"npy-f64-rows-of-8", "x.npy", npyOf(b, "<f8", false, nil, size/64, 8), f64, size},
		{"npy-f64-8-columns", "x.npy", npyOf(b, "<f8", true, nil, size/64, 8), f64, size},
		{"csv", "x.csv", []byte("time,a,b\n"), []byte(lines), 16 << 20 / int64(len(lines)) * int64(len(lines))},
	} {
		if c.name == "csv" {
			c.body = []byte(strings.Repeat(lines, 1<<10))
		}
		for _, p := range []struct {
			name string
			n    int
		}{{"serial", 1}, {"parallel", 0}} {
			b.Run(c.name+"/"+p.name, func(b *testing.B) {
				v := &vast{key: c.key, head: c.head, body: c.body, size: int64(len(c.head)) + c.size}
				obj := opened(b, v, c.key)
				b.SetBytes(v.size)
				samples, best := int64(0), time.Hour
				for b.Loop() {
					begun := cpu(b)
					s, err := zoom.Open(context.Background(), obj, zoom.Options{})
					if err != nil {
						b.Fatal(err)
					}
					w, err := zoom.Write(context.Background(), io.Discard, s, zoom.WriteOptions{Parallel: p.n})
					if err != nil {
						b.Fatal(err)
					}
					samples = w.Samples
					best = min(best, cpu(b)-begun)
				}
				b.ReportMetric(float64(samples)/best.Seconds()/1e6, "best-Msamples/cpu-s")
			})
		}
	}
}
