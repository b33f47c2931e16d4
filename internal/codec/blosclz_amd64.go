//go:build !purego

package codec

import "golang.org/x/sys/cpu"

// hasBloscLZ: this processor has what bloscLZAVX2 needs; nothing writes it later.
var hasBloscLZ = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

// bloscLZTables is what bloscLZAVX2 knows by heart. Its layout is part of the kernel.
type bloscLZTables struct {
	tokens [256]bloscLZToken // by control byte
	// masks are, by distance, where each of 32 bytes comes from: those of the first
	// half of the source, then those of the second, in its lanes. The last is for
	// distances that do not overlap.
	masks [33][2][32]byte
	steps [32]byte // how many of 32 bytes are whole patterns, by distance
}

// A bloscLZToken says how to read the token that its control byte begins.
type bloscLZToken struct {
	size  byte   // bytes in the stream, without those that an escape adds
	shift byte   // of the first four bytes, to get at the low byte of the distance
	dist  uint16 // what that byte is added to
	more  byte   // mask of the byte that is added to the length
	n     byte   // the length
	_     [2]byte
}

var bloscLZTable = newBloscLZTables()

func newBloscLZTables() *bloscLZTables {
	var t bloscLZTables
	for c := range 256 {
		dist := uint16(c&31)<<8 + 1
		switch k := byte(c >> 5); k {
		case 0: // literals, which lie in src and overlap nothing
			t.tokens[c] = bloscLZToken{size: byte(c) + 2, shift: 32, dist: 32, n: byte(c) + 1}
		case 7:
			t.tokens[c] = bloscLZToken{size: 3, shift: 16, dist: dist, more: 255, n: 9}
		default:
			t.tokens[c] = bloscLZToken{size: 2, shift: 8, dist: dist, n: k + 2}
		}
	}
	const none = 0x80
	for dist := 1; dist <= 32; dist++ {
		m := &t.masks[dist]
		for i := range 32 {
			from := i % dist
			m[0][i], m[1][i] = none, none
			m[from/16][i] = byte(from % 16)
		}
		if dist < 32 {
			t.steps[dist] = byte(32 / dist * dist)
		}
	}
	return &t
}

// bloscLZAVX2 decodes from o and p, where a token begins, on to where one begins that
// needs more care, and returns where that is. dst and src have 40 bytes from there on, or
// more.
//
//go:noescape
func bloscLZAVX2(t *bloscLZTables, dst, src []byte, o, p int) (o2, p2 int)

// bloscLZRoom is how far the kernel stays from the ends of dst and src.
const bloscLZRoom = 64

func bloscLZKernel(dst, src []byte, o, p int) (int, int) {
	return bloscLZAVX2(bloscLZTable, dst, src, o, p)
}
