package sums

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/farread/farread/internal/guardtest"
)

// TestOutside: nothing is read or written outside the memory that is given, where there is
// none.
func TestOutside(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(9, 10))
	for n := 1; n < 70; n++ {
		for _, memory := range []func(testing.TB, int) []byte{guardtest.End, guardtest.Start} {
			p := memory(t, 8*n)
			v := unsafe.Slice((*float64)(unsafe.Pointer(&p[0])), n)
			copy(v, floats(r, n))
			for _, size := range []int{2, 3, 4, 5, 7, 9} {
				checkBins(t, v, size, n/size)
			}
			for k := 1; 4*k <= n; k++ {
				var w Windows
				w.Add(v, k, k)
			}
			shorts := unsafe.Slice((*int16)(unsafe.Pointer(&p[0])), 4*n)
			if a, b := I16(shorts), I16(append([]int16{}, shorts...)); a != b {
				t.Fatal(a, b)
			}
			I16Wrapped(shorts)
			for size := 16; size <= len(shorts); size += 7 {
				BinsI16(make([]Small16, len(shorts)/size), shorts, size)
				BinsI16(make([]Small16, len(shorts)/size), shorts[len(shorts)%size:], size)
			}
			dst := memory(t, 8*n)
			checkSwapped(t, dst, shorts, BigEndian16(dst, shorts), 32)
			checkSwapped(t, dst, v, BigEndian64(dst, v), 8)
		}
	}
}
