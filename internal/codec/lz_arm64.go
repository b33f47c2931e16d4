//go:build !purego

package codec

// hasKernels: each processor of this architecture has what the kernels of BloscLZ and LZ4
// need.
const hasKernels = true

// An lzMask says where each of 32 bytes comes from.
type lzMask [32]byte

func (m *lzMask) set(i int, from byte) { m[i] = from }
