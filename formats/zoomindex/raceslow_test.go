//go:build race

package zoomindex

// raceSlow divides the windows that are looked through: ten thousand tell no more of
// races than some hundred.
const raceSlow = 30
