package blosc_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// dataKinds are classes of data that take different paths of encoders.
var dataKinds = []string{"random", "ramp", "sine", "zeros", "item", "few", "sparse", "text", "nan", "runs"}

// sample makes n bytes of a class for items of ts bytes.
func sample(kind string, n, ts int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 3))
	p := make([]byte, n)
	switch kind {
	case "random":
		for i := range p {
			p[i] = byte(r.Uint32())
		}
	case "ramp":
		for i := 0; i+8 <= n; i += 8 {
			binary.LittleEndian.PutUint64(p[i:], uint64(i/8)*3)
		}
	case "sine":
		for i := 0; i+4 <= n; i += 4 {
			binary.LittleEndian.PutUint32(p[i:], math.Float32bits(float32(math.Sin(float64(i)/300))))
		}
	case "item":
		for i := range p {
			p[i] = byte(i%ts) + 1
		}
	case "few":
		for i := range p {
			p[i] = byte(r.IntN(3))
		}
	case "sparse":
		for range n / 50 {
			p[r.IntN(n)] = byte(r.Uint32())
		}
	case "text":
		const words = "the quick brown fox jumps over the lazy dog and then some "
		for i := range p {
			p[i] = words[(i*i/77)%len(words)]
		}
	case "nan":
		for i := 0; i+4 <= n; i += 4 {
			binary.LittleEndian.PutUint32(p[i:], 0x7fc00000)
		}
	case "runs":
		for i := 0; i < n; {
			v := byte(r.Uint32())
			for k := r.IntN(3000); k >= 0 && i < n; k-- {
				p[i] = v
				i++
			}
		}
	}
	return p
}
