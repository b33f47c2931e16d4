package filter

// BitShuffle groups the bits of equal rank. Of the len(src)/width elements,
// the whole groups of eight are transposed, m groups into 8*width rows of m
// bytes: bit k of byte j of element 8*i+t becomes bit t of dst[(j*8+k)*m+i].
// Everything behind them is copied to its own place.
//
// This is the rule of Blosc2. Blosc1 transposes nothing at all when the number
// of elements is not a multiple of eight; callers see to that.
func BitShuffle(dst, src []byte, width int) { best.bitShuffle(dst, src, width) }

// BitUnshuffle undoes [BitShuffle].
func BitUnshuffle(dst, src []byte, width int) { best.bitUnshuffle(dst, src, width) }

// Sizes of the room for byte planes between the two steps of the bit filters. It is
// small enough for the stack and, beside source and destination, for the first-level
// cache. Small blocks get less, because clearing it would cost them too much.
const (
	scratchLen      = 8 << 10
	smallScratchLen = 4 << 10
	smallBlockLen   = 16 << 10
)

func (e engine) bitUnshuffle(dst, src []byte, width int) {
	same(dst, src)
	width = max(width, 1)
	m := len(src) / width / 8
	copy(dst[8*m*width:], src[8*m*width:])
	switch {
	case width == 1:
		e.rowsToPlanes(dst, 0, src, m, m, 1)
	case len(src) <= smallBlockLen:
		var scratch [smallScratchLen]byte
		e.bitUnshuffleBy(scratch[:], dst, src, width, m)
	default:
		var scratch [scratchLen]byte
		e.bitUnshuffleBy(scratch[:], dst, src, width, m)
	}
}

// bitUnshuffleBy works on some columns of the bit rows at a time: it makes the
// byte planes of a group of planes, and merges them into elements while they
// are in the cache.
func (e engine) bitUnshuffleBy(scratch, dst, src []byte, width, m int) {
	for next := 0; next < width; {
		planes := groupLen(width, next)
		cols := len(scratch) / 8 / planes &^ 31 // 32 at least
		j := overlapping(next, width, planes)
		for i := 0; i < m; i += cols {
			n := min(cols, m-i)
			e.rowsToPlanes(scratch, 8*n, src[j*8*m+i:], m, n, planes)
			e.mergeAll(dst[i*8*width+j:], width, scratch, 8*n, 8*n, planes)
		}
		next += planes
	}
}

func (e engine) bitShuffle(dst, src []byte, width int) {
	same(dst, src)
	width = max(width, 1)
	m := len(src) / width / 8
	copy(dst[8*m*width:], src[8*m*width:])
	switch {
	case width == 1:
		e.planesToRows(dst, m, src, 0, m, 1)
	case len(src) <= smallBlockLen:
		var scratch [smallScratchLen]byte
		e.bitShuffleBy(scratch[:], dst, src, width, m)
	default:
		var scratch [scratchLen]byte
		e.bitShuffleBy(scratch[:], dst, src, width, m)
	}
}

// bitShuffleBy takes the steps of bitUnshuffleBy the other way round.
func (e engine) bitShuffleBy(scratch, dst, src []byte, width, m int) {
	for next := 0; next < width; {
		planes := groupLen(width, next)
		cols := len(scratch) / 8 / planes &^ 31 // 32 at least
		j := overlapping(next, width, planes)
		for i := 0; i < m; i += cols {
			n := min(cols, m-i)
			e.splitAll(scratch, 8*n, src[i*8*width+j:], width, 8*n, planes)
			e.planesToRows(dst[j*8*m+i:], m, scratch, 8*n, n, planes)
		}
		next += planes
	}
}

// rowsToPlanes turns n columns of eight rows of bits, stride bytes apart, into
// the 8*n bytes of a plane, for each of some planes. They begin step bytes apart
// in dst and eight rows apart in src.
func (e engine) rowsToPlanes(dst []byte, step int, src []byte, stride, n, planes int) {
	i := e.bitsToBytes(dst, step, src, stride, n, planes)
	if i == n {
		return
	}
	for p := range planes {
		rowsToPlaneGo(dst[p*step:], src[8*p*stride:], stride, i, n)
	}
}

// planesToRows undoes rowsToPlanes.
func (e engine) planesToRows(dst []byte, stride int, src []byte, step, n, planes int) {
	i := e.bytesToBits(dst, stride, src, step, n, planes)
	if i == n {
		return
	}
	for p := range planes {
		planeToRowsGo(dst[8*p*stride:], stride, src[p*step:], i, n)
	}
}

func rowsToPlaneGo(dst, src []byte, stride, i, n int) {
	for ; i+8 <= n; i += 8 {
		a, b, c, d, e, f, g, h := transpose8(transposeBits(load8(src[i:], stride)))
		store8(dst[8*i:], 8, a, b, c, d, e, f, g, h)
	}
	for ; i < n; i++ {
		var x uint64
		for k := 7; k >= 0; k-- {
			x = x<<8 | uint64(src[k*stride+i])
		}
		le.PutUint64(dst[8*i:], transpose8x8(x))
	}
}

func planeToRowsGo(dst []byte, stride int, src []byte, i, n int) {
	for ; i+8 <= n; i += 8 {
		a, b, c, d, e, f, g, h := transposeBits(transpose8(load8(src[8*i:], 8)))
		store8(dst[i:], stride, a, b, c, d, e, f, g, h)
	}
	for ; i < n; i++ {
		x := transpose8x8(le.Uint64(src[8*i:]))
		for k := range 8 {
			dst[k*stride+i] = byte(x >> (8 * k))
		}
	}
}

// transposeBits transposes eight 8x8 bit matrices side by side: byte i of each
// word is a row of matrix i.
func transposeBits(a, b, c, d, e, f, g, h uint64) (_, _, _, _, _, _, _, _ uint64) {
	a, e = exchange(a, e, 4, low4)
	b, f = exchange(b, f, 4, low4)
	c, g = exchange(c, g, 4, low4)
	d, h = exchange(d, h, 4, low4)
	a, c = exchange(a, c, 2, low2)
	b, d = exchange(b, d, 2, low2)
	e, g = exchange(e, g, 2, low2)
	f, h = exchange(f, h, 2, low2)
	a, b = exchange(a, b, 1, low1)
	c, d = exchange(c, d, 1, low1)
	e, f = exchange(e, f, 1, low1)
	g, h = exchange(g, h, 1, low1)
	return a, b, c, d, e, f, g, h
}

// transpose8x8 transposes one 8x8 bit matrix whose rows are the bytes of x.
func transpose8x8(x uint64) uint64 {
	t := (x ^ x>>7) & 0x00aa00aa00aa00aa
	x ^= t ^ t<<7
	t = (x ^ x>>14) & 0x0000cccc0000cccc
	x ^= t ^ t<<14
	t = (x ^ x>>28) & 0x00000000f0f0f0f0
	return x ^ t ^ t<<28
}
