package zarrface

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/formats/b2nd"
)

const (
	// mostChunk is the longest decoded chunk that is one Zarr chunk. Longer ones are cut into
	// cells of up to mostCell bytes: a client that looks at a corner should not wait for
	// all of it, and what a function sends in one piece has 6 MB.
	mostChunk = 4 << 20
	mostCell  = 2 << 20
)

// A geometry says how the chunks of a Zarr array lie in the chunks of a b2nd array. All
// shapes have the axes of the array.
type geometry struct {
	item         int
	shape        []int64 // of the array
	chunk, block []int64 // of the stored chunks
	cell         []int64 // of the Zarr chunks
	count        []int64 // Zarr chunks in the array
	blocks       []int64 // blocks in a stored chunk
	inCell       []int64 // blocks in a Zarr chunk
	blockBytes   int
	chunkBytes   int  // of a stored chunk, with the padding of its blocks
	inRow        bool // the blocks of a Zarr chunk, one after another, are its items in C order
	adjacent     bool // the blocks of a Zarr chunk follow each other in the stored chunk
}

// newGeometry is for shapes that b2nd has checked: products of a chunk do not overflow,
// unless the chunk has a length of 0. Then there are no chunks, and nothing to multiply.
func newGeometry(m b2nd.Meta, item int, byBlock bool) geometry {
	d := len(m.Shape)
	ints := func() []int64 { return make([]int64, d) }
	g := geometry{item: item, shape: m.Shape, chunk: ints(), block: ints(), count: ints(), blocks: ints(), inCell: ints()}
	empty := slices.Contains(m.ChunkShape, 0)
	for i := range d { // Zarr's chunks have no length of 0
		g.chunk[i], g.block[i] = int64(max(m.ChunkShape[i], 1)), int64(max(m.BlockShape[i], 1))
	}
	switch {
	case empty:
		g.cell = slices.Clone(g.chunk)
	case byBlock:
		g.cell = cellShape(g.chunk, g.block, item, 0)
	case prod(g.chunk)*int64(item) > mostChunk:
		g.cell = cellShape(g.chunk, g.block, item, mostCell)
	default:
		g.cell = slices.Clone(g.chunk)
	}
	for i := range d {
		g.count[i] = ceil(g.shape[i], g.cell[i])
		g.blocks[i] = ceil(g.chunk[i], g.block[i])
		g.inCell[i] = ceil(g.cell[i], g.block[i])
	}
	if !empty {
		g.blockBytes = int(prod(g.block)) * item
		g.chunkBytes = int(prod(g.blocks)) * g.blockBytes
	}
	g.inRow = dense(g.block, g.cell) && divides(g.block, g.cell)
	g.adjacent = dense(g.inCell, g.blocks)
	return g
}

func ceil(n, d int64) int64 {
	if n == 0 {
		return 0
	}
	return (n-1)/d + 1
}

func prod(shape []int64) int64 {
	n := int64(1)
	for _, k := range shape {
		n *= k
	}
	return n
}

func divides(part, whole []int64) bool {
	for i := range part {
		if whole[i]%part[i] != 0 {
			return false
		}
	}
	return true
}

// dense reports whether the parts of a box, of one shape and stored one after another, are
// runs of its items in C order.
func dense(part, box []int64) bool {
	i := 0
	for i < len(part) && part[i] == 1 {
		i++
	}
	for i++; i < len(part); i++ {
		if part[i] != box[i] {
			return false
		}
	}
	return true
}

// cellShape widens a block, the last axis first, to whole blocks that divide the chunk and
// have at most the given number of bytes. It goes on to the next axis if one is full, so
// that the blocks of a cell are neighbours. If blocks do not divide the chunk, it returns
// the chunk.
func cellShape(chunk, block []int64, item int, most int64) []int64 {
	if !divides(block, chunk) {
		return slices.Clone(chunk)
	}
	cell := slices.Clone(block)
	size := prod(block) * int64(item)
	for i := len(cell) - 1; i >= 0; i-- {
		for n := min(chunk[i]/cell[i], most/size); n > 1; n-- {
			if chunk[i]%(cell[i]*n) == 0 {
				cell[i], size = cell[i]*n, size*n
				break
			}
		}
		if cell[i] != chunk[i] {
			break
		}
	}
	return cell
}

