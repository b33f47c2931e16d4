package sums

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// floats are numbers with zeros of both signs among them, and with what strange adds.
func floats(r *rand.Rand, n int, strange ...float64) []float64 {
	odd := append([]float64{0, math.Copysign(0, -1), 1, -1}, strange...)
	v := make([]float64, n)
	for i := range v {
		if v[i] = r.NormFloat64(); r.IntN(3) == 0 {
			v[i] = odd[r.IntN(len(odd))]
		}
	}
	return v
}

func sameBits(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

func TestI16(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 200; n++ {
		for _, mask := range []int16{-1, 0x7fff, 3, -0x8000, 0} {
			checkI16(t, r, n, mask)
		}
	}
	checkI16(t, r, most16*2+17, -0x8000)
}

func checkI16(t *testing.T, r *rand.Rand, n int, mask int16) {
	t.Helper()
	v := make([]int16, n)
	for i := range v {
		v[i] = int16(r.Uint32()) & mask
		if mask == -0x8000 && n > most16 {
			v[i] = mask
		}
	}
	want := Small16{Lo: v[0], Hi: v[0]}
	wrapped := int64(0)
	for _, x := range v {
		want.Lo, want.Hi = min(want.Lo, x), max(want.Hi, x)
		want.Sum += int64(x)
		want.Squares += int64(x) * int64(x)
		wrapped += int64(x * x)
	}
	if got := I16(v); got != want {
		t.Errorf("%d numbers: %+v, want %+v", n, got, want)
	}
	want.Squares = wrapped
	if got := I16Wrapped(v); got != want {
		t.Errorf("%d numbers, squares wrapped: %+v, want %+v", n, got, want)
	}
}

func TestWindows(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 40 {
		for _, strange := range [][]float64{nil, {math.Inf(1)}, {math.MaxFloat64, -math.MaxFloat64, 5e-324}} {
			stride := n + 5
			v := floats(r, 3*stride+n, strange...)
			w := Windows{Lo: [4]float64{9, 9, 9, 9}, Hi: [4]float64{-9, -9, -9, -9}, Sum: [4]float64{1, 2, 3, 4}}
			want := w
			took := w.Add(v, stride, n)
			if took != 0 && took != n&^3 || fast && n >= windowStep && took == 0 {
				t.Fatalf("took %d of %d", took, n)
			}
			for i := range 4 {
				for _, x := range v[i*stride:][:took] {
					want.Sum[i] += x
					want.Squares[i] += float64(x * x)
					if !(want.Lo[i] <= x) {
						want.Lo[i] = x
					}
					if want.Hi[i] <= x {
						want.Hi[i] = x
					}
				}
				if !sameBits(w.Lo[i], want.Lo[i]) || !sameBits(w.Hi[i], want.Hi[i]) || !sameBits(w.Sum[i], want.Sum[i]) || !sameBits(w.Squares[i], want.Squares[i]) {
					if want.Sum[i] == want.Sum[i] && want.Squares[i] == want.Squares[i] {
						t.Errorf("window %d of %d numbers: %v, want %v", i, n, w, want)
					}
				}
			}
		}
	}
}

func TestBins(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for size := 1; size < 40; size++ {
		for _, bins := range []int{0, 1, 2, 3, 8} {
			for _, v := range [][]float64{floats(r, size*bins+1), make([]float64, size*bins), floats(r, size*bins, math.Inf(-1), math.NaN())} {
				checkBins(t, v, size, bins)
			}
			v := floats(r, size*bins)
			for i := range v { // zeros alone at one end
				v[i] = math.Abs(v[i])
				if v[i] == 0 && r.IntN(2) == 0 {
					v[i] = math.Copysign(0, -1)
				}
			}
			checkBins(t, v, size, bins)
			for i := range v {
				v[i] = -v[i]
			}
			checkBins(t, v, size, bins)
		}
	}
}

func checkBins(t *testing.T, v []float64, size, bins int) {
	t.Helper()
	dst := make([]Bin, bins+1)
	n := Bins(dst, v, size)
	if fast && size > 1 && n != bins&^1 || n > bins {
		t.Fatalf("%d of %d bins", n, bins)
	}
	if dst[n] != (Bin{}) {
		t.Fatalf("bin %d was written", n)
	}
	less := func(a, b float64) bool { return a < b || a == b && math.Signbit(a) && !math.Signbit(b) }
	for i, b := range dst[:n] {
		bin := v[i*size:][:size]
		var sums, squares [2]float64
		lo, hi := bin[0], bin[0]
		for k, x := range bin {
			sums[k&1] += x
			squares[k&1] += float64(x * x)
			if less(x, lo) {
				lo = x
			}
			if less(hi, x) {
				hi = x
			}
		}
		sum := sums[0] + sums[1]
		if sum-sum != 0 {
			if b.Sum-b.Sum == 0 {
				t.Errorf("the sum of %v is %v", bin, b.Sum)
			}
			continue
		}
		if !sameBits(b.Lo, lo) || !sameBits(b.Hi, hi) || !sameBits(b.Sum, sum) || !sameBits(b.Squares, squares[0]+squares[1]) {
			t.Errorf("bin %d of %d numbers %v: %+v, want %v %v %v %v", i, size, bin, b, lo, hi, sum, squares[0]+squares[1])
		}
	}
}

func TestBigEndian(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	for n := range 100 {
		v16, v32, v64 := make([]int16, n), make([]uint32, n), make([]float64, n)
		for i := range n {
			v16[i], v32[i], v64[i] = int16(r.Uint32()), r.Uint32(), math.Float64frombits(r.Uint64())
		}
		dst := make([]byte, 8*n+1)
		checkSwapped(t, dst, v16, BigEndian16(dst, v16), 32)
		checkSwapped(t, dst, v32, BigEndian32(dst, v32), 16)
		checkSwapped(t, dst, v64, BigEndian64(dst, v64), 8)
		if dst[8*n] != 0 {
			t.Error("a byte behind the room was written")
		}
	}
}

func checkSwapped[T any](t *testing.T, dst []byte, v []T, n, step int) {
	t.Helper()
	if want := len(v) / step * step; fast && n != want || n > len(v) {
		t.Fatalf("%d of %d numbers of %T, want %d", n, len(v), v, want)
	}
	want, err := binary.Append(nil, binary.BigEndian, v[:n])
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", dst[:len(want)]); got != fmt.Sprintf("%x", want) {
		t.Errorf("%v: %s, want %x", v[:n], got, want)
	}
}
