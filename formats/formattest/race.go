//go:build race

package formattest

// raced says that the race detector runs. Pools then drop some of their buffers, and
// as many more are made. The bound holds without it.
const raced = true
