//go:build race

package codec_test

// raceEnabled: pools drop what they are given at random, and all is slow.
const raceEnabled = true
