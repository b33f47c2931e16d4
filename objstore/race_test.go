//go:build race

package objstore_test

// raceEnabled: all is slow, and the cost of single-threaded reads is the same.
const raceEnabled = true
