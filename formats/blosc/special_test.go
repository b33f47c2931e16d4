package blosc_test

import (
	"bytes"
	"testing"

	"github.com/farread/farread/formats/blosc"
)

// TestWideValues: blocks of a repeated item hold whole items, also if items are too
// wide for the header: c-blosc2 refuses other blocks.
func TestWideValues(t *testing.T) {
	t.Parallel()
	for _, size := range []int{3, 255, 256, 300, 40000} {
		item := make([]byte, size)
		for i := range item {
			item[i] = byte(i*7 + 1)
		}
		data := bytes.Repeat(item, 2000)
		chunk, err := blosc.AppendEncoded(nil, data, blosc.EncodeOptions{TypeSize: size})
		if err != nil {
			t.Fatal(err)
		}
		h, err := blosc.ParseHeader(chunk)
		if err != nil || h.Special != blosc.Value || h.BlockSize%size != 0 || h.BlockSize > len(data) {
			t.Errorf("items of %d: %+v, %v", size, h, err)
		}
		if got, err := blosc.AppendDecoded(nil, chunk); err != nil || !bytes.Equal(got, data) {
			t.Errorf("items of %d: other data, %v", size, err)
		}
	}
}
