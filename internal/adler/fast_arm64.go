//go:build !purego

package adler

// fast says that add can be used: each processor of this architecture has NEON.
const fast = true

// add continues both sums over p, which must be one to 173 whole steps long.
func add(p []byte, a, b uint32) (uint32, uint32) {
	_ = p[step-1]
	return addNEON(&p[0], len(p), a, b)
}

// addNEON goes on from both sums over n bytes, 0 < n <= 5536 and a multiple of 32,
// without bringing them below the modulus.
//
//go:noescape
func addNEON(p *byte, n int, a, b uint32) (x, y uint32)
