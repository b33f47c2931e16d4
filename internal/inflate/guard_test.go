package inflate

import (
	"bytes"
	"testing"

	"github.com/farread/farread/internal/guardtest"
)

// TestOutside: nothing is read outside a stream or written outside its destination, where
// no memory is; nor if some bits of the stream are wrong.
func TestOutside(t *testing.T) {
	t.Parallel()
	r := rng()
	var d Decoder
	for name, kind := range kinds {
		p := kind(2000 + r.IntN(500))
		s := deflate(t, p, 6, false)
		for _, memory := range []func(testing.TB, int) []byte{guardtest.End, guardtest.Start} {
			src, room := memory(t, len(s)), memory(t, len(p)+40)
			for _, dst := range [][]byte{room[:len(p)], room[40:]} {
				copy(src, s)
				if !d.Decode(dst, src) || !bytes.Equal(dst, p) {
					t.Fatalf("%s was refused, or has other bytes", name)
				}
				for less := 1; less < 400; less += 1 + less/2 { // much of the stream is left
					short := memory(t, len(dst)-less)
					if d.Decode(short, src) {
						t.Fatalf("%s: %d bytes less were taken", name, less)
					}
				}
				for range 20 {
					src[2+r.IntN(len(src)-2)] ^= 1 << r.IntN(8)
					d.Decode(dst, src)
				}
			}
		}
	}
}
