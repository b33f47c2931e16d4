package codec

import "github.com/farread/farread/internal/match"

// BloscLZ is a byte code of two instructions. A control byte below 32 is a run
// of one more literals than it says; any other is a match whose length and
// distance begin in it. The first byte has a marker in its upper bits and is
// always a literal run.
const (
	blzMaxNear = 8191         // largest distance that fits 13 bits without the escape
	blzMaxFar  = 65535 + 8192 // farthest match with the two bytes after the escape
	blzEscape  = 0x1fff
)

// decodeBloscLZ decodes src into dst. It returns false if src is not a stream of
// exactly that size. It may overwrite a few bytes between the length and the
// capacity of dst.
func decodeBloscLZ(dst, src []byte) bool {
	if len(src) == 0 {
		return false
	}
	end := len(dst)
	dst = dst[:min(cap(dst), end+32)]
	o, p, ctrl := 0, 1, int(src[0]&0x1f)
	for {
		if ctrl < 32 {
			n := ctrl + 1
			if len(dst)-o >= 32 && len(src)-p >= 32 {
				*(*[32]byte)(dst[o:]) = *(*[32]byte)(src[p:])
			} else {
				if n > end-o || n > len(src)-p {
					return false
				}
				copy(dst[o:o+n], src[p:p+n])
			}
			o, p = o+n, p+n
			if p >= len(src) || o > end {
				return o == end
			}
			ctrl = int(src[p])
			p++
			continue
		}
		// Most matches are near, and at most 263 bytes long: those are read here.
		n, dist, q, ok := ctrl>>5+2, ctrl&31<<8, p, false
		if len(src)-p >= 3 {
			b := (*[3]byte)(src[p:])
			if n < 9 {
				dist, q, ok = dist+int(b[0])+1, p+1, true
			} else {
				n, dist, q, ok = n+int(b[0]), dist+int(b[1])+1, p+2, b[0] < 255
			}
		}
		if !ok || dist == blzEscape+1 {
			n, dist, q = bloscLZMatch(src, p, ctrl)
		}
		// A stream never ends with a match: C stops before it copies.
		if n > end-o || dist > o || q >= len(src) {
			return false
		}
		p = q + 1
		ctrl = int(src[q])
		if n <= 32 && dist >= 16 && len(dst)-o >= 32 {
			*(*[16]byte)(dst[o:]) = *(*[16]byte)(dst[o-dist:])
			*(*[16]byte)(dst[o+16:]) = *(*[16]byte)(dst[o-dist+16:])
		} else {
			match.Copy(dst, o, dist, n)
		}
		o += n
	}
}

// bloscLZMatch reads the rest of a match, after its control byte, and returns where
// the match ends. If src is too short, that place lies behind its end.
func bloscLZMatch(src []byte, p, ctrl int) (n, dist, q int) {
	n, dist = ctrl>>5+2, ctrl&31<<8
	if n == 9 {
		for {
			if p >= len(src)-1 {
				return 0, 0, len(src)
			}
			b := int(src[p])
			p++
			n += b
			if b != 255 {
				break
			}
		}
	}
	if p >= len(src)-1 {
		return 0, 0, len(src)
	}
	dist += int(src[p]) + 1
	p++
	if dist == blzEscape+1 {
		if p >= len(src)-1 {
			return 0, 0, len(src)
		}
		dist += int(src[p])<<8 | int(src[p+1])
		p += 2
	}
	return n, dist, p
}
