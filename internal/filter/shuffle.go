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

// prepare checks the lengths and makes the copies that both directions need. q
// is the number of elements. done tells that nothing is left to do.
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
// planes is width, or 8 or 16 of more: then dst begins at the first plane's byte of
// element 0, and the other bytes of the elements are left alone.
func unshuffleGo(dst []byte, width int, src []byte, stride, from, to, planes int) {
	if from >= to {
		return
	}
	switch {
	case planes >= 8:
		for next := 0; next < planes; next += 8 {
			j := overlapping(next, planes, 8)
			merge8(dst[j:], width, src[j*stride:], stride, from, to)
		}
	case planes >= 4:
		for next := 0; next < planes; next += 4 {
			j := overlapping(next, planes, 4)
			merge4(dst[j:], width, src[j*stride:], stride, from, to)
		}
	case planes == 3:
		zip3(dst, src, stride, from, to)
	case planes == 2:
		zip2(dst, src, stride, from, to)
	default:
		copy(dst[from:to], src[from:to])
	}
}

// groupLen is how many of the planes to take together, beginning with next.
func groupLen(planes, next int) int {
	if planes >= 16 && planes-next > 8 {
		return 16
	}
	return min(planes, 8)
}

// overlapping returns the first plane of the group that has plane next. If the
// number of planes is not a multiple of group, the last group overlaps the one
// before and writes some bytes twice, which is faster than a smaller group.
func overlapping(next, planes, group int) int { return min(next, planes-group) }

