// Package dtype describes the items of arrays as NumPy does: it reads and writes the
// two texts that files hold (NumPy's str of a dtype in b2nd, its descr in .npy),
// turns items into JSON and CSV, and converts numbers of one type to another.
//
// Errors are *formats.Error with Format "dtype"; they wrap ErrCorrupt for text that
// is not a type, ErrUnsupported for types that are not handled (objects, for one),
// and ErrTooLarge for text and types beyond a limit of this package.
package dtype

import (
	"slices"
	"strconv"
)

// Kind is the class of a type. Its value is NumPy's letter, if there is one.
type Kind byte

// The kinds of types.
const (
	Bool     Kind = 'b'
	Int      Kind = 'i'
	Uint     Kind = 'u'
	Float    Kind = 'f' // 2, 4, 8 bytes; 12 and 16 are opaque
	Complex  Kind = 'c' // 8, 16 bytes; 24 and 32 are opaque
	Bytes    Kind = 'S' // padded with NUL
	Text     Kind = 'U' // UCS-4 code points, padded with NUL
	Raw      Kind = 'V' // bytes without a known meaning
	DateTime Kind = 'M' // int64 counts of a unit since 1970
	Duration Kind = 'm' // int64 counts of a unit
	Struct   Kind = '{' // fields; NumPy's letter is V, too
)

// A DType is the type of an item. The zero value is not a type. A DType is
// immutable and safe for concurrent use.
type DType struct {
	kind      Kind
	bigEndian bool
	size      int
	unit      string // DateTime, Duration: "" for the generic unit
	count     int    // units in one step, at least 1
	fields    []Field
	cells     int64 // number of values in an item, with values of no bytes; 0 means 1
}

// A Field is a member of a structured type.
type Field struct {
	Name  string
	Title string // a second name, mostly empty
	Off   int    // offset from the start of the item
	Type  DType
	Shape []int // shape of a sub-array in C order; nil for a single value
}

// Size is the number of bytes that the field takes, all items of its sub-array
// together.
func (f Field) Size() int { return f.Len() * f.Type.size }

// Len is the number of items of the field's sub-array, 1 if there is none.
func (f Field) Len() int {
	n := 1
	for _, k := range f.Shape {
		n *= k
	}
	return n
}

// Kind is the class of the type.
func (d DType) Kind() Kind { return d.kind }

// ItemSize is the number of bytes of an item.
func (d DType) ItemSize() int { return d.size }

// BigEndian reports whether numbers (for Text, code points) have their most
// significant byte first. It is false for types without an order.
func (d DType) BigEndian() bool { return d.bigEndian }

// Unit is the unit of a DateTime or Duration and how many units make one step:
// "ns", 1. The unit is empty for NumPy's generic one. Other kinds have "", 0.
func (d DType) Unit() (unit string, count int) { return d.unit, d.count }

// IsZero reports whether d is the zero value.
func (d DType) IsZero() bool { return d.kind == 0 }

// Opaque reports whether items are bytes without a meaning: Raw, and the long
// double types, whose layout depends on the machine that wrote them.
func (d DType) Opaque() bool {
	return d.kind == Raw || d.kind == Float && d.size > 8 || d.kind == Complex && d.size > 16
}

// Fields returns the members of a structured type in their order; nil for
// others. The caller must not change them.
func (d DType) Fields() []Field { return d.fields }

// Field looks a member of a structured type up by name or by title.
func (d DType) Field(name string) (Field, bool) {
	for _, f := range d.fields {
		if f.Name == name {
			return f, true
		}
	}
	for _, f := range d.fields {
		if f.Title != "" && f.Title == name {
			return f, true
		}
	}
	return Field{}, false
}

// Equal reports whether two types are the same, byte order, names, titles and
// offsets of members included.
func (d DType) Equal(o DType) bool {
	return d.kind == o.kind && d.bigEndian == o.bigEndian && d.size == o.size && d.unit == o.unit && d.count == o.count &&
		slices.EqualFunc(d.fields, o.fields, func(a, b Field) bool {
			return a.Name == b.Name && a.Title == b.Title && a.Off == b.Off && slices.Equal(a.Shape, b.Shape) && a.Type.Equal(b.Type)
		})
}

// Opaque is the type of items of n bytes of no known meaning, "|V<n>".
func Opaque(n int) DType { return DType{kind: Raw, size: n} }

// View returns as, a type to use for items of d instead of d. If as has not the
// size of d, the error matches ErrUnsupported.
func (d DType) View(as DType) (DType, error) {
	if d.size != as.size {
		return DType{}, fail(errSize, "%s has %d bytes, %s has %d", d, d.size, as, as.size)
	}
	return as, nil
}

// letter returns the byte order character of NumPy's dtype.str.
func (d DType) letter() byte {
	switch d.kind {
	case Bool, Bytes, Raw, Struct:
		return '|'
	case Int, Uint:
		if d.size == 1 {
			return '|'
		}
	default:
	}
	if d.bigEndian {
		return '>'
	}
	return '<'
}

// AppendPlain appends NumPy's dtype.str: "<f4", "|S5", "<M8[25s]". A structured
// type is written as raw bytes, "|V8".
func (d DType) AppendPlain(dst []byte) []byte {
	kind, n := byte(d.kind), d.size
	switch d.kind {
	case Text:
		n /= 4
	case Struct:
		kind = 'V'
	default:
	}
	dst = append(dst, d.letter(), kind)
	dst = strconv.AppendInt(dst, int64(n), 10)
	if d.unit == "" {
		return dst
	}
	dst = append(dst, '[')
	if d.count > 1 {
		dst = strconv.AppendInt(dst, int64(d.count), 10)
	}
	dst = append(dst, d.unit...)
	return append(dst, ']')
}
