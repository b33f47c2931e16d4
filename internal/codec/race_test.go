//go:build race

package codec_test

// raceEnabled: under the race detector pools drop buffers at random, and all is slow.
const raceEnabled = true
