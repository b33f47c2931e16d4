//go:build race

package formattest

// raced says that the race detector runs: pools then drop a part of what they are
// given, and as many buffers more are made. The bound holds without it.
const raced = true
