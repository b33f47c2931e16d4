package codec_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/farread/farread/internal/codec"
)

const benchBlock = 128 << 10

func BenchmarkDecode(b *testing.B) {
	var enc codec.Encoder
	var dec codec.Decoder
	for _, id := range written {
		for _, name := range slices.Sorted(maps.Keys(classes)) {
			src := classes[name](benchBlock, 1)
			stream := roomy(len(src))
			n, err := enc.Encode(id, 5, stream, src, nil)
			if err != nil || n == 0 {
				b.Fatal(n, err)
			}
			dst := make([]byte, len(src), len(src)+codec.Slack)
			b.Run(fmt.Sprintf("codec=%v/data=%s", id, name), func(b *testing.B) {
				b.SetBytes(int64(len(src)))
				b.ReportAllocs()
				for b.Loop() {
					if err := dec.Decode(id, dst, stream[:n], nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	var enc codec.Encoder
	for _, id := range written {
		for _, level := range []int{1, 5, 9} {
			for _, name := range slices.Sorted(maps.Keys(classes)) {
				src := classes[name](benchBlock, 1)
				dst := make([]byte, len(src)-1)
				b.Run(fmt.Sprintf("codec=%v/level=%d/data=%s", id, level, name), func(b *testing.B) {
					b.SetBytes(int64(len(src)))
					b.ReportAllocs()
					n := 0
					for b.Loop() {
						var err error
						if n, err = enc.Encode(id, level, dst, src, nil); err != nil {
							b.Fatal(err)
						}
					}
					if n == 0 {
						n = len(src)
					}
					b.ReportMetric(float64(len(src))/float64(n), "ratio")
				})
			}
		}
	}
}
