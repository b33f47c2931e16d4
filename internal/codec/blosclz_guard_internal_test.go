//go:build linux

package codec

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"golang.org/x/sys/unix"
)

// guarded returns n bytes, behind which no memory is.
func guarded(tb testing.TB, n int) []byte {
	tb.Helper()
	page := unix.Getpagesize()
	whole := (n + page - 1) / page * page
	m, err := unix.Mmap(-1, 0, whole+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := unix.Munmap(m); err != nil {
			tb.Error(err)
		}
	})
	if err := unix.Mprotect(m[whole:], unix.PROT_NONE); err != nil {
		tb.Fatal(err)
	}
	return m[whole-n : whole : whole]
}

// TestBloscLZBounds: nothing is read behind a stream nor written behind its destination,
// where no memory is.
func TestBloscLZBounds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 6)) //nolint:gosec // data, no secrets
	for range 60 {
		stream, want := bloscLZStream(r, 1+r.IntN(3000))
		for cut := range 4 {
			src := guarded(t, len(stream)-cut*cut)
			copy(src, stream)
			dst := guarded(t, len(want)+17*(cut%2))[:len(want)]
			if ok := decodeBloscLZ(dst, src); ok != (cut == 0) || ok && !bytes.Equal(dst, want) {
				t.Fatalf("%d bytes less of %d: %v", cut*cut, len(stream), ok)
			}
			for i := range len(src) / 8 {
				src[r.IntN(len(src))] ^= byte(1 << (i % 8))
				decodeBloscLZ(dst, src)
			}
		}
	}
}
