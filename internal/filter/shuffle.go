package filter

import "encoding/binary"

var le = binary.LittleEndian

func (e engine) shuffle(dst, src []byte, width int) {
	q, done := prepare(dst, src, width)
	if done {
		return
	}
	e.splitAll(dst, q, src, width, q, width)
	copy(dst[q*width:], src[q*width:])
}

func (e engine) unshuffle(dst, src []byte, width int) {
	q, done := prepare(dst, src, width)
	if done {
		return
	}
	e.mergeAll(dst, width, src, q, q, width)
	copy(dst[q*width:], src[q*width:])
}

// prepare checks the lengths and does what is a plain copy for both
// directions; q is the number of elements.
func prepare(dst, src []byte, width int) (q int, done bool) {
	same(dst, src)
	if width > 1 {
		q = len(src) / width
	}
	if q <= 1 { // one element transposes to itself
		copy(dst, src)
		return q, true
	}
	return q, false
}

func (e engine) splitAll(dst []byte, stride int, src []byte, width, n, planes int) {
	from := e.split(dst, stride, src, width, n, planes)
	shuffleGo(dst, stride, src, width, from, n, planes)
}

func (e engine) mergeAll(dst []byte, width int, src []byte, stride, n, planes int) {
	from := e.merge(dst, width, src, stride, n, planes)
	unshuffleGo(dst, width, src, stride, from, n, planes)
}

// unshuffleGo merges byte planes into elements:
//
//	dst[i*width+j] = src[j*stride+i]  for 0 <= j < planes, from <= i < to.
//
// planes may be less than width: then dst begins at the first plane's byte of
// element 0, and the other bytes of the elements are left alone.
func unshuffleGo(dst []byte, width int, src []byte, stride, from, to, planes int) {
	if from >= to {
		return
	}
	if width == 2 && planes == 2 {
		from = zip2(dst, src, stride, from, to)
	}
	j := 0
	for ; planes-j >= 8; j += 8 {
		merge8(dst[j:], width, src[j*stride:], stride, from, to)
	}
	if planes-j >= 4 {
		merge4(dst[j:], width, src[j*stride:], stride, from, to)
		j += 4
	}
	if planes-j >= 2 {
		merge2(dst[j:], width, src[j*stride:], stride, from, to)
		j += 2
	}
	if planes > j {
		merge1(dst[j:], width, src[j*stride:], from, to)
	}
}

func merge8(dst []byte, width int, src []byte, stride, from, to int) {
	i := from
	for ; i+8 <= to; i += 8 {
		var r [8]uint64
		for j := range r {
			r[j] = le.Uint64(src[j*stride+i:])
		}
		transposeBytes(&r)
		for t, v := range r {
			le.PutUint64(dst[(i+t)*width:], v)
		}
	}
	mergeTail(dst, width, src, stride, i, to, 8)
}

func merge4(dst []byte, width int, src []byte, stride, from, to int) {
	i := from
	for ; i+8 <= to; i += 8 {
		a := le.Uint64(src[i:])
		b := le.Uint64(src[stride+i:])
		c := le.Uint64(src[2*stride+i:])
		d := le.Uint64(src[3*stride+i:])
		a, b, c, d = transpose4(a, b, c, d)
		if width == 4 {
			out := dst[i*4 : i*4+32]
			le.PutUint64(out, a&low32|b<<32)
			le.PutUint64(out[8:], c&low32|d<<32)
			le.PutUint64(out[16:], a>>32|b&^low32)
			le.PutUint64(out[24:], c>>32|d&^low32)
			continue
		}
		for t, v := range [4]uint64{a, b, c, d} {
			le.PutUint32(dst[(i+t)*width:], uint32(v))
			le.PutUint32(dst[(i+t+4)*width:], uint32(v>>32))
		}
	}
	mergeTail(dst, width, src, stride, i, to, 4)
}

// zip2 is merge2 for elements of exactly two bytes. It returns the first
// element that it has not done.
func zip2(dst, src []byte, stride, from, to int) int {
	i := from
	for ; i+8 <= to; i += 8 {
		a := le.Uint64(src[i:])
		b := le.Uint64(src[stride+i:])
		out := dst[i*2 : i*2+16]
		le.PutUint64(out, spread2(a)|spread2(b)<<8)
		le.PutUint64(out[8:], spread2(a>>32)|spread2(b>>32)<<8)
	}
	return i
}

func merge2(dst []byte, width int, src []byte, stride, from, to int) {
	i := from
	for ; i+8 <= to; i += 8 {
		a := le.Uint64(src[i:])
		b := le.Uint64(src[stride+i:])
		even, odd := exchange(a, b, 8, low8)
		for t := 0; t < 8; t += 2 {
			le.PutUint16(dst[(i+t)*width:], uint16(even))
			le.PutUint16(dst[(i+t+1)*width:], uint16(odd))
			even >>= 16
			odd >>= 16
		}
	}
	mergeTail(dst, width, src, stride, i, to, 2)
}

func merge1(dst []byte, width int, src []byte, from, to int) {
	for i, b := range src[from:to] {
		dst[(from+i)*width] = b
	}
}

