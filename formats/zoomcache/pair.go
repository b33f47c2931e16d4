package zoomcache

import (
	"math"

	"github.com/farread/farread/internal/sums"
)

// In a sum each addition waits for the one before, so one window leaves a processor
// idle most of the time. Two windows side by side take about the time of one, and four
// in the lanes of vectors less.

func manyF32(v []float32, n int, dur int64, out []acc[float32]) int {
	out[0], out[1] = pairF32(v[:n], v[n:2*n], dur)
	return 2
}

func manyF64(v []float64, n int, dur int64, out []acc[float64]) int {
	if len(v) >= 4*n && foursF64(v[:4*n], n, dur, out) {
		return 4
	}
	out[0], out[1] = pairF64(v[:n], v[n:2*n], dur)
	return 2
}

// foursF64 does windowF64 for four windows of n values at constant rate, if there is a
// kernel.
func foursF64(v []float64, n int, dur int64, out []acc[float64]) bool {
	if !sums.Fast() || n < 8 {
		return false
	}
	var w sums.Windows
	head := 1 + (n-1)%4 // the kernel takes four values at a time
	for i := range 4 {
		x := v[i*n]
		w.Lo[i], w.Hi[i] = boundsF64(v[i*n:][:head], math.MaxFloat64, -math.MaxFloat64)
		w.Sum[i] += float64(x * 0)
		w.Squares[i] += float64(float64(x*x) * 0)
		for _, x := range v[i*n:][1:head] {
			w.Sum[i] += x
			w.Squares[i] += float64(x * x)
		}
	}
	w.Add(v[head:], n, n-head)
	for i := range 4 {
		u, sum, squares := v[i*n:][:n], w.Sum[i], w.Squares[i]
		a := acc[float64]{first: u[0], last: u[n-1], min: w.Lo[i], max: w.Hi[i]}
		if sum != sum || squares != squares {
			sum, squares = carefulF64(u, nil)
			a.min, a.max = boundsF64(u, math.MaxFloat64, -math.MaxFloat64)
		}
		a.finish(sum, squares, dur)
		out[i] = a
	}
	return true
}

// pairF64 does windowF64 for two windows of the same length at constant rate.
func pairF64(v, u []float64, dur int64) (a, b acc[float64]) {
	u = u[:len(v)]
	a, b = acc[float64]{first: v[0], last: v[len(v)-1]}, acc[float64]{first: u[0], last: u[len(v)-1]}
	loA, hiA := bounds64(v[0])
	loB, hiB := bounds64(u[0])
	sumA, sumB, sqA, sqB := 0.0, 0.0, 0.0, 0.0
	sumA += float64(v[0] * 0)
	sumB += float64(u[0] * 0)
	sqA += float64(float64(v[0]*v[0]) * 0)
	sqB += float64(float64(u[0]*u[0]) * 0)
	for i := 1; i < len(v); i++ {
		x, y := v[i], u[i]
		sumA += x
		sumB += y
		sqA += float64(x * x)
		sqB += float64(y * y)
		k, l := key64(x), key64(y)
		loA, hiA = min(loA, k), max(hiA, k)
		loB, hiB = min(loB, l), max(hiB, l)
	}
	a.min, a.max, b.min, b.max = unkey64(loA), unkey64(hiA), unkey64(loB), unkey64(hiB)
	if sumA != sumA || sqA != sqA {
		sumA, sqA = carefulF64(v, nil)
		a.min, a.max = boundsF64(v, math.MaxFloat64, -math.MaxFloat64)
	} else if a.min == 0 || a.max == 0 {
		a.min, a.max = boundsF64(v, math.MaxFloat64, -math.MaxFloat64)
	}
	if sumB != sumB || sqB != sqB {
		sumB, sqB = carefulF64(u, nil)
		b.min, b.max = boundsF64(u, math.MaxFloat64, -math.MaxFloat64)
	} else if b.min == 0 || b.max == 0 {
		b.min, b.max = boundsF64(u, math.MaxFloat64, -math.MaxFloat64)
	}
	a.finish(sumA, sqA, dur)
	b.finish(sumB, sqB, dur)
	return a, b
}

// pairF32 does windowF32 for two windows of the same length at constant rate.
func pairF32(v, u []float32, dur int64) (a, b acc[float32]) {
	u = u[:len(v)]
	a, b = acc[float32]{first: v[0], last: v[len(v)-1]}, acc[float32]{first: u[0], last: u[len(v)-1]}
	loA, hiA := bounds32(v[0])
	loB, hiB := bounds32(u[0])
	sumA, sumB, sqA, sqB := 0.0, 0.0, 0.0, 0.0
	sumA += float64(v[0] * 0)
	sumB += float64(u[0] * 0)
	sqA += float64(float32(v[0]*v[0]) * 0)
	sqB += float64(float32(u[0]*u[0]) * 0)
	for i := 1; i < len(v); i++ {
		x, y := v[i], u[i]
		sumA += float64(x)
		sumB += float64(y)
		sqA += float64(float32(x * x))
		sqB += float64(float32(y * y))
		k, l := key32(x), key32(y)
		loA, hiA = min(loA, k), max(hiA, k)
		loB, hiB = min(loB, l), max(hiB, l)
	}
	a.min, a.max, b.min, b.max = unkey32(loA), unkey32(hiA), unkey32(loB), unkey32(hiB)
	if sumA != sumA || sqA != sqA {
		sumA, sqA = carefulF32(v, nil)
		a.min, a.max = boundsF32(v, math.MaxFloat32, -math.MaxFloat32)
	} else if a.min == 0 || a.max == 0 {
		a.min, a.max = boundsF32(v, math.MaxFloat32, -math.MaxFloat32)
	}
	if sumB != sumB || sqB != sqB {
		sumB, sqB = carefulF32(u, nil)
		b.min, b.max = boundsF32(u, math.MaxFloat32, -math.MaxFloat32)
	} else if b.min == 0 || b.max == 0 {
		b.min, b.max = boundsF32(u, math.MaxFloat32, -math.MaxFloat32)
	}
	a.finish(sumA, sqA, dur)
	b.finish(sumB, sqB, dur)
	return a, b
}

// key64 returns an integer that orders like x, so that minimum and maximum need no
// branches, which are slow on noise. Zeros and NaN order differently: the caller must
// check for them.
func key64(x float64) int64 {
	i := int64(math.Float64bits(x))
	return i ^ i>>63&math.MaxInt64
}

func unkey64(i int64) float64 {
	return math.Float64frombits(uint64(i ^ i>>63&math.MaxInt64))
}

func bounds64(x float64) (lo, hi int64) {
	k := key64(x)
	return min(key64(math.MaxFloat64), k), max(key64(-math.MaxFloat64), k)
}

// key32 returns an integer that orders like x, so that minimum and maximum need no
// branches, which are slow on noise. Zeros and NaN order differently: the caller must
// check for them.
func key32(x float32) int32 {
	i := int32(math.Float32bits(x))
	return i ^ i>>31&math.MaxInt32
}

func unkey32(i int32) float32 {
	return math.Float32frombits(uint32(i ^ i>>31&math.MaxInt32))
}

func bounds32(x float32) (lo, hi int32) {
	k := key32(x)
	return min(key32(math.MaxFloat32), k), max(key32(-math.MaxFloat32), k)
}
