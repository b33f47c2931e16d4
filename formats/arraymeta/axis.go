package arraymeta

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// An Axis is a coordinate with its values: what stands at each item of a dimension. It is
// immutable and safe for concurrent use. Methods that take an item want it below Len.
type Axis struct {
	c     Coord
	n     int64
	d     dtype.DType
	raw   []byte // values; nil: the axis is regular
	clock *clock // of points in time; nil: values are numbers or texts
}

// Axis returns the axis of n items of a coordinate that is inline. If the number of its
// values is another one, the error matches formats.ErrUnsupported.
func (c Coord) Axis(n int64) (Axis, error) {
	if !c.Inline() {
		return Axis{}, fmt.Errorf("coordinate %q is the array %q: %w", c.Dim, c.Array, formats.ErrUnsupported)
	}
	if !c.Fits(n) {
		return Axis{}, fmt.Errorf("coordinate %q has %d values, the axis %d: %w", c.Dim, c.Len(), n, formats.ErrUnsupported)
	}
	return c.axis(n, c.Values)
}

// AxisOf is Axis for a coordinate that is an array of its own: values are its items, as
// the type of d.
func (c Coord) AxisOf(n int64, d dtype.DType, values []byte) (Axis, error) {
	d, values = little(d, values)
	typed := c
	typed.DType = d.String()
	if int64(len(values)) != n*int64(max(d.ItemSize(), 1)) {
		return Axis{}, fmt.Errorf("coordinate %q has %d bytes of values for %d items: %w", c.Dim, len(values), n, formats.ErrUnsupported)
	}
	if values == nil {
		values = []byte{}
	}
	return typed.axis(n, values)
}

func (c Coord) axis(n int64, raw []byte) (Axis, error) {
	d, err := c.Type()
	if err != nil {
		return Axis{}, fmt.Errorf("coordinate %q: %w: %w", c.Dim, err, formats.ErrUnsupported)
	}
	return Axis{c: c, n: n, d: d, raw: raw, clock: clockOf(c, d)}, nil
}

// Len returns the number of items.
func (a Axis) Len() int64 { return a.n }

// Dim returns the name of the dimension.
func (a Axis) Dim() string { return a.c.Dim }

// Type returns the type of the values.
func (a Axis) Type() dtype.DType { return a.d }

// IsTime reports whether the values are points in time of a calendar that is known: of a
// type of points in time, or numbers with units such as "days since 2025-01-01".
func (a Axis) IsTime() bool { return a.clock != nil }

// Units returns the attribute units, "" if there is none.
func (a Axis) Units() string { return textOf(a.c.Attrs["units"]) }

// Regular reports whether values have the same distance by their definition, and so need
// no table.
func (a Axis) Regular() bool { return a.raw == nil }

func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// item returns the bytes of item i.
func (a Axis) item(i int64) []byte {
	size := a.d.ItemSize()
	if a.raw != nil {
		return a.raw[int(i)*size:][:size]
	}
	p := make([]byte, size)
	a.c.put(a.d, i, p)
	return p
}

// isWhole reports whether values are integers or counts of a unit.
func (a Axis) isWhole() bool {
	k := a.d.Kind()
	return k == dtype.Int || k == dtype.Uint || k == dtype.DateTime || k == dtype.Duration
}

func (a Axis) isText() bool { return a.d.Kind() == dtype.Text || a.d.Kind() == dtype.Bytes }

// value returns item i as a number: NaN for texts and for what is no time.
func (a Axis) value(i int64) float64 {
	if !a.isWhole() {
		f, ok := a.d.Float(a.item(i))
		if !ok {
			return math.NaN()
		}
		return f
	}
	return float64(a.whole(i))
}

// whole returns item i of an axis of integers; those beyond int64 become the greatest one.
func (a Axis) whole(i int64) int64 {
	v, ok := whole(a.d, a.item(i))
	if !ok {
		return math.MaxInt64
	}
	return v
}

// Number returns item i: of times the seconds since 1970, else its value. It is NaN for
// texts, and for items that are no number.
func (a Axis) Number(i int64) float64 {
	if a.clock == nil {
		return a.value(i)
	}
	t, ok := a.time(i)
	if !ok {
		return math.NaN()
	}
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9
}

// Text returns item i as people read and type it: 2025-03-01T12:00, 40.5.
func (a Axis) Text(i int64) string {
	switch {
	case a.isText():
		s, _ := a.d.Text(a.item(i))
		return s
	case a.clock != nil:
		if t, ok := a.time(i); ok {
			return timeText(t)
		}
		return "no time"
	case a.isWhole():
		return strconv.FormatInt(a.whole(i), 10)
	case a.d.ItemSize() < 8:
		return strconv.FormatFloat(a.value(i), 'g', -1, 32)
	}
	return strconv.FormatFloat(a.value(i), 'g', -1, 64)
}

// Step returns the distance of neighbours in words, if it is the same all along: "1 days", "0.5". It looks at up to
// 100,000 values.
func (a Axis) Step() string {
	if a.n < 2 || a.isText() || a.raw != nil && a.n > 100_000 {
		return ""
	}
	step := a.value(1) - a.value(0)
	if math.IsNaN(step) || math.IsInf(step, 0) {
		return ""
	}
	if a.raw != nil {
		for i := range a.n - 1 {
			if math.Abs(a.value(i+1)-a.value(i)-step) > 1e-5*math.Abs(step) {
				return ""
			}
		}
	} else if a.isWhole() {
		step, _ = a.c.Step.Float64()
	}
	if a.clock != nil {
		return a.clock.step(step)
	}
	return strconv.FormatFloat(round(step), 'g', -1, 64)
}

// time returns item i as a time in UTC; false for NaT, NaN and years beyond 1 to 9999.
func (a Axis) time(i int64) (time.Time, bool) {
	if a.isWhole() {
		v := a.whole(i)
		if v == math.MinInt64 && a.d.Kind() == dtype.DateTime {
			return time.Time{}, false
		}
		return a.clock.at(new(big.Rat).SetInt64(v), time.Nanosecond)
	}
	f := a.value(i)
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return time.Time{}, false
	}
	digits := time.Microsecond // what a float64 of days keeps
	if a.d.ItemSize() < 8 {
		digits = time.Second
	}
	return a.clock.at(new(big.Rat).SetFloat64(f), digits)
}

// timeText is ISO 8601, and as short as the time allows.
func timeText(t time.Time) string {
	switch {
	case t.Nanosecond() != 0:
		return strings.TrimRight(t.Format("2006-01-02T15:04:05.000000000"), "0")
	case t.Second() != 0:
		return t.Format("2006-01-02T15:04:05")
	case t.Hour() != 0 || t.Minute() != 0:
		return t.Format("2006-01-02T15:04")
	}
	return t.Format("2006-01-02")
}

// Months reports whether values count months or years, which have no length in seconds.
func (a Axis) Months() bool { return a.clock != nil && a.clock.months > 0 }

// JSON returns item i as a value for JSON: a text, or what Number returns, nil if that is no number.
func (a Axis) JSON(i int64) any {
	if a.isText() {
		return a.Text(i)
	}
	if f := a.Number(i); !math.IsNaN(f) && !math.IsInf(f, 0) {
		return f
	}
	return nil
}
