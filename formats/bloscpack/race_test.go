//go:build race

package bloscpack

const raceEnabled = true // sync.Pool drops buffers on purpose
