//go:build linux

package codec

import (
	"bytes"
	"errors"
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

// TestBounds: nothing is read behind a stream nor written behind its destination, where no
// memory is, and cut streams are refused.
func TestBounds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stream maker
		id     ID
	}{"blosclz": {bloscLZStream, BloscLZ}, "lz4": {lz4Stream, LZ4}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dec Decoder
			r := rand.New(rand.NewPCG(4, 6))
			for range 60 {
				stream, want := c.stream(r, 1+r.IntN(3000))
				for cut := range 4 {
					src := guarded(t, len(stream)-min(cut*cut, len(stream)))
					copy(src, stream)
					dst := guarded(t, len(want)+17*(cut%2))[:len(want)]
					if err := dec.Decode(c.id, dst, src, nil); (err == nil) != (cut == 0) || err == nil && !bytes.Equal(dst, want) {
						t.Fatalf("%d bytes less of %d: %v", cut*cut, len(stream), err)
					}
					for i := range len(src) / 8 {
						src[r.IntN(len(src))] ^= byte(1 << (i % 8))
						if err := dec.Decode(c.id, dst, src, nil); err != nil && !errors.Is(err, ErrCorrupt) {
							t.Fatal(err)
						}
					}
				}
			}
		})
	}
}

// TestEncoderBounds: nothing is read behind what is encoded, nor written behind its room.
func TestEncoderBounds(t *testing.T) {
	t.Parallel()
	var z lz4Encoder
	lz4Inputs(3, 60, func(r *rand.Rand, content []byte) {
		src := guarded(t, len(content))
		copy(src, content)
		sameLZ4(t, &z, 1+r.IntN(9), src, guarded(t, len(content)-r.IntN(len(content)/2)))
	})
}
