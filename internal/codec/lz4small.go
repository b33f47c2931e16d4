package codec

import (
	"encoding/binary"
	"math/bits"
)

const (
	// lz4SmallMax is the longest input for which lz4SmallEncoder is faster than the
	// library, measured with text and with JSON.
	lz4SmallMax = 400
	lz4SmallLog = 13 // as in C for inputs below 64 KiB
	// lz4Skip: how many positions in a row have no match until steps become
	// longer by a byte, as a power of two.
	lz4Skip = 6
)

// lz4SmallEncoder encodes LZ4 blocks of a few hundred bytes, for which clearing a
// table takes as long as all the rest. Positions in the table count on from one input
// to the next; entries of earlier inputs are recognised by being too low. The output
// is that of C's LZ4_compress_fast, byte for byte: the encoder looks at the same
// positions, and takes an empty place in the table for position 0, as C does.
type lz4SmallEncoder struct {
	table [1 << lz4SmallLog]uint16
	base  int // position of the next input's first byte
}

// encode returns the stream's length, or 0 if it does not fit into dst. src has at
// most lz4SmallMax bytes.
func (z *lz4SmallEncoder) encode(accel int, dst, src []byte) int {
	if z.base+len(src) > 1<<16 {
		clear(z.table[:])
		z.base = 0
	}
	base := z.base
	z.base += len(src)
	o, lit, p, last := 0, 0, 1, len(src)-lz4MinTail+1
	for p < last {
		ref, next := 0, p
		for step, tries := 1, accel<<lz4Skip; ; tries++ {
			p, next = next, next+step
			if step = tries >> lz4Skip; next > last {
				return lz4Tail(dst, o, src[lit:])
			}
			v := binary.LittleEndian.Uint32(src[p:])
			if ref = z.swap(v, p, base); binary.LittleEndian.Uint32(src[ref:]) == v {
				break
			}
		}
		for p > lit && ref > 0 && src[p-1] == src[ref-1] {
			p--
			ref--
		}
		for {
			n := matchLen8(src, p+lz4MinMatch, ref+lz4MinMatch, len(src)-lz4LastLits)
			if o = lz4Put(dst, o, src[lit:], p-lit, p-ref, n); o < 0 {
				return 0
			}
			p += lz4MinMatch + n
			if lit = p; p >= last {
				break
			}
			z.swap(binary.LittleEndian.Uint32(src[p-2:]), p-2, base)
			v := binary.LittleEndian.Uint32(src[p:])
			if ref = z.swap(v, p, base); binary.LittleEndian.Uint32(src[ref:]) != v {
				p++
				break
			}
		}
	}
	return lz4Tail(dst, o, src[lit:])
}

// matchLen8 does what matchLen does, faster for matches shorter than 8 bytes.
func matchLen8(src []byte, p, ref, end int) int {
	if p+8 > end {
		return matchLen(src, p, ref, end)
	}
	x := binary.LittleEndian.Uint64(src[ref:]) ^ binary.LittleEndian.Uint64(src[p:])
	if x == 0 {
		return 8 + matchLen(src, p+8, ref+8, end)
	}
	return bits.TrailingZeros64(x) >> 3
}

// swap enters position p, at which v stands, and returns the position that was entered
// before.
func (z *lz4SmallEncoder) swap(v uint32, p, base int) int {
	e := &z.table[v*2654435761>>(32-lz4SmallLog)]
	ref := int(*e) - base
	*e = uint16(base + p)
	return max(ref, 0)
}

// lz4Put writes the first k bytes of lit and a match of n bytes more than the
// least. It keeps as much room as C does, so that the same inputs fit.
func lz4Put(dst []byte, o int, lit []byte, k, dist, n int) int {
	if k < 15 && n < 15 && len(dst)-o >= 24 && len(lit) >= 16 {
		dst[o] = byte(k<<4 | n)
		*(*[16]byte)(dst[o+1:]) = *(*[16]byte)(lit)
		o += 1 + k
		binary.LittleEndian.PutUint16(dst[o:], uint16(dist))
		return o + 2
	}
	room := len(dst) - o
	if 1+k+k/255+2+1+lz4LastLits > room || 1+k+(k+240)/255+2+1+lz4LastLits+(n+240)/255 > room {
		return -1
	}
	t := o
	dst[t] = byte(min(k, 15)<<4 | min(n, 15))
	o = lz4Extend(dst, o+1, k)
	o += copy(dst[o:], lit[:k])
	binary.LittleEndian.PutUint16(dst[o:], uint16(dist))
	return lz4Extend(dst, o+2, n)
}

// lz4Tail writes the literals that a block ends with.
func lz4Tail(dst []byte, o int, lit []byte) int {
	k := len(lit)
	if 1+k+(k+240)/255 > len(dst)-o {
		return 0
	}
	dst[o] = byte(min(k, 15) << 4)
	o = lz4Extend(dst, o+1, k)
	return o + copy(dst[o:], lit)
}
