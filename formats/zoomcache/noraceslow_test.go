//go:build !race

package zoomcache

const raceSlow = 1
