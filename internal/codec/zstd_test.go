package codec_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/internal/codec"
	"github.com/farread/farread/internal/zstdenc"
)

// TestZstdLevels: short inputs have an encoder of their own up to level 3, longer ones at level 1.
// The other levels are the library's, which finds more.
func TestZstdLevels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var text []byte
	for len(text) < zstdenc.Max+1 {
		text = fmt.Appendf(text, `{"id":%d,"user":"user-%05d","ms":%.3f,"page":"/shop/%d"}`, r.IntN(1e6), r.IntN(1e5), r.Float64()*1000, r.IntN(50_000))
	}
	for n, upTo := range map[int]int{400: 3, 600: 1, 20_000: 1, zstdenc.Max: 1, zstdenc.Max + 1: 0} {
		var e codec.Encoder
		var own zstdenc.Encoder
		var lengths [10]int
		src, most := text[:n], 0
		for level := 1; level <= 9; level++ {
			k, err := e.Encode(codec.Zstd, level, make([]byte, n), src, nil)
			if err != nil || k == 0 {
				t.Fatal(n, level, k, err)
			}
			lengths[level] = k
		}
		if n <= zstdenc.Max {
			most = own.Encode(make([]byte, n), src)
		}
		for level := 1; level <= 9; level++ {
			if ours := lengths[level] == most; ours != (level <= upTo) {
				t.Errorf("%d bytes: lengths by level %v, of the encoder of short inputs %d up to level %d", n, lengths[1:], most, upTo)
				break
			}
		}
	}
}
