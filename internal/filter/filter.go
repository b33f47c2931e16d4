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
// On amd64 most filters use SSE2, or AVX2 and GFNI where the processor has
// them, and on arm64 NEON; other processors, and programs built with the tag
// purego, use Go code that handles eight bytes at a time.
package filter

//go:generate go run -C asm . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg filter

// Shuffle groups the bytes of equal rank: with q = len(src)/width elements,
// dst[j*q+i] = src[i*width+j]. The len(src)%width bytes at the end are copied
// to their own place. A width of 1 copies.
func Shuffle(dst, src []byte, width int) { best.shuffle(dst, src, width) }

// Unshuffle undoes [Shuffle].
func Unshuffle(dst, src []byte, width int) { best.unshuffle(dst, src, width) }

func same(dst, src []byte) {
	if len(dst) != len(src) {
		panic("filter: dst and src differ in length")
	}
}

// An engine is a set of instructions to work with. Its methods split, merge,
// bitsToBytes, bytesToBits, sums and differences do the beginning of a job,
// maybe nothing, and return how far they came; the rest is for the Go code.
type engine uint8

// portable is the Go code; those that the processor offers beside it follow it, each with
// the instructions of all before it.
const portable engine = 0
