//go:build race

package racetest

// On says that the race detector runs.
const On = true
