package codec

import (
	"bytes"
	"math"
	"testing"
)

// TestBloscLZHistory: what an encoder did before changes nothing, nor does the
// place at which positions start again from 0.
func TestBloscLZHistory(t *testing.T) {
	t.Parallel()
	var inputs [][]byte
	for n := 1; n < 5000; n += 37 {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(i*i>>6) ^ byte(i%(n%50+3))
		}
		inputs = append(inputs, p)
	}
	for _, level := range []int{1, 5, 9} {
		for _, base := range []uint32{0, 1, 1 << 20, math.MaxUint32 - 6000, math.MaxUint32 - 1} {
			var old bloscLZEncoder
			for i := range old.table {
				old.table[i] = uint32(i) * 77 % (base/2 + 1)
			}
			old.base = base
			for _, src := range inputs {
				var fresh bloscLZEncoder
				want, got := make([]byte, len(src)+300), make([]byte, len(src)+300)
				n, m := fresh.encode(level, want, src), old.encode(level, got, src)
				if n == 0 || !bytes.Equal(want[:n], got[:m]) {
					t.Fatalf("level %d, from position %d, %d bytes: %x, and with a history %x", level, base, len(src), want[:n], got[:m])
				}
			}
		}
	}
}
