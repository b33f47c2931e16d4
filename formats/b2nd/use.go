package b2nd

import (
	"fmt"
	"math"
	"slices"
)

// A Use says which slices of an array are read most, so that ShapesFor can choose chunks
// for them.
type Use uint8

const (
	// Series are slices along the first axis at few places of all others: all times at
	// a point.
	Series Use = iota + 1
	// Planes are slices over the last two axes at few places of all others: a map of one
	// time. Of an array of two axes they are its rows.
	Planes
	// Both is for arrays of which series are read as often as planes. Neither is as good
	// as by itself: each takes about as many chunks as the other.
	Both
	// Cubes are small boxes anywhere, about as long along each axis.
	Cubes
)

var uses = [...]string{Series: "series", Planes: "planes", Both: "both", Cubes: "cubes"}

// Uses lists the Uses, in the order in which people are told of them.
func Uses() []Use { return []Use{Series, Planes, Both, Cubes} }

// String returns the name of u, as ParseUse takes it.
func (u Use) String() string {
	if u >= Series && int(u) < len(uses) {
		return uses[u]
	}
	return fmt.Sprintf("use %d", uint8(u))
}

// ParseUse returns the Use of a name: series, planes, both or cubes. An error matches no
// sentinel and lists the names.
func ParseUse(name string) (Use, error) {
	if i := slices.Index(uses[:], name); i >= int(Series) {
		return Use(i), nil
	}
	return 0, fmt.Errorf("want one of %v", uses[Series:])
}

// Planes and what lies behind one another in their chunks and blocks: short planes are put
// together up to these shares of the longest chunk and block, since a request of 256 KiB
// takes hardly longer than one of 1 KiB.
const (
	planesChunk = 16
	planesBlock = 4
)

// ShapesFor returns shapes of chunks and blocks for slices of a kind, of an array of items
// of itemSize bytes. Their sizes have the bounds of DefaultShapes: up to 64 KiB a block and
// 4 MiB a chunk, or a single item that is longer. Lengths that divide an axis evenly are
// preferred. Along each axis block <= chunk and chunk <= shape, and padding takes at
// most as many bytes as the items of a chunk. An axis of length 0, which may grow later, is
// treated as a long one. An array of one axis, or none, has the shapes of DefaultShapes, and so
// has every array if u is none of Uses.
//
//   - Series: chunks and blocks are as long as possible along the first axis, and about as
//     long along each other axis as what is left allows.
//   - Planes: they are as long as possible over the last two axes, and single along the others,
//     but that short planes are put together up to 256 KiB a chunk, 16 KiB a block.
//   - Both: a series meets about as many chunks as a plane. Axes between are
//     single, if there is no room left.
//   - Cubes: about as long along each axis as along the others.
//
// Other than with DefaultShapes, a Writer of a stream may have to buffer many chunks; WriteFrom
// has not.
func ShapesFor(u Use, shape []int64, itemSize int) (chunk, block []int) {
	d := len(shape)
	if d < 2 || u < Series || u > Cubes {
		return DefaultShapes(shape, itemSize)
	}
	dims := long(shape)
	size := int64(max(itemSize, 1))
	blockItems, chunkItems := max(DefaultBlockBytes/size, 1), max(DefaultChunkBytes/size, 1)
	b := fill(dims, ones(d), blockItems, u.groups(dims, blockItems, planesBlock))
	c := fill(dims, b, chunkItems, u.groups(dims, chunkItems, planesChunk))
	unpad(b, c)
	return ints(c), ints(b)
}

// long returns the lengths of axes as shapes of chunks are chosen for them.
func long(shape []int64) []int64 {
	dims := make([]int64, len(shape))
	for i, n := range shape {
		if dims[i] = min(n, math.MaxInt32); n <= 0 {
			dims[i] = math.MaxInt32
		}
	}
	return dims
}

// A group is axes along which a shape is about equally long. Groups are filled in order.
type group struct {
	axes []int
	most int64 // most items along these axes; 0: as many as there is room for
	all  int64 // most items of the shape with this group; 0: as many as there is room for
}

// groups returns the groups of a shape of up to items items. share is of these items what
// short planes are put together to.
func (u Use) groups(dims []int64, items, share int64) []group {
	d := len(dims)
	first, plane, rest := []int{0}, axes(max(d-2, 1), d), axes(1, d)
	switch u {
	case Planes:
		g := []group{{axes: plane}}
		for i := plane[0] - 1; i >= 0; i-- {
			g = append(g, group{axes: []int{i}, all: max(items/share, 1)})
		}
		return g
	case Both:
		along, over := halves(dims[0], product(dims, plane), items)
		g := []group{{axes: first, most: along}, {axes: plane, most: over}}
		for i := plane[0] - 1; i > 0; i-- {
			g = append(g, group{axes: []int{i}})
		}
		return g
	case Cubes:
		return []group{{axes: axes(0, d)}}
	case Series:
	}
	return []group{{axes: first}, {axes: rest}}
}

// halves divides items among the length along an axis of n and the items of planes of p, so that n
// and p are each cut into about as many parts.
func halves(n, p, items int64) (along, over int64) {
	x := math.Sqrt(float64(items) * float64(n) / float64(p))
	along = min(max(int64(x), 1), n, items)
	over = min(max(items/along, 1), p)
	return min(max(items/over, along), n), over
}

// product returns the product of lengths, or the largest int64 if it is longer.
func product(dims []int64, axes []int) int64 {
	n := int64(1)
	for _, i := range axes {
		if n > math.MaxInt64/dims[i] {
			return math.MaxInt64
		}
		n *= dims[i]
	}
	return n
}

func axes(from, to int) []int {
	list := make([]int, 0, to-from)
	for i := from; i < to; i++ {
		list = append(list, i)
	}
	return list
}

// fill returns a shape of up to items items, filled by one group after the other. Lengths
// are multiples of least, or whole axes.
func fill(dims, least []int64, items int64, groups []group) []int64 {
	out := slices.Clone(least)
	room := items // how many times as long as least the shape may be
	for _, n := range least {
		room = max(room/n, 1)
	}
	for _, g := range groups {
		most := room
		if g.most > 0 {
			most = min(most, max(g.most/product(least, g.axes), 1))
		}
		if g.all > 0 {
			most = min(most, max(g.all/product(out, axes(0, len(out))), 1))
		}
		left := most
		order := slices.Clone(g.axes) // short axes first: what they do not need is for the others
		slices.SortStableFunc(order, func(i, k int) int { return int(dims[i] - dims[k]) })
		for k, i := range order {
			side := math.Pow(float64(left)*float64(product(least, order[k:])), 1/float64(len(order)-k))
			units := (dims[i]-1)/least[i] + 1
			take := min(max(int64(side*(1+1e-9))/least[i], 1), left)
			if len(order)-k == 1 {
				take = left
			}
			take = even(units, min(units, take))
			left = max(left/take, 1)
			room = max(room/take, 1)
			out[i] = min(take*least[i], dims[i])
		}
	}
	return out
}

// unpad shortens blocks until the padding of a chunk takes no more than its items.
func unpad(block, chunk []int64) {
	for {
		padded, items, worst, most := 1.0, 1.0, -1, 1.0
		for i, c := range chunk {
			p := float64((c-1)/block[i]+1) * float64(block[i])
			padded, items = padded*p, items*float64(c)
			if r := p / float64(c); r > most {
				worst, most = i, r
			}
		}
		if worst < 0 || padded <= 2*items {
			return
		}
		for block[worst]--; chunk[worst]%block[worst] != 0; {
			block[worst]--
		}
	}
}
