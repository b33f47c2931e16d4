package cframe_test

import (
	"testing"

	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/rangeio"
)

// BenchmarkScan decodes 64 chunks of a MiB into one buffer, from memory.
func BenchmarkScan(b *testing.B) {
	a := newFar(b, 64, 512*512*4, 64*64*4, 4, 24)
	f, err := cframe.Open(b.Context(), rangeio.FromReaderAt(a.object, a.object.size), cframe.Options{})
	if err != nil {
		b.Fatal(err)
	}
	p := make([]byte, f.Info().NBytes)
	b.SetBytes(int64(len(p)))
	b.ReportAllocs()
	for b.Loop() {
		if err := f.ReadBytes(b.Context(), p, 0); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPoints reads one block of each of 64 chunks, whose starts come first.
func BenchmarkPoints(b *testing.B) {
	a := newFar(b, 64, 512*512*4, 64*64*4, 4, 24)
	f, err := cframe.Open(b.Context(), rangeio.FromReaderAt(a.object, a.object.size), cframe.Options{Policy: rangeio.Lean()})
	if err != nil {
		b.Fatal(err)
	}
	wants := make([]cframe.Want, 64)
	for i := range wants {
		wants[i] = cframe.Want{Chunk: i, Blocks: []int{i}}
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := f.EachConcurrent(b.Context(), wants, func(int, int, []byte) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
