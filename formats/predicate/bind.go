package predicate

import (
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/internal/ordered"
	"github.com/farread/farread/formats/stats"
)

// A Predicate is an Expr for items of one type. It is immutable and safe for concurrent
// use.
type Predicate struct {
	root    *test
	columns []int
	item    int // bytes of an item
}

// Columns returns the numbers of the columns that are compared, in ascending order and
// each once: their places in the list of stats.Columns for the type. The caller must not
// change them.
func (p *Predicate) Columns() []int { return p.columns }

// A test is a part of a bound expression: an and or an or of others, or the question
// whether an item of a column is in a set. not is in the sets.
type test struct {
	kind kind // compare, and, or
	kids []*test

	// Of compare.
	column int // place in Predicate.columns
	off    int // of the member in the item
	num    ordered.Type
	in     set
	look   set    // what mask looks for, by setLook
	flip   uint64 // all ones if mask is of what is not found
}

// Bind checks names and literals against the type of the items, of which there need not
// be any. The error is an *Error; see the package comment for what it matches.
func (e *Expr) Bind(d dtype.DType) (*Predicate, error) {
	all, err := stats.Columns(d, nil)
	if err != nil {
		return nil, err
	}
	b := binder{text: e.text, typ: d, all: all}
	root, err := b.bind(e.root, false)
	if err != nil {
		return nil, err
	}
	p := &Predicate{root: root, item: d.ItemSize()}
	b.leaves(root, func(t *test) { p.columns = append(p.columns, t.column) })
	slices.Sort(p.columns)
	p.columns = slices.Compact(p.columns)
	b.leaves(root, func(t *test) {
		t.column, _ = slices.BinarySearch(p.columns, t.column)
		t.setLook()
	})
	return p, nil
}

// A binder binds the nodes of a text.
type binder struct {
	text string
	typ  dtype.DType
	all  []stats.Column
}

// bind returns the test of a node, or its contrary.
func (b *binder) bind(n *node, contrary bool) (*test, error) {
	switch n.kind {
	case not:
		return b.bind(n.kids[0], !contrary)
	case compare:
		return b.compare(n, contrary)
	default:
	}
	t := &test{kind: n.kind}
	if contrary { // not (a and b) is not a or not b
		t.kind = map[kind]kind{and: or, or: and}[n.kind]
	}
	for _, kid := range n.kids {
		k, err := b.bind(kid, contrary)
		if err != nil {
			return nil, err
		}
		if k.kind == t.kind {
			for _, k := range k.kids {
				t.take(k)
			}
		} else {
			t.take(k)
		}
	}
	if len(t.kids) == 1 {
		return t.kids[0], nil
	}
	return t, nil
}

// take adds a test to an and or an or. Two tests of one column become one.
func (t *test) take(k *test) {
	for _, has := range t.kids {
		if k.kind == compare && has.kind == compare && has.column == k.column {
			if t.kind == and {
				has.in = has.in.intersect(k.in)
			} else {
				has.in = has.in.union(k.in, universe(k.num))
			}
			return
		}
	}
	t.kids = append(t.kids, k)
}

// compare returns the test of a comparison, or its contrary.
func (b *binder) compare(n *node, contrary bool) (*test, error) {
	f, err := b.member(n)
	if err != nil {
		return nil, err
	}
	t := &test{off: f.Off}
	var ok bool
	if t.num, ok = ordered.Of(f.Type); !ok || f.Shape != nil {
		what := "items of type " + f.Type.String()
		if f.Shape != nil {
			what = "sub-arrays"
		}
		return nil, fail(b.text, n.at, formats.ErrUnsupported, "%s are not compared", what)
	}
	at, err := b.place(n, f.Type, t.num)
	if err != nil {
		return nil, err
	}
	t.in = n.op.keys(t.num, at)
	if contrary {
		t.in = t.in.complement(universe(t.num))
	}
	t.column = slices.IndexFunc(b.all, func(c stats.Column) bool {
		return c.Offset() == f.Off && c.Name() == f.Name && c.Type().Equal(f.Type)
	})
	return t, nil
}

// member finds what a comparison names. The Name of the result is that of the column, and
// Off counts from the start of the item.
func (b *binder) member(n *node) (dtype.Field, error) {
	at := dtype.Field{Type: b.typ}
	if len(n.path) == 1 && n.path[0] == "v" && b.typ.Kind() != dtype.Struct {
		return at, nil
	}
	for i, name := range n.path {
		if at.Type.Kind() != dtype.Struct || at.Shape != nil {
			return at, fail(b.text, n.at, formats.ErrNoEntry, "%s has no member %q%s", b.whole(n, i), name, b.hint(i))
		}
		f, ok := at.Type.Field(name)
		if !ok {
			return at, fail(b.text, n.at, formats.ErrNoEntry, "%s has no member %q, but %s", b.whole(n, i), name, members(at.Type))
		}
		f.Off += at.Off
		if i > 0 {
			f.Name = at.Name + "." + f.Name
		}
		at = f
	}
	if at.Type.Kind() == dtype.Struct {
		return at, fail(b.text, n.at, formats.ErrUnsupported, "%s has members: name one of %s", b.whole(n, len(n.path)), members(at.Type))
	}
	return at, nil
}

// whole names what the first i names of a comparison lead to.
func (b *binder) whole(n *node, i int) string {
	if i == 0 {
		return "an item"
	}
	var names []string
	for _, name := range n.path[:i] {
		names = append(names, spelt(name))
	}
	return strings.Join(names, ".")
}

// spelt returns a name as a text has it: in double quotes if it is more than a word.
func spelt(name string) string {
	if name != "" && wordLen(name) == len(name) {
		return name
	}
	return strconv.Quote(name)
}

// hint says how an item without members is named.
func (b *binder) hint(i int) string {
	if i == 0 {
		return "; its name is v"
	}
	return ""
}

// members lists some names of a type's members.
func members(d dtype.DType) string {
	var list []string
	for _, f := range d.Fields() {
		if len(list) == 10 {
			list = append(list, "…")
			break
		}
		list = append(list, spelt(f.Name))
	}
	return strings.Join(list, ", ")
}

// place finds the literal of a comparison among the numbers of type d.
func (b *binder) place(n *node, d dtype.DType, num ordered.Type) (place, error) {
	wrong := func(want string) (place, error) {
		return place{}, fail(b.text, n.at, formats.ErrUnsupported, "items of type %s are compared with %s", d, want)
	}
	unit, count := d.Unit()
	isTime := n.lit.kind == moment || n.lit.kind == noMoment
	switch {
	case d.Kind() == dtype.DateTime && unit == "":
		return place{}, fail(b.text, n.at, formats.ErrUnsupported, "times without a unit are not compared")
	case d.Kind() == dtype.DateTime && !isTime:
		return wrong("times in single quotes")
	case d.Kind() == dtype.DateTime || d.Kind() == dtype.Duration && n.lit.kind == noMoment:
		return placeMoment(num, unit, count, n.lit), nil
	case isTime:
		return wrong("numbers")
	case n.lit.kind == truth && d.Kind() != dtype.Bool:
		return wrong("numbers, not with true or false")
	}
	p, err := placeNumber(num, d, n.lit)
	if err != nil {
		return p, fail(b.text, n.at, err, "items of type %s", d)
	}
	return p, nil
}

// leaves calls f for each comparison of a test.
func (b *binder) leaves(t *test, f func(*test)) {
	if t.kind == compare {
		f(t)
	}
	for _, k := range t.kids {
		b.leaves(k, f)
	}
}
