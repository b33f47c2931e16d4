// Package filter holds the reversible rearrangements that Blosc and Blosc2
// apply to a block of bytes before the codec sees it, and their inverses.
//
// Each function works on one block, does not allocate, keeps no state and may
// run in any number of goroutines at once. Where a function takes dst and src,
// they have the same length (another length is a mistake of the caller's and
// panics) and do not overlap, unless the function says that dst may be src.
// Nothing outside dst is written. Every length is accepted, 0 included, and no
// input is invalid: a decoder that needs to refuse parameters reports false.
//
// A width is the number of bytes of one element. A width below 1 counts as 1.
//
// On amd64 the transposing filters use SSE2, or AVX2 where the processor has
// it; other processors, and programs built with the tag purego, use Go code
// that handles eight bytes at a time.
package filter

// Shuffle groups the bytes of equal rank: with q = len(src)/width elements,
// dst[j*q+i] = src[i*width+j]. The len(src)%width bytes at the end are copied
// to their own place. A width of 1 copies.
func Shuffle(dst, src []byte, width int) {
	q, done := prepare(dst, src, width)
	if done {
		return
	}
	from := shuffleFast(dst, src, width, q)
	shuffleGo(dst, q, src, width, from, q, width)
	copy(dst[q*width:], src[q*width:])
}

// Unshuffle undoes [Shuffle].
func Unshuffle(dst, src []byte, width int) {
	q, done := prepare(dst, src, width)
	if done {
		return
	}
	from := unshuffleFast(dst, src, width, q)
	unshuffleGo(dst, width, src, q, from, q, width)
	copy(dst[q*width:], src[q*width:])
}

// prepare checks the lengths and does what is a plain copy for both
// directions; q is the number of elements.
func prepare(dst, src []byte, width int) (q int, done bool) {
	same(dst, src)
	if width > 1 {
		q = len(src) / width
	}
	if q <= 1 { // one element transposes to itself
		copy(dst, src)
		return q, true
	}
	return q, false
}

func same(dst, src []byte) {
	if len(dst) != len(src) {
		panic("filter: dst and src differ in length")
	}
}
