package zarrface

import (
	"encoding/base64"
	"math"
	"strconv"

	"github.com/farread/farread/formats/dtype"
)

// A named is an object of a Zarr document with a name and a configuration.
type named struct {
	Name          string `json:"name"`
	Configuration any    `json:"configuration,omitempty"`
}

// A zarrType is a type of items as Zarr describes it.
type zarrType struct {
	data   any    // data_type
	fill   any    // fill_value, all of whose bytes are zero
	endian string // of the codec "bytes"; "" for types without an order
}

// maxFill is the longest item whose fill value is spelled out in the document. An item of
// the format may have 2 GiB.
const maxFill = 1 << 20

// typeOf returns the Zarr type of d. An error names what no client reads.
func typeOf(d dtype.DType) (zarrType, error) {
	n, bits := d.ItemSize(), strconv.Itoa(d.ItemSize()*8)
	t := zarrType{fill: 0, endian: order(d)}
	if d.Opaque() {
		return opaque(n)
	}
	switch d.Kind() {
	case dtype.Bool:
		t.data, t.fill = "bool", false
	case dtype.Int:
		t.data = "int" + bits
	case dtype.Uint:
		t.data = "uint" + bits
	case dtype.Float:
		t.data = "float" + bits
	case dtype.Complex:
		t.data, t.fill = "complex"+bits, [2]int{}
	case dtype.DateTime:
		return times("numpy.datetime64", d)
	case dtype.Duration:
		return times("numpy.timedelta64", d)
	case dtype.Bytes:
		t.data, t.fill, t.endian = length("null_terminated_bytes", n), "", ""
	case dtype.Text:
		t.data, t.fill = length("fixed_length_utf32", n), ""
	case dtype.Struct:
		return structured(d)
	default:
		return opaque(n)
	}
	return t, nil
}

// order is the byte order of the words of an item.
func order(d dtype.DType) string {
	switch {
	case d.ItemSize() == 1:
		return ""
	case d.BigEndian():
		return "big"
	}
	return "little"
}

func length(name string, n int) named {
	return named{name, map[string]int{"length_bytes": n}}
}

// zeros is the fill value of n bytes.
func zeros(n int) (string, error) {
	if n > maxFill {
		return "", unsupported("items of %d bytes, at most %d are shown", n, maxFill)
	}
	return base64.StdEncoding.EncodeToString(make([]byte, n)), nil
}

func opaque(n int) (zarrType, error) {
	fill, err := zeros(n)
	return zarrType{data: length("raw_bytes", n), fill: fill}, err
}

func times(name string, d dtype.DType) (zarrType, error) {
	unit, count := d.Unit()
	if unit == "" {
		unit = "generic"
	}
	if count = max(count, 1); count > math.MaxInt32 {
		return zarrType{}, unsupported("steps of %d %s", count, unit)
	}
	conf := map[string]any{"unit": unit, "scale_factor": count}
	return zarrType{data: named{name, conf}, fill: 0, endian: order(d)}, nil
}

// structured returns the type of items with members. Zarr's has no offsets: members follow
// each other, and gaps are members, too.
func structured(d dtype.DType) (zarrType, error) {
	fill, err := zeros(d.ItemSize())
	if err != nil {
		return zarrType{}, err
	}
	d = d.Packed()
	fields, off := [][2]any{}, 0
	for _, f := range d.Fields() {
		if f.Off != off {
			return zarrType{}, unsupported("members of %s overlap or are out of order", d)
		}
		if f.Shape != nil {
			return zarrType{}, unsupported("member %q is an array, which Zarr's structured types have none of", f.Name)
		}
		m, err := typeOf(f.Type)
		if err != nil {
			return zarrType{}, err
		}
		if m.endian == "big" {
			return zarrType{}, unsupported("member %q is big-endian, which Zarr's structured types cannot say", f.Name)
		}
		fields = append(fields, [2]any{f.Name, m.data})
		off += f.Size()
	}
	if off != d.ItemSize() {
		return zarrType{}, unsupported("members of %s overlap or are out of order", d)
	}
	return zarrType{data: named{"structured", map[string]any{"fields": fields}}, fill: fill, endian: "little"}, nil
}
