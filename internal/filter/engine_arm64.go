//go:build !purego

package filter

// neon has NEON, as every processor of this architecture that Go runs on.
const neon = portable + 1

// best is what this processor has.
const best = neon

// The methods below are the only callers of the kernels. The kernels check
// nothing, so each method touches the ends of what its kernel will touch.

// whole rounds n down to a multiple of the 16 bytes of a vector.
func (e engine) whole(n int) int {
	if e == portable {
		return 0
	}
	return n &^ 15
}

// merge does what unshuffleGo does, for the first elements, and returns their number.
func (e engine) merge(dst []byte, width int, src []byte, stride, n, planes int) int {
	m := e.whole(n)
	if m == 0 {
		return 0
	}
	_, _ = dst[(m-1)*width+planes-1], src[(planes-1)*stride+m-1]
	switch {
	case planes == width && width == 2:
		merge2NEON(&dst[0], &src[0], stride, m)
	case planes == width && width == 4:
		merge4NEON(&dst[0], &src[0], stride, m)
	case planes == width && width == 8:
		merge8NEON(&dst[0], &src[0], stride, m)
	case planes < 8:
		return 0
	default:
		mergeEights(dst, width, src, stride, m, planes)
	}
	return m
}

// mergeEights takes the planes by sixteens and eights.
func mergeEights(dst []byte, width int, src []byte, stride, m, planes int) {
	for next := 0; next < planes; {
		group := groupLen(planes, next)
		j := overlapping(next, planes, group)
		if group == 16 {
			mergeStrided16NEON(&dst[j], width, &src[j*stride], stride, m)
		} else {
			mergeStrided8NEON(&dst[j], width, &src[j*stride], stride, m)
		}
		next += group
	}
}

// split does what shuffleGo does, for the first elements, and returns their number.
func (e engine) split(dst []byte, stride int, src []byte, width, n, planes int) int {
	m := e.whole(n)
	if m == 0 {
		return 0
	}
	_, _ = src[(m-1)*width+planes-1], dst[(planes-1)*stride+m-1]
	switch {
	case planes == width && width == 2:
		split2NEON(&dst[0], stride, &src[0], m)
	case planes == width && width == 4:
		split4NEON(&dst[0], stride, &src[0], m)
	case planes == width && width == 8:
		split8NEON(&dst[0], stride, &src[0], m)
	case planes < 8:
		return 0
	default:
		for next := 0; next < planes; next += 8 {
			j := overlapping(next, planes, 8)
			splitStrided8NEON(&dst[j*stride], stride, &src[j], width, m)
		}
	}
	return m
}

// bitsToBytes does what rowsToPlanes does, for the first columns, and returns their
// number.
func (e engine) bitsToBytes(dst []byte, step int, src []byte, stride, n, planes int) int {
	m := e.whole(n)
	if m == 0 {
		return 0
	}
	_, _ = dst[(planes-1)*step+8*m-1], src[(8*planes-1)*stride+m-1]
	for p := range planes {
		bitsToBytesNEON(&dst[p*step], &src[8*p*stride], stride, m)
	}
	return m
}

// bytesToBits does what planesToRows does, for the first columns, and returns their
// number.
func (e engine) bytesToBits(dst []byte, stride int, src []byte, step, n, planes int) int {
	m := e.whole(n)
	if m == 0 {
		return 0
	}
	_, _ = src[(planes-1)*step+8*m-1], dst[(8*planes-1)*stride+m-1]
	for p := range planes {
		bytesToBitsNEON(&dst[8*p*stride], stride, &src[p*step], m)
	}
	return m
}

// sums does what sumsAll does, for the first bytes, and returns their number.
func (e engine) sums(p []byte) int {
	m := e.whole(len(p))
	if m > 0 {
		sumsNEON(&p[0], m)
	}
	return m
}

// differences puts src[i+1]-src[i] into dst[i]; src is one byte longer than dst.
func (e engine) differences(dst, src []byte) int {
	m := e.whole(len(dst))
	if m == 0 {
		return 0
	}
	_ = src[m]
	differencesNEON(&dst[0], &src[1], m)
	return m
}
