package zarr

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"strconv"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// A Named is an object of a document of version 3 with a name and a configuration.
type Named struct {
	Name          string `json:"name"`
	Configuration any    `json:"configuration,omitempty"`
}

// A Type is a type of items as documents of version 3 describe it.
type Type struct {
	Data   any    // data_type
	Fill   any    // fill_value, all of whose bytes are zero
	Endian string // of the codec "bytes"; "" for types without an order
}

// maxFill is the longest item whose fill value is spelled out in the document. An item of
// a b2nd may have 2 GiB.
const maxFill = 1 << 20

// TypeOf returns the Zarr type of d. If no client reads such items, the error names them
// and matches formats.ErrUnsupported.
func TypeOf(d dtype.DType) (Type, error) {
	n, bits := d.ItemSize(), strconv.Itoa(d.ItemSize()*8)
	t := Type{Fill: 0, Endian: order(d)}
	if d.Opaque() {
		return opaque(n)
	}
	switch d.Kind() {
	case dtype.Bool:
		t.Data, t.Fill = "bool", false
	case dtype.Int:
		t.Data = "int" + bits
	case dtype.Uint:
		t.Data = "uint" + bits
	case dtype.Float:
		t.Data = "float" + bits
	case dtype.Complex:
		t.Data, t.Fill = "complex"+bits, [2]int{}
	case dtype.DateTime:
		return times("numpy.datetime64", d)
	case dtype.Duration:
		return times("numpy.timedelta64", d)
	case dtype.Bytes:
		t.Data, t.Fill, t.Endian = length("null_terminated_bytes", n), "", ""
	case dtype.Text:
		t.Data, t.Fill = length("fixed_length_utf32", n), ""
	case dtype.Struct:
		return structured(d)
	default:
		return opaque(n)
	}
	return t, nil
}

// BytesCodec is the codec "bytes" of items of the type as they are.
func (t Type) BytesCodec() Named {
	if t.Endian == "" {
		return Named{Name: "bytes"}
	}
	return Named{"bytes", map[string]string{"endian": t.Endian}}
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

func length(name string, n int) Named {
	return Named{name, map[string]int{"length_bytes": n}}
}

// zeros is the fill value of n bytes.
func zeros(n int) (string, error) {
	if n > maxFill {
		return "", fail("type", formats.ErrUnsupported, "items of %d bytes, at most %d are shown", n, maxFill)
	}
	return base64.StdEncoding.EncodeToString(make([]byte, n)), nil
}

func opaque(n int) (Type, error) {
	fill, err := zeros(n)
	return Type{Data: length("raw_bytes", n), Fill: fill}, err
}

func times(name string, d dtype.DType) (Type, error) {
	unit, count := d.Unit()
	if unit == "" {
		unit = "generic"
	}
	if count = max(count, 1); count > math.MaxInt32 {
		return Type{}, fail("type", formats.ErrUnsupported, "steps of %d %s", count, unit)
	}
	conf := map[string]any{"unit": unit, "scale_factor": count}
	return Type{Data: Named{name, conf}, Fill: 0, Endian: order(d)}, nil
}

// structured returns the type of items with members. Zarr's has no offsets: members follow
// each other, and gaps are members, too.
func structured(d dtype.DType) (Type, error) {
	fill, err := zeros(d.ItemSize())
	if err != nil {
		return Type{}, err
	}
	d = d.Packed()
	fields, off := [][2]any{}, 0
	for _, f := range d.Fields() {
		if f.Off != off {
			return Type{}, fail("type", formats.ErrUnsupported, "members of %s overlap or are out of order", d)
		}
		if f.Shape != nil {
			return Type{}, fail("type", formats.ErrUnsupported, "member %q is an array, which Zarr's structured types have none of", f.Name)
		}
		m, err := TypeOf(f.Type)
		if err != nil {
			return Type{}, err
		}
		if m.Endian == "big" {
			return Type{}, fail("type", formats.ErrUnsupported, "member %q is big-endian, which Zarr's structured types cannot say", f.Name)
		}
		fields = append(fields, [2]any{f.Name, m.Data})
		off += f.Size()
	}
	if off != d.ItemSize() {
		return Type{}, fail("type", formats.ErrUnsupported, "members of %s overlap or are out of order", d)
	}
	return Type{Data: Named{"structured", map[string]any{"fields": fields}}, Fill: fill, Endian: "little"}, nil
}

// Marshal is the text of a document: indented, and without escapes that only HTML needs.
func Marshal(doc any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(doc)
	return b.Bytes(), err
}
