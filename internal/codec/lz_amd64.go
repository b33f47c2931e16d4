//go:build !purego

package codec

import "golang.org/x/sys/cpu"

// hasKernels: this processor has what the kernels of BloscLZ and LZ4 need; nothing writes
// it later.
var hasKernels = cpu.X86.HasAVX2 && cpu.X86.HasBMI2

// hasLZ4Encoder: what it needs, too.
var hasLZ4Encoder = hasKernels

// An lzMask says where each of 32 bytes comes from: first those of the first half of the
// source, then those of the second.
type lzMask [2][32]byte

func (m *lzMask) set(i int, from byte) {
	const none = 0x80
	m[0][i], m[1][i] = none, none
	m[from/16][i] = from % 16
}

// lz4EncodeKernel encodes from s on, up to where a sequence needs more care. src and dst
// have lz4EncodeRoom bytes or more.
func lz4EncodeKernel(s *lz4State, table *[1 << lz4TableLog]uint16, dst, src []byte) {
	lz4EncodeAVX2(s, table, dst, src)
}

//go:noescape
func lz4EncodeAVX2(s *lz4State, table *[1 << lz4TableLog]uint16, dst, src []byte)
