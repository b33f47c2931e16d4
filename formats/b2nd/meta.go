package b2nd

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// Names of the metalayers of arrays.
const (
	layerName = "b2nd"
	oldLayer  = "caterva" // from before b2nd: the same without a type of items
)

// The msgpack markers of the parts of the metalayer. Parts are found by their
// position, and then the marker is checked: the marker of 16 entries is 0xa0,
// which in msgpack is not an array.
const (
	markParts   = 0x97 // an array of 7 parts
	markOld     = 0x95 // 5 parts, without a type
	markInt64   = 0xd3
	markInt32   = 0xd2
	markText    = 0xdb
	markArray   = 0x90 // plus the number of axes
	markArray16 = 0xdc // as a msgpack library writes 16 entries
	numPy       = 0    // the only known dtype_format
)

// A Meta is the content of the metalayer of an array. ChunkShape may exceed
// Shape: then the chunk is padded. ChunkShape[i] may be 0 if Shape[i] is 0. For a
// writer ChunkShape and BlockShape may be nil: the writer chooses them.
type Meta struct {
	Shape      []int64
	ChunkShape []int
	BlockShape []int

	// DType is the type of the items as NumPy spells it, for example "<f4" or
	// "[('a', '<i4')]". It is empty if the array names no type. DTypeFormat is 0
	// for NumPy's spelling. Other numbers mean that this package cannot parse
	// DType.
	DType       string
	DTypeFormat uint8
}

// clone returns m with copies of its slices.
func (m Meta) clone() Meta {
	m.Shape, m.ChunkShape, m.BlockShape = slices.Clone(m.Shape), slices.Clone(m.ChunkShape), slices.Clone(m.BlockShape)
	return m
}

// equal reports whether m and o say the same.
func (m Meta) equal(o Meta) bool {
	return slices.Equal(m.Shape, o.Shape) && slices.Equal(m.ChunkShape, o.ChunkShape) && slices.Equal(m.BlockShape, o.BlockShape) &&
		m.DType == o.DType && m.DTypeFormat == o.DTypeFormat
}

// ParseMeta parses a metalayer "b2nd", or "caterva", which lacks the type. It
// finds each part by its position and checks the part's marker. It ignores bytes
// after the last part, as C does. It checks each length by itself; it does not
// check that the lengths agree. Damage is formats.ErrCorrupt; another version, or
// more than MaxDims axes, is formats.ErrUnsupported.
func ParseMeta(b []byte) (Meta, error) {
	p := metaParser{b: b}
	head := p.take(3)
	if head == nil {
		return Meta{}, corrupt("metalayer", "%d bytes", len(b))
	}
	d := int(head[2])
	switch {
	case head[0] < markOld || head[0] > markParts:
		return Meta{}, corrupt("metalayer", "marker %#02x", head[0])
	case head[1] != 0:
		return Meta{}, fail("metalayer", formats.ErrUnsupported, "version %d", head[1])
	case d > MaxDims:
		return Meta{}, fail("metalayer", formats.ErrUnsupported, "%d axes, at most %d", d, MaxDims)
	}
	m := Meta{Shape: p.shape(d), ChunkShape: p.lengths(d, "chunk shape"), BlockShape: p.lengths(d, "block shape")}
	if p.err != nil {
		return Meta{}, p.err
	}
	if len(p.b) == 0 {
		return m, nil // a metalayer "caterva"
	}
	if head := p.take(6); head == nil || head[1] != markText {
		return Meta{}, corrupt("metalayer", "no text of a type")
	} else {
		m.DTypeFormat = head[0]
		n := int64(binary.BigEndian.Uint32(head[2:]))
		if n > int64(len(p.b)) {
			return Meta{}, corrupt("metalayer", "type of %d bytes in %d", n, len(p.b))
		}
		m.DType = string(p.take(int(n)))
	}
	if m.DTypeFormat == numPy && !utf8.ValidString(m.DType) {
		return Meta{}, corrupt("metalayer", "the type's text is no UTF-8")
	}
	return m, nil
}

// A metaParser cuts parts from the front of b.
type metaParser struct {
	b   []byte
	err error
}

func (p *metaParser) take(n int) []byte {
	if n > len(p.b) {
		return nil
	}
	part := p.b[:n]
	p.b = p.b[n:]
	return part
}

