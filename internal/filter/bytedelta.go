package filter

// ByteDelta takes the block for streams byte streams of len(src)/streams bytes
// each, as [Shuffle] leaves them, and replaces each byte by its difference from
// the one before it in its stream, the first by itself. Bytes behind the last
// stream are copied. A number of streams below 1 counts as 1.
func ByteDelta(dst, src []byte, streams int) { best.byteDelta(dst, src, streams) }

// ByteUndelta undoes [ByteDelta] in place. legacy decodes filter 34 instead of
// 35: its writers began anew at the last multiple of 16 bytes of each stream.
func ByteUndelta(p []byte, streams int, legacy bool) { best.byteUndelta(p, streams, legacy) }

func (e engine) byteDelta(dst, src []byte, streams int) {
	same(dst, src)
	streams = max(streams, 1)
	q := len(src) / streams
	if q > 0 {
		for j := range streams {
			e.differencesAll(dst[j*q:(j+1)*q], src[j*q:(j+1)*q])
		}
	}
	copy(dst[streams*q:], src[streams*q:])
}

func (e engine) byteUndelta(p []byte, streams int, legacy bool) {
	streams = max(streams, 1)
	q := len(p) / streams
	if q == 0 {
		return
	}
	for j := range streams {
		s := p[j*q : (j+1)*q]
		if legacy {
			e.sumsAll(s[q&^15:])
			s = s[:q&^15]
		}
		e.sumsAll(s)
	}
}

const high7 = 0x8080808080808080

func (e engine) differencesAll(dst, src []byte) {
	dst[0] = src[0]
	i := 1 + e.differences(dst[1:], src)
	for ; i+8 <= len(src); i += 8 {
		x, y := le.Uint64(src[i:]), le.Uint64(src[i-1:])
		// Bytewise x-y: the borrows stop at the top bits, which come after.
		le.PutUint64(dst[i:], ((x|high7)-(y&^high7))^((x^^y)&high7))
	}
	for ; i < len(src); i++ {
		dst[i] = src[i] - src[i-1]
	}
}

// sumsAll replaces each byte by the sum of all bytes up to it.
func (e engine) sumsAll(p []byte) {
	var v byte
	i := e.sums(p)
	if i > 0 {
		v = p[i-1]
	}
	// Sums of the even and of the odd bytes, in 16-bit lanes so that no carry
	// reaches a neighbour, come from one multiplication each.
	const ones = 0x0001000100010001
	carry := uint64(v) * ones
	for ; i+8 <= len(p); i += 8 {
		x := le.Uint64(p[i:])
		even := (x & low8) * ones
		odd := (x >> 8 & low8) * ones
		even, odd = even+odd<<16, even+odd
		even = (even + carry) & low8
		odd = (odd + carry) & low8
		le.PutUint64(p[i:], even|odd<<8)
		carry = odd >> 48 * ones
	}
	v = byte(carry)
	for ; i < len(p); i++ {
		v += p[i]
		p[i] = v
	}
}
