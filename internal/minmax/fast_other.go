//go:build (!amd64 && !arm64) || purego

package minmax

const fast = false

func scan4([]uint32, uint32, uint32, uint32, uint32, *[8]int32, *[8]int32) uint64 { return 0 }

func scan8([]uint64, uint64, uint64, uint64, uint64, *[4]int64, *[4]int64) uint64 { return 0 }
