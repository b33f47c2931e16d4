package arraymeta

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"strconv"

	"github.com/farread/farread/formats/dtype"
)

// NewCoord makes the shortest coordinate of values of type d: a regular axis if there are three or
// more and it gives each of them again, bit for bit, else the values. ok is false if they are too long for that, or of
// another type than coordinates have: then they are an array of their own.
func NewCoord(dim string, d dtype.DType, values []byte) (c Coord, ok bool) {
	d, values = little(d, values)
	c = Coord{Dim: dim, DType: d.String()}
	if _, err := c.Type(); err != nil || len(values)%d.ItemSize() != 0 {
		return Coord{}, false
	}
	if r, ok := c.regular(d, values); ok {
		return r, true
	}
	if len(values) > MaxValues {
		return Coord{}, false
	}
	c.Values = append([]byte{}, values...)
	return c, true
}

// little returns values with their least significant byte first.
func little(d dtype.DType, values []byte) (dtype.DType, []byte) {
	if !d.BigEndian() {
		return d, values
	}
	to, err := dtype.Parse("<" + string(d.AppendPlain(nil)[1:]))
	if err != nil {
		return d, values
	}
	out := make([]byte, len(values))
	if d.Convert(out, to, values) != nil {
		return d, values
	}
	return to, out
}

// minRegular is how many values make a rule: two of them have one step alone, which nothing confirms, and an
// axis that grows would go on by it.
const minRegular = 3

// regular returns c as a regular axis, if there is one of at least minRegular values.
func (c Coord) regular(d dtype.DType, values []byte) (Coord, bool) {
	size := d.ItemSize()
	n := int64(len(values) / size)
	if n < minRegular {
		return c, false
	}
	try := func() bool {
		if c.checkRegular(d, n) != nil {
			return false
		}
		got := make([]byte, size)
		for i := range n {
			if c.At(i, got); string(got) != string(values[int(i)*size:][:size]) {
				return false
			}
		}
		return true
	}
	switch d.Kind() {
	case dtype.Text, dtype.Bytes:
		return c, false
	case dtype.Float:
		first, _ := d.Float(values)
		second, _ := d.Float(values[size:])
		last, _ := d.Float(values[len(values)-size:])
		for _, step := range []float64{second - first, (last - first) / float64(n-1), round(second - first), round((last - first) / float64(n-1))} {
			c.Start, c.Step = number(first), number(step)
			if try() {
				return c, true
			}
		}
		return c, false
	default:
	}
	first, ok := whole(d, values)
	second, ok2 := whole(d, values[size:])
	if !ok || !ok2 {
		return c, false
	}
	step := second - first
	if (step > 0) != (second > first) {
		return c, false // beyond int64
	}
	c.Start, c.Step = json.Number(strconv.FormatInt(first, 10)), json.Number(strconv.FormatInt(step, 10))
	return c, try()
}

// round drops what float32 and decimal fractions leave behind a step such as 0.1.
func round(f float64) float64 {
	text := strconv.FormatFloat(f, 'g', 6, 64)
	f, _ = strconv.ParseFloat(text, 64)
	return f
}

func number(f float64) json.Number { return json.Number(strconv.FormatFloat(f, 'g', -1, 64)) }

// whole returns an integer or a time; false beyond int64.
func whole(d dtype.DType, p []byte) (int64, bool) {
	switch d.Kind() {
	case dtype.Int, dtype.Uint, dtype.DateTime, dtype.Duration:
	default:
		return 0, false
	}
	var b [8]byte
	n := copy(b[:], p[:d.ItemSize()])
	v := binary.LittleEndian.Uint64(b[:])
	if d.Kind() == dtype.Uint {
		return int64(v), v <= math.MaxInt64
	}
	shift := 64 - 8*n
	return int64(v<<shift) >> shift, true
}

// Len returns the number of values, or -1 if only the axis tells it: for a regular axis,
// and for an array beside.
func (c Coord) Len() int64 {
	d, err := c.Type()
	if err != nil || c.Values == nil {
		return -1
	}
	return int64(len(c.Values) / d.ItemSize())
}

// Fits reports whether an axis of n items may have the coordinate. An axis that another
// program made longer may have more items than there are values.
func (c Coord) Fits(n int64) bool { return c.Len() < 0 || c.Len() == n }

// Inline reports whether the values are in the coordinate itself.
func (c Coord) Inline() bool { return c.Array == "" }

// At writes value i into p, which is as long as an item of Type. The coordinate must be
// inline and have gone through Append or Decode with an axis of more than i items.
func (c Coord) At(i int64, p []byte) {
	if c.Values != nil {
		copy(p, c.Values[int(i)*len(p):])
		return
	}
	d, err := c.Type()
	if err != nil {
		return
	}
	c.put(d, i, p)
}

// put writes value i of a regular axis of type d.
func (c Coord) put(d dtype.DType, i int64, p []byte) {
	if d.Kind() == dtype.Float {
		start, _ := c.Start.Float64()
		step, _ := c.Step.Float64()
		putFloat(p, start+float64(float64(i)*step)) // the conversion keeps machines from fusing the two
		return
	}
	start, _ := c.Start.Int64()
	step, _ := c.Step.Int64()
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], uint64(start+i*step))
	copy(p, b[:])
}

func putFloat(p []byte, f float64) {
	switch len(p) {
	case 2:
		binary.LittleEndian.PutUint16(p, dtype.FloatToHalf(float32(f)))
	case 4:
		binary.LittleEndian.PutUint32(p, math.Float32bits(float32(f)))
	case 8:
		binary.LittleEndian.PutUint64(p, math.Float64bits(f))
	}
}

// AppendValues appends the first n values, as Type stores them. The coordinate must be
// inline and fit an axis of n items.
func (c Coord) AppendValues(dst []byte, n int64) []byte {
	if c.Values != nil {
		return append(dst, c.Values...)
	}
	d, err := c.Type()
	if err != nil {
		return dst
	}
	item := make([]byte, d.ItemSize())
	for i := range n {
		c.put(d, i, item)
		dst = append(dst, item...)
	}
	return dst
}

// reach returns start + n*step, unless it is beyond int64.
func reach(start, step, n int64) (int64, bool) {
	neg := step < 0
	u := uint64(step)
	if neg {
		u = -u
	}
	hi, lo := bits.Mul64(u, uint64(n))
	if hi != 0 || lo > math.MaxInt64 {
		return 0, false
	}
	add := int64(lo)
	if neg {
		add = -add
	}
	sum := start + add
	return sum, (sum >= start) == (add >= 0)
}

// fits reports whether an item of d can hold v.
func fits(d dtype.DType, v int64) bool {
	width := 8 * d.ItemSize()
	if d.Kind() == dtype.Uint {
		return v >= 0 && (width >= 64 || v < 1<<width)
	}
	return width >= 64 || v >= -1<<(width-1) && v < 1<<(width-1)
}
