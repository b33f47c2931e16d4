package codec

import (
	"bytes"
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

// bothBloscLZ decodes with the kernel and without, into memory with some spare and none
// behind it, and compares.
func bothBloscLZ(tb testing.TB, src []byte, size, spare int) []byte {
	tb.Helper()
	var out [2][]byte
	var ok [2]bool
	for i := range out {
		buf := bytes.Repeat([]byte{0xa5}, size+spare+64)
		out[i] = buf[:size : size+spare]
		ok[i] = decodeBloscLZBy(out[i], src, i == 1)
		if !bytes.Equal(buf[size+spare:], bytes.Repeat([]byte{0xa5}, 64)) {
			tb.Fatalf("kernel %v: written behind the capacity", i == 1)
		}
	}
	if ok[0] != ok[1] || ok[0] && !bytes.Equal(out[0], out[1]) {
		tb.Fatalf("%d bytes and %d spare of %d: the kernel says %v, Go %v, or their bytes differ", size, spare, len(src), ok[1], ok[0])
	}
	if !ok[0] {
		return nil
	}
	return out[1]
}

// TestBloscLZKernel: streams of tokens of every kind decode to what they were made of,
// and damaged ones to the same with the kernel as without, or to nothing.
func TestBloscLZKernel(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 5)) //nolint:gosec // data, no secrets
	for range 150 {
		src, want := bloscLZStream(r, 1+r.IntN(1<<r.IntN(17)))
		spare := r.IntN(3) * r.IntN(50)
		if got := bothBloscLZ(t, src, len(want), spare); !bytes.Equal(got, want) {
			t.Fatalf("%d bytes of %d came back otherwise", len(got), len(want))
		}
		for range 10 {
			bad := bytes.Clone(src)
			for range 1 + r.IntN(3) {
				bad[r.IntN(len(bad))] = byte(r.Uint32())
			}
			bothBloscLZ(t, bad[:len(bad)-r.IntN(min(3, len(bad)))], len(want)-r.IntN(2), spare)
		}
	}
}

// FuzzBloscLZKernel gives any bytes, behind tokens that make a history, to the kernel and
// to Go.
func FuzzBloscLZKernel(f *testing.F) {
	for seed := range uint64(8) {
		src, want := bloscLZStream(rand.New(rand.NewPCG(seed, 1)), 400) //nolint:gosec // data, no secrets
		f.Add(src, uint8(seed), uint16(len(want)), uint8(seed*9))
	}
	f.Fuzz(func(t *testing.T, tail []byte, seed uint8, size uint16, spare uint8) {
		src, have := bloscLZStream(rand.New(rand.NewPCG(uint64(seed), 2)), int(seed)*8) //nolint:gosec // data, no secrets
		bothBloscLZ(t, append(src, tail...), len(have)+int(size), int(spare%100))
		bothBloscLZ(t, tail, int(size), int(spare%100))
	})
}
