//go:build race

package zoom_test

// raceEnabled: all is slow, and large inputs tell no more of races than small ones.
const raceEnabled = true
