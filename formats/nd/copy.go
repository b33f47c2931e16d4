package nd

// CopyPart copies what p names from a cell (src, row-major of shape srcShape) into
// the result (dst, row-major of shape counts, as of b.Counts()). Items have the
// given size in bytes.
func (b Box) CopyPart(dst []byte, counts []int64, src []byte, srcShape []int64, p *Part, item int) {
	var buf [4 * 16]int64
	d := len(p.N)
	s := buf[:]
	if 4*d > len(s) {
		s = make([]int64, 4*d)
	}
	ds, ss := s[:d:d], s[d:2*d:2*d]
	dOff, sOff := int64(0), int64(0)
	dStep, sStep := int64(item), int64(item)
	for i := d - 1; i >= 0; i-- {
		ds[i], ss[i] = dStep, sStep
		dOff += p.Out[i] * dStep
		sOff += p.At[i] * sStep
		if p.N[i] > 1 {
			ss[i] *= b.Step[i]
		}
		dStep *= counts[i]
		sStep *= srcShape[i]
	}
	Copy(dst, dOff, ds, src, sOff, ss, p.N, item)
}

// CopyBox copies a dense box of n items a side between two row-major arrays,
// from index srcAt of src to index dstAt of dst.
func CopyBox(dst []byte, dstShape, dstAt []int64, src []byte, srcShape, srcAt, n []int64, item int) {
	ds, ss := Strides(dstShape, item), Strides(srcShape, item)
	dOff, sOff := int64(0), int64(0)
	for i := range n {
		dOff += dstAt[i] * ds[i]
		sOff += srcAt[i] * ss[i]
	}
	Copy(dst, dOff, ds, src, sOff, ss, n, item)
}

// Copy copies n items a side between two strided views: the first item of dst is
// at byte dOff, its neighbours along axis i are ds[i] bytes away, and so on for
// src. Strides may be negative. Axes that lie next to each other in memory on
// both sides are copied as one. It panics when a view leaves its memory, as
// slicing does.
func Copy(dst []byte, dOff int64, ds []int64, src []byte, sOff int64, ss, n []int64, item int) {
	var c copier
	c.dst, c.src, c.item = dst, src, item
	var buf [3 * 16]int64
	s := buf[:]
	if 3*len(n) > len(s) {
		s = make([]int64, 3*len(n))
	}
	m := 0 // axes kept
	for i, k := range n {
		switch {
		case k <= 0:
			return
		case k == 1:
			continue
		}
		if m > 0 && s[3*m-2] == ds[i]*k && s[3*m-1] == ss[i]*k {
			s[3*m-3] *= k
			s[3*m-2], s[3*m-1] = ds[i], ss[i]
			continue
		}
		s[3*m], s[3*m+1], s[3*m+2] = k, ds[i], ss[i]
		m++
	}
	c.axes = s[:3*m]
	c.tile()
	if m == 0 {
		copy(dst[dOff:dOff+int64(item)], src[sOff:sOff+int64(item)])
		return
	}
	c.copy(0, dOff, sOff)
}

// A copier has the data that the recursion over axes shares: count, dst stride
// and src stride of each axis.
type copier struct {
	dst, src []byte
	axes     []int64
	item     int
	tiled    bool // the last two axes are walked in tiles
}

// tileSide is the side of a tile in items: its rows on both sides stay in the
// first cache for every size of a number.
const tileSide = 32

// tile looks for a transposition: rows of dst whose items lie far apart in src,
// while another axis has them side by side. That axis becomes the last but one,
// so that each cache line of src serves several rows at once.
func (c *copier) tile() {
	last := len(c.axes) - 3
	if last < 3 || abs(c.axes[last+1]) >= abs(c.axes[last+2]) {
		return
	}
	best := -1
	for i := 0; i < last; i += 3 {
		if s := abs(c.axes[i+2]); s < abs(c.axes[last+2]) && (best < 0 || s < abs(c.axes[best+2])) {
			best = i
		}
	}
	if best < 0 {
		return
	}
	axis := [3]int64(c.axes[best:])
	copy(c.axes[best:last], c.axes[best+3:last])
	copy(c.axes[last-3:], axis[:])
	c.tiled = true
}

func abs(x int64) int64 {
	return max(x, -x)
}

func (c *copier) copy(axis int, d, s int64) {
	n, ds, ss := c.axes[axis], c.axes[axis+1], c.axes[axis+2]
	if axis+3 == len(c.axes) {
		c.row(n, d, ds, s, ss)
		return
	}
	if c.tiled && axis+6 == len(c.axes) {
		c.tiles(axis, d, s)
		return
	}
	for range n {
		c.copy(axis+3, d, s)
		d += ds
		s += ss
	}
}

// tiles copies the last two axes.
func (c *copier) tiles(axis int, d, s int64) {
	n, ds, ss := c.axes[axis], c.axes[axis+1], c.axes[axis+2]
	rn, rds, rss := c.axes[axis+3], c.axes[axis+4], c.axes[axis+5]
	for i := int64(0); i < n; i += tileSide {
		for k := int64(0); k < rn; k += tileSide {
			w := min(tileSide, rn-k)
			td, ts := d+i*ds+k*rds, s+i*ss+k*rss
			for range min(tileSide, n-i) {
				c.row(w, td, rds, ts, rss)
				td += ds
				ts += ss
			}
		}
	}
}

// row copies n items. The item sizes of numbers are moved as numbers, which
// saves a call of memmove for each.
func (c *copier) row(n, d, ds, s, ss int64) {
	item := int64(c.item)
	if ds == item && ss == item {
		copy(c.dst[d:d+n*item], c.src[s:s+n*item])
		return
	}
	dst, src := c.dst, c.src
	switch item {
	case 1:
		for range n {
			dst[d] = src[s]
			d, s = d+ds, s+ss
		}
	case 2:
		for range n {
			*(*[2]byte)(dst[d:]) = *(*[2]byte)(src[s:])
			d, s = d+ds, s+ss
		}
	case 4:
		for range n {
			*(*[4]byte)(dst[d:]) = *(*[4]byte)(src[s:])
			d, s = d+ds, s+ss
		}
	case 8:
		for range n {
			*(*[8]byte)(dst[d:]) = *(*[8]byte)(src[s:])
			d, s = d+ds, s+ss
		}
	case 16:
		for range n {
			*(*[16]byte)(dst[d:]) = *(*[16]byte)(src[s:])
			d, s = d+ds, s+ss
		}
	default:
		for range n {
			copy(dst[d:d+item], src[s:s+item])
			d, s = d+ds, s+ss
		}
	}
}
