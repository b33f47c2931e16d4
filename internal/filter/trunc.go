package filter

// TruncPrec makes floating-point numbers of 4 or 8 bytes more compressible by
// clearing low bits of their mantissas: with bits >= 0 it keeps that many of
// the 23 or 52, else it clears -bits of them. At least one must be kept. Bytes
// behind the last whole number are copied; dst may be src. There is nothing to
// decode. It reports false, having written nothing, for another width or number
// of bits.
func TruncPrec(dst, src []byte, width int, bits int8) bool {
	switch width {
	case 4:
		return clearLow(dst, src, width, 23, int(bits))
	case 8:
		return clearLow(dst, src, width, 52, int(bits))
	}
	return false
}

// IntTrunc is [TruncPrec] for integers of 1, 2, 4 or 8 bytes, whose bits count
// in full.
func IntTrunc(dst, src []byte, width int, bits int8) bool {
	switch width {
	case 1, 2, 4, 8:
		return clearLow(dst, src, width, 8*width, int(bits))
	}
	return false
}

func clearLow(dst, src []byte, width, total, bits int) bool {
	same(dst, src)
	drop := -bits
	if bits >= 0 {
		drop = total - bits
	}
	if drop < 0 || drop >= total {
		return false
	}
	// The same mask in each lane of a word.
	mask := ^uint64(0) << drop
	if width < 8 {
		mask &= 1<<(8*width) - 1
	}
	for w := width; w < 8; w *= 2 {
		mask |= mask << (8 * w)
	}
	n := len(src) / width * width
	i := 0
	for ; i+8 <= n; i += 8 {
		le.PutUint64(dst[i:], le.Uint64(src[i:])&mask)
	}
	for ; i < n; i++ {
		dst[i] = src[i] & byte(mask>>(8*(i%8)))
	}
	copy(dst[n:], src[n:])
	return true
}
