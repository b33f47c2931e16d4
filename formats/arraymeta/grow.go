package arraymeta

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// Follow returns the values of more as they stand behind those of c, of the type of c: points in
// time in its unit and since its epoch, numbers exactly, but floats rounded to the type, text
// padded. If a value cannot be said so, or if it is not known what it would be since units or
// calendars differ, the error is formats.ErrUnsupported and names it. Where more has no units it
// has those of c.
func (c Coord) Follow(more Axis) ([]byte, error) {
	d, err := c.Type()
	if err != nil {
		return nil, fmt.Errorf("coordinate %q: %w: %w", c.Dim, err, formats.ErrUnsupported)
	}
	to := Axis{c: c, d: d, clock: clockOf(c, d)}
	sameUnits := true
	for _, name := range []string{"units", "calendar"} {
		a, b := textOf(c.Attrs[name]), textOf(more.c.Attrs[name])
		sameUnits = sameUnits && (a == b || b == "")
	}
	put := to.putNumber
	switch {
	case d.Equal(more.d) && sameUnits:
		return more.AppendValues(nil), nil
	case to.clock != nil && more.clock != nil:
		put = to.putTime
	case !sameUnits:
		return nil, c.refuse("its units are %q, those that are there %q", more.Units(), to.Units())
	case to.isText() && d.Kind() == more.d.Kind() && more.d.ItemSize() <= d.ItemSize():
		put = putText
	case to.isText() || more.isText() || d.Kind() == dtype.DateTime || d.Kind() == dtype.Duration || more.d.Kind() == dtype.DateTime || more.d.Kind() == dtype.Duration:
		return nil, c.refuse("its values are %s, those that are there %s", more.d, d)
	}
	size := d.ItemSize()
	out := make([]byte, int(more.n)*size)
	for i := range more.n {
		if !put(out[int(i)*size:][:size], more, i) {
			return nil, c.refuse("value %s does not fit those that are there, of %s", more.Text(i), to.words())
		}
	}
	return out, nil
}

func (c Coord) refuse(why string, a ...any) error {
	return fmt.Errorf("coordinate %q: %s: %w", clip(c.Dim), fmt.Sprintf(why, a...), formats.ErrUnsupported)
}

// words says what values are.
func (a Axis) words() string {
	if u := a.Units(); u != "" {
		return fmt.Sprintf("%s in %q", a.d, clip(u))
	}
	return a.d.String()
}

// AppendValues appends all values, as Type stores them.
func (a Axis) AppendValues(dst []byte) []byte {
	if a.raw != nil {
		return append(dst, a.raw...)
	}
	return a.c.AppendValues(dst, a.n)
}

// putNumber writes item i of more; false if it is another number then, but for rounding of floats.
func (a Axis) putNumber(p []byte, more Axis, i int64) bool {
	if a.d.Kind() == dtype.Float {
		v := more.value(i)
		putFloat(p, v)
		return math.IsInf(a.of(p), 0) == math.IsInf(v, 0)
	}
	var v int64
	if more.isWhole() {
		w, ok := whole(more.d, more.item(i))
		if !ok {
			return false
		}
		v = w
	} else {
		f := more.value(i)
		if f != math.Trunc(f) || math.Abs(f) >= 1<<62 {
			return false
		}
		v = int64(f)
	}
	if !fits(a.d, v) {
		return false
	}
	putWhole(p, v)
	return true
}

// of is a value of the axis as a number.
func (a Axis) of(p []byte) float64 {
	f, ok := a.d.Float(p)
	if !ok {
		return math.NaN()
	}
	return f
}

// putTime writes the time of item i of more; false if it lies between two values.
func (a Axis) putTime(p []byte, more Axis, i int64) bool {
	t, ok := more.time(i)
	if !ok {
		return false
	}
	v := a.clock.value(t)
	if a.isWhole() {
		if !v.IsInt() || !v.Num().IsInt64() || !fits(a.d, v.Num().Int64()) {
			return false
		}
		putWhole(p, v.Num().Int64())
		return true
	}
	f, _ := v.Float64()
	putFloat(p, f)
	digits := time.Microsecond // as time reads them
	if a.d.ItemSize() < 8 {
		digits = time.Second
	}
	back := a.of(p)
	if math.IsNaN(back) || math.IsInf(back, 0) {
		return false
	}
	again, ok := a.clock.at(new(big.Rat).SetFloat64(back), digits)
	return ok && again.Equal(t.Round(digits))
}

func putText(p []byte, more Axis, i int64) bool {
	copy(p, more.item(i))
	return true
}

func putWhole(p []byte, v int64) {
	for i := range p {
		p[i] = byte(v >> (8 * i))
	}
}

// Grow returns the coordinate of an axis whose n items the values follow, of the type of c: c
// itself if its regular axis goes on with them, else the shortest one of all of them, with the
// attributes of c. ok is false if they are too long for that, or if c is an array beside: then
// they are for an array of their own. c must fit n.
func (c Coord) Grow(n int64, values []byte) (out Coord, ok bool) {
	d, err := c.Type()
	if err != nil || !c.Inline() {
		return Coord{}, false
	}
	if c.Values == nil && c.goesOn(d, n, values) {
		return c, true
	}
	if n > maxGrown/int64(d.ItemSize()) {
		return Coord{}, false
	}
	out, ok = NewCoord(c.Dim, d, append(c.AppendValues(nil, n), values...))
	out.Attrs = c.Attrs
	return out, ok
}

// maxGrown bounds the bytes of values of a regular axis that become a list.
const maxGrown = 64 << 20

// GoesOn returns an error that matches formats.ErrUnsupported if c does not say where more items behind the n of its axis lie:
// it is no regular axis, or its values would not fit their type.
func (c Coord) GoesOn(n, more int64) error {
	d, err := c.Type()
	if err != nil || c.Values != nil || !c.Inline() {
		return c.refuse("it is a list of values")
	}
	if err := c.checkRegular(d, n+more); err != nil {
		return c.refuse("%v", err)
	}
	return nil
}

// goesOn reports whether the values are those of a regular axis from item n on.
func (c Coord) goesOn(d dtype.DType, n int64, values []byte) bool {
	size := d.ItemSize()
	more := int64(len(values) / size)
	if c.checkRegular(d, n+more) != nil {
		return false
	}
	item := make([]byte, size)
	for i := range more {
		if c.put(d, n+i, item); !bytes.Equal(item, values[int(i)*size:][:size]) {
			return false
		}
	}
	return true
}
