//go:build !race

package bloscpack

const (
	raceEnabled = false
	raceShare   = 1
)
