//go:build race

package bloscpack

// Under the race detector sync.Pool drops buffers on purpose, and all is slow.
const (
	raceEnabled = true
	raceShare   = 10 // of amounts of data
)
