//go:build !purego

package vec

// fast says that the kernels can be used: each processor of this architecture has NEON.
// Only tests write it.
var fast = true

// steps is how many of n numbers are those of whole steps, or none if there are no kernels.
func steps(n int) int {
	if !fast {
		return 0
	}
	return n &^ (step - 1)
}

// widen does whole steps and returns how many numbers these have; so do all below.
func widen(dst []float64, src []byte) int {
	k := steps(len(dst))
	if k > 0 {
		widenNEON(&dst[0], &src[0], k)
	}
	return k
}

func bounds(list []float64) (lo, hi float64, nan bool, k int) {
	if k = steps(len(list)); k > 0 {
		lo, hi, nan = boundsNEON(&list[0], k)
		return lo, hi, nan, k
	}
	return list[0], list[0], false, 0
}

func cut(list, rest []float64, one, two float64) (a, b float64, left bool, k int) {
	if k = steps(len(list)); k > 0 {
		a, b, left = cutNEON(&list[0], &rest[0], k, one, two)
	}
	return a, b, left, k
}

func square(list, high, low []float64) (left, tiny bool, k int) {
	if k = steps(len(list)); k > 0 {
		left, tiny = squareNEON(&list[0], &high[0], &low[0], k)
	}
	return left, tiny, k
}

// widenNEON makes float64 of n float32, a multiple of 16 above 0.
//
//go:noescape
func widenNEON(dst *float64, src *byte, n int)

// boundsNEON returns the extremes of n numbers, a multiple of 16 above 0, and whether
// one is NaN: then the extremes have no meaning.
//
//go:noescape
func boundsNEON(p *float64, n int) (lo, hi float64, nan bool)

// cutNEON is Cut of n numbers, a multiple of 16 above 0.
//
//go:noescape
func cutNEON(p, rest *float64, n int, one, two float64) (a, b float64, left bool)

// squareNEON is Square of n numbers, a multiple of 16 above 0.
//
//go:noescape
func squareNEON(p, high, low *float64, n int) (left, tiny bool)
