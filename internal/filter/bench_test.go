package filter

import (
	"fmt"
	"testing"
)

// The block that the project's goals are about: in the second cache together
// with its result.
const blockLen = 256 << 10

func BenchmarkFilters(b *testing.B) {
	src, dst := random(blockLen, 1), make([]byte, blockLen)
	for _, f := range []struct {
		name   string
		widths []int
		run    func(e engine, width int)
	}{
		{"shuffle", []int{2, 3, 4, 8, 12, 16}, func(e engine, width int) { e.shuffle(dst, src, width) }},
		{"unshuffle", []int{2, 3, 4, 8, 12, 16}, func(e engine, width int) { e.unshuffle(dst, src, width) }},
		{"bitshuffle", []int{1, 2, 4, 8, 16}, func(e engine, width int) { e.bitShuffle(dst, src, width) }},
		{"bitunshuffle", []int{1, 2, 4, 8, 16}, func(e engine, width int) { e.bitUnshuffle(dst, src, width) }},
		{"bytedelta", []int{4}, func(e engine, width int) { e.byteDelta(dst, src, width) }},
		{"byteundelta", []int{4}, func(e engine, width int) { e.byteUndelta(dst, width, false) }},
	} {
		for _, width := range f.widths {
			for e := portable; e <= best; e++ {
				b.Run(fmt.Sprintf("filter=%s/width=%d/impl=%v", f.name, width, e), func(b *testing.B) {
					b.SetBytes(blockLen)
					for b.Loop() {
						f.run(e, width)
					}
				})
			}
		}
	}
}

func BenchmarkDelta(b *testing.B) {
	src, dst := random(blockLen, 1), make([]byte, blockLen)
	for _, width := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("filter=undelta/width=%d/block=first", width), func(b *testing.B) {
			b.SetBytes(blockLen)
			for b.Loop() {
				DeltaDecode(dst, nil, width, true)
			}
		})
	}
	b.Run("filter=undelta/width=4/block=later", func(b *testing.B) {
		b.SetBytes(blockLen)
		for b.Loop() {
			DeltaDecode(dst, src, 4, false)
		}
	})
}
