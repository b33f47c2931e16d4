package predicate_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// BenchmarkMask tells the bytes per second of masks of blocks of 64 KiB, of which half of
// the items match, in no order.
func BenchmarkMask(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	p := make([]byte, 64<<10)
	for _, c := range []struct{ typ, text string }{
		{"|b1", "v == true"},
		{"|u1", "v >= 128"},
		{"<i2", "-100 < v <= 32000"},
		{"<i4", "v > 0"},
		{">i4", "v > 0"},
		{"<i8", "v != 0"},
		{"<f2", "v > 0"},
		{"<f4", "v > 0.5"},
		{"<f4", "v > 0.5 or v < -0.5 or v == 0"},
		{"<f8", "v > 0.5"},
		{"[('a', '<f4'), ('b', '<i4')]", "a > 0 and b < 0"},
	} {
		d := parse(b, c.typ)
		for i := 0; i < len(p); i += 8 { // f4 and f8 are numbers around 0
			binary.LittleEndian.PutUint64(p[i:], rnd.Uint64()&^(0x40<<56|0x40<<24))
		}
		b.Run(c.typ+" "+c.text, func(b *testing.B) {
			q := bind(b, c.text, d)
			var mask []uint64
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				mask = q.Mask(mask, p)
			}
		})
	}
}
