package arraymeta

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// Layer is the name of the vlmetalayer.
const Layer = "farread"

const (
	// MaxLen is the longest layer that is read or written.
	MaxLen = 4 << 20
	// MaxValues is the longest Coord.Values. Longer coordinates that are not regular are
	// arrays of their own, see Coord.Array.
	MaxValues = 64 << 10

	maxName  = 1 << 10 // bytes of a name
	maxDims  = 64      // axes; formats that hold the layer have fewer
	maxDepth = 32      // nesting of attributes
	maxItems = 1 << 16 // values and keys of attributes
)

// A Meta says what an array means. Each field may be empty. Slices and maps are the
// caller's; Append does not keep them, and Decode makes new ones.
type Meta struct {
	// Dims has one distinct name for each axis, or is nil.
	Dims []string
	// Attrs are attributes, any JSON. Integers beyond 64 bits become floats, and all
	// other numbers keep their value.
	Attrs map[string]json.RawMessage
	// Fill is the fill value as Zarr v3 writes it ("NaN", 0, true, ...), or nil.
	Fill json.RawMessage
	// Coords are index coordinates, at most one for a dimension.
	Coords []Coord
	// Source is the seal of the upload that a worker made the array of, in hexadecimal digits, or "".
	Source string
}

// A Coord says where the items along a dimension lie. It has Start and Step, or Values, or
// Array, and only one of them.
type Coord struct {
	Dim string
	// DType is the type of the values as NumPy spells it, little endian: integers,
	// floats, points in time, durations or text.
	DType string
	// Start and Step are the first value of a regular axis and the distance to the
	// next, which is not 0. Item i has the value Start + i*Step, of floats computed in
	// float64 and then rounded to DType. They are integers unless DType is of floats.
	Start, Step json.Number
	// Values are the values of a short axis, at most MaxValues bytes, as DType stores
	// them.
	Values []byte
	// Array is the name of an array beside this one, of the values along its only
	// axis. It is relative, with slashes, and stays in the folder.
	Array string
	// Attrs are attributes of the coordinate, such as units and calendar.
	Attrs map[string]json.RawMessage
}

// Empty reports whether m says nothing of what the array means; it may have a Source.
func (m Meta) Empty() bool {
	return m.Dims == nil && len(m.Attrs) == 0 && m.Fill == nil && len(m.Coords) == 0
}

// Coord returns the coordinate of a dimension.
func (m Meta) Coord(dim string) (Coord, bool) {
	for _, c := range m.Coords {
		if c.Dim == dim {
			return c, true
		}
	}
	return Coord{}, false
}

// check finds what Append and Decode refuse, besides faults of JSON and msgpack. If shape is not
// nil, it is the shape of the array.
func (m Meta) check(shape []int64) error {
	if shape != nil && m.Dims != nil && len(m.Dims) != len(shape) {
		return fmt.Errorf("%d dimensions of an array with %d axes", len(m.Dims), len(shape))
	}
	if len(m.Dims) > maxDims {
		return fmt.Errorf("%d dimensions, at most %d", len(m.Dims), maxDims)
	}
	for i, d := range m.Dims {
		if err := CheckName(d); err != nil {
			return fmt.Errorf("dimension %d: %w", i, err)
		}
		if slices.Contains(m.Dims[:i], d) {
			return fmt.Errorf("dimension %q twice", d)
		}
	}
	for i, c := range m.Coords {
		at := slices.Index(m.Dims, c.Dim)
		if at < 0 {
			return fmt.Errorf("coordinate of %q, which is no dimension", clip(c.Dim))
		}
		if slices.ContainsFunc(m.Coords[:i], func(o Coord) bool { return o.Dim == c.Dim }) {
			return fmt.Errorf("two coordinates of %q", c.Dim)
		}
		n := int64(-1)
		if shape != nil {
			n = shape[at]
		}
		if err := c.check(n); err != nil {
			return fmt.Errorf("coordinate %q: %w", c.Dim, err)
		}
	}
	if len(m.Source) > maxName || strings.Trim(m.Source, "0123456789abcdef") != "" {
		return fmt.Errorf("a source that is no hexadecimal number")
	}
	return nil
}

// check finds faults of a coordinate for an axis of n items; -1 is an unknown number.
func (c Coord) check(n int64) error {
	d, err := c.Type()
	if err != nil {
		return err
	}
	regular, forms := c.Start != "" || c.Step != "", 0
	for _, is := range []bool{regular, c.Values != nil, c.Array != ""} {
		if is {
			forms++
		}
	}
	switch {
	case forms != 1:
		return fmt.Errorf("want either start and step, values, or an array")
	case regular:
		return c.checkRegular(d, n)
	case c.Values != nil:
		if size := d.ItemSize(); len(c.Values) > MaxValues || len(c.Values)%size != 0 {
			return fmt.Errorf("%d bytes of values of %d bytes, at most %d", len(c.Values), size, MaxValues)
		}
		return nil
	}
	return checkPath(c.Array)
}

// Type returns the type of the values.
func (c Coord) Type() (dtype.DType, error) {
	d, err := dtype.Parse(c.DType)
	if err != nil {
		return d, err
	}
	switch d.Kind() {
	case dtype.Int, dtype.Uint, dtype.Float, dtype.DateTime, dtype.Duration, dtype.Text, dtype.Bytes:
	default:
		return d, fmt.Errorf("values of type %.40q", c.DType)
	}
	if d.Opaque() || d.BigEndian() || d.ItemSize() == 0 {
		return d, fmt.Errorf("values of type %.40q", c.DType)
	}
	return d, nil
}

func (c Coord) checkRegular(d dtype.DType, n int64) error {
	switch d.Kind() {
	case dtype.Text, dtype.Bytes:
		return fmt.Errorf("a regular axis of %s", d)
	case dtype.Float:
		start, err := c.Start.Float64()
		if err != nil {
			return fmt.Errorf("start %.40q", c.Start)
		}
		step, err := c.Step.Float64()
		if err != nil || step == 0 || math.IsNaN(start+step) || math.IsInf(start, 0) || math.IsInf(step, 0) {
			return fmt.Errorf("start %.40q, step %.40q", c.Start, c.Step)
		}
		return nil
	default:
	}
	start, err := c.Start.Int64()
	if err != nil {
		return fmt.Errorf("start %.40q", c.Start)
	}
	step, err := c.Step.Int64()
	if err != nil || step == 0 {
		return fmt.Errorf("step %.40q", c.Step)
	}
	if last, ok := reach(start, step, max(n, 1)-1); !ok || !fits(d, start) || !fits(d, last) {
		return fmt.Errorf("values beyond %s", d)
	}
	return nil
}

// CheckName refuses names, of dimensions for one, that cannot be shown or found again.
func CheckName(name string) error {
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return fmt.Errorf("name %q", clip(name))
	}
	return nil
}

// checkPath refuses names that lead out of the folder.
func checkPath(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || strings.Contains(part, `\`) {
			return fmt.Errorf("array %q is not beside", clip(name))
		}
	}
	return nil
}

func clip(text string) string { return text[:min(len(text), 80)] }

func corrupt(off int64, err error) error {
	return &formats.Error{Format: "b2nd", Part: fmt.Sprintf("vlmetalayer %q", Layer), Off: off, Err: fmt.Errorf("%w: %w", err, formats.ErrCorrupt)}
}
