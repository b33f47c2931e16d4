package arraymeta

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"strings"

	"github.com/farread/farread/formats/dtype"
)

// An Order is in which way the values of an axis follow each other. If neither Up nor Down, they
// are in no order, as labels are; both, if it is not known yet: of one number.
type Order struct {
	Up, Down bool
	Repeats  bool // some are the same as the one before
}

// Order looks at all values. Texts, axes without items, and those with values that have no place (NaN, NaT) are in no
// order. One time alone goes up, for so does time.
func (a Axis) Order() Order {
	if a.n == 0 || a.isText() {
		return Order{}
	}
	if a.raw == nil {
		down := strings.HasPrefix(a.c.Step.String(), "-")
		return Order{Up: !down, Down: down}
	}
	if !a.placed(0) {
		return Order{}
	}
	o := Order{Up: true, Down: a.n > 1 || a.clock == nil}
	for i := int64(1); i < a.n; i++ {
		if !a.placed(i) {
			return Order{}
		}
		if o = o.with(a.compare(i-1, a, i)); !o.Up && !o.Down {
			return Order{}
		}
	}
	return o
}

// with is the order with one more value, of which step is how it compares to the one before: -1 if it is greater.
func (o Order) with(step int) Order {
	o.Up, o.Down, o.Repeats = o.Up && step <= 0, o.Down && step >= 0, o.Repeats || step == 0
	return o
}

// Continue returns an error that matches formats.ErrUnsupported and names the first value of more, of the same type, that
// would end the order o of the values of a: that goes back, has no place, or repeats one where none is
// repeated. What is in no order may go on in any way. It is enough if a has the last value of the axis.
func (a Axis) Continue(o Order, more Axis) error {
	if !o.Up && !o.Down || a.n == 0 {
		return nil
	}
	last, at := a, a.n-1
	for i := range more.n {
		if !more.placed(i) {
			return a.c.refuse("value %s, number %d of the %d to append, has no place among those that are there, which are in order", more.Text(i), i+1, more.n)
		}
		next := o.with(last.compare(at, more, i))
		if next.Repeats && !o.Repeats || !next.Up && !next.Down {
			why := "values before it go down"
			switch {
			case o.Up && o.Down:
				why = "none is there twice"
			case o.Up:
				why = "values before it go up"
			}
			return a.c.refuse("value %s, number %d of the %d to append, does not come behind %s: %s", more.Text(i), i+1, more.n, last.Text(at), why)
		}
		o, last, at = next, more, i
	}
	return nil
}

// placed reports whether item i has a place among others.
func (a Axis) placed(i int64) bool {
	switch a.d.Kind() {
	case dtype.Float:
		return !math.IsNaN(a.value(i))
	case dtype.DateTime, dtype.Duration:
		return a.whole(i) != math.MinInt64
	default:
		return true
	}
}

// compare compares item i with item k of b, of the same type.
func (a Axis) compare(i int64, b Axis, k int64) int {
	switch x, y := a.item(i), b.item(k); {
	case !a.isWhole():
		return cmp.Compare(a.value(i), b.value(k))
	case a.d.Kind() == dtype.Uint: // of which some are beyond int64
		var p, q [8]byte
		copy(p[:], x)
		copy(q[:], y)
		return cmp.Compare(binary.LittleEndian.Uint64(p[:]), binary.LittleEndian.Uint64(q[:]))
	case bytes.Equal(x, y):
		return 0
	}
	return cmp.Compare(a.whole(i), b.whole(k))
}
