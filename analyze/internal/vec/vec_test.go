package vec

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

// lists are numbers of several kinds: small, of all magnitudes, of few bits, zeros.
func lists(n int) map[string][]float64 {
	r := rand.New(rand.NewPCG(1, 2))
	out := map[string][]float64{}
	for name, f := range map[string]func() float64{
		"normal":         r.NormFloat64,
		"all magnitudes": func() float64 { return math.Ldexp(r.Float64()-0.5, r.IntN(1900)-950) },
		"float32":        func() float64 { return float64(float32(r.NormFloat64())) },
		"zeros":          func() float64 { return math.Copysign(0, r.Float64()-0.5) },
		"some zeros":     func() float64 { return float64(r.IntN(3) - 1) },
		"near 1":         func() float64 { return 1 + float64(r.IntN(5))*0x1p-50 },
	} {
		for range n {
			out[name] = append(out[name], f())
		}
	}
	return out
}

// sizes are lengths of lists: with whole steps and without, and what is left of a step.
func sizes() []int { return []int{1, 2, 15, 16, 17, 31, 32, 100, 500, 1024} }

// scalar does f without kernels.
func scalar(f func()) {
	was := fast
	defer func() { fast = was }()
	fast = false
	f()
}

func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// TestKernels: all functions give what they give without kernels.
func TestKernels(t *testing.T) { // changes what the package knows of the processor
	for name, all := range lists(1024) {
		for _, n := range sizes() {
			list := all[len(all)-n:]
			lo, hi, nan := Bounds(list)
			var lo1, hi1 float64
			var nan1 bool
			scalar(func() { lo1, hi1, nan1 = Bounds(list) })
			if lo != lo1 || hi != hi1 || nan || nan1 {
				t.Errorf("%s, %d: bounds %v %v %v, want %v %v %v", name, n, lo, hi, nan, lo1, hi1, nan1)
			}
			testCut(t, name, list, max(-lo, hi))
			testSquare(t, name, list)
		}
	}
}

func testCut(t *testing.T, name string, list []float64, bound float64) {
	t.Helper()
	_, e := math.Frexp(bound)
	if e < -900 {
		e = -900
	}
	one, two := 1.5*math.Ldexp(1, e-43+52), 1.5*math.Ldexp(1, e-86+52)
	n := len(list)
	rest, rest1 := make([]float64, n), append([]float64{}, list...)
	a, b, left := Cut(list, rest, one, two)
	var a1, b1 float64
	var left1 bool
	scalar(func() { a1, b1, left1 = Cut(rest1, rest1, one, two) })
	if a != a1 || b != b1 || left != left1 {
		t.Errorf("%s, %d: cut %x %x %v, want %x %x %v", name, n, a, b, left, a1, b1, left1)
	}
	for i := range rest {
		if rest[i] != rest1[i] {
			t.Fatalf("%s, %d: rest %d %x, want %x", name, n, i, rest[i], rest1[i])
		}
	}
}

func testSquare(t *testing.T, name string, list []float64) {
	t.Helper()
	n := len(list)
	h, l, h1, l1 := make([]float64, n), make([]float64, n), append([]float64{}, list...), make([]float64, n)
	left, tiny := Square(list, h, l)
	var left1, tiny1 bool
	scalar(func() { left1, tiny1 = Square(h1, h1, l1) })
	if left != left1 || tiny != tiny1 {
		t.Errorf("%s, %d: square %v %v, want %v %v", name, n, left, tiny, left1, tiny1)
	}
	for i := range h {
		if !same(h[i], h1[i]) || l[i] != l1[i] && !tiny && h[i] < 1e300 {
			t.Fatalf("%s, %d: square %d of %x: %x %x, want %x %x", name, n, i, list[i], h[i], l[i], h1[i], l1[i])
		}
	}
}

