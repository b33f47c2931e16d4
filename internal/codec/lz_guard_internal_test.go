package codec

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/internal/guardtest"
)

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
					src := guardtest.End(t, len(stream)-min(cut*cut, len(stream)))
					copy(src, stream)
					dst := guardtest.End(t, len(want)+17*(cut%2))[:len(want)]
					if err := dec.Decode(c.id, dst, src, nil); (err == nil) != (cut == 0) || err == nil && !bytes.Equal(dst, want) {
						t.Fatalf("%d bytes less of %d: %v", cut*cut, len(stream), err)
					}
					for less := 1; less <= 40 && cut == 0 && less < len(want); less += 13 { // much of the stream is left
						if dec.Decode(c.id, guardtest.End(t, len(want)-less), src, nil) == nil {
							t.Fatalf("%d bytes less were taken", less)
						}
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
		src := guardtest.End(t, len(content))
		copy(src, content)
		sameLZ4(t, &z, 1+r.IntN(9), src, guardtest.End(t, len(content)-r.IntN(len(content)/2)))
	})
}
