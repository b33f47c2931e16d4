package zoomcache

import (
	"encoding/binary"
	"math"
	"math/big"

	"github.com/farread/farread/internal/sums"
)

// An acc is one channel of a summary, in the type of the track. For Bool, mean is the
// share of true values; for Unit, n is the count.
type acc[T any] struct {
	first, last, min, max T
	mean, rms             float64
	n                     int32
}

// A kernel is the arithmetic of one codec.
type kernel[T any] struct {
	encode encodeFunc[T]
	// window summarises one channel's values of one flush, of which there is at least
	// one. stamps is nil at constant rate; dur is exit - entry.
	window func(v []T, stamps []int64, dur int64) acc[T]
	// many does window for the first windows of n values at constant rate, of which v has
	// at least two, and returns how many it did: two or four. It is nil if that is not
	// faster.
	many func(v []T, n int, dur int64, out []acc[T]) int
	// merge joins two summaries, a before b, whose durations are da and db.
	merge func(a, b *acc[T], da, db int64) acc[T]
	// body appends the bytes of one channel in a summary block. It is nil for numbers.
	body func(dst []byte, a *acc[T]) []byte
}

func kernelOf[T any](c Codec) kernel[T] {
	var k any
	switch c.Kind {
	case Unit:
		k = kernel[struct{}]{window: windowUnit, merge: mergeUnit, body: bodyUnit}
	case Bool:
		k = kernel[bool]{window: windowBool, merge: mergeBool, body: bodyBool}
	case F32:
		k = kernel[float32]{window: windowF32, many: manyF32, merge: mergeNumbers[float32]}
	case F64:
		k = kernel[float64]{window: windowF64, many: manyF64, merge: mergeNumbers[float64]}
	case Integer:
		k = kernel[*big.Int]{window: windowBig, merge: mergeBig}
	case Int, I64:
		k = kernel[int64]{window: windowInts[int64], merge: mergeNumbers[int64]}
	case Word, U64:
		k = kernel[uint64]{window: windowInts[uint64], merge: mergeNumbers[uint64]}
	case I8:
		k = kernel[int8]{window: windowSmall[int8], merge: mergeNumbers[int8]}
	case I16:
		k = kernel[int16]{window: windowI16, merge: mergeNumbers[int16]}
	case I32:
		k = kernel[int32]{window: windowSmall[int32], merge: mergeNumbers[int32]}
	case U8:
		k = kernel[uint8]{window: windowSmall[uint8], merge: mergeNumbers[uint8]}
	case U16:
		k = kernel[uint16]{window: windowSmall[uint16], merge: mergeNumbers[uint16]}
	case U32:
		k = kernel[uint32]{window: windowSmall[uint32], merge: mergeNumbers[uint32]}
	default:
	}
	g, _ := k.(kernel[T])
	g.encode = encoderOf[T](c)
	return g
}

type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

func mergeNumbers[T integer | float32 | float64](a, b *acc[T], da, db int64) acc[T] {
	r := acc[T]{first: a.first, last: b.last, min: b.min, max: a.max}
	if a.min <= b.min {
		r.min = a.min
	}
	if a.max <= b.max {
		r.max = b.max
	}
	r.mean, r.rms = mergeMeans(a.mean, a.rms, b.mean, b.rms, da, db)
	return r
}

func mergeBig(a, b *acc[*big.Int], da, db int64) acc[*big.Int] {
	r := acc[*big.Int]{first: a.first, last: b.last, min: b.min, max: a.max}
	if a.min.Cmp(b.min) <= 0 {
		r.min = a.min
	}
	if a.max.Cmp(b.max) <= 0 {
		r.max = b.max
	}
	r.mean, r.rms = mergeMeans(a.mean, a.rms, b.mean, b.rms, da, db)
	return r
}

func mergeMeans(ma, ra, mb, rb float64, da, db int64) (mean, rms float64) {
	fa, fb, fs := float64(da), float64(db), float64(da+db)
	mean = div(add(mul(ma, fa), mul(mb, fb)), fs)
	rms = sqrt(div(add(mul(mul(ra, ra), fa), mul(mul(rb, rb), fb)), fs))
	return mean, rms
}

