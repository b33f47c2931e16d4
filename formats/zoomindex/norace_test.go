//go:build !race

package zoomindex_test

const raceEnabled = false