// TestSpecial: NaN is found in each place, infinities are extremes, and one number is not
// exact.
func TestSpecial(t *testing.T) {
	for _, n := range sizes() {
		for at := range n {
			list := make([]float64, n)
			list[at] = math.NaN()
			if _, _, nan := Bounds(list); !nan {
				t.Fatalf("%d: no NaN at %d", n, at)
			}
			list[at] = math.Inf(-1)
			if lo, hi, nan := Bounds(list); lo != list[at] || nan || n > 1 && hi != 0 {
				t.Fatalf("%d, %d: %v %v %v", n, at, lo, hi, nan)
			}
			list[at] = 1 + 0x1p-40
			buf := make([]float64, n)
			if left, tiny := Square(list, make([]float64, n), buf); !left || tiny || buf[at] != 0x1p-80 {
				t.Fatalf("%d, %d: %v %v %x", n, at, left, tiny, buf[at])
			}
			list[at] = 0x1p-451
			if _, tiny := Square(list, make([]float64, n), buf); !tiny {
				t.Fatalf("%d, %d: not tiny", n, at)
			}
			list[at] = -0x1p-90
			if _, _, left := Cut(list, buf, 1.5*0x1p9, 1.5*0x1p-34); !left || buf[at] != list[at] {
				t.Fatalf("%d, %d: nothing left", n, at)
			}
		}
	}
}

// TestWiden: of all lengths and alignments.
func TestWiden(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 70 {
		for off := range 3 {
			src := make([]byte, off+4*n)
			want := make([]float64, n)
			for i := range want {
				v := float32(r.NormFloat64())
				want[i] = float64(v)
				binary.LittleEndian.PutUint32(src[off+4*i:], math.Float32bits(v))
			}
			got := make([]float64, n)
			Widen(got, src[off:])
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("%d, %d: %v, want %v", n, i, got[i], want[i])
				}
			}
		}
	}
}

// TestGolden: the bits of all results are those of every processor.
func TestGolden(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	h := fnv.New64a()
	put := func(list ...float64) {
		for _, x := range list {
			_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(x)))
		}
	}
	flags := func(list ...bool) {
		for _, x := range list {
			fmt.Fprint(h, x)
		}
	}
	for _, n := range sizes() {
		for _, spread := range []int{1, 40, 1000} { // of exponents; of the last some squares are tiny, some infinite
			src, list := make([]byte, 4*n), make([]float64, n)
			for i := range list {
				list[i] = math.Ldexp(r.Float64()-0.5, r.IntN(spread)-spread/2)
				binary.LittleEndian.PutUint32(src[4*i:], math.Float32bits(float32(list[i])))
			}
			x, y := make([]float64, n), make([]float64, n)
			Widen(x, src)
			put(x...)
			lo, hi, nan := Bounds(list)
			put(lo, hi)
			_, e := math.Frexp(max(-lo, hi))
			a, b, left := Cut(list, x, 1.5*math.Ldexp(1, e-43+52), 1.5*math.Ldexp(1, e-86+52))
			put(a, b)
			put(x...)
			left2, tiny := Square(list, x, y)
			put(x...)
			put(y...)
			flags(nan, left, left2, tiny)
		}
	}
	if got, want := h.Sum64(), uint64(0xbeaadb0cd311c3eb); got != want {
		t.Errorf("%#x, want %#x", got, want)
	}
}

func BenchmarkKernels(b *testing.B) {
	list := lists(1024)["float32"]
	x, y := make([]float64, 1024), make([]float64, 1024)
	src := make([]byte, 4096)
	for name, f := range map[string]func(){
		"widen":  func() { Widen(x, src) },
		"bounds": func() { Bounds(list) },
		"cut":    func() { Cut(list, x, 1.5*0x1p12, 1.5*0x1p-31) },
		"square": func() { Square(list, x, y) },
	} {
		b.Run("loop="+name, func(b *testing.B) {
			b.SetBytes(8 << 10)
			for b.Loop() {
				f()
			}
		})
	}
}
