package codec

// BloscLZ is a byte code of two instructions. A control byte below 32 is a run
// of one more literals than it says; any other is a match whose length and
// distance begin in it. The first byte has a marker in its upper bits and is
// always a literal run.
const (
	blzMaxNear = 8191         // largest distance that fits 13 bits, the escape apart
	blzMaxFar  = 65535 + 8192 // with the two bytes behind the escape
	blzEscape  = 0x1fff
)

// decodeBloscLZ fills dst, or says that src is not a stream of that size.
func decodeBloscLZ(dst, src []byte) bool {
	if len(src) == 0 {
		return false
	}
	o, p := 0, 1
	ctrl := int(src[0] & 0x1f)
	for {
		if ctrl < 32 {
			n := ctrl + 1
			if n > len(dst)-o || n > len(src)-p {
				return false
			}
			copy(dst[o:o+n], src[p:p+n])
			o, p = o+n, p+n
			if p >= len(src) {
				return o == len(dst)
			}
			ctrl = int(src[p])
			p++
			continue
		}
		n, dist := ctrl>>5-1, ctrl&31<<8
		if n == 6 {
			for {
				if p >= len(src)-1 {
					return false
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
			return false
		}
		dist += int(src[p])
		p++
		n += 3
		if dist == blzEscape {
			if p >= len(src)-1 {
				return false
			}
			dist += int(src[p])<<8 | int(src[p+1])
			p += 2
		}
		dist++
		// A stream never ends with a match: C stops before it copies.
		if n > len(dst)-o || dist > o || p >= len(src) {
			return false
		}
		ctrl = int(src[p])
		p++
		copyMatch(dst, o, dist, n)
		o += n
	}
}

// copyMatch writes n bytes to dst[o:] that repeat what lies dist before them.
func copyMatch(dst []byte, o, dist, n int) {
	e, s := o+n, o-dist
	for o < e {
		o += copy(dst[o:e], dst[s:o])
	}
}
