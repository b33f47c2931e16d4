package zoomcache

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// refWindow is the level-1 summary by the letter of the specification: one value
// after the other, every product in the arithmetic of the type.
func refWindow[T integer | float32 | float64](v []T, stamps []int64, dur int64) acc[T] {
	a := acc[T]{first: v[0], last: v[len(v)-1], min: startMin[T](), max: startMax[T]()}
	sum, squares := 0.0, 0.0
	for i, x := range v {
		w := T(0)
		if i > 0 && stamps == nil {
			w = 1
		} else if i > 0 {
			w = T(stamps[i] - stamps[i-1])
		}
		p, q := x*w, x*x // no sum next to a product: nothing to fuse
		q *= w
		sum += float64(p)
		squares += float64(q)
		if stays := a.min <= x; !stays {
			a.min = x
		}
		if a.max <= x {
			a.max = x
		}
	}
	a.mean, a.rms = sum/float64(dur), math.Sqrt(squares/float64(dur))
	return a
}

func startMin[T integer | float32 | float64]() (m T) {
	switch p := any(&m).(type) {
	case *float32:
		*p = math.MaxFloat32
	case *float64:
		*p = math.MaxFloat64
	case *int8:
		*p = math.MaxInt8
	case *int16:
		*p = math.MaxInt16
	case *int32:
		*p = math.MaxInt32
	case *int64:
		*p = math.MaxInt64
	default:
		m--
	}
	return m
}

func startMax[T integer | float32 | float64]() T {
	switch m := any(startMin[T]()).(type) {
	case float32, float64:
		return -startMin[T]()
	case uint8, uint16, uint32, uint64:
		return 0
	default:
		_ = m
		return -startMin[T]() - 1
	}
}

// same compares summaries. It takes all NaN as equal, and the two zeros as different.
func same[T integer | float32 | float64](a, b acc[T]) bool {
	eq := func(x, y float64) bool {
		return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
	}
	return eq(float64(a.first), float64(b.first)) && eq(float64(a.last), float64(b.last)) && eq(float64(a.min), float64(b.min)) &&
		eq(float64(a.max), float64(b.max)) && eq(a.mean, b.mean) && eq(a.rms, b.rms)
}

func checkKernel[T integer | float32 | float64](t *rapid.T, k Kind, gen *rapid.Generator[T]) {
	v := rapid.SliceOfN(gen, 1, 70).Draw(t, "values")
	w := kernelOf[T](Codec{Kind: k}).window
	dur := int64(len(v) - 1)
	want := refWindow(v, nil, dur)
	if got := w(v, nil, dur); !same(got, want) {
		t.Fatalf("%s: %v at constant rate: %+v, want %+v", k, v, got, want)
	}
	if many := kernelOf[T](Codec{Kind: k}).many; many != nil {
		n := len(v)
		more := rapid.IntRange(2, 5).Draw(t, "windows") - 1
		all := slices.Concat(v, rapid.SliceOfN(gen, more*n, more*n).Draw(t, "other values"))
		out := make([]acc[T], 4)
		for i := range many(all, n, dur, out) {
			if u := all[i*n:][:n]; !same(out[i], refWindow(u, nil, dur)) {
				t.Fatalf("%s: %v in windows of %d: window %d is %+v", k, all, n, i, out[i])
			}
		}
	}
	ones := make([]int64, len(v))
	stamps := rapid.SliceOfN(rapid.Int64Range(-400, 400), len(v), len(v)).Draw(t, "stamps")
	for i := range ones {
		ones[i] = int64(i) + 77
	}
	if got := w(v, ones, dur); !same(got, want) {
		t.Fatalf("%s: %v with stamps of constant rate: %+v, want %+v", k, v, got, want)
	}
	dur = stamps[len(v)-1] - stamps[0]
	if got, want := w(v, stamps, dur), refWindow(v, stamps, dur); !same(got, want) {
		t.Fatalf("%s: %v at %v: %+v, want %+v", k, v, stamps, got, want)
	}
}

func TestWindowsByTheLetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		odd64 := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, math.MaxFloat64, 5e-324}))
		odd32 := rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0, math.MaxFloat32}))
		checkKernel(t, F64, rapid.OneOf(odd64, rapid.Float64Range(-1e6, 1e6)))
		checkKernel(t, F64, rapid.Float64Range(-1e6, 1e6))
		checkKernel(t, F32, rapid.OneOf(odd32, rapid.Float32Range(-1e6, 1e6)))
		checkKernel(t, F32, rapid.Float32Range(-1e6, 1e6))
		checkKernel(t, I8, rapid.Int8())
		checkKernel(t, I16, rapid.Int16())
		checkKernel(t, I32, rapid.Int32())
		checkKernel(t, I64, rapid.Int64())
		checkKernel(t, Int, rapid.Int64Range(-1e6, 1e6))
		checkKernel(t, U8, rapid.Uint8())
		checkKernel(t, U16, rapid.Uint16())
		checkKernel(t, U32, rapid.Uint32())
		checkKernel(t, U64, rapid.Uint64())
		checkKernel(t, Word, rapid.Uint64Range(0, 1e6))
	})
}