// finish turns the weighted sums of a window into mean and rms.
func (a *acc[T]) finish(sum, squares float64, dur int64) {
	a.mean, a.rms = div(sum, float64(dur)), sqrt(div(squares, float64(dur)))
}

// exactSums is how many values of 32 bits have a sum below 2^53. Up to it every partial
// sum of floats is exact, so the order does not matter.
const exactSums = 1 << 21

// windowSmall sums integers of at most 32 bits at constant rate as integers.
// Squares wrap in their own type, as in the original.
func windowSmall[T int8 | int16 | int32 | uint8 | uint16 | uint32](v []T, stamps []int64, dur int64) acc[T] {
	if stamps != nil || len(v) > exactSums {
		return windowInts(v, stamps, dur)
	}
	x := v[0] // has no weight
	a := acc[T]{first: x, last: v[len(v)-1]}
	lo, hi := x, x
	var sum, squares int64
	for _, x := range v[1:] {
		lo, hi = min(lo, x), max(hi, x)
		sum += int64(x)
		squares += int64(x * x)
	}
	a.min, a.max = lo, hi
	a.finish(float64(sum), float64(squares), dur)
	return a
}

// windowI16 is windowSmall of int16, by a kernel.
func windowI16(v []int16, stamps []int64, dur int64) acc[int16] {
	if stamps != nil || len(v) > exactSums {
		return windowInts(v, stamps, dur)
	}
	s, x := sums.I16Wrapped(v), v[0] // x has no weight
	a := acc[int16]{first: x, last: v[len(v)-1], min: s.Lo, max: s.Hi}
	a.finish(float64(s.Sum-int64(x)), float64(s.Squares-int64(x*x)), dur)
	return a
}

// windowInts rounds every product to float64, in order.
func windowInts[T integer](v []T, stamps []int64, dur int64) acc[T] {
	a := acc[T]{first: v[0], last: v[len(v)-1]}
	lo, hi := v[0], v[0]
	var sum, squares float64
	if stamps == nil {
		for _, x := range v[1:] {
			lo, hi = min(lo, x), max(hi, x)
			sum += float64(x)
			squares += float64(x * x)
		}
	} else {
		last := stamps[0]
		for i, x := range v {
			lo, hi = min(lo, x), max(hi, x)
			w := T(stamps[i] - last) // wraps, as in the original
			last = stamps[i]
			sum += float64(x * w)
			squares += float64(x * x * w)
		}
	}
	a.min, a.max = lo, hi
	a.finish(sum, squares, dur)
	return a
}

func windowF64(v []float64, stamps []int64, dur int64) acc[float64] {
	a := acc[float64]{first: v[0], last: v[len(v)-1]}
	a.min, a.max = boundsF64(v[:1], math.MaxFloat64, -math.MaxFloat64)
	sum := 0.0
	sum += float64(v[0] * 0) // adds NaN if v[0] is infinite or NaN, else 0
	squares := float64(v[0]*v[0]) * 0
	if stamps == nil {
		lo, hi := a.min, a.max
		for _, x := range v[1:] {
			sum += x
			squares += float64(x * x)
			if !(lo <= x) { // NaN takes the place of any, and any that of NaN
				lo = x
			}
			if hi <= x {
				hi = x
			}
		}
		a.min, a.max = lo, hi
	} else {
		last := stamps[0]
		for i, x := range v[1:] {
			w := float64(stamps[i+1] - last)
			last = stamps[i+1]
			sum += float64(x * w)
			squares += float64(float64(x*x) * w)
		}
		a.min, a.max = boundsF64(v[1:], a.min, a.max)
	}
	if sum != sum || squares != squares {
		sum, squares = carefulF64(v, stamps)
	}
	a.finish(sum, squares, dur)
	return a
}

func boundsF64(v []float64, lo, hi float64) (float64, float64) {
	for _, x := range v {
		if !(lo <= x) { // NaN takes the place of any, and any that of NaN
			lo = x
		}
		if hi <= x {
			hi = x
		}
	}
	return lo, hi
}

