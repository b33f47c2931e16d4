package blosc_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats/blosc"
)

// TestRunsAmongPlanes: planes that are runs, beside stored ones and coded ones, in every
// order, and of lengths around the pieces in which they are merged.
func TestRunsAmongPlanes(t *testing.T) {
	t.Parallel()
	kinds := []func(i int) byte{
		func(int) byte { return 0 },
		func(int) byte { return 0x41 },
		func(int) byte { return byte(rand.Uint32()) },
		func(i int) byte { return byte(i >> 5) },
	}
	for _, width := range []int{2, 4, 8} {
		for _, n := range []int{64, 4095, 4096, 4097, 3*4096 + 33} {
			for order := range 16 {
				t.Run(fmt.Sprintf("width=%d/n=%d/order=%d", width, n, order), func(t *testing.T) {
					t.Parallel()
					src := make([]byte, n*width)
					for i := range src {
						j := i % width
						src[i] = kinds[(order>>(2*(j%2))+j/2)%4](i / width)
					}
					chunk, err := blosc.AppendEncoded(nil, src, blosc.EncodeOptions{
						Codec: blosc.LZ4, Level: 5, TypeSize: width, BlockSize: len(src),
						Filters: []blosc.Filter{{ID: blosc.Shuffle}}, Split: blosc.SplitAlways,
					})
					if err != nil {
						t.Fatal(err)
					}
					got, err := blosc.AppendDecoded(nil, chunk)
					if err != nil || !bytes.Equal(got, src) {
						t.Fatalf("%d bytes, not the %d that were encoded, %v", len(got), len(src), err)
					}
				})
			}
		}
	}
}