// Beyond exactSums the sums of small integers go through floats, in order.
func TestLongWindowOfSmallIntegers(t *testing.T) {
	v := make([]uint32, 4*exactSums+3)
	for i := range v {
		v[i] = math.MaxUint32 - uint32(i)*2654435761
	}
	dur := int64(len(v) - 1)
	if got, want := windowSmall(v, nil, dur), refWindow(v, nil, dur); !same(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Of zeros that are equal, the first is the minimum and the last the maximum.
func TestZeros(t *testing.T) {
	minus := math.Copysign(0, -1)
	for _, v := range [][]float64{{0, minus}, {minus, 0}, {-1, 0, minus}, {1, minus, 0}} {
		f32, stamps := make([]float32, len(v)), make([]int64, len(v))
		for i, x := range v {
			f32[i], stamps[i] = float32(x), int64(3*i)
		}
		for _, at := range [][]int64{nil, stamps} {
			if got, want := windowF64(v, at, 1), refWindow(v, at, 1); !same(got, want) {
				t.Errorf("%v: %+v, want %+v", v, got, want)
			}
			if got, want := windowF32(f32, at, 1), refWindow(f32, at, 1); !same(got, want) {
				t.Errorf("%v as f32: %+v, want %+v", v, got, want)
			}
		}
		a, b := refWindow(v[:1], nil, 0), refWindow(v[1:], nil, 1)
		if m, want := mergeNumbers(&a, &b, 0, 1), refWindow(v, nil, 1); math.Signbit(m.min) != math.Signbit(want.min) || math.Signbit(m.max) != math.Signbit(want.max) {
			t.Errorf("%v merged: %+v, want %+v", v, m, want)
		}
	}
}

// Integers of any size have the sums of 64-bit ones if these do not overflow. Minimum
// and maximum stay at the first value.
func TestWindowOfIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := rapid.SliceOfN(rapid.Int64Range(-1e6, 1e6), 1, 30).Draw(t, "values")
		v := make([]*big.Int, len(small))
		for i, x := range small {
			v[i] = big.NewInt(x)
		}
		var stamps []int64
		if rapid.Bool().Draw(t, "variable") {
			stamps = rapid.SliceOfN(rapid.Int64Range(-400, 400), len(v), len(v)).Draw(t, "stamps")
		}
		got, want := windowBig(v, stamps, 10), windowInts(small, stamps, 10)
		if got.min != v[0] || got.max != v[0] || got.first != v[0] || got.last != v[len(v)-1] {
			t.Fatalf("%v: %+v", small, got)
		}
		if got.mean != want.mean || math.Float64bits(got.rms) != math.Float64bits(want.rms) {
			t.Fatalf("%v at %v: %v %v, want %v %v", small, stamps, got.mean, got.rms, want.mean, want.rms)
		}
	})
}

// NaN bits are the same on every processor.
func TestNaNBits(t *testing.T) {
	const hw, pos, neg, signalling = 0xfff8 << 48, 0x7ff8<<48 | 5, 0xfff8<<48 | 7, 0x7ff0<<48 | 9
	f := math.Float64frombits
	for what, c := range map[string]struct {
		got  float64
		want uint64
	}{
		"inf-inf": {add(math.Inf(1), math.Inf(-1)), hw}, "0*inf": {mul(0, math.Inf(1)), hw}, "0/0": {div(0, 0), hw}, "root": {sqrt(-1), hw},
		"first": {add(f(pos), f(neg)), pos}, "second": {mul(1, f(neg)), neg}, "quiet": {div(f(signalling), 2), signalling | quiet}, "root of": {sqrt(f(neg)), neg},
		"difference": {sub(math.Inf(1), math.Inf(1)), hw}, "f32": {float64(sub(float32(math.Inf(1)), float32(math.Inf(1)))), hw},
		"product of f32": {float64(mul32(0, float32(math.Inf(1)))), hw}, "a number": {add(1, 2), math.Float64bits(3)},
		"one value": {windowF64([]float64{5}, nil, 0).mean, hw}, "inf first": {windowF64([]float64{math.Inf(-1), 1}, nil, 1).mean, hw},
		"NaN later": {windowF64([]float64{1, f(neg), f(pos)}, nil, 2).rms, neg}, "wrapped": {windowSmall([]int16{0, 200, 200}, nil, 2).rms, hw},
	} {
		if b := math.Float64bits(c.got); b != c.want {
			t.Errorf("%s: %#x, want %#x", what, b, c.want)
		}
	}
}
