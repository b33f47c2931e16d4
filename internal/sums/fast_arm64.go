//go:build !purego

package sums

import "unsafe"

// fast says that the kernels can be used: each processor of this architecture has NEON.
const fast = true

func kernelSmalls(v []int16) (s Small16) {
	s.Lo, s.Hi, s.Sum, s.Squares = smallsNEON(&v[0], len(v))
	return s
}

// kernelSmallBins takes none: each bin is a call of kernelSmalls, which needs less around it than
// that of amd64. What a kernel for many bins would gain here was not counted.
func kernelSmallBins([]Small16, []int16, int) int { return 0 }

func kernelWrapped(v []int16) (s Small16) {
	s.Lo, s.Hi, s.Sum, s.Squares = wrappedNEON(&v[0], len(v))
	return s
}

func kernelWindows(w *Windows, v []float64, stride, n int) int {
	windowsNEON(w, &v[0], stride, n)
	return n
}

func kernelBins(dst []Bin, v []float64, size int) { binsNEON(&dst[0], &v[0], size, len(dst)/2) }

func kernelParts(means, devs []byte, lo, hi, sum, sq []float64, each float64) {
	partsNEON(&means[0], &devs[0], &lo[0], &hi[0], &sum[0], &sq[0], each, len(lo))
}

func kernelPairs(first, second []int16, p []byte) {
	pairsNEON(&first[0], &second[0], &p[0], len(first))
}

func swap2(dst []byte, src unsafe.Pointer, n int) { swap2NEON(&dst[0], (*byte)(src), n) }
func swap4(dst []byte, src unsafe.Pointer, n int) { swap4NEON(&dst[0], (*byte)(src), n) }
func swap8(dst []byte, src unsafe.Pointer, n int) { swap8NEON(&dst[0], (*byte)(src), n) }

// smallsNEON sums up n numbers, a positive multiple of 16 and at most 2^18.
//
//go:noescape
func smallsNEON(v *int16, n int) (lo, hi int16, sum, squares int64)

// wrappedNEON is smallsNEON with squares that are cut to 16 bits.
//
//go:noescape
func wrappedNEON(v *int16, n int) (lo, hi int16, sum, squares int64)

// windowsNEON goes on with four windows, of which each begins stride numbers behind the one
// before, over n numbers of each, a positive multiple of 4.
//
//go:noescape
func windowsNEON(w *Windows, v *float64, stride, n int)

// binsNEON sums up so many pairs of bins of size numbers each, from 2 on. Even and odd
// numbers have sums of their own, which are joined in the end.
//
//go:noescape
func binsNEON(dst *Bin, v *float64, size, pairs int)

// partsNEON stores the mean and the deviation of n bins, a positive multiple of 4, as parts of
// their bands.
//
//go:noescape
func partsNEON(means, devs *byte, lo, hi, sum, sq *float64, each float64, n int)

// pairsNEON takes n pairs of numbers apart, a positive multiple of 16.
//
//go:noescape
func pairsNEON(first, second *int16, src *byte, n int)

// swap2NEON turns the bytes of each number around. n is in bytes, a positive multiple of 64.
//
//go:noescape
func swap2NEON(dst, src *byte, n int)

// swap4NEON is swap2NEON for numbers of 32 bits.
//
//go:noescape
func swap4NEON(dst, src *byte, n int)

// swap8NEON is swap2NEON for numbers of 64 bits.
//
//go:noescape
func swap8NEON(dst, src *byte, n int)
