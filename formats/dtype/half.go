package dtype

import "math"

// HalfToFloat widens an IEEE 754 binary16 without loss; NaN keeps its payload.
func HalfToFloat(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp, frac := uint32(h>>10)&0x1f, uint32(h)&0x3ff
	switch {
	case exp == 0x1f: // infinity, NaN
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
	default: // zero, subnormal: frac units of 2^-24, exact in float32
		return math.Float32frombits(sign | math.Float32bits(float32(frac)*(1.0/(1<<24))))
	}
}

// FloatToHalf rounds to the nearest binary16, ties to even, as NumPy does: too
// large numbers become infinity, too small ones zero, and NaN stays NaN.
func FloatToHalf(f float32) uint16 {
	bits := math.Float32bits(f)
	sign := uint16(bits >> 16 & 0x8000)
	exp, frac := int(bits>>23&0xff), bits&0x7fffff
	switch {
	case exp == 0xff && frac != 0:
		return sign | 0x7c00 | max(uint16(frac>>13), 1)
	case exp-127 > 15:
		return sign | 0x7c00
	case exp-127 >= -14: // the carry of rounding may run into the exponent
		h := uint32(exp-127+15)<<10 | frac>>13
		return sign | roundHalf(h, frac<<19, 1<<31)
	case exp-127 < -25:
		return sign
	default: // subnormal
		shift := uint(-14 - (exp - 127) + 13)
		m := frac | 1<<23
		return sign | roundHalf(m>>shift, m&(1<<shift-1), 1<<(shift-1))
	}
}

// roundHalf adds one to h if the bits that were cut off are more than half of its last
// place, or exactly half and h is odd.
func roundHalf(h, cut, half uint32) uint16 {
	if cut > half || cut == half && h&1 == 1 {
		h++
	}
	return uint16(h)
}
