package codec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// streams are kinds of streams at the border of what can be compressed; r is at its seed.
var streams = map[string]func(r *rand.Rand, p []byte){
	"random":           func(r *rand.Rand, p []byte) { kinds(r, p, 256) },
	"200 of 256 bytes": func(r *rand.Rand, p []byte) { kinds(r, p, 200) },
	"170 of 256 bytes": func(r *rand.Rand, p []byte) { kinds(r, p, 170) },
	"100 of 256 bytes": func(r *rand.Rand, p []byte) { kinds(r, p, 100) },
	"a bell": func(r *rand.Rand, p []byte) {
		for i := range p {
			p[i] = byte(128 + 50*r.NormFloat64())
		}
	},
	"a ramp": func(_ *rand.Rand, p []byte) {
		for i := range p {
			p[i] = byte(i)
		}
	},
	"the same again": func(r *rand.Rand, p []byte) {
		kinds(r, p, 256)
		copy(p[len(p)/2:], p)
	},
	"a twentieth again": func(r *rand.Rand, p []byte) {
		kinds(r, p, 256)
		copy(p[len(p)/2:], p[:len(p)/20])
	},
	"records of one head": func(r *rand.Rand, p []byte) {
		kinds(r, p, 256)
		for i := 0; i+40 <= len(p); i += 40 {
			copy(p[i:], "head of it")
		}
	},
	"zeros behind": func(r *rand.Rand, p []byte) { kinds(r, p[:9*len(p)/10], 256) },
	"zeros here and there": func(r *rand.Rand, p []byte) {
		kinds(r, p, 256)
		for i := range p {
			if r.IntN(8) == 0 {
				p[i] = 0
			}
		}
	},
}

func kinds(r *rand.Rand, p []byte, n int) {
	for i := range p {
		p[i] = byte(r.IntN(n))
	}
}

// TestIncompressible: what is passed over as incompressible is what the library makes no
// smaller, and streams of random bytes are passed over.
func TestIncompressible(t *testing.T) {
	t.Parallel()
	var probe prober
	var z zstdEncoder
	out := make([]byte, probeMax+100)
	passed := 0
	for name, fill := range streams {
		for _, n := range []int{1, probeMin, 8192, 20001, probeMax, probeMax + 1} {
			for seed := range uint64(2) {
				src := make([]byte, n)
				fill(rand.New(rand.NewPCG(seed, uint64(n))), src)
				probed := probe.incompressible(src)
				if name == "random" && n >= probeMin && n <= probeMax && !probed {
					t.Errorf("%d random bytes are not passed over", n)
				}
				if !probed {
					continue
				}
				passed++
				k, err := z.encode(1, out, src, nil) // out is longer than src, so nothing is passed over
				if err != nil || k < n-n/200 {
					t.Errorf("%s, seed %d: %d bytes are passed over, which the library encodes in %d: %v", name, seed, n, k, err)
				}
			}
		}
	}
	if passed < 16 {
		t.Errorf("only %d streams are passed over", passed)
	}
}

// TestProbeForgets: an answer does not depend on the streams before.
func TestProbeForgets(t *testing.T) {
	t.Parallel()
	var old prober
	for name, fill := range streams {
		for seed := range uint64(8) {
			src := make([]byte, 8192)
			fill(rand.New(rand.NewPCG(seed, 3)), src)
			var fresh prober
			old.incompressible(bytes.Repeat(src[:100], 82)[seed:]) // some of it elsewhere
			if got, want := old.matched(src), fresh.matched(src); got != want {
				t.Fatal(fmt.Sprint(name, seed, ": ", got, " bytes matched, and by a new prober ", want))
			}
			if got, want := old.incompressible(src), fresh.incompressible(src); got != want {
				t.Fatal(name, seed, got, want)
			}
		}
	}
}
