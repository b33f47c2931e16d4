package zoomcache

import (
	"math/big"
	"math/bits"
)

// maxVLC bounds the bytes of one variable-length integer: 28 678 bits of magnitude,
// more than any measurement needs.
const maxVLC = 4096

// appendVLC appends the shortest form of a signed integer: sign and magnitude,
// 6 bits in the first byte, then 7 a byte, low bits first.
func appendVLC(dst []byte, v int64) []byte {
	if v < 0 {
		return appendMagnitude(dst, -uint64(v), 1)
	}
	return appendMagnitude(dst, uint64(v), 0)
}

// appendMagnitude appends m with sign 0 (plus) or 1 (minus).
func appendMagnitude(dst []byte, m uint64, sign byte) []byte {
	if m < 64 {
		return append(dst, byte(m<<1)|sign)
	}
	dst = append(dst, byte(m<<1)&0x7e|sign|0x80)
	m >>= 6
	for ; m >= 128; m >>= 7 {
		dst = append(dst, byte(m)|0x80)
	}
	return append(dst, byte(m))
}

// appendBig is appendVLC for integers of any size.
func appendBig(dst []byte, v *big.Int) []byte {
	sign := byte(0)
	if v.Sign() < 0 {
		sign = 1
	}
	n := v.BitLen()
	if n <= 64 {
		return appendMagnitude(dst, bigMagnitude(v), sign)
	}
	word := func(from, width int) (b byte) {
		for i := range width {
			b |= byte(bigBit(v, from+i)) << i
		}
		return b
	}
	dst = append(dst, word(0, 6)<<1|sign|0x80)
	for at := 6; at < n; at += 7 {
		b := word(at, 7)
		if at+7 < n {
			b |= 0x80
		}
		dst = append(dst, b)
	}
	return dst
}

// bigMagnitude returns |v|, which has at most 64 bits.
func bigMagnitude(v *big.Int) uint64 {
	m := uint64(0)
	for i, w := range v.Bits() {
		m |= uint64(w) << (i * bits.UintSize)
	}
	return m
}

// bigBit returns bit i of |v|, unlike big.Int.Bit, which uses the two's
// complement.
func bigBit(v *big.Int, i int) uint {
	words := v.Bits()
	if i/bits.UintSize >= len(words) {
		return 0
	}
	return uint(words[i/bits.UintSize]>>(i%bits.UintSize)) & 1
}

// readVLC decodes the integer at the start of p. Like the original it keeps the low 64
// bits in two's complement; for unsigned integers take uint64(v). n is the length: 0 if
// p ends inside the integer, -1 if the integer is longer than maxVLC.
func readVLC(p []byte) (v int64, n int) {
	if len(p) == 0 {
		return 0, 0
	}
	b := p[0]
	m := uint64(b>>1) & 63
	for i, shift := 1, uint(6); b&0x80 != 0; i, shift = i+1, shift+7 {
		if i >= maxVLC {
			return 0, -1
		}
		if i >= len(p) {
			return 0, 0
		}
		b = p[i]
		m |= uint64(b&0x7f) << shift // shifts of 64 and more give 0
		n = i
	}
	if p[0]&1 != 0 {
		m = -m
	}
	return int64(m), n + 1
}

// readBig is readVLC for integers of any size.
func readBig(p []byte) (*big.Int, int) {
	v, n := readVLC(p)
	if n <= 0 {
		return nil, n
	}
	if n <= 9 { // 6 + 8*7 bits
		return big.NewInt(v), n
	}
	out := make([]byte, (6+7*(n-1)+7)/8) // big endian
	put := func(b byte, at, width int) {
		for i := range width {
			out[len(out)-1-(at+i)/8] |= b >> i & 1 << ((at + i) % 8)
		}
	}
	put(p[0]>>1, 0, 6)
	for i := 1; i < n; i++ {
		put(p[i], 6+7*(i-1), 7)
	}
	x := new(big.Int).SetBytes(out)
	if p[0]&1 != 0 {
		x.Neg(x)
	}
	return x, n
}
