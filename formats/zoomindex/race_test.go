//go:build race

package zoomindex_test

// raceEnabled: all is slow, and a long series tells no more of races than a short one.
const raceEnabled = true
