//go:build !race

package zoom_test

const raceEnabled = false
