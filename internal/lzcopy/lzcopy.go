// Package lzcopy makes the copies of decoders of the LZ77 family, and measures the matches of
// encoders.
//
// Decoders spend their time in copies of a few bytes, for which calling copy is slow.
// The functions here copy arrays of a fixed size, which the compiler turns into a few
// moves. So they write more than was asked for if there is room: the next instruction
// of the stream overwrites the bytes behind.
package lzcopy

import "encoding/binary"

// piece is how far a repeated pattern grows before it is copied on in pieces of
// one size: both ends of the copy stay in the first-level cache.
const piece = 8 << 10

// Match copies n bytes from dst[o-dist:] to dst[o:]. If the two overlap, that
// repeats a pattern of dist bytes. The caller has checked that 0 < dist <= o and 0 <=
// n <= len(dst)-o. Up to 32 bytes behind o+n may be overwritten; Match is faster
// if dst has them.
func Match(dst []byte, o, dist, n int) {
	s, e := o-dist, o+n
	switch {
	case dist < 16:
		copyPattern(dst, o, dist, n)
	case n <= 32 && len(dst)-o >= 32: // common lengths, without a loop
		*(*[16]byte)(dst[o:]) = *(*[16]byte)(dst[s:])
		*(*[16]byte)(dst[o+16:]) = *(*[16]byte)(dst[s+16:])
	case n <= 128 && len(dst)-e >= 32:
		for ; o < e; o, s = o+32, s+32 {
			*(*[16]byte)(dst[o:]) = *(*[16]byte)(dst[s:])
			*(*[16]byte)(dst[o+16:]) = *(*[16]byte)(dst[s+16:])
		}
	default:
		for o < e {
			o += copy(dst[o:e], dst[s:o])
		}
	}
}

// wholePatterns is how many bytes of a word patterns of 0 to 7 bytes fill.
const wholePatterns = "\x08\x08\x08\x06\x08\x05\x06\x07"

// copyPattern is Match for distances below 16.
func copyPattern(dst []byte, o, dist, n int) {
	s, e := o-dist, o+n
	switch {
	case n > 256 || len(dst)-e < 32:
		if dist == 1 {
			Run(dst[o:e], dst[s])
		} else {
			extend(dst[s:e], dist)
		}
	case dist == 1:
		splat := uint64(dst[s]) * 0x0101010101010101
		for ; o < e; o += 32 {
			b := (*[32]byte)(dst[o:])
			binary.LittleEndian.PutUint64(b[:], splat)
			binary.LittleEndian.PutUint64(b[8:], splat)
			binary.LittleEndian.PutUint64(b[16:], splat)
			binary.LittleEndian.PutUint64(b[24:], splat)
		}
	case dist < 8:
		// The pattern as often as it fits into a word, which is then stored at
		// steps of whole patterns.
		w := 8 * uint(dist)
		v := binary.LittleEndian.Uint64(dst[s:]) & (1<<w - 1)
		v |= v << w
		v |= v << (2 * w)
		v |= v << (4 * w)
		for step := int(wholePatterns[dist]); o < e; o += step {
			binary.LittleEndian.PutUint64(dst[o:], v)
		}
	default:
		for ; o < e; o, s = o+8, s+8 {
			*(*[8]byte)(dst[o:]) = *(*[8]byte)(dst[s:])
		}
	}
}

// Run sets every byte of b to v.
func Run(b []byte, v byte) {
	if v == 0 {
		clear(b)
		return
	}
	splat, i := uint64(v)*0x0101010101010101, 0
	for ; i < 64 && i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], splat)
	}
	if i == 64 {
		extend(b, 64)
		return
	}
	for ; i < len(b); i++ {
		b[i] = v
	}
}

// extend repeats the n bytes that b begins with to its end.
func extend(b []byte, n int) {
	if n > len(b) {
		return
	}
	for k := n; k < len(b); {
		k += copy(b[k:], b[:n])
		if n < piece {
			n = k
		}
	}
}
