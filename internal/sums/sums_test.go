package sums

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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

// TestBinsI16: as many bins as there is room for, of any size.
func TestBinsI16(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 2))
	for size := 1; size < 120; size++ {
		for _, mask := range []int16{-1, 0x7fff, 3, -0x8000} {
			checkBinsI16(t, r, size, 1+size%5, mask)
		}
	}
	checkBinsI16(t, r, most16, 2, -0x8000)
	checkBinsI16(t, r, most16+1, 1, -1)
}

func checkBinsI16(t *testing.T, r *rand.Rand, size, bins int, mask int16) {
	t.Helper()
	v := make([]int16, size*bins+size/2)
	for i := range v {
		v[i] = int16(r.Uint32())&mask | mask&-0x8000
	}
	got := make([]Small16, bins)
	if n := BinsI16(got, v, size); n == 0 {
		return
	} else if n != bins {
		t.Fatalf("%d bins of %d", n, bins)
	}
	for i := range got {
		if want := I16(v[i*size:][:size]); got[i] != want {
			t.Errorf("bin %d of %d numbers: %+v, want %+v", i, size, got[i], want)
		}
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

// part is what Parts stores of one bin.
func part(lo, hi, m, sq float64) (mean, dev uint16) {
	small := func(x float64) uint16 {
		if x >= 1 {
			return 65534
		}
		if x > 0 {
			return uint16(float64(x*65534) + 0.5)
		}
		return 0
	}
	band := hi - lo
	switch {
	case sameBits(lo, hi):
		return 0, 0
	case !(m >= lo-band && m <= hi+band && band <= math.MaxFloat64 && sq <= math.MaxFloat64):
		return 65535, 65535
	case band == 0:
		return 0, 0
	}
	a, b := (m-lo)*(1/band), 0.0
	if d := sq - float64(m*m); d > 0 {
		b = 2 * math.Sqrt(d) * (1 / band)
	}
	return small(a), small(b)
}

func TestParts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	odd := []float64{0, math.Copysign(0, -1), 1, -1, 5e-324, -5e-324, math.MaxFloat64, -math.MaxFloat64, 1e-310, 0x1p-1022, 1e300}
	pick := func() float64 {
		if r.IntN(3) == 0 {
			return odd[r.IntN(len(odd))]
		}
		return r.NormFloat64()
	}
	for n := range 40 {
		for range 50 {
			lo, hi, sum, sq := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range n {
				lo[i], hi[i] = pick(), pick()
				if less := lo[i] < hi[i]; !less {
					lo[i], hi[i] = hi[i], lo[i]
				}
				switch r.IntN(5) {
				case 0:
					hi[i] = lo[i]
				case 1:
					hi[i] = lo[i] + math.Abs(lo[i])*1e-15
				}
				m := lo[i] + (hi[i]-lo[i])*r.Float64()
				sum[i], sq[i] = 25*m, 25*m*m*(1+r.Float64())
				if r.IntN(4) == 0 {
					sum[i] = append(odd, math.Inf(1), math.NaN())[r.IntN(len(odd)+2)]
				}
				if r.IntN(4) == 0 {
					sq[i] = append(odd, math.Inf(1), math.NaN())[r.IntN(len(odd)+2)]
				}
			}
			means, devs := make([]byte, 2*n+2), make([]byte, 2*n+2)
			const each = 1. / 25
			took := Parts(means, devs, lo, hi, sum, sq, each)
			if fast && took != n&^3 || took > n {
				t.Fatalf("took %d of %d", took, n)
			}
			for i := range took {
				mean, dev := part(lo[i], hi[i], sum[i]*each, sq[i]*each)
				if a, b := binary.LittleEndian.Uint16(means[2*i:]), binary.LittleEndian.Uint16(devs[2*i:]); a != mean || b != dev {
					t.Fatalf("bin %d, %g to %g, sums %g and %g: %d and %d, want %d and %d", i, lo[i], hi[i], sum[i], sq[i], a, b, mean, dev)
				}
			}
			for _, p := range [][]byte{means, devs} {
				if p[2*took] != 0 || p[2*took+1] != 0 {
					t.Fatal("a byte behind the bins was written")
				}
			}
		}
	}
}

func TestLend(t *testing.T) {
	t.Parallel()
	p := binary.LittleEndian.AppendUint64(make([]byte, 8, 32), math.Float64bits(1.5))
	p = append(p, 1, 2, 3)
	f, ok := Lend[float64](p[8:])
	s, okS := Lend[int16](p[16:])
	if ok != fast || okS != fast || ok && (len(f) != 1 || f[0] != 1.5 || len(s) != 1 || s[0] != 0x201) {
		t.Errorf("%v %v, %v %v", f, ok, s, okS)
	}
	if v, ok := Lend[float64](p[1:9]); ok {
		t.Errorf("%v where numbers do not lie so", v)
	}
	if _, ok := Lend[int32](nil); ok {
		t.Error("something of nothing")
	}
}

func TestPairs(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	for n := range 100 {
		p := make([]byte, 4*n+3)
		for i := range p {
			p[i] = byte(r.Uint32())
		}
		first, second, all := make([]int16, n+1), make([]int16, n+1), make([]int16, 2*n)
		took := Pairs16(first[:n], second[:n], p)
		if fast && took != n&^15 || took > n {
			t.Fatalf("%d of %d pairs", took, n)
		}
		again := [2][]int16{make([]int16, n+1), make([]int16, n+1)}
		for i := range all {
			all[i] = int16(binary.LittleEndian.Uint16(p[2*i:]))
		}
		if k := Apart16(again[0][:n], again[1][:n], all); k != took || !slices.Equal(again[0], first) || !slices.Equal(again[1], second) {
			t.Fatalf("%d of %d pairs of numbers: %d", k, n, again)
		}
		for i := range n + 1 {
			a, b := int16(0), int16(0)
			if i < took {
				a, b = int16(binary.LittleEndian.Uint16(p[4*i:])), int16(binary.LittleEndian.Uint16(p[4*i+2:]))
			}
			if first[i] != a || second[i] != b {
				t.Fatalf("pair %d of %d: %d and %d, want %d and %d", i, n, first[i], second[i], a, b)
			}
		}
	}
}
