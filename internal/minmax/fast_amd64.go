//go:build !purego

package minmax

import "golang.org/x/sys/cpu"

// fast says whether scan4 and scan8 can be used; nothing writes it later.
var fast = cpu.X86.HasAVX2

// scan4 sets lo and hi to the extremes of the keys of each lane, and returns how many numbers
// are fill. items are a multiple of Step, and not none.
func scan4(items []uint32, neg, flip, fill, mask uint32, lo, hi *[8]int32) uint64 {
	_ = items[Step-1]
	return scan4AVX2(&items[0], len(items), neg, flip, fill, mask, lo, hi)
}

// scan8 is scan4 for numbers of 8 bytes.
func scan8(items []uint64, neg, flip, fill, mask uint64, lo, hi *[4]int64) uint64 {
	_ = items[Step-1]
	return scan8AVX2(&items[0], len(items), neg, flip, fill, mask, lo, hi)
}
