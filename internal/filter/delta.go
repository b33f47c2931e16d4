package filter

import "crypto/subtle"

// DeltaEncode is Blosc2's delta filter, which despite its name is an exclusive
// or. In the first block of a chunk each unit is combined with the unit before
// it; in the others (first false) with the unit at the same place of ref, the
// raw bytes from the chunk's start. The unit has width bytes if that is 1, 2, 4
// or 8, else 8 bytes if 8 divides width, else 1. Bytes behind the last whole
// unit, and bytes beyond the end of ref, are copied. ref is not used in the
// first block.
func DeltaEncode(dst, src, ref []byte, width int, first bool) {
	same(dst, src)
	u := deltaUnit(width)
	c := len(src) / u * u
	switch {
	case c == 0:
	case first:
		copy(dst, src[:u])
		subtle.XORBytes(dst[u:c], src[u:c], src[:c-u])
	default:
		c = min(c, len(ref)/u*u)
		subtle.XORBytes(dst[:c], src[:c], ref[:c])
	}
	copy(dst[c:], src[c:])
}

// DeltaDecode undoes [DeltaEncode] in place. ref is the decoded start of the
// chunk, all its filters undone.
func DeltaDecode(p, ref []byte, width int, first bool) {
	u := deltaUnit(width)
	c := len(p) / u * u
	if !first {
		c = min(c, len(ref)/u*u)
		subtle.XORBytes(p[:c], p[:c], ref[:c])
		return
	}
	xorScan(p[:c], u)
}

func deltaUnit(width int) int {
	switch {
	case width == 2 || width == 4:
		return width
	case width > 0 && width%8 == 0:
		return 8
	default:
		return 1
	}
}

// xorScan replaces each unit by the combination of all units up to it.
func xorScan(p []byte, unit int) {
	var carry uint64 // the last unit, in each lane
	i := 0
	for ; i+8 <= len(p); i += 8 {
		x := le.Uint64(p[i:])
		switch unit {
		case 1:
			x ^= x << 8
			x ^= x << 16
			x ^= x<<32 ^ carry
			carry = x >> 56 * 0x0101010101010101
		case 2:
			x ^= x << 16
			x ^= x<<32 ^ carry
			carry = x >> 48 * 0x0001000100010001
		case 4:
			x ^= x<<32 ^ carry
			carry = x>>32 | x&^low32
		default:
			x ^= carry
			carry = x
		}
		le.PutUint64(p[i:], x)
	}
	for i = max(i, unit); i < len(p); i++ {
		p[i] ^= p[i-unit]
	}
}
