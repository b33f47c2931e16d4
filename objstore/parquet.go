package objstore

import (
	"cmp"
	"encoding/binary"
	"math"
	"path"
	"slices"
	"strings"
)

// partsOf returns the column chunks of a parquet file by its last bytes, in order, as far as
// the name says that it is one and these hold its footer. Who reads such a file by ReadAt usually reads whole
// chunks, so a run that begins in one ends with it. It is a guess, like all that a pattern knows: nothing is wrong
// if the footer is.
func partsOf(key string, tail []byte, size int64) []Range {
	const end = 8 // the length of the footer, and the magic
	if x := strings.ToLower(path.Ext(key)); x != ".parquet" && x != ".pq" || len(tail) < end || string(tail[len(tail)-4:]) != "PAR1" {
		return nil
	}
	n := int64(binary.LittleEndian.Uint32(tail[len(tail)-end:]))
	if n > int64(len(tail)-end) {
		return nil
	}
	var out []Range
	t := compact{p: tail[int64(len(tail)-end)-n : len(tail)-end]}
	t.find(0, []int16{4, 1, 3}, func(meta map[int16]int64) { // row_groups, columns, meta_data
		length, off := meta[7], meta[9] // total_compressed_size, data_page_offset
		if dict := meta[11]; dict > 0 && dict < off {
			off = dict
		}
		if off > 0 && length > 0 && off < size && length <= size-off {
			out = append(out, Range{off, length})
		}
	})
	slices.SortFunc(out, func(a, b Range) int { return cmp.Compare(a.Off, b.Off) })
	return out
}

// compact reads a struct in Thrift's compact protocol. All reads of damaged bytes give zeros.
type compact struct{ p []byte }

// Types of fields and elements.
const (
	compactTrue, compactFalse       = 1, 2
	compactByte                     = 3
	compactInt16, compactInt64      = 4, 6
	compactDouble, compactBytes     = 7, 8
	compactList, compactSet         = 9, 10
	compactMap, compactStruct       = 11, 12
	compactDeep                     = 16 // most levels
	compactLongForm, compactElement = 0xf0, 0x0f
)

func (t *compact) byte() byte {
	if len(t.p) == 0 {
		return 0
	}
	b := t.p[0]
	t.p = t.p[1:]
	return b
}

func (t *compact) uint() int64 {
	v, n := binary.Uvarint(t.p)
	if n <= 0 || v > math.MaxInt64 {
		t.p = nil
		return 0
	}
	t.p = t.p[n:]
	return int64(v)
}

func (t *compact) int() int64 {
	v := t.uint()
	return v>>1 ^ -(v & 1)
}

func (t *compact) drop(n int64) {
	if n < 0 || n > int64(len(t.p)) {
		n = int64(len(t.p))
	}
	t.p = t.p[n:]
}

// field reads the head of a field behind that with the number id; typ is 0 behind the last one.
func (t *compact) field(id int16) (next int16, typ byte) {
	b := t.byte()
	if b>>4 != 0 {
		return id + int16(b>>4), b & compactElement
	}
	if b&compactElement == 0 {
		return 0, 0
	}
	return int16(t.int()), b & compactElement
}

// elements reads the head of a list.
func (t *compact) elements() (n int64, typ byte) {
	b := t.byte()
	if n = int64(b >> 4); b&compactLongForm == compactLongForm {
		n = t.uint()
	}
	return min(n, int64(len(t.p))), b & compactElement // each has a byte at least
}

// find calls fn with the integers of each struct that a path of field numbers leads to, through structs and lists
// of structs.
func (t *compact) find(deep int, way []int16, fn func(ints map[int16]int64)) {
	ints := map[int16]int64{}
	var id int16
	next, rest := int16(0), way
	if len(way) > 0 {
		next, rest = way[0], way[1:]
	}
	for {
		var typ byte
		if id, typ = t.field(id); typ == 0 {
			break
		}
		switch {
		case len(way) > 0 && id == next && typ == compactStruct:
			t.find(deep+1, rest, fn)
		case len(way) > 0 && id == next && typ == compactList:
			n, of := t.elements()
			for ; n > 0 && of == compactStruct && len(t.p) > 0; n-- {
				t.find(deep+1, rest, fn)
			}
		case len(way) == 0 && typ >= compactInt16 && typ <= compactInt64:
			ints[id] = t.int()
		default:
			t.skip(deep, typ, false)
		}
	}
	if len(way) == 0 {
		fn(ints)
	}
}

// skip passes over a value.
func (t *compact) skip(deep int, typ byte, element bool) {
	if deep > compactDeep {
		t.p = nil
		return
	}
	switch typ {
	case compactTrue, compactFalse:
		if element { // that of a field lies in its head
			t.drop(1)
		}
	case compactByte:
		t.drop(1)
	case compactDouble:
		t.drop(8)
	case compactBytes:
		t.drop(t.uint())
	case compactList, compactSet:
		for n, of := t.elements(); n > 0 && len(t.p) > 0; n-- {
			t.skip(deep+1, of, true)
		}
	case compactStruct:
		for id, of := t.field(0); of != 0; id, of = t.field(id) {
			t.skip(deep+1, of, false)
		}
	case compactMap: // parquet has none
		t.p = nil
	default:
		t.int()
	}
}
