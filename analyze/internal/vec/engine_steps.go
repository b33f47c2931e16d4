//go:build (amd64 || arm64) && !purego

package vec

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
		widenSteps(&dst[0], &src[0], k)
	}
	return k
}

func bounds(list []float64) (lo, hi float64, nan bool, k int) {
	if k = steps(len(list)); k > 0 {
		lo, hi, nan = boundsSteps(&list[0], k)
		return lo, hi, nan, k
	}
	return list[0], list[0], false, 0
}

func cut(list, rest []float64, one, two float64) (a, b float64, left bool, k int) {
	if k = steps(len(list)); k > 0 {
		a, b, left = cutSteps(&list[0], &rest[0], k, one, two)
	}
	return a, b, left, k
}

func square(list, high, low []float64) (left, tiny bool, k int) {
	if k = steps(len(list)); k > 0 {
		left, tiny = squareSteps(&list[0], &high[0], &low[0], k)
	}
	return left, tiny, k
}
