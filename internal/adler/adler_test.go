package adler

import (
	"bytes"
	"hash/adler32"
	"math/rand/v2"
	"testing"
)

// TestSum: every length up to three kernels' and each alignment, of bytes that make
// the sums as large as they get, and of noise.
func TestSum(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 3*most+100)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for name, p := range map[string][]byte{"ff": bytes.Repeat([]byte{0xff}, len(noise)), "zeros": make([]byte, len(noise)), "noise": noise} {
		for n := 0; n <= len(p); n++ {
			if n > 300 && n%97 > 0 && n%most > 40 && n%most < most-40 {
				continue
			}
			for off := range min(3, len(p)-n+1) {
				if got, want := Sum(p[off:off+n]), adler32.Checksum(p[off:off+n]); got != want {
					t.Fatalf("%s, %d bytes at %d: %08x, want %08x", name, n, off, got, want)
				}
			}
		}
	}
}

func FuzzSum(f *testing.F) {
	f.Add([]byte("farread"))
	f.Add(bytes.Repeat([]byte{0xff, 0}, 4000))
	f.Fuzz(func(t *testing.T, p []byte) {
		if got, want := Sum(p), adler32.Checksum(p); got != want {
			t.Fatalf("%08x, want %08x", got, want)
		}
	})
}

func BenchmarkSum(b *testing.B) {
	p := make([]byte, 1<<20)
	for i := range p {
		p[i] = byte(i * i)
	}
	for _, n := range []struct {
		name string
		n    int
	}{{"128B", 128}, {"4KiB", 4 << 10}, {"1MiB", 1 << 20}} {
		for _, side := range []struct {
			name string
			sum  func([]byte) uint32
		}{{"farread", Sum}, {"hash", adler32.Checksum}} {
			b.Run("size="+n.name+"/side="+side.name, func(b *testing.B) {
				b.SetBytes(int64(n.n))
				for b.Loop() {
					side.sum(p[:n.n])
				}
			})
		}
	}
}
