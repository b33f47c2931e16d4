//go:build race

package functions_test

// raceEnabled: all is slow, and many rounds tell no more of races than some.
const raceEnabled = true
