//go:build !race

package zoomindex

const raceSlow = 1
