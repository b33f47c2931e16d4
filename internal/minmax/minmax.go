// Package minmax finds the least and the greatest of many numbers, and counts those that
// are equal to one, several at a time where the processor can do so.
//
// Numbers are told as bits. Their order is that of keys, integers with a sign: those of
// Order.
package minmax

//go:generate go run -C asm . -out ../scan_amd64.s -stubs ../scan_amd64.go -pkg minmax

import "slices"

// A Word holds the bits of a number.
type Word interface{ uint32 | uint64 }

// An Order makes the key of a number x: x ^ Flip, and ^ Neg as well if the highest bit of x
// is set. Floats have all bits but the highest in Neg; integers without a sign have the
// highest bit in Flip.
type Order[W Word] struct{ Neg, Flip W }

// An Extent is the keys' least and greatest, and how many numbers were the one looked for.
type Extent struct {
	Lo, Hi int64
	Equal  int
}

// most is how many numbers a kernel takes.
const most = 1 << 20

// Scan returns the Extent of the first numbers of items, and how many it took: all but
// fewer than Step, or none if this processor is not faster with them than a loop is. A
// number is equal to fill if it is so without the bits that are not in mask.
func Scan[W Word](items []W, o Order[W], fill, mask W) (e Extent, n int) {
	if n = min(len(items), most) / Step * Step; n == 0 || !fast {
		return Extent{}, 0
	}
	switch items := any(items).(type) {
	case []uint32:
		var lo, hi [8]int32
		equal := scan4(items[:n], uint32(o.Neg), uint32(o.Flip), uint32(fill), uint32(mask), &lo, &hi)
		return Extent{int64(slices.Min(lo[:])), int64(slices.Max(hi[:])), int(equal)}, n
	case []uint64:
		var lo, hi [4]int64
		equal := scan8(items[:n], uint64(o.Neg), uint64(o.Flip), uint64(fill), uint64(mask), &lo, &hi)
		return Extent{slices.Min(lo[:]), slices.Max(hi[:]), int(equal)}, n
	}
	return Extent{}, 0
}

// Step is the number of numbers that Scan takes at once.
const Step = 16
