package zstdenc

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/internal/zstdfast"
)

// planesOf are the planes of blocks of numbers of some bytes each, of the lowest byte first.
func planesOf(block, size int, number func(i int) uint64) [][]byte {
	planes := make([][]byte, size)
	for i := range block / size {
		v := number(i)
		for k := range planes {
			planes[k] = append(planes[k], byte(v>>(8*k)))
		}
	}
	return planes
}

// inputs are what level 1 meets: planes of numbers, text, and what has few kinds of bytes.
func inputs() map[string][]byte {
	r := rand.New(rand.NewPCG(7, 11))
	walk, stamp := 0.0, uint64(1.7e18)
	m := map[string][]byte{
		"zeros": make([]byte, Max), "run then not": append(bytes.Repeat([]byte{7}, 3000), smallText(r, 100)...),
		"lines": smallText(r, 30_000), "all lines": smallText(r, Max), "few lines": smallText(r, 600),
		"13": bytes.Repeat([]byte("period of 13 "), 200),
	}
	sine := planesOf(128<<10, 4, func(i int) uint64 {
		return uint64(math.Float32bits(float32(math.Sin(float64(i)/300) + 1e-5*r.Float64())))
	})
	f64 := planesOf(64<<10, 8, func(int) uint64 { walk += r.NormFloat64(); return math.Float64bits(walk) })
	times := planesOf(64<<10, 8, func(int) uint64 { stamp += 1e6 + uint64(r.IntN(100)/99*r.IntN(1000)); return stamp })
	counts := planesOf(32<<10, 2, func(int) uint64 { return uint64(100 + 10*r.NormFloat64()) })
	for name, planes := range map[string][][]byte{"sine": sine, "walk": f64, "times": times, "counts": counts} {
		for k, p := range planes {
			m[fmt.Sprintf("%s, plane %d", name, k)] = p
		}
	}
	for _, kinds := range []int{2, 5, 40, 256} {
		p := make([]byte, 5000)
		for i := range p {
			p[i] = byte(r.IntN(kinds))
		}
		m[fmt.Sprint(kinds, " kinds")] = p
	}
	return m
}

// checkFrame encodes and decodes by the library and by our decoder.
func checkFrame(tb testing.TB, e *Encoder, lib *zstd.Decoder, src []byte) int {
	tb.Helper()
	frame := make([]byte, len(src)+100)
	n := e.Encode(frame, src)
	got, err := lib.DecodeAll(frame[:n], nil)
	if err != nil || !bytes.Equal(got, src) {
		tb.Fatalf("%d bytes: %v", len(src), err)
	}
	clear(got)
	if d := (&zstdfast.Decoder{}); !d.Decode(got, frame[:n]) || !bytes.Equal(got, src) {
		tb.Fatalf("%d bytes: our decoder has another opinion", len(src))
	}
	if n > len(src)+10 {
		tb.Fatalf("%d bytes became %d", len(src), n)
	}
	if k := e.Encode(frame[:n-1], src); k != 0 {
		tb.Fatalf("%d bytes in a destination of %d", k, n-1)
	}
	return n
}

// TestPlaneRatio: frames are hardly longer than the library's at its fastest.
func TestPlaneRatio(t *testing.T) {
	e, lib, enc := &Encoder{}, newLib(t), fastestLib(t)
	for name, src := range inputs() {
		ours, theirs := checkFrame(t, e, lib, src), len(enc.EncodeAll(src, nil))
		t.Logf("%-20s %6d: %6d, the library's %6d, %.3f", name, len(src), ours, theirs, float64(ours)/float64(theirs))
		if most := theirs + theirs/33 + 8; ours > most {
			t.Errorf("%s: %d bytes of %d, at most %d wanted", name, ours, len(src), most)
		}
	}
}

// TestPlaneLengths: every length around those where fields of the format become longer, and
// inputs whose lengths go up and down.
func TestPlaneLengths(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	e, lib, text := &Encoder{}, newLib(t), smallText(r, Max)
	noise := make([]byte, Max)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	for _, around := range []int{SmallMax + 20, 1 << 10, 4 << 10, 16 << 10, Max - 20} {
		for n := around - 19; n <= around+20; n++ {
			for _, src := range [][]byte{text[:n], noise[:n], noise[Max-n:]} {
				checkFrame(t, e, lib, src)
			}
			mixed := bytes.Clone(noise[:n])
			copy(mixed[n/3:], text[:r.IntN(n/2)])
			copy(mixed[r.IntN(n):], mixed[:r.IntN(n)])
			checkFrame(t, e, lib, mixed)
		}
	}
	// Most sequences that there can be: matches of 4 and 5 bytes, and many literals.
	for _, kinds := range []int{2, 3, 4, 8, 30} {
		words := make([]byte, 5*kinds)
		for i := range words {
			words[i] = byte(r.Uint32())
		}
		src := make([]byte, 0, Max)
		for len(src) < Max-6 {
			src = append(append(src, words[5*r.IntN(kinds):][:4+r.IntN(2)-1]...), byte(r.Uint32()))
		}
		checkFrame(t, e, lib, src)
	}
}

func TestPlaneAllocs(t *testing.T) {
	src := smallText(rand.New(rand.NewPCG(3, 4)), 20_000)
	e, dst := &Encoder{}, make([]byte, len(src))
	if n := testing.AllocsPerRun(100, func() { e.Encode(dst, src) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzPlane(f *testing.F) {
	f.Add(bytes.Repeat([]byte("the quick brown fox jumps over the lazy dog, and over the lazy dog again"), 20), uint16(0))
	f.Add([]byte("0123456789"), uint16(3000))
	for _, src := range inputs() {
		f.Add(src[:min(len(src), 3000)], uint16(7))
	}
	e, lib := &Encoder{}, newLib(f)
	f.Fuzz(func(t *testing.T, src []byte, more uint16) {
		if len(src) > Max/2 {
			return
		}
		// What a fuzzer makes is short: repeat it, a little changed each time.
		p := bytes.Clone(src)
		for r := rand.New(rand.NewPCG(uint64(more), 1)); len(src) > 0 && len(p) < min(int(more), Max/2); {
			at := len(p)
			p = append(p, src[r.IntN(len(src)):]...)
			p[at+r.IntN(max(len(p)-at, 1))] ^= byte(r.Uint32())
		}
		if len(p) > SmallMax {
			checkFrame(t, e, lib, p)
		}
	})
}

func BenchmarkPlane(b *testing.B) {
	all := inputs()
	for _, name := range []string{"sine, plane 2", "sine, plane 3", "walk, plane 6", "times, plane 1", "lines"} {
		src, lib, e := all[name], fastestLib(b), &Encoder{}
		dst := make([]byte, 2*len(src))
		for _, side := range []struct {
			name string
			run  func()
		}{{"ours", func() { e.Encode(dst, src) }}, {"library", func() { dst = lib.EncodeAll(src, dst[:0]); dst = dst[:cap(dst)] }}} {
			b.Run(name+"/side="+side.name, func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				b.ReportAllocs()
				for b.Loop() {
					side.run()
				}
			})
		}
	}
}
