package bloscpack_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
)

// samples are n bytes of a noisy wave, as float32.
func samples(n int) []byte {
	p := make([]byte, 0, n)
	seed := uint32(1)
	for i := 0; len(p) < n; i++ {
		seed = seed*1664525 + 1013904223
		p = binary.LittleEndian.AppendUint32(p, math.Float32bits(float32(math.Sin(float64(i)/500)+float64(seed>>20)/1e6)))
	}
	return p[:n]
}

func BenchmarkRead(b *testing.B) {
	data := samples(32 << 20)
	for _, c := range []struct {
		codec blosc.Codec
		sum   bloscpack.Checksum
		size  int
	}{{blosc.BloscLZ, bloscpack.Adler32, 1 << 20}, {blosc.LZ4, bloscpack.Adler32, 1 << 20}, {blosc.LZ4, bloscpack.CRC32, 1 << 20}, {blosc.Zstd, bloscpack.Adler32, 1 << 20}, {blosc.LZ4, bloscpack.Adler32, 64 << 10}, {blosc.LZ4, bloscpack.None, 1 << 20}} {
		file := write(b, bloscpack.WriteOptions{Checksum: c.sum, NoChecksum: c.sum == bloscpack.None, ChunkSize: c.size, Encode: blosc.EncodeOptions{Codec: c.codec, TypeSize: 4}}, [][]byte{data})
		b.Run(fmt.Sprintf("codec=%s/checksum=%s/chunk=%d", c.codec, c.sum, c.size), func(b *testing.B) {
			f := open(b, file, bloscpack.Options{Parallel: 1})
			dst := make([]byte, len(data))
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if n, err := f.ReadChunks(b.Context(), dst, 0, f.Len()); err != nil || n != len(dst) {
					b.Fatal(n, err)
				}
			}
		})
	}
}

// BenchmarkTiny reads a file without a table, of tiny chunks.
func BenchmarkTiny(b *testing.B) {
	data := samples(8 << 20)
	f := open(b, write(b, bloscpack.WriteOptions{NoOffsets: true, ChunkSize: 40, Encode: encodeLZ4()}, [][]byte{data}), bloscpack.Options{Parallel: 1})
	dst := make([]byte, len(data))
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if n, err := f.ReadChunks(b.Context(), dst, 0, f.Len()); err != nil || n != len(dst) {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkItems reads records of a few hundred bytes.
func BenchmarkItems(b *testing.B) {
	var items [][]byte
	for i := range 100_000 {
		items = append(items, fmt.Appendf(nil, `{"id": %d, "name": "record %d", "value": %f, "tags": ["a", "b", "c"]}`, i, i*7919%100_000, float64(i)/3))
	}
	file := write(b, bloscpack.WriteOptions{Variable: true, Encode: blosc.EncodeOptions{Codec: blosc.LZ4}}, items)
	f := open(b, file, bloscpack.Options{Parallel: 1})
	b.Run("each", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			if err := f.Each(b.Context(), 0, f.Len(), func(_ int64, p []byte) error { n += len(p); return nil }); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(n) / int64(b.N))
	})
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		var buf []byte
		var err error
		for i := int64(0); b.Loop(); i++ {
			if buf, err = f.AppendItem(b.Context(), buf[:0], i*7919%f.Len()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
