//go:build (!amd64 && !arm64) || purego

package adler

const fast = false

func add([]byte, uint32, uint32) (x, y uint32) { panic("never called") }
