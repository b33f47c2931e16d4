package codec_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/farread/farread/internal/codec"
)

func TestTrainDict(t *testing.T) {
	t.Parallel()
	var samples [][]byte
	for i := range 60 {
		samples = append(samples, classes["text"](1500, uint64(i)))
	}
	const most = 8 << 10
	dict := codec.TrainDict(samples, most)
	if len(dict) == 0 || len(dict) > most || !bytes.HasPrefix(dict, []byte{0x37, 0xa4, 0x30, 0xec}) {
		t.Fatalf("a dictionary of %d bytes", len(dict))
	}
	if again := codec.TrainDict(samples, most); !bytes.Equal(dict[:8], again[:8]) {
		t.Error("the same samples give a dictionary of another identifier")
	}
	var enc codec.Encoder
	var dec codec.Decoder
	src := classes["text"](1500, 1000)
	size := func(dict []byte) int {
		out := roomy(len(src))
		n, err := enc.Encode(codec.Zstd, 5, out, src, dict)
		if err != nil || n == 0 {
			t.Fatal(n, err)
		}
		roundTrip(t, &enc, &dec, codec.Zstd, 5, src, dict)
		if dict != nil {
			got := make([]byte, len(src))
			if err := dec.Decode(codec.Zstd, got, out[:n], nil); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("decoded without the dictionary: %v", err)
			}
			damaged := append(bytes.Clone(dict[:20]), bytes.Repeat([]byte{0xff}, 100)...)
			if err := dec.Decode(codec.Zstd, got, out[:n], damaged); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("decoded with a damaged dictionary: %v", err)
			}
			if err := dec.Decode(codec.Zstd, got, out[:n], dict); err != nil || !bytes.Equal(got, src) {
				t.Errorf("after a damaged dictionary the right one fails: %v", err)
			}
		}
		return n
	}
	if with, without := size(dict), size(nil); with >= without*9/10 {
		t.Errorf("%d bytes with a dictionary, %d without", with, without)
	}
	for _, bad := range [][][]byte{nil, {}, {nil}, {[]byte("short")}, {make([]byte, 5000)}, {classes["random"](3000, 1)}} {
		if d := codec.TrainDict(bad, most); len(d) > most {
			t.Errorf("a dictionary of %d bytes", len(d))
		}
	}
	if d := codec.TrainDict(samples, 100); d != nil {
		t.Error("a dictionary without room for one")
	}
}
