package codec

import (
	"encoding/binary"

	"github.com/farread/farread/internal/lzcopy"
)

const (
	lz4HashLog  = 15
	lz4MaxDist  = 65535
	lz4MinMatch = 4
	lz4LastLits = 5  // the last bytes of a block are literals,
	lz4MinTail  = 12 // the last match begins at least this far before the end
)

// lz4DictEncoder encodes blocks with a dictionary, which the library cannot. It
// lays dictionary and block side by side, so that a match may run over both.
type lz4DictEncoder struct {
	buf   []byte
	table [1 << lz4HashLog]uint32
}

func (z *lz4DictEncoder) encode(dst, src, dict []byte) int {
	dict = dict[max(len(dict)-lz4MaxDist, 0):]
	z.buf = append(append(z.buf[:0], dict...), src...)
	buf, p := z.buf, len(dict)
	clear(z.table[:])
	for i := 1; i+4 <= p; i++ {
		z.table[lz4Hash(buf, i)] = uint32(i)
	}
	o, lit, skip := 0, p, 0
	for p < len(buf)-lz4MinTail {
		h := lz4Hash(buf, p)
		ref := int(z.table[h])
		z.table[h] = uint32(p)
		if ref == 0 || p-ref > lz4MaxDist || ref == p || binary.LittleEndian.Uint32(buf[ref:]) != binary.LittleEndian.Uint32(buf[p:]) {
			skip++
			p += 1 + skip>>6
			continue
		}
		skip = 0
		n := lzcopy.Len(buf, p, ref, len(buf)-lz4LastLits)
		if o = lz4Sequence(dst, o, buf[lit:p], p-ref, n); o < 0 {
			return 0
		}
		p += n
		lit = p
	}
	if o = lz4Sequence(dst, o, buf[lit:], 0, 0); o < 0 {
		return 0
	}
	return o
}

func lz4Hash(b []byte, p int) uint32 {
	return binary.LittleEndian.Uint32(b[p:]) * 2654435761 >> (32 - lz4HashLog)
}

// lz4Sequence writes literals and a match, or literals alone if n is 0.
func lz4Sequence(dst []byte, o int, lit []byte, dist, n int) int {
	if 1+len(lit)/255+1+len(lit)+2+n/255+1 > len(dst)-o {
		return -1
	}
	t := o
	o++
	dst[t] = byte(min(len(lit), 15) << 4)
	o = lz4Extend(dst, o, len(lit))
	o += copy(dst[o:], lit)
	if n == 0 {
		return o
	}
	n -= lz4MinMatch
	dst[t] |= byte(min(n, 15))
	binary.LittleEndian.PutUint16(dst[o:], uint16(dist))
	return lz4Extend(dst, o+2, n)
}

// lz4Extend writes the part of a length that does not fit into the token.
func lz4Extend(dst []byte, o, n int) int {
	if n < 15 {
		return o
	}
	for n -= 15; n >= 255; n -= 255 {
		dst[o] = 255
		o++
	}
	dst[o] = byte(n)
	return o + 1
}
