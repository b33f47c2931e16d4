package codec

import (
	"encoding/binary"

	"github.com/farread/farread/internal/lzcopy"
)

// worth is by how much a match that begins inside another must be longer: tried
// on text, sparse arrays and shuffled floats.
const worth = 5

// lz4HCEncoder encodes LZ4 blocks slowly and well: it keeps every position of
// the last 64 KiB in chains of those with the same hash, walks them for the
// longest match, and puts a match off where the next byte begins a longer one.
type lz4HCEncoder struct {
	buf   []byte                 // dictionary, and the block after it
	head  [1 << lz4HashLog]int32 // last position of a hash plus one; 0: none
	chain [1 << 16]uint16        // distance of a position to the previous one in its chain
	next  int                    // the first position that is in no chain yet
}

// encode returns the stream's length, or 0 if it does not fit into dst.
func (z *lz4HCEncoder) encode(level int, dst, src, dict []byte) int {
	buf, p := src, 0
	if len(dict) != 0 {
		dict = dict[max(len(dict)-lz4MaxDist, 0):]
		z.buf = append(append(z.buf[:0], dict...), src...)
		buf, p = z.buf, len(dict)
	}
	clear(z.head[:])
	z.next = 0
	depth := 1 << max(level-1, 1) // 2 ... 256, as in C from level 3 on
	o, lit := 0, p
	for p < len(buf)-lz4MinTail {
		n, dist := z.find(buf, p, lz4MinMatch-1, depth)
		if n == 0 {
			p += 1 + (p-lit)>>10
			continue
		}
		for n < 256 && p+1 < len(buf)-lz4MinTail {
			longer, d := z.find(buf, p+1, n, depth)
			if longer == 0 {
				break
			}
			p, n, dist = p+1, longer, d
		}
		back := commonSuffix(buf, p, p-dist, lit)
		p, n = p-back, n+back
		// A longer match that begins inside this one takes the rest of it over, if
		// it is worth the bytes of one more sequence.
		for p+n-2 < len(buf)-lz4MinTail {
			q := p + n - 2
			m, d := z.find(buf, q, lz4MinMatch-1, depth)
			if m == 0 {
				break
			}
			back := commonSuffix(buf, q, q-d, p+1)
			s, m := q-back, m+back
			if m <= n+worth {
				break
			}
			if s-p >= lz4MinMatch {
				if o = lz4Sequence(dst, o, buf[lit:p], dist, s-p); o < 0 {
					return 0
				}
				lit = s
			}
			p, n, dist = s, m, d
		}
		if o = lz4Sequence(dst, o, buf[lit:p], dist, n); o < 0 {
			return 0
		}
		p += n
		lit = p
	}
	return max(lz4Sequence(dst, o, buf[lit:], 0, 0), 0)
}

// commonSuffix counts the bytes before p and before ref that are alike, as far
// down as low for p.
func commonSuffix(buf []byte, p, ref, low int) int {
	n := 0
	for p-n > low && ref-n > 0 && buf[p-n-1] == buf[ref-n-1] {
		n++
	}
	return n
}

// find returns the longest match for p of more than least bytes among the depth
// last ones with its hash, or 0.
func (z *lz4HCEncoder) find(buf []byte, p, least, depth int) (n, dist int) {
	for i := z.next; i < p; i++ {
		head := &z.head[lz4Hash(buf, i)]
		z.chain[i&0xffff] = uint16(min(i+1-int(*head), lz4MaxDist))
		*head = int32(i + 1)
	}
	z.next = max(z.next, p)
	end := len(buf) - lz4LastLits
	want := binary.LittleEndian.Uint32(buf[p:])
	best := least
	ref := int(z.head[lz4Hash(buf, p)]) - 1
	for ; depth > 0 && ref >= 0 && p-ref <= lz4MaxDist; depth-- {
		if p+best >= end {
			break
		}
		if buf[ref+best] == buf[p+best] && binary.LittleEndian.Uint32(buf[ref:]) == want {
			if m := lzcopy.Len(buf, p, ref, end); m > best {
				best, n, dist = m, m, p-ref
			}
		}
		ref -= int(z.chain[ref&0xffff])
	}
	return n, dist
}
