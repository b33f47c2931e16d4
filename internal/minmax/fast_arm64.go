//go:build !purego

package minmax

// fast says that scan4 and scan8 can be used: each processor of this architecture has NEON.
const fast = true

// scan4 sets lo and hi to the extremes of the keys of each lane, and returns how many numbers
// are fill. items are a multiple of Step, and not none.
func scan4(items []uint32, neg, flip, fill, mask uint32, lo, hi *[8]int32) uint64 {
	_ = items[Step-1]
	return scan4NEON(&items[0], len(items), neg, flip, fill, mask, lo, hi)
}

// scan8 is scan4 for numbers of 8 bytes.
func scan8(items []uint64, neg, flip, fill, mask uint64, lo, hi *[4]int64) uint64 {
	_ = items[Step-1]
	return scan8NEON(&items[0], len(items), neg, flip, fill, mask, lo, hi)
}

//go:noescape
func scan4NEON(p *uint32, n int, neg, flip, fill, mask uint32, lo, hi *[8]int32) uint64

//go:noescape
func scan8NEON(p *uint64, n int, neg, flip, fill, mask uint64, lo, hi *[4]int64) uint64