func merge8(dst []byte, width int, src []byte, stride, from, to int) {
	i := from
	for ; i+8 <= to; i += 8 {
		a, b, c, d, e, f, g, h := transpose8(load8(src[i:], stride))
		store8(dst[i*width:], width, a, b, c, d, e, f, g, h)
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

func zip2(dst, src []byte, stride, from, to int) {
	i := from
	for ; i+8 <= to; i += 8 {
		a := le.Uint64(src[i:])
		b := le.Uint64(src[stride+i:])
		out := dst[i*2 : i*2+16]
		le.PutUint64(out, spread2(a)|spread2(b)<<8)
		le.PutUint64(out[8:], spread2(a>>32)|spread2(b>>32)<<8)
	}
	mergeTail(dst, 2, src, stride, i, to, 2)
}

func zip3(dst, src []byte, stride, from, to int) {
	i := from
	for ; i+8 <= to; i += 8 {
		// Elements 0 and 4, 1 and 5, 2 and 6, 3 and 7.
		a, b, c, d := transpose4(le.Uint64(src[i:]), le.Uint64(src[stride+i:]), le.Uint64(src[2*stride+i:]), 0)
		out := dst[i*3 : i*3+24]
		le.PutUint64(out, a&low32|b&low32<<24|c<<48)
		le.PutUint64(out[8:], c&low32>>16|d&low32<<8|a>>32<<32|b>>32<<56)
		le.PutUint64(out[16:], b>>40|c>>32<<16|d>>32<<40)
	}
	mergeTail(dst, 3, src, stride, i, to, 3)
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
	switch {
	case planes >= 8:
		for next := 0; next < planes; next += 8 {
			j := overlapping(next, planes, 8)
			split8(dst[j*stride:], stride, src[j:], width, from, to)
		}
	case planes >= 4:
		for next := 0; next < planes; next += 4 {
			j := overlapping(next, planes, 4)
			split4(dst[j*stride:], stride, src[j:], width, from, to)
		}
	case planes == 3:
		unzip3(dst, stride, src, from, to)
	case planes == 2:
		unzip2(dst, stride, src, from, to)
	default:
		copy(dst[from:to], src[from:to])
	}
}

func split8(dst []byte, stride int, src []byte, width, from, to int) {
	i := from
	for ; i+8 <= to; i += 8 {
		a, b, c, d, e, f, g, h := transpose8(load8(src[i*width:], width))
		store8(dst[i:], stride, a, b, c, d, e, f, g, h)
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

func unzip2(dst []byte, stride int, src []byte, from, to int) {
	i := from
	for ; i+8 <= to; i += 8 {
		in := src[i*2 : i*2+16]
		x, y := le.Uint64(in), le.Uint64(in[8:])
		le.PutUint64(dst[i:], gather2(x)|gather2(y)<<32)
		le.PutUint64(dst[stride+i:], gather2(x>>8)|gather2(y>>8)<<32)
	}
	splitTail(dst, stride, src, 2, i, to, 2)
}

func unzip3(dst []byte, stride int, src []byte, from, to int) {
	i := from
	for ; i+8 <= to; i += 8 {
		in := src[i*3 : i*3+24]
		x, y, z := le.Uint64(in), le.Uint64(in[8:]), le.Uint64(in[16:])
		// As in zip3; the fourth bytes go into d.
		a, b, c, _ := transpose4(x&low32|y&^low32, x>>24&low32|(y>>56|z<<8)<<32,
			(x>>48|y<<16)&low32|z>>16<<32, y>>8&low32|z>>40<<32)
		le.PutUint64(dst[i:], a)
		le.PutUint64(dst[stride+i:], b)
		le.PutUint64(dst[2*stride+i:], c)
	}
	splitTail(dst, stride, src, 3, i, to, 3)
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

// exchange swaps the upper halves of the lanes of a with the lower halves of the lanes
// of b. Matrix transpositions consist of such steps. The lanes have 2*shift bits and
// mask picks their lower halves.
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

// gather2 undoes spread2; it ignores the upper bytes of the pairs.
func gather2(x uint64) uint64 {
	x &= low8
	x = (x | x>>8) & low16
	return (x | x>>16) & low32
}

// transpose4 transposes two 4x4 byte matrices: the low halves of its arguments
// are the rows of one matrix, the high halves are the rows of the other.
func transpose4(a, b, c, d uint64) (uint64, uint64, uint64, uint64) {
	a, c = exchange(a, c, 16, low16)
	b, d = exchange(b, d, 16, low16)
	a, b = exchange(a, b, 8, low8)
	c, d = exchange(c, d, 8, low8)
	return a, b, c, d
}

// transpose8 transposes an 8x8 byte matrix, whose rows travel in registers.
func transpose8(a, b, c, d, e, f, g, h uint64) (_, _, _, _, _, _, _, _ uint64) {
	a, e = exchange(a, e, 32, low32)
	b, f = exchange(b, f, 32, low32)
	c, g = exchange(c, g, 32, low32)
	d, h = exchange(d, h, 32, low32)
	a, c = exchange(a, c, 16, low16)
	b, d = exchange(b, d, 16, low16)
	e, g = exchange(e, g, 16, low16)
	f, h = exchange(f, h, 16, low16)
	a, b = exchange(a, b, 8, low8)
	c, d = exchange(c, d, 8, low8)
	e, f = exchange(e, f, 8, low8)
	g, h = exchange(g, h, 8, low8)
	return a, b, c, d, e, f, g, h
}

// load8 takes a word from each of eight places, step bytes apart.
func load8(p []byte, step int) (_, _, _, _, _, _, _, _ uint64) {
	p = p[:7*step+8]
	return le.Uint64(p), le.Uint64(p[step:]), le.Uint64(p[2*step:]), le.Uint64(p[3*step:]),
		le.Uint64(p[4*step:]), le.Uint64(p[5*step:]), le.Uint64(p[6*step:]), le.Uint64(p[7*step:])
}

func store8(p []byte, step int, a, b, c, d, e, f, g, h uint64) {
	p = p[:7*step+8]
	le.PutUint64(p, a)
	le.PutUint64(p[step:], b)
	le.PutUint64(p[2*step:], c)
	le.PutUint64(p[3*step:], d)
	le.PutUint64(p[4*step:], e)
	le.PutUint64(p[5*step:], f)
	le.PutUint64(p[6*step:], g)
	le.PutUint64(p[7*step:], h)
}
