package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"
)

// BenchmarkOf tells the bytes per second of one pass over a block of 64 KiB. The bytes are
// random for integers; floats are normal, so that there is no NaN. "Ramp" is sorted: each
// item is a new maximum.
func BenchmarkOf(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, text := range []string{"|b1", "|u1", "<i2", ">i2", "<i4", "<i8", "<f2", "<f4", ">f4", "<f8", "<c8", "<M8[s]"} {
		d := parse(b, text)
		c := columns(b, d, nil)[0]
		p := make([]byte, 64<<10)
		for i := range p {
			p[i] = byte(rnd.Uint32())
		}
		if f4, ok := map[string]string{"<f4": "<f4", ">f4": ">f4", "<f8": "<f8", "<f2": "<f2", "<c8": "<f4"}[text]; ok {
			to := parse(b, f4)
			for i := range len(p) / to.ItemSize() {
				v := math.Float64bits(rnd.NormFloat64())
				var w [8]byte
				for k := range w {
					w[k] = byte(v >> (8 * k))
				}
				if err := parse(b, "<f8").Convert(p[i*to.ItemSize():(i+1)*to.ItemSize()], to, w[:]); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.Run(text, func(b *testing.B) {
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				c.Of(p)
			}
		})
	}
	b.Run("<i8 Ramp", func(b *testing.B) {
		c := columns(b, parse(b, "<i8"), nil)[0]
		p := make([]byte, 64<<10)
		for i := range len(p) / 8 {
			p[8*i], p[8*i+1] = byte(i), byte(i>>8)
		}
		b.SetBytes(int64(len(p)))
		for b.Loop() {
			c.Of(p)
		}
	})
}
