// Package stats sums up items of arrays: the least and the greatest number, how many
// items are NaN, and how many are equal to the fill value. Such a [Stat] of each chunk
// or block lets a reader skip those that cannot have what it looks for, and answers
// some questions without any chunk. [AppendPage] and [ParsePage] keep Stats as pages of
// an index.
//
// A structured item has a Stat for each of its members ([Columns]). Text, raw bytes,
// long doubles, structures as a whole and members that are sub-arrays have none.
//
// All numbers of a Stat that this package computes are exact. A Stat that is kept with
// data that changes may become wrong in one way only: its extremes may be too wide. NaN
// never counts in an extreme; NaT counts as NaN; minus zero is zero; integers of 64 bits
// are compared as such.
//
// The package does no I/O. Its functions may be called concurrently.
package stats

import (
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/internal/ordered"
)

// Format is formats.Error.Format in errors of this package.
const Format = "stats"

func fail(part string, cause error, text string, args ...any) error {
	return &formats.Error{Format: Format, Part: part, Off: -1, Err: fmt.Errorf("%s: %w", fmt.Sprintf(text, args...), cause)}
}

// A Stat sums up a run of items of a column. The zero Stat is that of no items.
type Stat struct {
	Items int64 // number of items
	NaN   int64 // how many of them are NaN or NaT, or complex with a part that is NaN
	Fill  int64 // how many are equal to the fill value
	// Min and Max are keys: unsigned integers that order like the numbers of the
	// column. Column.Append turns them into items. They are 0 without a meaning if
	// Ranged is false.
	Min, Max uint64
	// Ranged is set if there is an item that is not NaN, and numbers of the column
	// have an order, which complex numbers have not.
	Ranged bool
}

// Merge returns the Stat of the items of s and t together. Both are of the same
// column.
func (s Stat) Merge(t Stat) Stat {
	switch {
	case !t.Ranged:
	case !s.Ranged:
		s.Min, s.Max, s.Ranged = t.Min, t.Max, true
	default:
		s.Min, s.Max = min(s.Min, t.Min), max(s.Max, t.Max)
	}
	s.Items += t.Items
	s.NaN += t.NaN
	s.Fill += t.Fill
	return s
}

// A Column is what has Stats: the items of an array, or one member of structured ones.
// It is immutable and safe for concurrent use.
type Column struct {
	name   string
	typ    dtype.DType
	off    int // of the member in the item
	stride int // size of the item

	num      ordered.Type // of a complex number, of a part
	parts    int          // 2 if complex, else 1
	fill     [2]uint64    // bits of the fill value
	fillMask [2]uint64    // bits of an item that count in the comparison with fill: not the sign of zero
	fillNaN  bool         // the fill value is NaN
}

// Columns returns the columns of items of type d, in the order of the members: one
// named "" if d is a number, else one for each member that is a number and no
// sub-array. The members of a member follow in its place, their names after its name
// and a dot. There are none if nothing has Stats. fill is an item of d, the fill value,
// or nil for zeros; an error that matches formats.ErrUnsupported says that it has not
// the size of an item.
//
// Names of members may have dots of their own, so two columns may have one name. The
// number of a column, its place in the list, is what tells columns apart.
func Columns(d dtype.DType, fill []byte) ([]Column, error) {
	if fill != nil && len(fill) != d.ItemSize() {
		return nil, fail("fill value", formats.ErrUnsupported, "%d bytes, items of %s have %d", len(fill), d, d.ItemSize())
	}
	return appendColumns(nil, d, "", 0, d.ItemSize(), fill), nil
}

func appendColumns(dst []Column, d dtype.DType, name string, off, stride int, fill []byte) []Column {
	for _, f := range d.Fields() {
		if f.Shape != nil {
			continue
		}
		full := f.Name
		if name != "" {
			full = name + "." + f.Name
		}
		dst = appendColumns(dst, f.Type, full, off+f.Off, stride, fill)
	}
	c := Column{name: name, typ: d, off: off, stride: stride, parts: 1}
	var ok bool
	switch {
	case d.Kind() == dtype.Complex && !d.Opaque():
		c.parts = 2
		c.num = ordered.Type{Kind: ordered.Float, Size: d.ItemSize() / 2, BigEndian: d.BigEndian()}
	default:
		if c.num, ok = ordered.Of(d); !ok {
			return dst
		}
	}
	c.setFill(fill)
	return append(dst, c)
}

// setFill takes the fill value out of an item, which is nil for zeros.
func (c *Column) setFill(item []byte) {
	for k := range c.parts {
		c.fillMask[k] = c.num.Mask()
		var x uint64
		if item != nil {
			x = c.num.Bits(item[c.off+k*c.num.Size:])
		}
		key := c.num.KeyOf(x)
		c.fillNaN = c.fillNaN || !c.num.Has(key)
		if c.num.Kind == ordered.Float && key == c.num.Sign() {
			x = 0
			c.fillMask[k] ^= c.num.Sign()
		}
		c.fill[k] = x
	}
	if c.num.Kind == ordered.Bool {
		c.fill[0] = min(c.fill[0], 1)
	}
}

// Name is the name of the member, with those of the structures that it is in before
// it: "in.temp". It is "" if the column is the items themselves.
func (c Column) Name() string { return c.name }

// Type is the type of the column's numbers.
func (c Column) Type() dtype.DType { return c.typ }

// Offset is where the member begins in an item of the array.
func (c Column) Offset() int { return c.off }

// Ordered reports whether Stats of the column have extremes. They have unless its
// numbers are complex.
func (c Column) Ordered() bool { return c.parts == 1 }

// Append appends the number that has a key, Stat.Min or Stat.Max, as an item of
// Type.
func (c Column) Append(dst []byte, key uint64) []byte { return c.num.Append(dst, key) }

// AppendNone appends an item of Type that is no number: NaN or NaT, or 0 if the type has
// none.
func (c Column) AppendNone(dst []byte) []byte {
	for _, key := range []uint64{c.num.Mask(), 0} {
		if !c.num.Has(key) {
			return c.num.Append(dst, key)
		}
	}
	return append(dst, make([]byte, c.typ.ItemSize())...)
}

// ExtremesJSON returns the least and the greatest number of a Stat as JSON, as a slice
// has the numbers, or nil twice if the Stat is not Ranged.
func (c Column) ExtremesJSON(s *Stat) (least, most []byte) {
	if !s.Ranged {
		return nil, nil
	}
	return c.typ.AppendJSON(nil, c.Append(nil, s.Min)), c.typ.AppendJSON(nil, c.Append(nil, s.Max))
}

// Key returns the key of a number, given as an item of Type, which the column is
// Ordered by. It is false for NaN.
func (c Column) Key(item []byte) (key uint64, ok bool) {
	key = c.num.Key(item)
	return key, c.parts == 1 && c.num.Has(key)
}