func mergeTail(dst []byte, width int, src []byte, stride, from, to, planes int) {
	for i := from; i < to; i++ {
		for j := range planes {
			dst[i*width+j] = src[j*stride+i]
		}
	}
}

// shuffleGo splits elements into byte planes:
//
//	dst[j*stride+i] = src[i*width+j]  for 0 <= j < planes, from <= i < to.
func shuffleGo(dst []byte, stride int, src []byte, width, from, to, planes int) {
	if from >= to {
		return
	}
	j := 0
	for ; planes-j >= 8; j += 8 {
		split8(dst[j*stride:], stride, src[j:], width, from, to)
	}
	if planes-j >= 4 {
		split4(dst[j*stride:], stride, src[j:], width, from, to)
		j += 4
	}
	if planes-j >= 2 {
		split2(dst[j*stride:], stride, src[j:], width, from, to)
		j += 2
	}
	if planes > j {
		split1(dst[j*stride:], src[j:], width, from, to)
	}
}

func split8(dst []byte, stride int, src []byte, width, from, to int) {
	i := from
	for ; i+8 <= to; i += 8 {
		var r [8]uint64
		for t := range r {
			r[t] = le.Uint64(src[(i+t)*width:])
		}
		transposeBytes(&r)
		for j, v := range r {
			le.PutUint64(dst[j*stride+i:], v)
		}
	}
	splitTail(dst, stride, src, width, i, to, 8)
}

func split4(dst []byte, stride int, src []byte, width, from, to int) {
	i := from
	for ; i+8 <= to; i += 8 {
		var r [4]uint64
		for t := range r {
			r[t] = uint64(le.Uint32(src[(i+t)*width:])) | uint64(le.Uint32(src[(i+t+4)*width:]))<<32
		}
		a, b, c, d := transpose4(r[0], r[1], r[2], r[3])
		le.PutUint64(dst[i:], a)
		le.PutUint64(dst[stride+i:], b)
		le.PutUint64(dst[2*stride+i:], c)
		le.PutUint64(dst[3*stride+i:], d)
	}
	splitTail(dst, stride, src, width, i, to, 4)
}

func split2(dst []byte, stride int, src []byte, width, from, to int) {
	i := from
	for ; i+8 <= to; i += 8 {
		var even, odd uint64
		for t := 6; t >= 0; t -= 2 {
			even = even<<16 | uint64(le.Uint16(src[(i+t)*width:]))
			odd = odd<<16 | uint64(le.Uint16(src[(i+t+1)*width:]))
		}
		a, b := exchange(even, odd, 8, low8)
		le.PutUint64(dst[i:], a)
		le.PutUint64(dst[stride+i:], b)
	}
	splitTail(dst, stride, src, width, i, to, 2)
}

func split1(dst, src []byte, width, from, to int) {
	for i := from; i < to; i++ {
		dst[i] = src[i*width]
	}
}

func splitTail(dst []byte, stride int, src []byte, width, from, to, planes int) {
	for i := from; i < to; i++ {
		for j := range planes {
			dst[j*stride+i] = src[i*width+j]
		}
	}
}

// Masks of the lower half of each 2k-bit lane.
const (
	low1  = 0x5555555555555555
	low2  = 0x3333333333333333
	low4  = 0x0f0f0f0f0f0f0f0f
	low8  = 0x00ff00ff00ff00ff
	low16 = 0x0000ffff0000ffff
	low32 = 0x00000000ffffffff
)

// exchange swaps the upper halves of the lanes of a with the lower halves of
// those of b: the step of which matrix transpositions are made. The lanes have
// 2*shift bits and mask picks their lower halves.
func exchange(a, b uint64, shift uint, mask uint64) (uint64, uint64) {
	x := (a>>(shift&63) ^ b) & mask
	return a ^ x<<(shift&63), b ^ x
}

// spread2 puts the four low bytes of x into the lower bytes of four pairs.
func spread2(x uint64) uint64 {
	x &= low32
	x = (x | x<<16) & low16
	return (x | x<<8) & low8
}

// transpose4 transposes two 4x4 byte matrices: the low halves of its arguments
// are the rows of one, the high halves those of the other.
func transpose4(a, b, c, d uint64) (uint64, uint64, uint64, uint64) {
	a, c = exchange(a, c, 16, low16)
	b, d = exchange(b, d, 16, low16)
	a, b = exchange(a, b, 8, low8)
	c, d = exchange(c, d, 8, low8)
	return a, b, c, d
}

// transposeBytes transposes an 8x8 byte matrix.
func transposeBytes(r *[8]uint64) {
	a, b, c, d := r[0], r[1], r[2], r[3]
	e, f, g, h := r[4], r[5], r[6], r[7]
	a, e = exchange(a, e, 32, low32)
	b, f = exchange(b, f, 32, low32)
	c, g = exchange(c, g, 32, low32)
	d, h = exchange(d, h, 32, low32)
	a, b, c, d = transpose4(a, b, c, d)
	e, f, g, h = transpose4(e, f, g, h)
	*r = [8]uint64{a, b, c, d, e, f, g, h}
}
