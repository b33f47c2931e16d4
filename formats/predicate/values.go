package predicate

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/farread/farread/formats"
)

// A ValueKind says what a Value is.
type ValueKind byte

// What a Value is.
const (
	Null  ValueKind = iota // it is not there, too
	Bool                   // Whole is 0 or 1
	Whole                  // an integer that int64 holds
	Float                  // any other number
	Text
	List
	Object
)

// A Value is a value of a field of an item without a type, as JSON has them.
type Value struct {
	Kind  ValueKind
	Whole int64
	Float float64
	Text  []byte // valid as long as the item is
}

// Values is a parsed text about values. It is immutable and safe for concurrent use.
type Values struct {
	expr  *Expr
	paths [][]string
	root  *choice
}

// ParseValues reads a text about values: the text of Parse, but for what stands in single
// quotes, which is text here, with two quotes for one of it, and for the literal null. The
// error is an *Error.
//
// Numbers are compared with numbers, exactly, text with text by its bytes, and bools with
// bools. Of values of another kind only != is true, and what not makes of the others, as
// of NaN. null is only equal or not, and a field that is not there is null.
func ParseValues(text string) (*Values, error) {
	e, err := parse(text, true)
	if err != nil {
		return nil, err
	}
	v := &Values{expr: e}
	v.root, err = v.choose(e.root)
	return v, err
}

// String returns the text.
func (v *Values) String() string { return v.expr.text }

// Paths returns the names that lead to each field which the text is about. The caller must
// not change them.
func (v *Values) Paths() [][]string { return v.paths }

// Match reports whether the text is true of an item, by the values of the fields of Paths:
// slots[i] is the number of that of Paths()[i].
func (v *Values) Match(values []Value, slots []int) bool { return v.root.match(values, slots) }

// A choice is a node about values.
type choice struct {
	kind  kind
	kids  []*choice
	op    op
	lit   literal
	path  int // number of the path
	float bool
	f     float64 // of a number that is not whole, or beyond int64
	whole int64
}

func (v *Values) choose(n *node) (*choice, error) {
	c := &choice{kind: n.kind, op: n.op, lit: n.lit}
	for _, k := range n.kids {
		kid, err := v.choose(k)
		if err != nil {
			return nil, err
		}
		c.kids = append(c.kids, kid)
	}
	if n.kind != compare {
		return c, nil
	}
	if n.lit.kind == nothing && n.op != equal && n.op != notEqual {
		return nil, fail(v.expr.text, n.at, formats.ErrUnsupported, "null is neither less nor greater; want == or !=")
	}
	c.path = slices.IndexFunc(v.paths, func(p []string) bool { return slices.Equal(p, n.path) })
	if c.path < 0 {
		c.path = len(v.paths)
		v.paths = append(v.paths, n.path)
	}
	switch num := n.lit.num; {
	case n.lit.kind == truth:
		c.whole, _ = num.Int64()
	case n.lit.kind == decimal && num == nil:
		c.float, c.f = true, math.NaN()
	case num != nil:
		i, acc := num.Int64()
		if c.whole = i; acc != 0 || num.IsInf() || !num.IsInt() {
			c.float = true
			c.f, _ = num.Float64()
		}
	}
	return c, nil
}

func (c *choice) match(values []Value, slots []int) bool {
	switch c.kind {
	case and:
		for _, k := range c.kids {
			if !k.match(values, slots) {
				return false
			}
		}
		return true
	case or:
		for _, k := range c.kids {
			if k.match(values, slots) {
				return true
			}
		}
		return false
	case not:
		return !c.kids[0].match(values, slots)
	default:
		order, ok := c.order(&values[slots[c.path]])
		if !ok {
			return c.op == notEqual
		}
		return c.op.holds(order)
	}
}

// holds reports whether a comparison is true of two values in an order: negative if the
// first one is less.
func (o op) holds(order int) bool {
	switch o {
	case less:
		return order < 0
	case lessEqual:
		return order <= 0
	case greater:
		return order > 0
	case greaterEqual:
		return order >= 0
	case equal:
		return order == 0
	default:
		return order != 0
	}
}

// order compares a value with the literal. It is false if they are not comparable.
func (c *choice) order(v *Value) (int, bool) {
	switch c.lit.kind {
	case nothing:
		if v.Kind == Null {
			return 0, true
		}
		return 1, true
	case text:
		return strings.Compare(string(v.Text), c.lit.text), v.Kind == Text
	case truth:
		return cmp.Compare(v.Whole, c.whole), v.Kind == Bool
	default: // a number
	}
	switch {
	case v.Kind != Whole && v.Kind != Float || v.Float != v.Float || c.f != c.f:
		return 0, false
	case v.Kind == Whole && !c.float:
		return cmp.Compare(v.Whole, c.whole), true
	case v.Kind == Whole:
		return compareMixed(v.Whole, c.f), true
	case !c.float:
		return -compareMixed(c.whole, v.Float), true
	default:
		return cmp.Compare(v.Float, c.f), true
	}
}

// compareMixed compares an integer with a float that is not NaN, exactly.
func compareMixed(i int64, f float64) int {
	switch {
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := math.Floor(f)
	if c := cmp.Compare(i, int64(whole)); c != 0 || whole == f {
		return c
	}
	return -1 // the float has a fraction above the same integer
}

// CompareValues orders values: null, false, true, numbers, text by its bytes, lists,
// objects. Lists are equal, and so are objects; NaN is less than other numbers. Numbers
// are equal if they are the same number, whole or not.
func CompareValues(a, b *Value) int {
	rank := func(v *Value) int {
		if v.Kind == Float {
			return int(Whole)
		}
		return int(v.Kind)
	}
	if c := cmp.Compare(rank(a), rank(b)); c != 0 {
		return c
	}
	switch {
	case a.Kind == Text:
		return bytes.Compare(a.Text, b.Text)
	case a.Kind == Float && b.Kind == Float:
		return cmp.Compare(a.Float, b.Float)
	case a.Kind == Float:
		return -compareNumber(b.Whole, a.Float)
	case b.Kind == Float:
		return compareNumber(a.Whole, b.Float)
	default:
		return cmp.Compare(a.Whole, b.Whole)
	}
}

func compareNumber(i int64, f float64) int {
	if f != f {
		return 1
	}
	return compareMixed(i, f)
}
