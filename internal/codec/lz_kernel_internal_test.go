package codec

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// A maker makes a stream, and what it decodes to: size bytes or some more.
type maker func(r *rand.Rand, size int) (stream, content []byte)

// both decodes with the kernel and without, into memory of size bytes with some spare
// behind it, and compares. It returns the content, or nil if there is none.
func both(tb testing.TB, size, spare int, decode func(dst []byte, kernel bool) bool) []byte {
	tb.Helper()
	var out [2][]byte
	var ok [2]bool
	for i := range out {
		buf := bytes.Repeat([]byte{0xa5}, size+spare+64)
		out[i] = buf[: size : size+spare]
		ok[i] = decode(out[i], i == 1)
		if !bytes.Equal(buf[size+spare:], bytes.Repeat([]byte{0xa5}, 64)) {
			tb.Fatalf("kernel %v: written behind the capacity", i == 1)
		}
	}
	if ok[0] != ok[1] || ok[0] && !bytes.Equal(out[0], out[1]) {
		tb.Fatalf("%d bytes and %d spare: %v with the kernel, %v without, or their bytes differ", size, spare, ok[1], ok[0])
	}
	if !ok[0] {
		return nil
	}
	return out[1]
}

func testKernel(t *testing.T, stream maker, decode func(tb testing.TB, src []byte, size, spare int) []byte) {
	t.Helper()
	r := rand.New(rand.NewPCG(3, 5))
	for range 150 {
		src, want := stream(r, 1+r.IntN(1<<r.IntN(17)))
		spare := r.IntN(3) * r.IntN(50)
		if got := decode(t, src, len(want), spare); !bytes.Equal(got, want) {
			t.Fatalf("%d bytes of %d came back otherwise", len(got), len(want))
		}
		for range 10 {
			bad := bytes.Clone(src)
			for range 1 + r.IntN(3) {
				bad[r.IntN(len(bad))] = byte(r.Uint32())
			}
			decode(t, bad[:len(bad)-r.IntN(min(3, len(bad)))], len(want)-r.IntN(2), spare)
		}
	}
}

func fuzzKernel(f *testing.F, stream maker, decode func(tb testing.TB, src []byte, size, spare int) []byte) {
	f.Helper()
	for seed := range uint64(8) {
		src, want := stream(rand.New(rand.NewPCG(seed, 1)), 400)
		f.Add(src, uint8(seed), uint16(len(want)), uint8(seed*9))
	}
	f.Fuzz(func(t *testing.T, tail []byte, seed uint8, size uint16, spare uint8) {
		src, have := stream(rand.New(rand.NewPCG(uint64(seed), 2)), int(seed)*8)
		decode(t, append(src, tail...), len(have)+int(size), int(spare%100))
		decode(t, tail, int(size), int(spare%100))
	})
}
