package arraymeta

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// Append appends the bytes of the layer. Equal values give equal bytes. If m cannot be
// written (names twice, coordinates of no dimension, attributes that are no JSON), or
// would be longer than MaxLen, it returns dst as it was, and an error that says what.
func (m Meta) Append(dst []byte) ([]byte, error) {
	if err := m.check(nil); err != nil {
		return dst, fmt.Errorf("array metadata: %w", err)
	}
	var b bytes.Buffer
	e := packer{Encoder: msgpack.NewEncoder(&b)}
	e.UseCompactInts(true)
	e.meta(m)
	if e.err != nil {
		return dst, fmt.Errorf("array metadata: %w", e.err)
	}
	if b.Len() > MaxLen {
		return dst, fmt.Errorf("array metadata of %d bytes, at most %d: %w", b.Len(), MaxLen, formats.ErrTooLarge)
	}
	return append(dst, b.Bytes()...), nil
}

// A packer writes msgpack and keeps its first error.
type packer struct {
	*msgpack.Encoder
	err   error
	items int
}

func (e *packer) do(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *packer) text(s string) { e.do(e.EncodeString(s)) }

// field is a key of a map and what writes its value.
type field struct {
	key   string
	is    bool // the map has it
	value func()
}

// fields writes a map of the fields that are there.
func (e *packer) fields(list ...field) {
	n := 0
	for _, f := range list {
		if f.is {
			n++
		}
	}
	e.do(e.EncodeMapLen(n))
	for _, f := range list {
		if f.is {
			e.text(f.key)
			f.value()
		}
	}
}

func (e *packer) meta(m Meta) {
	e.fields(
		field{"dims", m.Dims != nil, func() {
			e.do(e.EncodeArrayLen(len(m.Dims)))
			for _, d := range m.Dims {
				e.text(d)
			}
		}},
		field{"attrs", len(m.Attrs) > 0, func() { e.attrs(m.Attrs) }},
		field{"fill", m.Fill != nil, func() { e.json("fill value", m.Fill) }},
		field{"coords", len(m.Coords) > 0, func() {
			e.do(e.EncodeArrayLen(len(m.Coords)))
			for _, c := range m.Coords {
				e.coord(c)
			}
		}},
		field{"source", m.Source != "", func() { e.text(m.Source) }},
	)
}

func (e *packer) coord(c Coord) {
	d, err := c.Type()
	e.do(err)
	number := func(n json.Number) func() {
		return func() {
			if d.Kind() == dtype.Float {
				f, err := n.Float64()
				e.do(err)
				e.do(e.EncodeFloat64(f))
				return
			}
			i, err := n.Int64()
			e.do(err)
			e.do(e.EncodeInt(i))
		}
	}
	e.fields(
		field{"dim", true, func() { e.text(c.Dim) }},
		field{"dtype", true, func() { e.text(c.DType) }},
		field{"start", c.Start != "", number(c.Start)},
		field{"step", c.Step != "", number(c.Step)},
		field{"values", c.Values != nil, func() { e.do(e.EncodeBytes(c.Values)) }},
		field{"array", c.Array != "", func() { e.text(c.Array) }},
		field{"attrs", len(c.Attrs) > 0, func() { e.attrs(c.Attrs) }},
	)
}

func (e *packer) attrs(attrs map[string]json.RawMessage) {
	e.do(e.EncodeMapLen(len(attrs)))
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		e.key(name)
		e.json(strconv.Quote(clip(name)), attrs[name])
	}
}

func (e *packer) key(name string) {
	if err := checkText(name); err != nil {
		e.do(err)
	}
	e.text(name)
}

// json writes the value of a JSON text.
func (e *packer) json(what string, text json.RawMessage) {
	if e.err != nil {
		return
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	if err == nil && d.More() {
		err = fmt.Errorf("bytes behind the value")
	}
	if err == nil {
		err = e.value(v, 0)
	}
	if err != nil {
		e.do(fmt.Errorf("%s: %w", what, err))
	}
}

// value writes a value that package json has decoded.
func (e *packer) value(v any, depth int) error {
	if e.items++; e.items > maxItems || depth > maxDepth {
		return fmt.Errorf("more than %d values or %d levels: %w", maxItems, maxDepth, formats.ErrTooLarge)
	}
	switch v := v.(type) {
	case nil:
		e.do(e.EncodeNil())
	case bool:
		e.do(e.EncodeBool(v))
	case string:
		e.text(v)
	case json.Number:
		return e.number(v)
	case []any:
		e.do(e.EncodeArrayLen(len(v)))
		for _, x := range v {
			if err := e.value(x, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		e.do(e.EncodeMapLen(len(v)))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			e.text(k)
			if err := e.value(v[k], depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// number writes an integer of 64 bits as one, and any other number as a float64.
func (e *packer) number(n json.Number) error {
	if i, err := strconv.ParseInt(n.String(), 10, 64); err == nil && n != "-0" {
		e.do(e.EncodeInt(i))
		return nil
	}
	if u, err := strconv.ParseUint(n.String(), 10, 64); err == nil {
		e.do(e.EncodeUint(u))
		return nil
	}
	f, err := n.Float64()
	if err != nil {
		return fmt.Errorf("number %.40q", n)
	}
	e.do(e.EncodeFloat64(f))
	return nil
}

// BeyondInt returns the attributes with whole numbers of more than 64 bits, which become floats, in the order of their
// names: "n: 1180591620717411303424".
func BeyondInt(attrs map[string]json.RawMessage) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		d := json.NewDecoder(bytes.NewReader(attrs[name]))
		d.UseNumber()
		for t, err := d.Token(); err == nil; t, err = d.Token() {
			n, ok := t.(json.Number)
			if !ok || strings.ContainsAny(n.String(), ".eE") || isInt(n.String()) {
				continue
			}
			out = append(out, clip(name)+": "+clip(n.String()))
			break
		}
	}
	return out
}

// isInt reports whether a whole number has 64 bits, with a sign or without.
func isInt(n string) bool {
	_, err := strconv.ParseInt(n, 10, 64)
	_, err2 := strconv.ParseUint(n, 10, 64)
	return err == nil || err2 == nil
}
