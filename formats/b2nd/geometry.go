package b2nd

import (
	"math"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/nd"
)

// maxChunk is the most bytes that c-blosc2 puts into a chunk: an int32 less the
// header.
const maxChunk = math.MaxInt32 - 32

// A geometry is how an array lies in its chunks, checked so that no product of
// lengths overflows.
type geometry struct {
	shape, chunk, block []int64 // as of Meta
	ext                 []int64 // of a chunk with its padding: a multiple of block
	item                int     // bytes of an item
	items               int64   // of the array
	chunks              nd.Grid // of the array
	blocks              nd.Grid // of a chunk
	blockBytes          int
	chunkBytes          int  // with padding
	rowMajor            bool // a chunk's blocks, one after the other, are ext in row-major order
}

// geometry checks the shapes of m against each other, for items of the given
// size.
func (m Meta) geometry(item int) (*geometry, error) {
	d := len(m.Shape)
	if d > MaxDims {
		return nil, fail("metalayer", formats.ErrUnsupported, "%d axes, at most %d", d, MaxDims)
	}
	if len(m.ChunkShape) != d || len(m.BlockShape) != d {
		return nil, corrupt("metalayer", "shapes of %d, %d and %d axes", d, len(m.ChunkShape), len(m.BlockShape))
	}
	if item < 1 || item > maxChunk {
		return nil, corrupt("metalayer", "items of %d bytes", item)
	}
	g := &geometry{shape: m.Shape, chunk: make([]int64, d), block: make([]int64, d), ext: make([]int64, d), item: item}
	padded := make([]int64, d) // the array in whole chunks
	for i := range d {
		n, c, b := m.Shape[i], int64(m.ChunkShape[i]), int64(m.BlockShape[i])
		if n < 0 || c < 0 || b < 0 || c > 0 && b == 0 || n > 0 && c == 0 {
			return nil, corrupt("metalayer", "axis %d: %d items in chunks of %d, blocks of %d", i, n, c, b)
		}
		g.chunk[i], g.block[i] = c, b
		if c > 0 {
			k := max(n-1, 0) / c
			if k >= math.MaxInt64/c {
				return nil, corrupt("metalayer", "axis %d: %d items in chunks of %d", i, n, c)
			}
			if n > 0 {
				padded[i] = (k + 1) * c
			}
			g.ext[i] = ((c-1)/b + 1) * b
		}
	}
	return g, g.measure(padded)
}

// measure fills in the products.
func (g *geometry) measure(padded []int64) error {
	prod := func(shape []int64, item, most int64) int64 {
		n, err := nd.Prod(shape)
		if err != nil || n > most/item {
			return -1
		}
		return n * item
	}
	var err error
	g.items = prod(g.shape, 1, math.MaxInt64)
	all := prod(padded, int64(g.item), math.MaxInt64)
	block := prod(g.block, int64(g.item), maxChunk)
	chunk := prod(g.ext, int64(g.item), maxChunk)
	if g.items < 0 || all < 0 || block < 0 || chunk < 0 {
		return corrupt("metalayer", "shape %v, chunks %v, blocks %v of items of %d bytes: too large", g.shape, g.chunk, g.block, g.item)
	}
	g.blockBytes, g.chunkBytes = int(block), int(chunk)
	if g.chunks, err = nd.NewGrid(g.shape, g.chunk); err != nil {
		return corrupt("metalayer", "%v", err)
	}
	if g.blocks, err = nd.NewGrid(g.chunk, g.block); err != nil {
		return corrupt("metalayer", "%v", err)
	}
	if g.chunks.Total > 0 && int64(g.chunkBytes) > math.MaxInt64/g.chunks.Total {
		return corrupt("metalayer", "%d chunks of %d bytes", g.chunks.Total, g.chunkBytes)
	}
	g.rowMajor = dense(g.block, g.ext)
	return nil
}

// dense tells whether cells of one shape, one after the other, give the box that
// they fill in row-major order: they are runs along one axis, of whole rows of
// all axes after it, one at a time of all before.
func dense(cell, box []int64) bool {
	i := 0
	for i < len(cell) && cell[i] == 1 {
		i++
	}
	for i++; i < len(cell); i++ {
		if cell[i] != box[i] {
			return false
		}
	}
	return true
}

// end fills hi with where the items of a chunk end: its own end or the array's.
func (g *geometry) end(hi, origin []int64) {
	for i, o := range origin {
		hi[i] = min(g.shape[i], o+g.chunk[i])
	}
}

// origin fills at with the first item of chunk n.
func (g *geometry) origin(at []int64, n int64) {
	for i := len(at) - 1; i >= 0; i-- {
		k := g.chunks.Count[i]
		at[i] = n % k * g.chunk[i]
		n /= k
	}
}

// blockOrigin fills at with the first item of block n of the chunk that begins
// at origin.
func (g *geometry) blockOrigin(at, origin []int64, n int64) {
	for i := len(at) - 1; i >= 0; i-- {
		k := g.blocks.Count[i]
		at[i] = origin[i] + n%k*g.block[i]
		n /= k
	}
}

// tile moves the first n items a side of a chunk from src, where they lie at index
// at of an array of the given shape, into blocks one after the other. What n does
// not reach becomes zeros.
func (g *geometry) tile(chunk, src []byte, shape, at, n []int64) {
	if !slices.Equal(n, g.ext) {
		clear(chunk)
	}
	d := len(n)
	zero, from := make([]int64, d), make([]int64, d)
	g.eachBlock(n, func(k int64, lo, size []int64) {
		for i := range from {
			from[i] = at[i] + lo[i]
		}
		p := chunk[k*int64(g.blockBytes):][:g.blockBytes]
		nd.CopyBox(p, g.block, zero, src, shape, from, size, g.item)
	})
}

// untile is the reverse of tile.
func (g *geometry) untile(box []byte, n []int64, chunk []byte) {
	zero := make([]int64, len(n))
	g.eachBlock(n, func(k int64, at, size []int64) {
		p := chunk[k*int64(g.blockBytes):][:g.blockBytes]
		nd.CopyBox(box, n, at, p, g.block, zero, size, g.item)
	})
}

// eachBlock visits the blocks of a chunk that hold some of its first n items a
// side: where in the chunk they begin and how many of those they hold.
func (g *geometry) eachBlock(n []int64, f func(k int64, at, size []int64)) {
	size := make([]int64, len(n))
	for k, at := range g.blocks.Meet(nd.Whole(n), make([]int64, len(n)), n) {
		for i := range size {
			size[i] = min(g.block[i], n[i]-at[i])
		}
		f(k, at, size)
	}
}
