package blosc_test

import (
	"fmt"
	"testing"

	"github.com/farread/farread/formats/blosc"
)

var benchFilters = []struct {
	name    string
	filters []blosc.Filter
}{{"none", []blosc.Filter{}}, {"shuffle", nil}, {"bitshuffle", []blosc.Filter{{ID: blosc.BitShuffle}}}}

var benchCodecs = []blosc.Codec{blosc.BloscLZ, blosc.LZ4, blosc.Zlib, blosc.Zstd}

// each runs a benchmark for every codec and filter.
func each(b *testing.B, run func(b *testing.B, src []byte, o blosc.EncodeOptions)) {
	b.Helper()
	for _, c := range benchCodecs {
		for _, f := range benchFilters {
			for _, kind := range []string{"sine", "ramp"} {
				const size = 4 << 20
				b.Run(fmt.Sprintf("codec=%s/filter=%s/data=%s/size=%d", c, f.name, kind, size), func(b *testing.B) {
					ts := map[string]int{"sine": 4, "ramp": 8}[kind]
					src := sample(kind, size, ts, 1)
					b.SetBytes(size)
					run(b, src, blosc.EncodeOptions{Codec: c, Filters: f.filters, TypeSize: ts, Level: 1, BlockSize: 256 << 10})
				})
			}
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	each(b, func(b *testing.B, src []byte, o blosc.EncodeOptions) {
		b.Helper()
		chunk := encode(b, src, o)
		dst := make([]byte, len(src))
		b.ReportMetric(float64(len(chunk))/float64(len(src)), "ratio")
		b.ReportAllocs()
		for b.Loop() {
			if _, err := blosc.DecodeInto(dst, chunk); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	each(b, func(b *testing.B, src []byte, o blosc.EncodeOptions) {
		b.Helper()
		var chunk []byte
		for b.Loop() {
			var err error
			if chunk, err = blosc.AppendEncoded(chunk[:0], src, o); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(chunk))/float64(len(src)), "ratio")
	})
}
