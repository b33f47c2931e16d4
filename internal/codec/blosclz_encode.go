package codec

import (
	"encoding/binary"
	"math/bits"
)

const blzHashLog = 14

// bloscLZEncoder keeps the table of positions.
type bloscLZEncoder struct {
	table [1 << blzHashLog]uint32
}

// encode returns the stream's length, or 0 if it does not fit into dst.
func (b *bloscLZEncoder) encode(level int, dst, src []byte) int {
	if len(src) == 0 {
		return 0 // no stream decodes to nothing: the first byte is a literal run
	}
	clear(b.table[:])
	o, lit, p := 0, 0, 1
	limit := len(src) - 12
	skip := 0
	for p < limit {
		v := binary.LittleEndian.Uint32(src[p:])
		h := v * 2654435761 >> (32 - blzHashLog)
		ref := int(b.table[h])
		b.table[h] = uint32(p)
		dist := p - ref
		if dist == 0 || dist > blzMaxFar || binary.LittleEndian.Uint32(src[ref:]) != v {
			skip++
			p += 1 + skip>>6
			continue
		}
		n := matchLen(src, p, ref, len(src)-1)
		if n < 4 || dist > blzMaxNear && n < 6 {
			p++
			continue
		}
		skip = 0
		if o = blzLiterals(dst, o, src[lit:p]); o < 0 {
			return 0
		}
		if o = blzMatch(dst, o, dist, n); o < 0 {
			return 0
		}
		p += n
		lit = p
	}
	if o = blzLiterals(dst, o, src[lit:]); o < 0 {
		return 0
	}
	dst[0] |= 0x20
	return o
}

// matchLen counts the bytes of src that are alike from p and from ref, up to
// end, which is at least 8 before the end of src or src's end itself.
func matchLen(src []byte, p, ref, end int) int {
	q := p
	for q+8 <= end {
		x := binary.LittleEndian.Uint64(src[q:]) ^ binary.LittleEndian.Uint64(src[ref:])
		if x != 0 {
			return q - p + bits.TrailingZeros64(x)>>3
		}
		q, ref = q+8, ref+8
	}
	for q < end && src[q] == src[ref] {
		q, ref = q+1, ref+1
	}
	return q - p
}

func blzLiterals(dst []byte, o int, lit []byte) int {
	for len(lit) > 0 {
		n := min(len(lit), 32)
		if n+1 > len(dst)-o {
			return -1
		}
		dst[o] = byte(n - 1)
		copy(dst[o+1:], lit[:n])
		o += n + 1
		lit = lit[n:]
	}
	return o
}

func blzMatch(dst []byte, o, dist, n int) int {
	if (n-9)/255+6 > len(dst)-o {
		return -1
	}
	dist--
	hi := min(dist, blzEscape)
	code := min(n-2, 7)
	dst[o] = byte(code<<5 | hi>>8)
	o++
	if code == 7 {
		for n -= 9; n >= 255; n -= 255 {
			dst[o] = 255
			o++
		}
		dst[o] = byte(n)
		o++
	}
	dst[o] = byte(hi)
	o++
	if hi == blzEscape {
		binary.BigEndian.PutUint16(dst[o:], uint16(dist-blzEscape))
		o += 2
	}
	return o
}
