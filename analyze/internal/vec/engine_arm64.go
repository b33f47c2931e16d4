//go:build !purego

package vec

// fast says that the kernels can be used: each processor of this architecture has NEON.
// Only tests write it.
var fast = true

// widenSteps makes float64 of n float32, a multiple of 16 above 0.
//
//go:noescape
func widenSteps(dst *float64, src *byte, n int)

// boundsSteps returns the extremes of n numbers, a multiple of 16 above 0, and whether
// one is NaN: then the extremes have no meaning.
//
//go:noescape
func boundsSteps(p *float64, n int) (lo, hi float64, nan bool)

// cutSteps is Cut of n numbers, a multiple of 16 above 0.
//
//go:noescape
func cutSteps(p, rest *float64, n int, one, two float64) (a, b float64, left bool)

// squareSteps is Square of n numbers, a multiple of 16 above 0.
//
//go:noescape
func squareSteps(p, high, low *float64, n int) (left, tiny bool)