// A Chunk is a chunk of the Zarr array that has to be sent.
type Chunk struct {
	// Box has its items in the array, without padding.
	Box b2nd.Box
	// Number is the stored chunk that has all of them.
	Number int
	// Size is the number of its bytes before they are encoded, padding included; with a
	// cast the longer of both. What Encode appends is at most twice as long.
	Size int64

	origin []int64 // index of its first item in the stored chunk
}

// Key finds the chunk of a key such as "c/0/1", "c" in an array without axes. The error
// matches ErrAbsent if clients have to take the chunk for the fill value; its Number is -1
// if no stored chunk has it, since it is outside of the grid.
func (v *View) Key(rest string) (Chunk, error) {
	at, ok := v.parse(rest)
	if !ok {
		return Chunk{Number: -1}, fmt.Errorf("key %.80q of a grid of %v chunks: %w", rest, v.count, ErrAbsent)
	}
	d := len(at)
	all := make([]int64, 3*d)
	c := Chunk{origin: all[:d:d], Size: prod(v.cell) * int64(max(v.item, v.dtype.ItemSize()))}
	start, stop, number := all[d:2*d], all[2*d:], int64(0)
	for i := range at {
		start[i] = at[i] * v.cell[i]
		stop[i] = min(v.shape[i], start[i]+v.cell[i])
		number = number*ceil(v.shape[i], v.chunk[i]) + start[i]/v.chunk[i]
		c.origin[i] = start[i] % v.chunk[i]
	}
	c.Box, c.Number = b2nd.Sub(start, stop), int(number)
	if v.absent(c.Number) {
		return c, fmt.Errorf("chunk %s is of the fill value: %w", rest, ErrAbsent)
	}
	return c, nil
}

// parse returns the place in the grid that a key names. Numbers have one spelling, so that a
// chunk has one address.
func (v *View) parse(rest string) ([]int64, bool) {
	word, rest, more := strings.Cut(rest, "/")
	if word != "c" {
		return nil, false
	}
	at := make([]int64, len(v.count))
	for i := range at {
		if !more {
			return nil, false
		}
		var w string
		w, rest, more = strings.Cut(rest, "/")
		n, err := strconv.ParseUint(w, 10, 63)
		if err != nil || w[0] == '0' && len(w) > 1 || n >= uint64(v.count[i]) {
			return nil, false
		}
		at[i] = int64(n)
	}
	return at, !more
}

// A Want is what to read of a stored chunk.
type Want struct {
	Chunk int
	// Blocks are the numbers of the wanted blocks, ascending; nil means all. Encode takes the
	// whole chunk nevertheless, Spans and EncodeParts these blocks.
	Blocks []int
	// Head is the number of bytes at the start of the chunk that tell where blocks are, if
	// it has the block size of the array and no dictionary.
	Head int
}

// Want says what of the stored chunk a Zarr chunk needs.
func (v *View) Want(c Chunk) Want {
	w := Want{Chunk: c.Number, Head: 32 + 4*int(prod(v.blocks))}
	if slices.Equal(v.inCell, v.blocks) {
		return w
	}
	for p := range v.places(c) {
		w.Blocks = append(w.Blocks, p.block)
	}
	return w
}

// A place is that of a block.
type place struct {
	k     int     // number in the Zarr chunk
	block int     // number in the stored chunk
	at    []int64 // index of its first item in the Zarr chunk; overwritten by the next step
}

// places yields the blocks of a Zarr chunk in row-major order.
func (g *geometry) places(c Chunk) iter.Seq[place] {
	return func(yield func(place) bool) {
		p := place{at: make([]int64, len(g.inCell))}
		for ; p.k < int(prod(g.inCell)); p.k++ {
			rest, block, stride := int64(p.k), int64(0), int64(1)
			for i := len(p.at) - 1; i >= 0; i-- {
				j := rest % g.inCell[i]
				rest /= g.inCell[i]
				p.at[i] = j * g.block[i]
				block += (c.origin[i]/g.block[i] + j) * stride
				stride *= g.blocks[i]
			}
			if p.block = int(block); !yield(p) {
				return
			}
		}
	}
}
