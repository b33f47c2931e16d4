package codec_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// classes are kinds of data as blocks of chunked arrays hold them. Each function fills
// n bytes; the seed changes their random part.
var classes = map[string]func(n int, seed uint64) []byte{
	"zeros": func(n int, _ uint64) []byte { return make([]byte, n) },
	"ramp": func(n int, _ uint64) []byte {
		return fill(n, 4, func(p []byte, i int) { binary.LittleEndian.PutUint32(p, uint32(i)) })
	},
	"times": func(n int, seed uint64) []byte {
		r := rng(seed)
		t := uint64(1_700_000_000_000_000_000)
		return fill(n, 8, func(p []byte, _ int) {
			t += 1_000_000 + r.Uint64N(16)
			binary.LittleEndian.PutUint64(p, t)
		})
	},
	"runs": func(n int, seed uint64) []byte {
		r := rng(seed)
		b := make([]byte, 0, n+512)
		for len(b) < n {
			v := byte(r.Uint32())
			for range 1 + r.IntN(300) {
				b = append(b, v)
			}
		}
		return b[:n]
	},
	"text": func(n int, seed uint64) []byte {
		r := rng(seed)
		words := []string{"the", "wavelength", "of", "station", "north", "and", "pressure", "a", "level", "in", "hourly", "mean", "to",
			"temperature", "ocean", "is", "cloud", "with", "humidity", "wind", "speed", "surface", "for", "over", "radiance"}
		b := make([]byte, 0, n+32)
		for len(b) < n {
			b = append(b, words[min(r.IntN(len(words)), r.IntN(len(words)))]...)
			if r.IntN(9) == 0 {
				b = append(b, ". "...)
			} else {
				b = append(b, ' ')
			}
		}
		return b[:n]
	},
	"random": func(n int, seed uint64) []byte {
		r := rng(seed)
		return fill(n, 8, func(p []byte, _ int) { binary.LittleEndian.PutUint64(p, r.Uint64()) })
	},
	"period": func(n int, seed uint64) []byte {
		r := rng(seed)
		per := make([]byte, 1+r.IntN(40))
		for i := range per {
			per[i] = byte(r.Uint32())
		}
		b := make([]byte, n)
		for i := range b {
			b[i] = per[i%len(per)]
		}
		return b
	},
	"sparse": func(n int, seed uint64) []byte {
		r := rng(seed)
		b := make([]byte, n)
		for i := 0; i < n; i += 1 + r.IntN(200) {
			b[i] = byte(r.Uint32())
		}
		return b
	},
	"sine": func(n int, seed uint64) []byte {
		f := 0.001 * float64(1+seed%9)
		return fill(n, 4, func(p []byte, i int) {
			binary.LittleEndian.PutUint32(p, math.Float32bits(float32(math.Sin(f*float64(i)))))
		})
	},
	// As the shuffle filter leaves floats: bytes of one weight side by side.
	"shuffled": func(n int, seed uint64) []byte {
		f := 0.0001 * float64(1+seed%9)
		b := make([]byte, n)
		m := n / 4
		for i := range m {
			v := math.Float32bits(float32(280 + math.Sin(f*float64(i))))
			for k := range 4 {
				b[k*m+i] = byte(v >> (8 * k))
			}
		}
		return b
	},
}

func rng(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x5eed)) }

// fill makes n bytes of items of the given width; the last may be cut.
func fill(n, width int, item func(p []byte, i int)) []byte {
	b := make([]byte, n+width)
	for i := 0; i*width < n; i++ {
		item(b[i*width:i*width+width], i)
	}
	return b[:n]
}
