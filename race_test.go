//go:build race

package farread

// raceEnabled: all is slow, and a long series tells no more of races than a short one.
const raceEnabled = true