// weight is the weight of value i: the time since the value before.
func weight(stamps []int64, i int) int64 {
	switch {
	case i == 0:
		return 0
	case stamps == nil:
		return 1
	default:
		return stamps[i] - stamps[i-1]
	}
}

// carefulF64 makes the sums again if a NaN came up.
func carefulF64(v []float64, stamps []int64) (sum, squares float64) {
	for i, x := range v {
		w := float64(weight(stamps, i))
		sum = add(sum, mul(x, w))
		squares = add(squares, mul(mul(x, x), w))
	}
	return sum, squares
}

// windowF32 rounds products to float32 and sums them as float64.
func windowF32(v []float32, stamps []int64, dur int64) acc[float32] {
	a := acc[float32]{first: v[0], last: v[len(v)-1]}
	a.min, a.max = boundsF32(v[:1], math.MaxFloat32, -math.MaxFloat32)
	sum := 0.0
	sum += float64(v[0] * 0)
	squares := float64(float32(v[0]*v[0]) * 0)
	if stamps == nil {
		lo, hi := a.min, a.max
		for _, x := range v[1:] {
			sum += float64(x)
			squares += float64(float32(x * x))
			if !(lo <= x) { // NaN takes the place of any, and any that of NaN
				lo = x
			}
			if hi <= x {
				hi = x
			}
		}
		a.min, a.max = lo, hi
	} else {
		last := stamps[0]
		for i, x := range v[1:] {
			w := float32(stamps[i+1] - last)
			last = stamps[i+1]
			sum += float64(float32(x * w))
			squares += float64(float32(float32(x*x) * w))
		}
		a.min, a.max = boundsF32(v[1:], a.min, a.max)
	}
	if sum != sum || squares != squares {
		sum, squares = carefulF32(v, stamps)
	}
	a.finish(sum, squares, dur)
	return a
}

func boundsF32(v []float32, lo, hi float32) (float32, float32) {
	for _, x := range v {
		if !(lo <= x) { // NaN takes the place of any, and any that of NaN
			lo = x
		}
		if hi <= x {
			hi = x
		}
	}
	return lo, hi
}

func carefulF32(v []float32, stamps []int64) (sum, squares float64) {
	for i, x := range v {
		w := float32(weight(stamps, i))
		sum = add(sum, float64(mul32(x, w)))
		squares = add(squares, float64(mul32(mul32(x, x), w)))
	}
	return sum, squares
}

// windowBig rounds each exact product once. Minimum and maximum stay at the first
// value, as in the original.
func windowBig(v []*big.Int, stamps []int64, dur int64) acc[*big.Int] {
	a := acc[*big.Int]{first: v[0], last: v[len(v)-1], min: v[0], max: v[0]}
	var sum, squares float64
	var w, p big.Int
	for i, x := range v {
		w.SetInt64(weight(stamps, i))
		sum = add(sum, bigFloat(p.Mul(x, &w)))
		squares = add(squares, bigFloat(p.Mul(p.Mul(x, x), &w)))
	}
	a.finish(sum, squares, dur)
	return a
}

func windowBool(v []bool, stamps []int64, dur int64) acc[bool] {
	on := int64(0)
	for i, x := range v {
		if x {
			on += weight(stamps, i)
		}
	}
	return acc[bool]{mean: div(float64(on), float64(dur))}
}

func mergeBool(a, b *acc[bool], da, db int64) acc[bool] {
	return acc[bool]{mean: div(add(mul(a.mean, float64(da)), mul(b.mean, float64(db))), float64(da+db))}
}

func bodyBool(dst []byte, a *acc[bool]) []byte { return appendF64(dst, a.mean) }

func windowUnit(v []struct{}, _ []int64, _ int64) acc[struct{}] {
	return acc[struct{}]{n: int32(len(v))}
}

func mergeUnit(a, b *acc[struct{}], _, _ int64) acc[struct{}] { return acc[struct{}]{n: a.n + b.n} }

func bodyUnit(dst []byte, a *acc[struct{}]) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(a.n))
}
