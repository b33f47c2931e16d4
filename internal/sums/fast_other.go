//go:build (!amd64 && !arm64) || purego

package sums

import "unsafe"

// fast says that there are kernels; without them nothing below is called.
const fast = false

func kernelSmalls([]int16) (s Small16) { return s }

func kernelSmallBins([]Small16, []int16, int) int { return 0 }

func kernelWrapped([]int16) (s Small16) { return s }

func kernelWindows(*Windows, []float64, int, int) int { return 0 }

func kernelBins([]Bin, []float64, int) {}

func kernelParts(_, _ []byte, _, _, _, _ []float64, _ float64) {}

func kernelPairs(_, _ []int16, _ []byte) {}

func swap2([]byte, unsafe.Pointer, int) {}
func swap4([]byte, unsafe.Pointer, int) {}
func swap8([]byte, unsafe.Pointer, int) {}
