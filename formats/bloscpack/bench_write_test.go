//go:build unix

package bloscpack

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/farread/farread/formats/blosc"
)

// jsonLines makes about n bytes of records of 200 to 300 bytes, as services log
// them.
func jsonLines(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := []string{"lorem", "ipsum", "dolor", "sit", "amet", "consectetur", "adipiscing", "elit", "sed", "tempor", "magna", "aliqua"}
	levels := []string{"debug", "info", "info", "info", "warn", "error"}
	b := make([]byte, 0, n+512)
	for i := 0; len(b) < n; i++ {
		b = fmt.Appendf(b, `{"id":%d,"time":"2026-11-%02dT%02d:%02d:%02d.%03dZ","level":"%s","user":"user-%05d","ip":"10.%d.%d.%d","latency_ms":%.3f,"status":%d,"path":"/v1/%s/%s","text":"`,
			i+1_000_000, 1+r.IntN(30), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000), levels[r.IntN(len(levels))], r.IntN(50_000),
			r.IntN(256), r.IntN(256), r.IntN(256), r.Float64()*900, []int{200, 200, 200, 404, 500}[r.IntN(5)], words[r.IntN(len(words))], words[r.IntN(len(words))])
		for k := range 3 + r.IntN(10) {
			if k > 0 {
				b = append(b, ' ')
			}
			b = append(b, words[r.IntN(len(words))]...)
		}
		b = append(b, "\"}\n"...)
	}
	return b
}

// counted is an Output that only counts.
type counted struct{ n int64 }

func (d *counted) Write(p []byte) (int, error)    { d.n += int64(len(p)); return len(p), nil }
func (d *counted) Patch(int64, []byte) error      { return nil }
func (d *counted) Rehead(n int64, p []byte) error { d.n += int64(len(p)) - n; return nil }

// BenchmarkPackLines packs a million JSON lines into items.
func BenchmarkPackLines(b *testing.B) {
	lines := jsonLines(250 * 1_000_000)
	items := bytes.Count(lines, []byte("\n"))
	for _, c := range []struct {
		codec blosc.Codec
		level int
	}{{blosc.LZ4, 5}, {blosc.LZ4, 9}, {blosc.BloscLZ, 5}, {blosc.Zstd, 1}, {blosc.LZ4, blosc.LevelStore}} {
		for _, parallel := range []int{1, runtime.GOMAXPROCS(0)} {
			b.Run(fmt.Sprintf("codec=%s/level=%d/parallel=%d", c.codec, c.level, parallel), func(b *testing.B) {
				b.SetBytes(int64(len(lines)))
				b.ReportAllocs()
				var d counted
				before := cpuTime(b)
				for b.Loop() {
					d = counted{}
					w, err := NewWriter(&d, WriteOptions{Variable: true, Encode: blosc.EncodeOptions{Codec: c.codec, Level: c.level}, Parallel: parallel})
					if err != nil {
						b.Fatal(err)
					}
					for rest := lines; len(rest) > 0; {
						i := bytes.IndexByte(rest, '\n')
						if err := w.WriteItem(rest[:i]); err != nil {
							b.Fatal(err)
						}
						rest = rest[i+1:]
					}
					if err := w.Close(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(lines))*float64(b.N)/1e6/(cpuTime(b)-before).Seconds(), "MB/cpu-s")
				b.ReportMetric(float64(d.n)/float64(len(lines)), "size")
				b.ReportMetric(float64(items), "items")
			})
		}
	}
}

// cpuTime is how much time of all cores this process has used. Other processes do not
// count.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
