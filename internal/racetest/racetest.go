// Package racetest tells tests whether the race detector runs, and what they may
// leave out then: everything takes five to twenty times as long, pools drop some of
// their buffers at random, and the detector's memory counts as the test's.
package racetest

import "testing"

// The reasons for which a test says nothing under the race detector.
const (
	// Measures: the test counts bytes of memory, or allocations.
	Measures = "the race detector's memory would be measured, too"
	// Alone: one goroutine works.
	Alone = "one goroutine works, and nothing can race"
	// Large: smaller cases beside it run the same code.
	Large = "a large case tells no more of races than a small one"
)

// Skip skips the test if the race detector runs; the reason is one of this package.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if On {
		t.Skip(reason)
	}
}

// Share is n, and a part of it, but no less than one, if the race detector runs:
// n/part items, rounds or bytes.
func Share[N ~int | ~int64](n, part N) N {
	if !On {
		return n
	}
	return max(n/part, 1)
}

// Sampled reports whether case i of a long table is run: each one, and every fifth if
// the race detector runs. All cases of a table share their code, and what differs
// between them is data; the table runs whole without the detector.
func Sampled(i int) bool { return !On || i%5 == 0 }
