package b2nd

import (
	"math"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/nd"
)

// maxChunk is the largest decoded length of a chunk in c-blosc2: an int32 less
// the length of a header.
const maxChunk = math.MaxInt32 - 32

// A geometry has the shapes of an array, its chunks and its blocks, and numbers
// derived from them. Products are checked for overflow.
type geometry struct {
	shape, chunk, block []int64 // shapes as in Meta
	ext                 []int64 // shape of a chunk with padding: multiples of block
	item                int     // bytes per item
	items               int64   // number of items of the array
	chunks              nd.Grid // grid of the chunks in the array
	blocks              nd.Grid // grid of the blocks in a chunk
	blockBytes          int
	chunkBytes          int  // bytes of a chunk with padding
	rowMajor            bool // a chunk's blocks, one after another, are also its items in row-major order
}

// geometry checks that the shapes of m agree, and returns their geometry for
// items of item bytes.
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
	padded := make([]int64, d) // shape of the array rounded up to whole chunks
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

// measure sets the fields that are products of lengths.
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

// dense reports whether the items of a box, cut into cells of one shape that are
// stored one after another, are in row-major order. They are if a cell has
// length 1 along the first axes, any length along the next axis, and the box's
// full length along all axes after that.
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

// end sets hi to the end of the items of the chunk at origin: the end of the
// chunk or of the array.
func (g *geometry) end(hi, origin []int64) {
	for i, o := range origin {
		hi[i] = min(g.shape[i], o+g.chunk[i])
	}
}

// origin sets at to the index of the first item of chunk n.
func (g *geometry) origin(at []int64, n int64) {
	for i := len(at) - 1; i >= 0; i-- {
		k := g.chunks.Count[i]
		at[i] = n % k * g.chunk[i]
		n /= k
	}
}

// blockOrigin sets at to the index of the first item of block n in the chunk at
// origin.
func (g *geometry) blockOrigin(at, origin []int64, n int64) {
	for i := len(at) - 1; i >= 0; i-- {
		k := g.blocks.Count[i]
		at[i] = origin[i] + n%k*g.block[i]
		n /= k
	}
}

// tile copies the items of a chunk from src to chunk, block after block. src is an
// array of the given shape. The chunk has n[i] items along axis i, from index at
// on. Padding becomes zeros.
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

// untile copies the first n items along each axis of a chunk to box, an array
// of shape n.
func (g *geometry) untile(box []byte, n []int64, chunk []byte) {
	zero := make([]int64, len(n))
	g.eachBlock(n, func(k int64, at, size []int64) {
		p := chunk[k*int64(g.blockBytes):][:g.blockBytes]
		nd.CopyBox(box, n, at, p, g.block, zero, size, g.item)
	})
}

// eachBlock calls f for each block that has some of the first n items along
// each axis of a chunk. at is the block's place in the chunk, size the number
// of those items in it.
func (g *geometry) eachBlock(n []int64, f func(k int64, at, size []int64)) {
	size := make([]int64, len(n))
	for k, at := range g.blocks.Meet(nd.Whole(n), make([]int64, len(n)), n) {
		for i := range size {
			size[i] = min(g.block[i], n[i]-at[i])
		}
		f(k, at, size)
	}
}
