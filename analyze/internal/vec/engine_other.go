//go:build (!amd64 && !arm64) || purego

package vec

// fast says that there are kernels.
var fast = false

func widen([]float64, []byte) int { return 0 }

func bounds(list []float64) (lo, hi float64, nan bool, k int) { return list[0], list[0], false, 0 }

func cut(_, _ []float64, _, _ float64) (a, b float64, left bool, k int) { return 0, 0, false, 0 }

func square(_, _, _ []float64) (left, tiny bool, k int) { return false, false, 0 }
