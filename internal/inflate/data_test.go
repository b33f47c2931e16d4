package inflate

import (
	"encoding/binary"
	"math/rand/v2"
)

// kinds are bytes that make streams of every sort: runs, periods of each length, matches
// far and near, literals of a few bits and of fifteen, and nothing to be gained.
var kinds = map[string]func(n int) []byte{
	"zeros": func(n int) []byte { return make([]byte, n) },
	"noise": func(n int) []byte { return fill(n, func(r *rand.Rand, _ int) byte { return byte(r.Uint32()) }) },
	"few":   func(n int) []byte { return fill(n, func(r *rand.Rand, _ int) byte { return byte(r.IntN(11)) }) },
	"bell": func(n int) []byte {
		return fill(n, func(r *rand.Rand, _ int) byte { return byte(128 + 12*r.NormFloat64()) })
	},
	"rare": func(n int) []byte { // half of them 0, a quarter 1 …: codes of all lengths
		return fill(n, func(r *rand.Rand, _ int) byte { return byte(min(r.ExpFloat64()*1.44, 255)) })
	},
	"flat": func(n int) []byte { // codes of nearly one length, few of others, few matches
		r := rng()
		p := make([]byte, 0, n+50)
		for len(p) < n {
			switch k := r.IntN(400); {
			case k < 2:
				p = append(p, byte(128+r.IntN(128)))
			case k < 5 && len(p) > 500:
				p = append(p, p[len(p)-500:][:3+r.IntN(40)]...)
			default:
				p = append(p, byte(r.IntN(120)))
			}
		}
		return p[:n]
	},
	"times": func(n int) []byte { // the lower bytes of a clock, each plane by itself
		m := (n + 3) / 4
		p := make([]byte, 4*m)
		r := rng()
		for i, t := 0, uint32(0); i < m; i++ {
			t += 1000 + r.Uint32N(3)
			for k := range 4 {
				p[k*m+i] = byte(t >> (8 * k))
			}
		}
		return p[:n]
	},
	"ramp": func(n int) []byte {
		p := make([]byte, n+4)
		for i := 0; i < n; i += 4 {
			binary.LittleEndian.PutUint32(p[i:], uint32(i/4))
		}
		return p[:n]
	},
	"periods": func(n int) []byte { // of 1 to 70 bytes, 1 to 400 bytes long each
		r := rng()
		p := make([]byte, 0, n+500)
		for len(p) < n {
			from := max(0, len(p)-1-r.IntN(70))
			for k := r.IntN(400); k > 0 && from < len(p); k-- {
				p = append(p, p[from])
				from++
			}
			p = append(p, byte(r.Uint32()))
		}
		return p[:n]
	},
}

func rng() *rand.Rand { return rand.New(rand.NewPCG(1, 0x5eed)) }

func fill(n int, next func(r *rand.Rand, i int) byte) []byte {
	p, r := make([]byte, n), rng()
	for i := range p {
		p[i] = next(r, i)
	}
	return p
}
