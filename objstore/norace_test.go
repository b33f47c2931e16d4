//go:build !race

package objstore_test

const raceEnabled = false
