package b2nd

// The sizes that DefaultShapes aims at. python-blosc2 derives them from the caches
// of the machine. These are fixed, so the same array gives the same file
// everywhere. A block and its output fit into a second-level cache. A chunk is
// long enough to be worth a request for some of its blocks.
const (
	DefaultBlockBytes = 64 << 10
	DefaultChunkBytes = 4 << 20
)

// DefaultShapes returns shapes of chunks and blocks for an array of items of
// itemSize bytes. Blocks have about 64 KiB, chunks about 4 MiB. Both are as long
// as possible along the last axis, then along the axis before it, and so on, as
// in python-blosc2. Lengths that divide the axis evenly are preferred, so
// padding is rare.
//
// Along each axis block <= chunk and chunk <= shape. The chunk is a multiple of
// the block unless it spans the whole axis. An axis of length 0, which may grow
// later, is treated as a long axis. After the first axis along which a chunk is
// longer than 1, a chunk spans all axes: so a Writer of a stream buffers one
// chunk at a time.
func DefaultShapes(shape []int64, itemSize int) (chunk, block []int) {
	dims := long(shape)
	size := int64(max(itemSize, 1))
	b := partition(dims, ones(len(dims)), max(DefaultBlockBytes/size, 1))
	c := partition(dims, b, max(DefaultChunkBytes/size, 1))
	return ints(c), ints(b)
}

// partition returns a shape of up to items items. It makes the last axis as
// long as possible, then the axis before it, and so on. Lengths are multiples
// of least, or whole axes.
func partition(dims, least []int64, items int64) []int64 {
	out := make([]int64, len(dims))
	for _, n := range least {
		items = max(items/n, 1)
	}
	for i := len(dims) - 1; i >= 0; i-- {
		// units counts lengths of least[i]; the end of the axis may cut the last
		// one.
		units := (dims[i]-1)/least[i] + 1
		take := even(units, min(units, items))
		items = max(items/take, 1)
		out[i] = min(take*least[i], dims[i])
	}
	return out
}

// even returns a length up to most that divides n with little rest: a divisor
// of n if one is between three quarters of most and most, else the length of
// equal parts of n.
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
