package zoomindex

import (
	"math"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/sums"
)

// gatherBins sums up n interleaved samples, size of them in each bin. dst has one stat
// for each bin and channel.
func gatherBins(dst []stat, v *zoomcache.Values, width, size, n int) {
	if width == 1 {
		switch v.Kind {
		case zoomcache.F64:
			binsF64(dst, v.F64[:n], size)
			return
		case zoomcache.F32:
			eachBin(dst, v.F32[:n], size, binF32)
			return
		case zoomcache.I8:
			eachBin(dst, v.I8[:n], size, func(v []int8, s *stat) { binSmall(v, s, 1, true) })
			return
		case zoomcache.I16:
			eachBin(dst, v.I16[:n], size, binI16)
			return
		case zoomcache.U8:
			eachBin(dst, v.U8[:n], size, func(v []uint8, s *stat) { binSmall(v, s, 1, false) })
			return
		case zoomcache.U16:
			eachBin(dst, v.U16[:n], size, func(v []uint16, s *stat) { binSmall(v, s, 2, false) })
			return
		case zoomcache.I32:
			eachBin(dst, v.I32[:n], size, func(v []int32, s *stat) { binInts(v, s, 4, true) })
			return
		case zoomcache.Int, zoomcache.I64:
			eachBin(dst, v.I64[:n], size, func(v []int64, s *stat) { binInts(v, s, 8, true) })
			return
		default:
		}
	}
	for i := 0; i*size < n; i++ {
		for c := range width {
			dst[i*width+c] = gather(v, c, width, i*size, min((i+1)*size, n))
		}
	}
}

func eachBin[T any](dst []stat, v []T, size int, f func([]T, *stat)) {
	for i := 0; len(v) > 0; i++ {
		n := min(size, len(v))
		f(v[:n], &dst[i])
		v = v[n:]
	}
}

// Two sums side by side take half the time of one, since each addition waits for the
// one before. The order of an index's sums is free. Products are rounded first, so that
// every processor gets the same sums.

// key64 turns a float into an integer that orders like it. Applied twice it gives the
// float back.
func key64(x float64) int64 {
	i := int64(math.Float64bits(x))
	return i ^ i>>63&math.MaxInt64
}

func key32(x float32) int32 {
	i := int32(math.Float32bits(x))
	return i ^ i>>31&math.MaxInt32
}

// order64 is f64Key of what is no NaN, without a branch.
func order64(x float64) uint64 {
	const sign = 1 << 63
	return uint64(key64(x)) ^ sign
}

// binsF64 does binF64 for each bin, by a kernel where there is one.
func binsF64(dst []stat, v []float64, size int) {
	var some [16]sums.Bin
	for len(v) >= size {
		n := sums.Bins(some[:min(len(some), len(dst))], v, size)
		if n == 0 {
			break
		}
		for i := range some[:n] {
			b, bin := &some[i], v[i*size:][:size]
			if b.Sum-b.Sum != 0 {
				binF64(bin, &dst[i])
				continue
			}
			s := &dst[i] // no value is NaN
			s.n, s.valid, s.big = int64(size), int64(size), nil
			s.min, s.max = order64(b.Lo), order64(b.Hi)
			s.first, s.last = order64(bin[0]), order64(bin[size-1])
			s.sum, s.sq = b.Sum, b.Squares
		}
		dst, v = dst[n:], v[n*size:]
	}
	eachBin(dst, v, size, binF64)
}

// binF64 does gatherFloats for float64 values that follow each other.
func binF64(v []float64, s *stat) {
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	lo2, hi2 := lo, hi
	var a, b, aa, bb float64
	u := v
	for ; len(u) >= 2; u = u[2:] {
		x, y := u[0], u[1]
		k, l := key64(x), key64(y)
		a += x
		b += y
		aa += float64(x * x)
		bb += float64(y * y)
		lo, hi = min(lo, k), max(hi, k)
		lo2, hi2 = min(lo2, l), max(hi2, l)
	}
	for _, x := range u {
		k := key64(x)
		a += x
		aa += float64(x * x)
		lo, hi = min(lo, k), max(hi, k)
	}
	sum := a + b
	if sum-sum != 0 { // NaN and infinities
		*s = gatherFloats(v, 0, len(v), 1, f64Key)
		return
	}
	const sign = 1 << 63
	*s = stat{n: int64(len(v)), valid: int64(len(v)), min: uint64(min(lo, lo2)) ^ sign, max: uint64(max(hi, hi2)) ^ sign,
		first: f64Key(v[0]), last: f64Key(v[len(v)-1]), sum: sum, sq: aa + bb}
}

