package arraymeta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/farread/farread/formats"
)

// Decode reads the bytes of the layer of an array of a shape. Keys that it does not know
// are passed over. Memory is proportional to len(b). The number of Coord.Values may differ
// from the length of the axis, since other programs resize arrays: see Coord.Fits.
func Decode(b []byte, shape []int64, limits formats.Limits) (Meta, error) {
	if most := min(limits.WithDefaults().MaxMeta, MaxLen); int64(len(b)) > most {
		return Meta{}, &formats.Error{Format: "b2nd", Part: fmt.Sprintf("vlmetalayer %q", Layer), Off: -1,
			Err: fmt.Errorf("%d bytes, %d allowed: %w", len(b), most, formats.ErrTooLarge)}
	}
	r := bytes.NewReader(b)
	d := unpacker{Decoder: msgpack.NewDecoder(r), r: r}
	m := d.meta()
	if d.err == nil && r.Len() > 0 {
		d.fail(fmt.Errorf("%d bytes behind the value", r.Len()))
	}
	if d.err == nil {
		d.err = m.check(shape)
	}
	if d.err != nil {
		return Meta{}, corrupt(int64(len(b)-r.Len()), d.err)
	}
	return m, nil
}

// An unpacker reads msgpack and keeps its first error. After an error its methods return
// nothing. It asks the library for single values only: those of lists and maps
// are counted here.
type unpacker struct {
	*msgpack.Decoder
	r     *bytes.Reader
	err   error
	items int
}

func (d *unpacker) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// length checks a number of elements, each of which takes a byte at least.
func (d *unpacker) length(n int, err error) int {
	if err != nil || d.err != nil || n < 0 || n > d.r.Len() {
		d.fail(fmt.Errorf("no list or map of a length that fits"))
		return 0
	}
	return n
}

func (d *unpacker) text() string {
	if d.err != nil {
		return ""
	}
	c, err := d.PeekCode()
	if err != nil || !msgpcode.IsString(c) {
		d.fail(fmt.Errorf("no text"))
		return ""
	}
	s, err := d.DecodeString()
	if err == nil {
		err = checkText(s)
	}
	if err != nil {
		d.fail(err)
		return ""
	}
	return s
}

func checkText(s string) error {
	if !utf8.ValidString(s) {
		return fmt.Errorf("a text that is no UTF-8")
	}
	return nil
}

// fields reads a map and calls value for each key, which returns false for a key that it does not know.
func (d *unpacker) fields(value func(key string) bool) {
	if d.err != nil {
		return
	}
	n := d.length(d.DecodeMapLen())
	seen := map[string]bool{}
	for range n {
		key := d.text()
		if seen[key] {
			d.fail(fmt.Errorf("key %q twice", clip(key)))
		}
		seen[key] = true
		if d.err != nil {
			return
		}
		if !value(key) {
			d.json(nil, 0)
		}
	}
}

func (d *unpacker) list(each func()) {
	if d.err != nil {
		return
	}
	for range d.length(d.DecodeArrayLen()) {
		if each(); d.err != nil {
			return
		}
	}
}

func (d *unpacker) meta() (m Meta) {
	d.fields(func(key string) bool {
		switch key {
		case "dims":
			m.Dims = []string{}
			d.list(func() { m.Dims = append(m.Dims, d.text()) })
		case "attrs":
			m.Attrs = d.attrs()
		case "fill":
			m.Fill = d.json(nil, 0)
		case "coords":
			d.list(func() { m.Coords = append(m.Coords, d.coord()) })
		case "source":
			m.Source = d.text()
		default:
			return false
		}
		return true
	})
	return m
}

func (d *unpacker) coord() (c Coord) {
	d.fields(func(key string) bool {
		switch key {
		case "dim":
			c.Dim = d.text()
		case "dtype":
			c.DType = d.text()
		case "start":
			c.Start = json.Number(d.json(nil, 0))
		case "step":
			c.Step = json.Number(d.json(nil, 0))
		case "values":
			c.Values = d.bytes()
		case "array":
			c.Array = d.text()
		case "attrs":
			c.Attrs = d.attrs()
		default:
			return false
		}
		return true
	})
	c.Start, c.Step = plain(c.Start), plain(c.Step)
	return c
}

