// Package sums makes bounds and sums of samples, and turns the bytes of numbers around,
// by kernels for AVX2 and NEON. Its results are those of loops in Go, bit by bit: each
// function says in which order it adds. On other processors its functions do nothing, and
// say so.
package sums

import (
	"math"
	"unsafe"
)

//go:generate go run -C asm . -out ../sums_amd64.s -stubs ../sums_amd64.go -pkg sums

// Fast reports whether there are kernels.
func Fast() bool { return fast }

// Small16 are the bounds and the sums of numbers of 16 bits.
type Small16 struct {
	Lo, Hi       int16
	Sum, Squares int64
}

const (
	step16 = 16      // numbers in a vector
	most16 = 1 << 18 // numbers whose sums fit into the lanes of a kernel
)

// I16 adds up v, which is not empty, and its squares. The sums are exact.
func I16(v []int16) Small16 {
	s := Small16{Lo: v[0], Hi: v[0]}
	for fast && len(v) >= step16 {
		n := min(len(v)&^(step16-1), most16)
		s.join(kernelSmalls(v[:n]))
		v = v[n:]
	}
	for _, x := range v {
		s.Lo, s.Hi = min(s.Lo, x), max(s.Hi, x)
		s.Sum += int64(x)
		s.Squares += int64(x) * int64(x)
	}
	return s
}

// BinsI16 is I16 for as many bins of size numbers as dst has, which v begins with. It returns how
// many of them it took: all, or none if there is no kernel for such.
func BinsI16(dst []Small16, v []int16, size int) int {
	if !fast || size < step16 || size > most16 || len(dst) == 0 {
		return 0
	}
	return kernelSmallBins(dst, v[:len(dst)*size], size)
}

// I16Wrapped is I16 with squares that are cut to 16 bits before they are added.
func I16Wrapped(v []int16) Small16 {
	s := Small16{Lo: v[0], Hi: v[0]}
	for fast && len(v) >= step16 {
		n := min(len(v)&^(step16-1), most16)
		s.join(kernelWrapped(v[:n]))
		v = v[n:]
	}
	for _, x := range v {
		s.Lo, s.Hi = min(s.Lo, x), max(s.Hi, x)
		s.Sum += int64(x)
		s.Squares += int64(x * x)
	}
	return s
}

func (s *Small16) join(p Small16) {
	s.Lo, s.Hi = min(s.Lo, p.Lo), max(s.Hi, p.Hi)
	s.Sum += p.Sum
	s.Squares += p.Squares
}

// Windows are the bounds and the sums of four windows, in the order of the windows.
type Windows struct{ Lo, Hi, Sum, Squares [4]float64 }

// windowStep is how many numbers of each window a kernel takes at a time.
const windowStep = 4

// Add goes on with four windows over n numbers of each, the first of which are v[0],
// v[stride], v[2*stride] and v[3*stride], and returns how many it took: n in whole steps of
// 4, or none. The numbers of a window are added one after another. A number becomes the
// lower bound if it is less, and the upper one if it is not less, which tells what zeros
// become. NaN makes the sum NaN, and then the bounds are of no use.
func (w *Windows) Add(v []float64, stride, n int) int {
	if !fast || n < windowStep {
		return 0
	}
	_ = v[3*stride+n-1]
	return kernelWindows(w, v, stride, n&^(windowStep-1))
}

// A Bin has the bounds and the sums of a bin of numbers.
type Bin struct {
	Lo, Hi       float64
	some, each   uint64 // bits that a number has, and those that all have
	Sum, Squares float64
}

