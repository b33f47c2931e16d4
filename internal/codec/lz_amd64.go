//go:build !purego

package codec

import "golang.org/x/sys/cpu"

// hasKernels: this processor has what the kernels of BloscLZ and LZ4 need; nothing writes
// it later.
var hasKernels = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

// lzTables is what the kernels know by heart. bloscLZAVX2 relies on tokens being first,
// and 8 bytes each.
type lzTables struct {
	tokens [256]bloscLZToken // by control byte
	// masks are, by distance, where each of 32 bytes comes from: those of the first half
	// of the source, then those of the second. The last is for distances that do not
	// overlap.
	masks [33][2][32]byte
	steps [32]byte // how many of 32 bytes are whole patterns, by distance
	far   uint64   // the distance of the last mask
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

var tables = newLZTables()

func newLZTables() *lzTables {
	t := lzTables{far: 32}
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

// bloscLZRoom is how far bloscLZKernel stays from the ends of dst and src.
const bloscLZRoom = 64

// bloscLZKernel decodes from o and p, where a token begins, on to where one begins that
// needs more care, and returns where that is. dst and src have bloscLZRoom bytes from
// there on, or more.
func bloscLZKernel(dst, src []byte, o, p int) (int, int) { return bloscLZAVX2(tables, dst, src, o, p) }

//go:noescape
func bloscLZAVX2(t *lzTables, dst, src []byte, o, p int) (o2, p2 int)

// lz4Room is how many bytes lz4Kernel needs in dst and in src.
const lz4Room = 128

// lz4Kernel decodes up to a token that needs more care, and returns where that is.
func lz4Kernel(dst, src []byte) (o, p int) { return lz4AVX2(tables, dst, src) }

//go:noescape
func lz4AVX2(t *lzTables, dst, src []byte) (o, p int)

// lz4EncodeKernel encodes from s on, up to where a sequence needs more care. src and dst
// have lz4EncodeRoom bytes or more.
func lz4EncodeKernel(s *lz4State, table *[1 << lz4TableLog]uint16, dst, src []byte) {
	lz4EncodeAVX2(s, table, dst, src)
}

//go:noescape
func lz4EncodeAVX2(s *lz4State, table *[1 << lz4TableLog]uint16, dst, src []byte)
