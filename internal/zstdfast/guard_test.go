package zstdfast

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/internal/guardtest"
)

// TestOutside: nothing is read outside a frame or written outside its destination, where
// no memory is; nor if some bits of the frame are wrong.
func TestOutside(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	enc := encoder(t, zstd.SpeedDefault)
	var d Decoder
	for name, p := range contents() {
		p = p[:min(len(p), 3000+r.IntN(500))]
		frame := enc.EncodeAll(p, nil)
		for _, memory := range []func(testing.TB, int) []byte{guardtest.End, guardtest.Start} {
			src, room := memory(t, len(frame)), memory(t, len(p)+40)
			for _, dst := range [][]byte{room[:len(p)], room[40:]} {
				copy(src, frame)
				if !d.Decode(dst, src) || !bytes.Equal(dst, p) {
					t.Fatalf("%s was declined, or has other bytes", name)
				}
				for range 20 {
					src[r.IntN(len(src))] ^= 1 << r.IntN(8)
					d.Decode(dst, src)
				}
			}
		}
	}
}
