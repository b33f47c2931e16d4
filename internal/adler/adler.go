// Package adler computes Adler-32 checksums, as hash/adler32 does, but several
// times as fast if the processor has AVX2 or NEON. Each chunk of a Bloscpack file
// has one, and without these decoding would wait for it.
package adler

import "hash/adler32"

//go:generate go run -C asm . -out ../sum_amd64.s -stubs ../sum_amd64.go -pkg adler

const (
	modulus = 65521 // the largest prime below 2^16
	// most is how many bytes both sums can take before they pass 32 bits: 5552 by
	// RFC 1950, in whole steps.
	most = 5552 / step * step
	step = 32
	// shorter inputs are summed in Go: starting a kernel would take longer
	short = 2 * step
)

// Sum is the Adler-32 checksum of p.
func Sum(p []byte) uint32 {
	if !fast || len(p) < short {
		return adler32.Checksum(p)
	}
	a, b := uint32(1), uint32(0)
	for len(p) >= step {
		n := min(len(p)&^(step-1), most)
		a, b = add(p[:n], a, b)
		a, b = a%modulus, b%modulus
		p = p[n:]
	}
	for _, c := range p { // fewer than a step
		a += uint32(c)
		b += a
	}
	return b%modulus<<16 | a%modulus
}
