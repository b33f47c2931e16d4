//go:build !race

package farread

const raceEnabled = false
