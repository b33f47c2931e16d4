// Package ordered maps the numbers of arrays to keys: unsigned integers of as many
// bytes that order like the numbers. So code that compares numbers is written once
// for each size of an item, not for each type.
//
// Each kind of number has an interval of keys, its domain. Keys outside of it are
// NaN, or NaT. Minus zero has a key of its own, next below that of zero.
package ordered

import (
	"encoding/binary"

	"github.com/farread/farread/formats/dtype"
)

// A Kind is what the bits of an item mean.
type Kind byte

// The kinds of numbers.
const (
	Bool  Kind = iota + 1 // a byte; whatever is not 0 is true, and true has the key 1
	Uint                  // an unsigned integer
	Int                   // a signed integer
	Time                  // a signed integer; the least is NaT
	Float                 // an IEEE 754 float of 2, 4 or 8 bytes
)

// A Type is a type of numbers. The zero Type is not a type.
type Type struct {
	Kind      Kind
	Size      int // bytes of an item: 1, 2, 4 or 8
	BigEndian bool
}

// Of returns the Type of items of d. It is false if items of d have no order: complex
// numbers, text, raw bytes, structures.
func Of(d dtype.DType) (Type, bool) {
	t := Type{Size: d.ItemSize(), BigEndian: d.BigEndian()}
	switch d.Kind() {
	case dtype.Bool:
		t.Kind = Bool
	case dtype.Uint:
		t.Kind = Uint
	case dtype.Int:
		t.Kind = Int
	case dtype.DateTime, dtype.Duration:
		t.Kind = Time
	case dtype.Float:
		t.Kind = Float
	default:
	}
	if t.Kind == 0 || d.Opaque() {
		return Type{}, false
	}
	return t, true
}

// Sign is the key with the highest bit alone.
func (t Type) Sign() uint64 { return 1 << (8*t.Size - 1) }

// Mask is the greatest key that an item of this size can have.
func (t Type) Mask() uint64 { return ^uint64(0) >> (64 - 8*t.Size) }

// Domain returns the least and the greatest key of a number.
func (t Type) Domain() (lo, hi uint64) {
	switch t.Kind {
	case Bool:
		return 0, 1
	case Time:
		return 1, t.Mask()
	case Float:
		inf := t.infinity()
		return ^(inf | t.Sign()) & t.Mask(), inf | t.Sign()
	default:
		return 0, t.Mask()
	}
}

// infinity returns the bits of the positive infinity.
func (t Type) infinity() uint64 {
	switch t.Size {
	case 2:
		return 0x7c00
	case 4:
		return 0xff << 23
	default:
		return 0x7ff << 52
	}
}

// Has reports whether key is that of a number, and not of NaN.
func (t Type) Has(key uint64) bool {
	lo, hi := t.Domain()
	return lo <= key && key <= hi
}

// Key returns the key of an item, which has Size bytes. That of minus zero is that of
// zero.
func (t Type) Key(item []byte) uint64 { return t.KeyOf(t.Bits(item)) }

// KeyOf is Key of an item that Bits reads as x.
func (t Type) KeyOf(x uint64) uint64 { return t.Zero(t.ofBits(x)) }

// Bits reads an item, which has Size bytes, as an unsigned integer.
func (t Type) Bits(item []byte) uint64 {
	var word [8]byte
	if t.BigEndian {
		copy(word[8-t.Size:], item[:t.Size])
		return binary.BigEndian.Uint64(word[:])
	}
	copy(word[:], item[:t.Size])
	return binary.LittleEndian.Uint64(word[:])
}

// ofBits returns the key of an item that is x as an unsigned integer.
func (t Type) ofBits(x uint64) uint64 {
	switch t.Kind {
	case Bool:
		return min(x, 1)
	case Int, Time:
		return x ^ t.Sign()
	case Float:
		if x&t.Sign() != 0 {
			return ^x & t.Mask()
		}
		return x | t.Sign()
	default:
		return x
	}
}

// Zero returns the key of zero if key is that of minus zero, and else key.
func (t Type) Zero(key uint64) uint64 {
	if t.Kind == Float && key == t.Sign()-1 {
		return t.Sign()
	}
	return key
}

// Append appends the item that has the key.
func (t Type) Append(dst []byte, key uint64) []byte {
	x := t.toBits(key)
	if t.BigEndian {
		var word [8]byte
		binary.BigEndian.PutUint64(word[:], x)
		return append(dst, word[8-t.Size:]...)
	}
	for range t.Size {
		dst = append(dst, byte(x))
		x >>= 8
	}
	return dst
}

// toBits undoes ofBits.
func (t Type) toBits(key uint64) uint64 {
	switch {
	case t.Kind == Int || t.Kind == Time || t.Kind == Float && key&t.Sign() != 0:
		return key ^ t.Sign()
	case t.Kind == Float:
		return ^key & t.Mask()
	default:
		return key
	}
}
