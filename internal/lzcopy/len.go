package lzcopy

import (
	"encoding/binary"
	"math/bits"
)

// Len counts the bytes of src that are alike from p and from ref, up to
// end. ref is before p.
func Len(src []byte, p, ref, end int) int {
	if p >= end {
		return 0
	}
	a := src[p:end]
	b := src[ref:][:len(a)]
	i := 0
	for ; i+16 <= len(a); i += 16 {
		u, v := (*[16]byte)(a[i:]), (*[16]byte)(b[i:])
		if x := binary.LittleEndian.Uint64(u[:8]) ^ binary.LittleEndian.Uint64(v[:8]); x != 0 {
			return i + bits.TrailingZeros64(x)>>3
		}
		if x := binary.LittleEndian.Uint64(u[8:]) ^ binary.LittleEndian.Uint64(v[8:]); x != 0 {
			return i + 8 + bits.TrailingZeros64(x)>>3
		}
	}
	for ; i < len(a) && i < len(b) && a[i] == b[i]; i++ {
	}
	return i
}

// Len8 does what Len does, faster for matches shorter than 8 bytes.
func Len8(src []byte, p, ref, end int) int {
	if p+8 > end {
		return Len(src, p, ref, end)
	}
	x := binary.LittleEndian.Uint64(src[ref:]) ^ binary.LittleEndian.Uint64(src[p:])
	if x == 0 {
		return 8 + Len(src, p+8, ref+8, end)
	}
	return bits.TrailingZeros64(x) >> 3
}
