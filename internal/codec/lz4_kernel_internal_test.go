package codec

import (
	"math/rand/v2"
	"testing"
)

// lz4Stream makes a stream of sequences of every kind, and what it decodes to.
func lz4Stream(r *rand.Rand, size int) (stream, content []byte) {
	maxLits, maxDist, maxLen := r.IntN(5), 1+r.IntN(40), 1+r.IntN(40)
	for {
		if r.IntN(20) == 0 {
			maxLits, maxDist, maxLen = 1<<r.IntN(11), 1<<r.IntN(17), 1<<r.IntN(12)
		}
		lits := r.IntN(maxLits + 1)
		if len(content) == 0 || len(content) >= size {
			lits = 1 + r.IntN(40)
		}
		n, token := r.IntN(maxLen), len(stream)
		stream = append(stream, byte(min(lits, 15)<<4|min(n, 15)))
		stream = appendLZ4Length(stream, lits)
		for range lits {
			content = append(content, byte(r.Uint32()))
		}
		stream = append(stream, content[len(content)-lits:]...)
		if len(content) >= size && lits > 0 {
			stream[token] &= 0xf0
			return stream, content
		}
		dist := 1 + r.IntN(min(maxDist, len(content), lz4MaxDist))
		stream = appendLZ4Length(append(stream, byte(dist), byte(dist>>8)), n)
		at := len(content) - dist
		for i := range n + lz4MinMatch {
			content = append(content, content[at+i])
		}
	}
}

// appendLZ4Length appends what of a length does not fit into the token.
func appendLZ4Length(stream []byte, n int) []byte {
	if n < 15 {
		return stream
	}
	for n -= 15; n >= 255; n -= 255 {
		stream = append(stream, 255)
	}
	return append(stream, byte(n))
}

func lz4Both(tb testing.TB, src []byte, size, spare int) []byte {
	tb.Helper()
	return both(tb, size, spare, func(dst []byte, kernel bool) bool {
		ok, err := decodeLZ4By(dst, src, nil, kernel)
		return ok && err == nil
	})
}

// TestLZ4Kernel: streams of sequences of every kind decode to what they were made of, and
// damaged ones to the same as the library alone makes of them, or to nothing.
func TestLZ4Kernel(t *testing.T) {
	t.Parallel()
	testKernel(t, lz4Stream, lz4Both)
}

// FuzzLZ4Kernel gives any bytes, behind sequences that make a history, to the kernel and
// to the library.
func FuzzLZ4Kernel(f *testing.F) { fuzzKernel(f, lz4Stream, lz4Both) }
