package codec

import (
	"math/rand/v2"
	"testing"
)

// bloscLZStream makes a stream of tokens of every kind, and what it decodes to. It ends
// behind a literal once there are size bytes.
func bloscLZStream(r *rand.Rand, size int) (stream, content []byte) {
	// Distances and lengths of one kind come in a row, as in real streams.
	maxDist, maxLen := 1+r.IntN(40), 3+r.IntN(60)
	for len(content) < size {
		if r.IntN(20) == 0 {
			maxDist, maxLen = 1<<r.IntN(18), 3+1<<r.IntN(11)
		}
		if len(content) == 0 || r.IntN(3) == 0 || len(content) >= size {
			n := 1 + r.IntN(32)
			stream = append(stream, byte(n-1))
			for range n {
				stream = append(stream, byte(r.Uint32()))
			}
			content = append(content, stream[len(stream)-n:]...)
			continue
		}
		n, dist := 3+r.IntN(maxLen), 1+r.IntN(min(maxDist, len(content), blzMaxFar))
		at := len(content) - dist
		for i := range n {
			content = append(content, content[at+i])
		}
		stream = appendBloscLZMatch(stream, n, dist)
	}
	return append(stream, 0, 'Z'), append(content, 'Z')
}

func appendBloscLZMatch(stream []byte, n, dist int) []byte {
	near := min(dist-1, blzEscape)
	high := byte(near >> 8)
	if n < 9 {
		stream = append(stream, byte(n-2)<<5|high)
	} else {
		stream = append(stream, 7<<5|high)
		for n -= 9; n >= 255; n -= 255 {
			stream = append(stream, 255)
		}
		stream = append(stream, byte(n))
	}
	stream = append(stream, byte(near))
	if near == blzEscape {
		far := dist - blzEscape - 1
		stream = append(stream, byte(far>>8), byte(far))
	}
	return stream
}

func bloscLZBoth(tb testing.TB, src []byte, size, spare int) []byte {
	tb.Helper()
	return both(tb, size, spare, func(dst []byte, kernel bool) bool { return decodeBloscLZBy(dst, src, kernel) })
}

// TestBloscLZKernel: streams of tokens of every kind decode to what they were made of,
// and damaged ones to the same with the kernel as without, or to nothing.
func TestBloscLZKernel(t *testing.T) {
	t.Parallel()
	testKernel(t, bloscLZStream, bloscLZBoth)
}

// FuzzBloscLZKernel gives any bytes, behind tokens that make a history, to the kernel and
// to Go.
func FuzzBloscLZKernel(f *testing.F) { fuzzKernel(f, bloscLZStream, bloscLZBoth) }