// Bins sums up as many bins of size numbers as dst has room for and v has, two at a time,
// and returns how many. Numbers at even places of a bin have sums of their own, to which
// those of the others are added. Of two zeros the one with a sign is less. If the sum is not
// finite the rest is of no use.
func Bins(dst []Bin, v []float64, size int) int {
	n := min(len(dst), len(v)/max(size, 1)) &^ 1
	if !fast || size < 2 || n == 0 {
		return 0
	}
	kernelBins(dst[:n], v[:n*size], size)
	const sign = 1 << 63
	for i := range dst[:n] {
		b := &dst[i]
		if b.Lo == 0 {
			b.Lo = math.Float64frombits(b.some & sign)
		}
		if b.Hi == 0 {
			b.Hi = math.Float64frombits(b.each & sign)
		}
	}
	return n
}

// PartStep is how many bins Parts takes at a time.
const PartStep = 4

// Parts says where between the least and the greatest number of a bin its mean lies, and how
// large twice its standard deviation is, as 0 to 65534 parts of that band. It takes the bins
// of the columns in whole steps of PartStep and returns how many. each is 1 by the number of values
// of a bin. Parts are of 16 bits, little endian; 65535 stands for one that is not known:
// where the mean lies outside of three bands side by side, or something is too large.
// Bounds are finite numbers. Where the two have the same bits, or no distance, all is 0.
func Parts(means, devs []byte, lo, hi, sum, sq []float64, each float64) int {
	n := len(lo) &^ (PartStep - 1)
	if !fast || n == 0 {
		return 0
	}
	kernelParts(means[:2*n], devs[:2*n], lo[:n], hi[:n], sum[:n], sq[:n], each)
	return n
}

// swapStep is how many bytes a kernel turns around at a time.
const swapStep = 64

// BigEndian16 stores the numbers of v with the most significant byte first, as many of the
// first as it can, and returns how many. dst has room for all.
func BigEndian16[T int16 | uint16](dst []byte, v []T) int {
	n := len(v) &^ (swapStep/2 - 1)
	if !fast || n == 0 {
		return 0
	}
	_ = dst[2*n-1]
	swap2(dst, unsafe.Pointer(&v[0]), 2*n) //nolint:gosec // the memory of v[:n]
	return n
}

// BigEndian32 is BigEndian16 for numbers of 32 bits.
func BigEndian32[T int32 | uint32 | float32](dst []byte, v []T) int {
	n := len(v) &^ (swapStep/4 - 1)
	if !fast || n == 0 {
		return 0
	}
	_ = dst[4*n-1]
	swap4(dst, unsafe.Pointer(&v[0]), 4*n) //nolint:gosec // the memory of v[:n]
	return n
}

// BigEndian64 is BigEndian16 for numbers of 64 bits.
func BigEndian64[T int64 | uint64 | float64](dst []byte, v []T) int {
	n := len(v) &^ (swapStep/8 - 1)
	if !fast || n == 0 {
		return 0
	}
	_ = dst[8*n-1]
	swap8(dst, unsafe.Pointer(&v[0]), 8*n) //nolint:gosec // the memory of v[:n]
	return n
}

// Pairs16 takes pairs of numbers apart that are stored with the least significant byte
// first, and returns how many: those that there are, in whole steps of 16, or none.
func Pairs16(first, second []int16, p []byte) int {
	n := min(len(first), len(second), len(p)/4) &^ 15
	if !fast || n == 0 {
		return 0
	}
	kernelPairs(first[:n], second[:n], p[:4*n])
	return n
}

// Apart16 is Pairs16 for pairs that are numbers already.
func Apart16(first, second, v []int16) int {
	if !fast || len(v) == 0 {
		return 0
	}
	return Pairs16(first, second, unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 2*len(v))) //nolint:gosec // the memory of v
}

// Lend returns the numbers that are stored in p with the least significant byte first, in the
// memory of p, or false if memory has them in another form.
func Lend[T int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64](p []byte) ([]T, bool) {
	var x T
	size := unsafe.Sizeof(x)
	if !fast || len(p) == 0 || uintptr(unsafe.Pointer(&p[0]))%size != 0 { //nolint:gosec // to see whether p is aligned
		return nil, false
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&p[0])), len(p)/int(size)), true //nolint:gosec // the memory of p
}
