package zoomcache

import (
	"math"
	"math/big"
	"strconv"
)

// A Number is the exact value of a sample or field. The zero value is absent: a
// field that a summary does not have.
type Number struct {
	kind Kind
	bits uint64
	big  *big.Int
}

// signedNumber makes the number of a track of signed integers, floats or bignums.
func signedNumber(k Kind, v int64) Number {
	if k == Integer {
		return Number{kind: k, big: big.NewInt(v)}
	}
	return Number{kind: k, bits: uint64(v)}
}

func unsignedNumber(k Kind, v uint64) Number { return Number{kind: k, bits: v} }

func floatNumber(k Kind, v float64) Number { return Number{kind: k, bits: math.Float64bits(v)} }

// NewInt makes a number of k, a kind of signed integers.
func NewInt(k Kind, v int64) Number { return signedNumber(k, v) }

// NewUint makes a number of k, a kind of unsigned integers.
func NewUint(k Kind, v uint64) Number { return unsignedNumber(k, v) }

// NewFloat makes a number of kind F32 or F64.
func NewFloat(k Kind, v float64) Number { return floatNumber(k, v) }

// NewBig makes a number of kind Integer. v belongs to the number afterwards.
func NewBig(v *big.Int) Number { return Number{kind: Integer, big: v} }

// Kind is the type of the number, Unit if it is absent.
func (n Number) Kind() Kind { return n.kind }

// Present reports whether there is a number.
func (n Number) Present() bool { return n.kind != Unit }

// Float returns the nearest float64: an infinity beyond its range, 0 if the
// number is absent.
func (n Number) Float() float64 {
	switch {
	case n.kind.Float():
		return math.Float64frombits(n.bits)
	case n.kind == Integer && n.big != nil:
		return bigFloat(n.big)
	case n.kind.Unsigned():
		return float64(n.bits)
	default:
		return float64(int64(n.bits))
	}
}

// bigFloat rounds to nearest, ties to even, as a single conversion does.
func bigFloat(v *big.Int) float64 {
	f, _ := v.Float64()
	return f
}

// Int returns a signed integer, or false if the number is a float, absent, or
// too large.
func (n Number) Int() (int64, bool) {
	switch {
	case n.kind == Integer && n.big != nil:
		return n.big.Int64(), n.big.IsInt64()
	case n.kind.Signed():
		return int64(n.bits), true
	case n.kind.Unsigned():
		return int64(n.bits), n.bits <= math.MaxInt64
	default:
		return 0, false
	}
}

// Uint returns an integer that is not negative, or false if the number is a
// float, absent, negative or too large.
func (n Number) Uint() (uint64, bool) {
	switch {
	case n.kind == Integer && n.big != nil:
		return n.big.Uint64(), n.big.IsUint64()
	case n.kind.Unsigned():
		return n.bits, true
	default:
		v, ok := n.Int()
		return uint64(v), ok && v >= 0
	}
}

// Big returns an integer of any size as a new value, nil if the number is a
// float or absent.
func (n Number) Big() *big.Int {
	switch {
	case n.kind == Integer && n.big != nil:
		return new(big.Int).Set(n.big)
	case n.kind.Signed():
		return big.NewInt(int64(n.bits))
	case n.kind.Unsigned():
		return new(big.Int).SetUint64(n.bits)
	default:
		return nil
	}
}

// Equal compares kinds and values. All NaN are equal; 0 and -0 are not.
func (n Number) Equal(m Number) bool {
	if n.kind != m.kind {
		return false
	}
	if n.kind == Integer && n.big != nil && m.big != nil {
		return n.big.Cmp(m.big) == 0
	}
	return n.bits == m.bits || n.kind.Float() && math.IsNaN(n.Float()) && math.IsNaN(m.Float())
}

// String writes an integer in full and a float as the shortest decimal that
// reads back as the same float64; an absent number is empty.
func (n Number) String() string {
	switch {
	case !n.Present():
		return ""
	case n.kind.Float():
		return strconv.FormatFloat(n.Float(), 'g', -1, 64)
	case n.kind == Integer && n.big != nil:
		return n.big.String()
	case n.kind.Signed():
		return strconv.FormatInt(int64(n.bits), 10)
	case n.kind.Unsigned():
		return strconv.FormatUint(n.bits, 10)
	default:
		return n.Big().String()
	}
}
