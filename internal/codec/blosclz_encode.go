package codec

import (
	"encoding/binary"
	"math"

	"github.com/farread/farread/internal/lzcopy"
)

const blzHashLog = 14

// bloscLZEncoder keeps the table of positions. Positions count on from one input to
// the next, so entries of earlier inputs are recognised by being too low: clearing the
// table would take longer than encoding a few hundred bytes.
type bloscLZEncoder struct {
	table [1 << blzHashLog]uint32
	base  uint32 // position of the next input's first byte
}

// encode returns the stream's length, or 0 if it does not fit into dst. Lower
// levels look at fewer places the longer they find nothing, and at fewer bits of
// the hash, which keeps the table in the first-level cache.
func (b *bloscLZEncoder) encode(level int, dst, src []byte) int {
	if len(src) == 0 {
		return 0 // a stream cannot be empty: its first byte is a literal run
	}
	patience := uint(2 + level/2)
	hashLog := min(11+level/2, blzHashLog)
	table := b.table[:1<<hashLog]
	if uint64(b.base)+uint64(len(src)) > math.MaxUint32 {
		clear(b.table[:])
		b.base = 0
	}
	base := b.base
	b.base += uint32(len(src))
	shift, mask := 32-uint(hashLog), uint32(len(table)-1)
	o, lit, p, missed := 0, 0, 1, 0
	for p < len(src)-12 {
		v := binary.LittleEndian.Uint32(src[p:])
		slot := &table[v*2654435761>>(shift&31)&mask]
		ref := 0 // an empty entry refers to the first byte
		if at := *slot; at > base {
			ref = int(at - base)
		}
		*slot = base + uint32(p)
		dist := p - ref
		if dist > blzMaxFar || binary.LittleEndian.Uint32(src[ref:]) != v {
			missed++
			p += 1 + missed>>patience
			continue
		}
		// A match that is as long as its code saves nothing. The last byte must
		// be a literal.
		n := 4 + lzcopy.Len(src, p+4, ref+4, len(src)-1)
		if dist > blzMaxNear && n < 6 {
			p++
			continue
		}
		missed = 0
		for p > max(lit, 1) && ref > 0 && src[p-1] == src[ref-1] {
			p, ref, n = p-1, ref-1, n+1
		}
		if o = blzLiterals(dst, o, src[lit:p]); o < 0 {
			return 0
		}
		if o = blzMatch(dst, o, dist, n); o < 0 {
			return 0
		}
		p += n
		lit = p
		if p < len(src)-12 { // the bytes just before the next position are often met again
			table[binary.LittleEndian.Uint32(src[p-2:])*2654435761>>(shift&31)&mask] = base + uint32(p-2)
		}
	}
	if o = blzLiterals(dst, o, src[lit:]); o < 0 {
		return 0
	}
	dst[0] |= 0x20
	return o
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