// plain returns the usual spelling of a number that was read as JSON. What is no number
// stays, for check to find.
func plain(n json.Number) json.Number {
	if _, err := n.Int64(); err == nil {
		return n
	}
	if f, err := n.Float64(); err == nil {
		return number(f)
	}
	return n
}

func (d *unpacker) bytes() []byte {
	c, err := d.PeekCode()
	if err != nil || !msgpcode.IsBin(c) {
		d.fail(fmt.Errorf("no bytes"))
		return nil
	}
	p, err := d.DecodeBytes()
	if err != nil {
		d.fail(err)
		return nil
	}
	return append([]byte{}, p...)
}

func (d *unpacker) attrs() map[string]json.RawMessage {
	attrs := map[string]json.RawMessage{}
	d.fields(func(key string) bool {
		attrs[key] = d.json(nil, 0)
		return true
	})
	return attrs
}

// json appends one value as JSON. Floats keep a point or an exponent, so that they stay
// floats; NaN and infinities are null, as JSON has none.
func (d *unpacker) json(dst []byte, depth int) []byte {
	if d.err != nil {
		return nil
	}
	if d.items++; d.items > maxItems || depth > maxDepth {
		d.fail(fmt.Errorf("more than %d values or %d levels", maxItems, maxDepth))
		return nil
	}
	c, err := d.PeekCode()
	if err != nil {
		d.fail(err)
		return nil
	}
	switch {
	case c == msgpcode.Nil:
		d.fail2(d.DecodeNil())
		return append(dst, "null"...)
	case c == msgpcode.True, c == msgpcode.False:
		v, err := d.DecodeBool()
		d.fail2(err)
		return strconv.AppendBool(dst, v)
	case msgpcode.IsString(c):
		text, err := json.Marshal(d.text())
		d.fail2(err)
		return append(dst, text...)
	case c == msgpcode.Float, c == msgpcode.Double:
		v, err := d.DecodeFloat64()
		d.fail2(err)
		return appendFloat(dst, v)
	case c == msgpcode.Uint64:
		v, err := d.DecodeUint64()
		d.fail2(err)
		return strconv.AppendUint(dst, v, 10)
	case msgpcode.IsFixedNum(c), c >= msgpcode.Uint8 && c <= msgpcode.Int64:
		v, err := d.DecodeInt64()
		d.fail2(err)
		return strconv.AppendInt(dst, v, 10)
	case msgpcode.IsFixedArray(c), c == msgpcode.Array16, c == msgpcode.Array32:
		return d.jsonList(dst, depth)
	case msgpcode.IsFixedMap(c), c == msgpcode.Map16, c == msgpcode.Map32:
		return d.jsonMap(dst, depth)
	}
	d.fail(fmt.Errorf("msgpack marker %#x", c))
	return nil
}

func (d *unpacker) fail2(err error) {
	if err != nil {
		d.fail(err)
	}
}

func (d *unpacker) jsonList(dst []byte, depth int) []byte {
	dst, first := append(dst, '['), true
	d.list(func() {
		if !first {
			dst = append(dst, ',')
		}
		first, dst = false, d.json(dst, depth+1)
	})
	return append(dst, ']')
}

func (d *unpacker) jsonMap(dst []byte, depth int) []byte {
	dst, first := append(dst, '{'), true
	d.fields(func(key string) bool {
		if !first {
			dst = append(dst, ',')
		}
		text, err := json.Marshal(key)
		d.fail2(err)
		dst = append(append(dst, text...), ':')
		first, dst = false, d.json(dst, depth+1)
		return true
	})
	return append(dst, '}')
}

func appendFloat(dst []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(dst, "null"...)
	}
	at := len(dst)
	dst = strconv.AppendFloat(dst, v, 'g', -1, 64)
	if !bytes.ContainsAny(dst[at:], ".e") {
		dst = append(dst, ".0"...)
	}
	return dst
}
