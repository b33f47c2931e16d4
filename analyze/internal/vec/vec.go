// Package vec has the inner loops of reductions over lists of float64: in assembly where
// the processor has AVX2 and FMA, or NEON, else in Go. All give the same results.
package vec

import (
	"encoding/binary"
	"math"
)

//go:generate go run -C asm . -out ../vec_amd64.s -stubs ../vec_amd64.go -pkg vec

// step is how many numbers a step of the kernels takes.
const step = 16

// Least is a bound: squares below are tiny.
const Least = 0x1p-900

// Widen makes float64 of little-endian float32: as many as dst has.
func Widen(dst []float64, src []byte) {
	_ = src[:4*len(dst)]
	k := widen(dst, src)
	for i := range dst[k:] {
		dst[k+i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(src[4*(k+i):])))
	}
}

// Bounds returns the least and the greatest number of a list that has some. Of zeros of
// both signs it is either. If one is NaN, nan is true and the others have no meaning.
func Bounds(list []float64) (lo, hi float64, nan bool) {
	lo, hi, nan, k := bounds(list)
	for _, x := range list[k:] {
		if x < lo {
			lo = x
		}
		if x > hi {
			hi = x
		}
		nan = nan || x != x
	}
	return lo, hi, nan
}

// Cut takes the numbers of a list apart by adding and taking away one, and of what is left
// two. It returns the sums of what both took, puts what they left into rest, which may be
// the list itself, and reports whether something is left. The sums must be such that no
// order of the additions rounds.
func Cut(list, rest []float64, one, two float64) (a, b float64, left bool) {
	rest = rest[:len(list)]
	a, b, left, k := cut(list, rest, one, two)
	for i, x := range list[k:] {
		q := (x + one) - one
		a += q
		x -= q
		q = (x + two) - two
		b += q
		x -= q
		rest[k+i] = x
		left = left || x != 0
	}
	return a, b, left
}

// Square puts the square of each number of a list into high, which may be the list itself,
// and what rounding took from it into low. left reports whether low has other numbers than
// zeros, tiny whether a square of a number other than zero is below Least: then low may
// have been rounded itself.
func Square(list, high, low []float64) (left, tiny bool) {
	high, low = high[:len(list)], low[:len(list)]
	left, tiny, k := square(list, high, low)
	for i, x := range list[k:] {
		h := float64(x * x) // the conversion forbids to fuse it with what follows
		l := math.FMA(x, x, -h)
		left = left || l != 0
		tiny = tiny || h < Least && x != 0
		high[k+i], low[k+i] = h, l
	}
	return left, tiny
}
