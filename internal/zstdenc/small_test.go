package zstdenc

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// smallText are n bytes of lines as programs log them.
func smallText(r *rand.Rand, n int) []byte {
	kinds := []string{"click", "view", "purchase", "scroll"}
	var p []byte
	for len(p) < n {
		p = fmt.Appendf(p, `{"id":%d,"time":"2026-11-%02dT%02d:%02d:%02d.%03dZ","user":"user-%05d","event":"%s","ms":%.3f,"page":"/shop/%s/%d"}`,
			r.IntN(1e6), 1+r.IntN(28), r.IntN(24), r.IntN(60), r.IntN(60), r.IntN(1000), r.IntN(1e5), kinds[r.IntN(4)], r.Float64()*1000, kinds[r.IntN(4)], r.IntN(50_000))
	}
	return p[:n]
}

// checkSmall encodes and decodes by the library and by our decoder.
func checkSmall(tb testing.TB, z *small, lib *zstd.Decoder, src []byte) int {
	tb.Helper()
	dst := make([]byte, 2*SmallMax)
	n := z.encode(dst, src)
	got, err := lib.DecodeAll(dst[:n], nil)
	if err != nil || !bytes.Equal(got, src) {
		tb.Fatalf("%q: %v\nframe %x\ngot %q", src, err, dst[:n], got)
	}
	if n > len(src)+10 {
		tb.Fatalf("%d bytes became %d", len(src), n)
	}
	// libzstd refuses blocks that are longer than the window, which the library here takes.
	if head := 5 + 1 + min(len(src)>>8, 1); (int(dst[head])|int(dst[head+1])<<8|int(dst[head+2])<<16)>>3 > len(src) {
		tb.Fatalf("%d bytes in a block of a frame %x", len(src), dst[:n])
	}
	if k := z.encode(dst[:n-1], src); k != 0 {
		tb.Fatalf("%d bytes in a destination of %d", k, n-1)
	}
	return n
}

func newLib(tb testing.TB) *zstd.Decoder {
	tb.Helper()
	lib, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(lib.Close)
	return lib
}

func TestZstdSmall(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	lib, z := newLib(t), &small{}
	for n := Min; n <= SmallMax; n++ {
		checkSmall(t, z, lib, smallText(r, n))
		for _, kinds := range []int{1, 2, 3, 5, 16, 40, 128, 256} {
			p := make([]byte, n)
			for i := range p {
				p[i] = byte(r.IntN(kinds) * (255 / kinds))
				if r.IntN(3) > 0 && i > 0 {
					p[i] = p[r.IntN(i)]
				}
			}
			checkSmall(t, z, lib, p)
			copy(p[n/2:], p[:n/3])
			checkSmall(t, z, lib, p)
		}
	}
	z.base = 1<<31 - 1000 // positions begin anew
	for range 5 {
		checkSmall(t, z, lib, smallText(r, SmallMax))
	}
}

// TestZstdSmallRatio: frames are hardly longer than the library's at its fastest.
func TestZstdSmallRatio(t *testing.T) {
	for n, most := range map[int]float64{130: 1.05, 200: 1.03, 300: 1.03, 512: 1.04} {
		r := rand.New(rand.NewPCG(3, 4))
		enc, lib, z := fastestLib(t), newLib(t), &small{}
		ours, theirs := 0, 0
		for range 100 {
			p := smallText(r, n)
			ours += checkSmall(t, z, lib, p)
			theirs += len(enc.EncodeAll(p, nil))
		}
		if got := float64(ours) / float64(theirs); got > most {
			t.Errorf("%d bytes: %.3f of the library's length, at most %.2f wanted", n, got, most)
		}
	}
}

func TestZstdSmallAllocs(t *testing.T) {
	z, dst, src := &small{}, make([]byte, 400), smallText(rand.New(rand.NewPCG(3, 4)), 400)
	if n := testing.AllocsPerRun(100, func() { z.encode(dst, src) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// fastestLib is the library as it serves level 1.
func fastestLib(tb testing.TB) *zstd.Encoder {
	tb.Helper()
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithSingleSegment(true), zstd.WithAllLitEntropyCompression(true))
	if err != nil {
		tb.Fatal(err)
	}
	return enc
}

func FuzzZstdSmall(f *testing.F) {
	f.Add([]byte("the quick brown fox jumps over the lazy dog, and over the lazy dog again"))
	f.Add(bytes.Repeat([]byte{0}, 100))
	lib, z := newLib(f), &small{}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) >= Min && len(src) <= SmallMax {
			checkSmall(t, z, lib, src)
		}
	})
}

func BenchmarkZstdSmall(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{130, 200, 300, 500} {
		var items [][]byte
		for range 1000 {
			items = append(items, smallText(r, n))
		}
		dst := make([]byte, 1024)
		lib := fastestLib(b)
		z := &small{}
		for _, side := range []struct {
			name string
			run  func([]byte)
		}{{"ours", func(p []byte) { z.encode(dst, p) }}, {"library", func(p []byte) { dst = lib.EncodeAll(p, dst[:0]) }}} {
			b.Run(fmt.Sprintf("bytes=%d/side=%s", n, side.name), func(b *testing.B) {
				b.SetBytes(int64(n))
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					side.run(items[i%len(items)])
				}
			})
		}
	}
}
