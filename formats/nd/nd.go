// Package nd has the geometry of n-dimensional arrays in row-major order: NumPy's
// slice syntax ([Slice]), selections of items ([Box]), the cells of a grid (chunks,
// blocks) that have selected items, and copies between them. It does no I/O, does not
// know the types of items, and imports only the standard library.
package nd

import (
	"errors"
	"fmt"
	"math"
)

// MaxDims is the most axes that a selection is resolved against; NumPy has the
// same limit, and b2nd stops at 16.
const MaxDims = 64

// The sentinels of this package. Match with errors.Is.
var (
	// ErrSyntax is matched by errors for text that is not a slice, or asks for
	// more axes than the array has.
	ErrSyntax = errors.New("want a slice such as 0:10, 5, ::2, ..., -1")
	// ErrIndex is matched by errors for an integer outside of its axis. Slices
	// clip instead, as in NumPy.
	ErrIndex = errors.New("index out of bounds")
	// ErrOverflow is matched by errors for sizes beyond int64.
	ErrOverflow = errors.New("size overflows")
)

// Prod multiplies the lengths of a shape. The product of none is 1. A negative
// length, and a product beyond int64 (also one hidden by a zero further on), is
// an error that matches ErrOverflow.
func Prod(shape []int64) (int64, error) {
	p, zero := int64(1), false
	for _, n := range shape {
		switch {
		case n < 0:
			return 0, fmt.Errorf("length %d: %w", n, ErrOverflow)
		case n == 0:
			zero = true
		case p > math.MaxInt64/n:
			return 0, fmt.Errorf("shape %v: %w", shape, ErrOverflow)
		default:
			p *= n
		}
	}
	if zero {
		return 0, nil
	}
	return p, nil
}

// Strides returns the distance in bytes between neighbours along each axis of a
// row-major array. The caller has checked with Prod that the array's bytes fit.
func Strides(shape []int64, item int) []int64 {
	s := make([]int64, len(shape))
	step := int64(item)
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = step
		step *= shape[i]
	}
	return s
}

// StridesF is Strides for an array in Fortran order: neighbours along the first
// axis are adjacent.
func StridesF(shape []int64, item int) []int64 {
	s := make([]int64, len(shape))
	step := int64(item)
	for i, n := range shape {
		s[i] = step
		step *= n
	}
	return s
}
