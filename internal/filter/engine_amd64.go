//go:build !purego

package filter

import "golang.org/x/sys/cpu"

const (
	sse2 = portable + 1 + iota
	avx2
	gfni // avx2, and AVX-512 with the Galois field instructions
)

// vector is the number of bytes that the engine handles at once.
func (e engine) vector() int { return 8 << min(e, avx2) }

// best is what this processor has; nothing writes it later.
var best = detect()

func detect() engine {
	switch {
	case cpu.X86.HasAVX2 && cpu.X86.HasAVX512GFNI:
		return gfni
	case cpu.X86.HasAVX2:
		return avx2
	default:
		return sse2
	}
}

// The methods below are the only callers of the kernels. The kernels check
// nothing, so each method touches the ends of what its kernel will touch.

// whole rounds n down to a multiple of the vector; for less than a vector it
// falls back to a smaller engine.
func (e engine) whole(n int) (engine, int) {
	if e >= avx2 && n < e.vector() {
		e = sse2
	}
	if e == portable {
		return e, 0
	}
	return e, n &^ (e.vector() - 1)
}

// merge does what unshuffleGo does, for the first elements, and returns their number.
func (e engine) merge(dst []byte, width int, src []byte, stride, n, planes int) int {
	k, m := e.whole(n)
	if m == 0 {
		return 0
	}
	_, _ = dst[(m-1)*width+planes-1], src[(planes-1)*stride+m-1]
	switch {
	case planes != width || width != 2 && width != 4 && width != 8:
		return mergeEights(dst, width, src, stride, n&^15, planes)
	case k >= avx2 && width == 2:
		merge2AVX2(&dst[0], &src[0], stride, m)
	case k >= avx2 && width == 4:
		merge4AVX2(&dst[0], &src[0], stride, m)
	case k >= avx2:
		merge8AVX2(&dst[0], &src[0], stride, m)
	case width == 2:
		merge2SSE2(&dst[0], &src[0], stride, m)
	case width == 4:
		merge4SSE2(&dst[0], &src[0], stride, m)
	default:
		merge8SSE2(&dst[0], &src[0], stride, m)
	}
	return m
}

// mergeEights takes the planes by sixteens and eights; it does nothing if there are less.
func mergeEights(dst []byte, width int, src []byte, stride, m, planes int) int {
	if planes < 8 {
		return 0
	}
	_, _ = dst[(m-1)*width+planes-1], src[(planes-1)*stride+m-1]
	for next := 0; next < planes; {
		group := groupLen(planes, next)
		j := overlapping(next, planes, group)
		if group == 16 {
			mergeStrided16SSE2(&dst[j], width, &src[j*stride], stride, m)
		} else {
			mergeStrided8SSE2(&dst[j], width, &src[j*stride], stride, m)
		}
		next += group
	}
	return m
}

// split does what shuffleGo does, for the first elements, and returns their number.
func (e engine) split(dst []byte, stride int, src []byte, width, n, planes int) int {
	k, m := e.whole(n)
	if m == 0 {
		return 0
	}
	_, _ = src[(m-1)*width+planes-1], dst[(planes-1)*stride+m-1]
	switch {
	case planes != width || width != 2 && width != 4 && width != 8:
		return splitEights(dst, stride, src, width, n&^15, planes)
	case k >= avx2 && width == 2:
		split2AVX2(&dst[0], stride, &src[0], m)
	case k >= avx2 && width == 4:
		split4AVX2(&dst[0], stride, &src[0], m)
	case k >= avx2:
		split8AVX2(&dst[0], stride, &src[0], m)
	case width == 2:
		split2SSE2(&dst[0], stride, &src[0], m)
	case width == 4:
		split4SSE2(&dst[0], stride, &src[0], m)
	default:
		split8SSE2(&dst[0], stride, &src[0], m)
	}
	return m
}

func splitEights(dst []byte, stride int, src []byte, width, m, planes int) int {
	if planes < 8 {
		return 0
	}
	_, _ = src[(m-1)*width+planes-1], dst[(planes-1)*stride+m-1]
	for next := 0; next < planes; next += 8 {
		j := overlapping(next, planes, 8)
		splitStrided8SSE2(&dst[j*stride], stride, &src[j], width, m)
	}
	return m
}

// bitsToBytes does what rowsToPlanes does, for the first columns, and returns their
// number.
func (e engine) bitsToBytes(dst []byte, step int, src []byte, stride, n, planes int) int {
	k, m := e.whole(n)
	if m == 0 {
		return 0
	}
	_, _ = dst[(planes-1)*step+8*m-1], src[(8*planes-1)*stride+m-1]
	switch k {
	case gfni:
		bitsToBytesGFNI(&dst[0], step, &src[0], stride, m, planes)
	case avx2:
		bitsToBytesAVX2(&dst[0], step, &src[0], stride, m, planes)
	default:
		bitsToBytesSSE2(&dst[0], step, &src[0], stride, m, planes)
	}
	return m
}

// bytesToBits does what planesToRows does, for the first columns, and returns their
// number.
func (e engine) bytesToBits(dst []byte, stride int, src []byte, step, n, planes int) int {
	k, m := e.whole(n)
	if m == 0 {
		return 0
	}
	_, _ = src[(planes-1)*step+8*m-1], dst[(8*planes-1)*stride+m-1]
	switch k {
	case gfni:
		bytesToBitsGFNI(&dst[0], stride, &src[0], step, m, planes)
	case avx2:
		bytesToBitsAVX2(&dst[0], stride, &src[0], step, m, planes)
	default:
		bytesToBitsSSE2(&dst[0], stride, &src[0], step, m, planes)
	}
	return m
}

// sums does what sumsAll does, for the first bytes, and returns their number.
func (e engine) sums(p []byte) int {
	k, m := e.whole(len(p))
	switch {
	case m == 0:
	case k >= avx2:
		sumsAVX2(&p[0], m)
	default:
		sumsSSE2(&p[0], m)
	}
	return m
}

// differences puts src[i+1]-src[i] into dst[i]; src is one byte longer than dst.
func (e engine) differences(dst, src []byte) int {
	k, m := e.whole(len(dst))
	if m == 0 {
		return 0
	}
	_ = src[m]
	if k >= avx2 {
		differencesAVX2(&dst[0], &src[1], m)
	} else {
		differencesSSE2(&dst[0], &src[1], m)
	}
	return m
}
