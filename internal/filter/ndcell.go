package filter

// MaxCellDims is the largest number of dimensions that [NDCell] and
// [NDCellDecode] handle; Blosc2's plugin has the same limit.
const MaxCellDims = 8

// NDCell reorders a block, an array of blockShape with items of width bytes in
// row-major order, into cells of cell items along each dimension. Cells follow
// each other in row-major order, and so do the items of a cell; cells at the
// upper edges are cut off. It reports false, having written nothing, unless the
// block has exactly the bytes of the shape, 1 to [MaxCellDims] dimensions
// without a zero, and cells of 1 item or more.
func NDCell(dst, src []byte, width int, blockShape []int, cell int) bool {
	same(dst, src)
	c, ok := newCells(len(src), width, blockShape, cell)
	if !ok {
		return false
	}
	at := 0
	for c.next() {
		for off, n := range c.rows() {
			copy(dst[at:at+n], src[off:off+n])
			at += n
		}
	}
	return true
}

// NDCellDecode undoes [NDCell], and the reordering that is part of the NDMEAN
// filter.
func NDCellDecode(dst, src []byte, width int, blockShape []int, cell int) bool {
	same(dst, src)
	c, ok := newCells(len(src), width, blockShape, cell)
	if !ok {
		return false
	}
	at := 0
	for c.next() {
		for off, n := range c.rows() {
			copy(dst[off:off+n], src[at:at+n])
			at += n
		}
	}
	return true
}

// cells walks over the cells of a block.
type cells struct {
	dims   int
	edge   int
	width  int
	shape  [MaxCellDims]int
	stride [MaxCellDims]int // bytes from one item to the next
	at     [MaxCellDims]int // the cell's first item
	begun  bool
}

func newCells(n, width int, shape []int, cell int) (cells, bool) {
	c := cells{dims: len(shape), edge: cell, width: width}
	if width < 1 || cell < 1 || len(shape) < 1 || len(shape) > MaxCellDims {
		return c, false
	}
	size := width
	for i := len(shape) - 1; i >= 0; i-- {
		s := shape[i]
		if s < 1 || size > n/s {
			return c, false
		}
		c.shape[i], c.stride[i] = s, size
		size *= s
	}
	return c, size == n
}

// next goes to the next cell; it reports false behind the last.
func (c *cells) next() bool {
	if !c.begun {
		c.begun = true
		return true
	}
	for i := c.dims - 1; i >= 0; i-- {
		if c.shape[i]-c.at[i] > c.edge {
			c.at[i] += c.edge
			return true
		}
		c.at[i] = 0
	}
	return false
}

// rows returns the offset and the length of each row of the present cell.
func (c *cells) rows() func(yield func(off, n int) bool) {
	return func(yield func(off, n int) bool) {
		var row [MaxCellDims]int
		last := c.dims - 1
		length := min(c.edge, c.shape[last]-c.at[last]) * c.width
		off := 0
		for i := range c.dims {
			off += c.at[i] * c.stride[i]
		}
		for {
			if !yield(off, length) {
				return
			}
			i := last - 1
			for ; i >= 0; i-- {
				row[i]++
				off += c.stride[i]
				if row[i] < min(c.edge, c.shape[i]-c.at[i]) {
					break
				}
				off -= row[i] * c.stride[i]
				row[i] = 0
			}
			if i < 0 {
				return
			}
		}
	}
}
