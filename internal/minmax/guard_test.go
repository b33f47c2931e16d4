package minmax_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/farread/farread/internal/guardtest"
	"github.com/farread/farread/internal/minmax"
)

// TestOutside: nothing is read outside the items, where no memory is.
func TestOutside(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n < 70; n++ {
		for _, memory := range []func(testing.TB, int) []byte{guardtest.End, guardtest.Start} {
			p := memory(t, 8*n)
			for i := range p {
				p[i] = byte(r.Uint32())
			}
			a := unsafe.Slice((*uint32)(unsafe.Pointer(&p[0])), 2*n)
			b := unsafe.Slice((*uint64)(unsafe.Pointer(&p[0])), n)
			check(t, a, minmax.Order[uint32]{Neg: math.MaxInt32}, a[n/2], 1<<32-1)
			check(t, b, minmax.Order[uint64]{Flip: 1 << 63}, b[n/2], 1<<64-1)
		}
	}
}
