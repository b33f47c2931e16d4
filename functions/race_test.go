//go:build race

package functions_test

// raceEnabled: the race detector makes all slow, and many rounds find no more races
// than a few.
const raceEnabled = true
