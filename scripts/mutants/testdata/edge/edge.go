// Package edge has mutants of every kind; its test notices all but those that the
// test of scripts/mutants names.
package edge

import "errors"

// ErrNegative is what Clip says.
var ErrNegative = errors.New("negative")

// Clip cuts n to a bound, twice of half.
func Clip(n, half int) (int, error) {
	if n < 0 || half < 0 {
		return 0, ErrNegative
	}
	bound := half * 2
	if n > bound { // >= is the same
		n = bound
	}
	for i := 0; i < 2; i++ {
		if i == n {
			continue
		}
	}
	return n, nil
}

// Even is not tested.
func Even(n int) bool { return n%2 == 0 }