// array checks the marker of an array of d entries.
func (p *metaParser) array(d int, what string) bool {
	if p.err != nil {
		return false
	}
	m := p.take(1)
	switch {
	case m != nil && int(m[0]) == markArray+d:
		return true
	case m != nil && d > 15 && m[0] == markArray16:
		if n := p.take(2); n != nil && int(binary.BigEndian.Uint16(n)) == d {
			return true
		}
	}
	p.err = corrupt("metalayer", "no array of %d: %s", d, what)
	return false
}

func (p *metaParser) shape(d int) []int64 {
	if !p.array(d, "shape") {
		return nil
	}
	out := make([]int64, d)
	for i := range out {
		e := p.take(9)
		if e == nil || e[0] != markInt64 {
			p.err = corrupt("metalayer", "shape of axis %d", i)
			return nil
		}
		out[i] = int64(binary.BigEndian.Uint64(e[1:]))
		if out[i] < 0 {
			p.err = corrupt("metalayer", "axis %d has %d items", i, out[i])
		}
	}
	return out
}

func (p *metaParser) lengths(d int, what string) []int {
	if !p.array(d, what) {
		return nil
	}
	out := make([]int, d)
	for i := range out {
		e := p.take(5)
		if e == nil || e[0] != markInt32 {
			p.err = corrupt("metalayer", "%s of axis %d", what, i)
			return nil
		}
		out[i] = int(int32(binary.BigEndian.Uint32(e[1:])))
		if out[i] < 0 {
			p.err = corrupt("metalayer", "%s of axis %d is %d", what, i, out[i])
		}
	}
	return out
}

// AppendMeta appends the metalayer "b2nd" with the content m. The shapes of m must
// have the same number of axes, up to MaxDims, and the lengths of chunks and
// blocks must fit into int32. Else AppendMeta returns an error that matches no
// sentinel. The bytes are the same as c-blosc2 writes. Their number depends only
// on the type and the number of axes, so a resized array can overwrite its
// metalayer in place.
func AppendMeta(dst []byte, m Meta) ([]byte, error) {
	d := len(m.Shape)
	if d > MaxDims || len(m.ChunkShape) != d || len(m.BlockShape) != d {
		return dst, fmt.Errorf("%s: shapes of %d, %d and %d axes, at most %d", Format, d, len(m.ChunkShape), len(m.BlockShape), MaxDims)
	}
	if len(m.DType) > math.MaxInt32 {
		return dst, fmt.Errorf("%s: type of %d bytes", Format, len(m.DType))
	}
	dst = append(dst, markParts, 0, byte(d), markArray+byte(d))
	for _, n := range m.Shape {
		dst = append(dst, markInt64)
		dst = binary.BigEndian.AppendUint64(dst, uint64(n))
	}
	for _, shape := range [][]int{m.ChunkShape, m.BlockShape} {
		dst = append(dst, markArray+byte(d))
		for _, n := range shape {
			if n < 0 || n > math.MaxInt32 {
				return dst, fmt.Errorf("%s: a length of %d", Format, n)
			}
			dst = append(dst, markInt32)
			dst = binary.BigEndian.AppendUint32(dst, uint32(n))
		}
	}
	dst = append(dst, m.DTypeFormat, markText)
	dst = binary.BigEndian.AppendUint32(dst, uint32(len(m.DType)))
	return append(dst, m.DType...), nil
}

// itemType returns the type of the items. size is the frame's size of an item.
//
// C programs write "|u1" if they have no type, for items of any size. itemType
// makes such items opaque, and items of unknown types, too. Any other type whose
// size is not size is damage.
func (m Meta) itemType(size int) (dtype.DType, error) {
	if m.DType == "" || m.DTypeFormat != numPy {
		return dtype.Opaque(size), nil
	}
	t, err := dtype.Parse(m.DType)
	switch {
	case err != nil:
		return dtype.Opaque(size), nil //nolint:nilerr // a type that is not known here does not hide the bytes
	case t.ItemSize() == size:
		return t, nil
	case m.DType == "|u1":
		return dtype.Opaque(size), nil
	}
	return dtype.DType{}, corrupt("metalayer", "items of %d bytes with the type %s of %d", size, m.DType, t.ItemSize())
}
