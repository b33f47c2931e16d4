package blosc_test

import (
	"fmt"

	"github.com/farread/farread/formats/blosc"
)

// A block in the middle of a chunk, from the chunk's index and the block's own
// bytes.
func ExampleDecodeOptions_DecodeBlock() {
	src := make([]byte, 100_000)
	for i := range src {
		src[i] = byte(i / 300)
	}
	chunk, err := blosc.AppendEncoded(nil, src, blosc.EncodeOptions{Codec: blosc.Zstd, BlockSize: 10_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := blosc.ParseHeader(chunk[:blosc.HeaderLen2])
	if err != nil {
		fmt.Println(err)
		return
	}
	x, err := blosc.ParseIndex(chunk[:h.IndexLen()])
	if err != nil {
		fmt.Println(err)
		return
	}
	block := make([]byte, x.BlockLen(7))
	off, n := x.Block(7)
	if err := (blosc.DecodeOptions{}).DecodeBlock(block, x, 7, chunk[off:off+n], nil, nil); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.Blocks(), h.IndexLen(), len(block), block[0] == src[70_000])
	// Output: 10 72 10000 true
}
