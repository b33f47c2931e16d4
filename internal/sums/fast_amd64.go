//go:build !purego

package sums

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// fast says whether the kernels can be used; nothing writes it later.
var fast = cpu.X86.HasAVX2

func kernelSmalls(v []int16) (s Small16) {
	smallsAVX2((*byte)(unsafe.Pointer(&s)), &v[0], len(v)) //nolint:gosec // memory of a struct that has what the kernel stores
	return s
}

func kernelSmallBins(dst []Small16, v []int16, size int) int {
	smallBinsAVX2((*byte)(unsafe.Pointer(&dst[0])), &v[0], size, len(dst)) //nolint:gosec // memory of structs that have what the kernel stores
	return len(dst)
}

func kernelWrapped(v []int16) (s Small16) {
	wrappedAVX2((*byte)(unsafe.Pointer(&s)), &v[0], len(v)) //nolint:gosec // memory of a struct that has what the kernel stores
	return s
}

func kernelWindows(w *Windows, v []float64, stride, n int) int {
	windowsAVX2((*byte)(unsafe.Pointer(w)), &v[0], stride, n) //nolint:gosec // memory of a struct that has what the kernel stores
	return n
}

func kernelBins(dst []Bin, v []float64, size int) {
	binsAVX2((*byte)(unsafe.Pointer(&dst[0])), &v[0], size, len(dst)/2) //nolint:gosec // memory of a struct that has what the kernel stores
}

func kernelParts(means, devs []byte, lo, hi, sum, sq []float64, each float64) {
	partsAVX2(&means[0], &devs[0], &lo[0], &hi[0], &sum[0], &sq[0], each, len(lo))
}

func kernelPairs(first, second []int16, p []byte) {
	pairsAVX2((*byte)(unsafe.Pointer(&first[0])), (*byte)(unsafe.Pointer(&second[0])), &p[0], len(first)) //nolint:gosec // the memory of as many numbers as the kernel stores
}

func swap2(dst []byte, src unsafe.Pointer, n int) { swap2AVX2(&dst[0], (*byte)(src), n) }
func swap4(dst []byte, src unsafe.Pointer, n int) { swap4AVX2(&dst[0], (*byte)(src), n) }
func swap8(dst []byte, src unsafe.Pointer, n int) { swap8AVX2(&dst[0], (*byte)(src), n) }