// binF32 does gatherFloats for float32 values that follow each other.
func binF32(v []float32, s *stat) {
	lo, hi := int32(math.MaxInt32), int32(math.MinInt32)
	lo2, hi2 := lo, hi
	var a, b, aa, bb float64
	u := v
	for ; len(u) >= 2; u = u[2:] {
		x, y := float64(u[0]), float64(u[1])
		k, l := key32(u[0]), key32(u[1])
		a += x
		b += y
		aa += float64(x * x)
		bb += float64(y * y)
		lo, hi = min(lo, k), max(hi, k)
		lo2, hi2 = min(lo2, l), max(hi2, l)
	}
	for _, z := range u {
		x, k := float64(z), key32(z)
		a += x
		aa += float64(x * x)
		lo, hi = min(lo, k), max(hi, k)
	}
	sum := a + b
	if sum-sum != 0 {
		*s = gatherFloats(v, 0, len(v), 1, f32Key)
		return
	}
	const sign = 1 << 31
	*s = stat{n: int64(len(v)), valid: int64(len(v)), min: uint64(uint32(min(lo, lo2)) ^ sign), max: uint64(uint32(max(hi, hi2)) ^ sign),
		first: f32Key(v[0]), last: f32Key(v[len(v)-1]), sum: sum, sq: aa + bb}
}

// exactSquares is how many squares of 16 bits have a sum that a float64 holds.
const exactSquares = 1 << 23

// binI16 is binSmall of int16, by a kernel where there is one.
func binI16(v []int16, s *stat) {
	if len(v) > exactSquares {
		binSmall(v, s, 2, true)
		return
	}
	x, n := sums.I16(v), int64(len(v))
	*s = stat{n: n, valid: n, min: intKey(x.Lo, 2, true), max: intKey(x.Hi, 2, true),
		first: intKey(v[0], 2, true), last: intKey(v[n-1], 2, true), sum: float64(x.Sum), sq: float64(x.Squares)}
}

// binSmall sums integers of at most 16 bits as integers.
func binSmall[T int8 | uint8 | int16 | uint16](v []T, s *stat, size int, signed bool) {
	lo, hi := v[0], v[0]
	var a, b, aa, bb int64
	u := v
	for ; len(u) >= 2; u = u[2:] {
		x, y := u[0], u[1]
		lo, hi = min(lo, x, y), max(hi, x, y)
		a += int64(x)
		b += int64(y)
		aa += int64(x) * int64(x)
		bb += int64(y) * int64(y)
	}
	for _, x := range u {
		lo, hi = min(lo, x), max(hi, x)
		a += int64(x)
		aa += int64(x) * int64(x)
	}
	*s = stat{n: int64(len(v)), valid: int64(len(v)), min: intKey(lo, size, signed), max: intKey(hi, size, signed),
		first: intKey(v[0], size, signed), last: intKey(v[len(v)-1], size, signed), sum: float64(a + b), sq: float64(aa) + float64(bb)}
}

func binInts[T int32 | int64](v []T, s *stat, size int, signed bool) {
	lo, hi := v[0], v[0]
	var a, b, aa, bb float64
	u := v
	for ; len(u) >= 2; u = u[2:] {
		x, y := u[0], u[1]
		lo, hi = min(lo, x, y), max(hi, x, y)
		f, g := float64(x), float64(y)
		a += f
		b += g
		aa += float64(f * f)
		bb += float64(g * g)
	}
	for _, x := range u {
		lo, hi = min(lo, x), max(hi, x)
		f := float64(x)
		a += f
		aa += float64(f * f)
	}
	*s = stat{n: int64(len(v)), valid: int64(len(v)), min: intKey(lo, size, signed), max: intKey(hi, size, signed),
		first: intKey(v[0], size, signed), last: intKey(v[len(v)-1], size, signed), sum: a + b, sq: aa + bb}
}
