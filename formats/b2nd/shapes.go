package b2nd

import "math"

// What DefaultShapes aims at. python-blosc2 takes the caches of the machine; these
// are fixed, so that the same array is stored in the same way everywhere. A block
// fits into a second-level cache beside its output; a chunk is as much as a
// request for several blocks is worth.
const (
	DefaultBlockBytes = 64 << 10
	DefaultChunkBytes = 4 << 20
)

// DefaultShapes chooses the shapes of chunks and blocks for an array of items of
// the given size: blocks of about 64 KiB in chunks of about 4 MiB, both as long
// as they can be along the last axis, then along the one before, as
// python-blosc2 does. Lengths that divide the axis evenly are preferred, and so
// padding is rare.
//
// Along each axis block <= chunk, the chunk is a multiple of the block unless it
// spans the whole axis, and chunk <= shape. An axis of no items, which may grow
// later, counts as a long one. A chunk spans all axes after the first one along
// which it has more than one item, so that an array written from a stream is
// buffered one chunk at a time.
func DefaultShapes(shape []int64, itemSize int) (chunk, block []int) {
	dims := make([]int64, len(shape))
	for i, n := range shape {
		if dims[i] = min(n, math.MaxInt32); n <= 0 {
			dims[i] = math.MaxInt32
		}
	}
	size := int64(max(itemSize, 1))
	b := partition(dims, ones(len(dims)), max(DefaultBlockBytes/size, 1))
	c := partition(dims, b, max(DefaultChunkBytes/size, 1))
	return ints(c), ints(b)
}

// partition gives the last axis as much of items as it can take, then the one
// before of what remains. Lengths are multiples of least, or whole axes.
func partition(dims, least []int64, items int64) []int64 {
	out := make([]int64, len(dims))
	for _, n := range least {
		items = max(items/n, 1)
	}
	for i := len(dims) - 1; i >= 0; i-- {
		// In units of least, the last of which may be cut by the end of the axis.
		units := (dims[i]-1)/least[i] + 1
		take := even(units, min(units, items))
		items = max(items/take, 1)
		out[i] = min(take*least[i], dims[i])
	}
	return out
}

// even is a length up to most that leaves little over of n: the largest divisor
// if it is not much less than most, else a share of n in equal parts.
func even(n, most int64) int64 {
	if most >= n {
		return n
	}
	for k := most; k >= most-most/4 && k > 0; k-- {
		if n%k == 0 {
			return k
		}
	}
	parts := (n-1)/most + 1
	return (n-1)/parts + 1
}

func ones(d int) []int64 {
	s := make([]int64, d)
	for i := range s {
		s[i] = 1
	}
	return s
}

func ints(s []int64) []int {
	out := make([]int, len(s))
	for i, n := range s {
		out[i] = int(n)
	}
	return out
}
