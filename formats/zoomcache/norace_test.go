//go:build !race

package zoomcache_test

const raceEnabled = false
