package zoomcache

import "math"

// Summaries must have the sums of the original on x86-64, down to the bits of NaN.
// There an invalid operation gives the NaN with the sign set, and of NaN operands the
// first one is returned, made quiet. Other processors have other rules, so if a result
// is NaN it is made again here, by rules that hold everywhere. A conversion around each
// product keeps the compiler from fusing it with the following addition.

const (
	defaultNaN   = 0xfff8 << 48
	quiet        = 1 << 51
	defaultNaN32 = 0xffc00000
	quiet32      = 1 << 22
)

// firstNaN is the result of an operation on a and b that gives NaN.
func firstNaN(a, b float64) float64 {
	for _, x := range [...]float64{a, b} {
		if x != x {
			return math.Float64frombits(math.Float64bits(x) | quiet)
		}
	}
	return math.Float64frombits(defaultNaN)
}

func firstNaN32(a, b float32) float32 {
	for _, x := range [...]float32{a, b} {
		if x != x {
			return math.Float32frombits(math.Float32bits(x) | quiet32)
		}
	}
	return math.Float32frombits(defaultNaN32)
}

func add(a, b float64) float64 {
	if r := a + b; r == r {
		return r
	}
	return firstNaN(a, b)
}

func mul(a, b float64) float64 {
	if r := float64(a * b); r == r {
		return r
	}
	return firstNaN(a, b)
}

func mul32(a, b float32) float32 {
	if r := float32(a * b); r == r {
		return r
	}
	return firstNaN32(a, b)
}

func div(a, b float64) float64 {
	if r := a / b; r == r {
		return r
	}
	return firstNaN(a, b)
}

func sqrt(a float64) float64 {
	if r := math.Sqrt(a); r == r {
		return r
	}
	return firstNaN(a, a)
}

func sub[T float32 | float64](a, b T) T {
	r := a - b
	if r == r {
		return r
	}
	switch x := any(a).(type) {
	case float32:
		y, _ := any(b).(float32)
		r, _ = any(firstNaN32(x, y)).(T)
	case float64:
		y, _ := any(b).(float64)
		r, _ = any(firstNaN(x, y)).(T)
	}
	return r
}
