package zarr

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// A part is an object of a document with a name and a configuration. Its name alone will do.
type part struct {
	Name           string          `json:"name"`
	Configuration  json.RawMessage `json:"configuration"`
	MustUnderstand *bool           `json:"must_understand"`
}

func (p *part) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		return json.Unmarshal(text, &p.Name)
	}
	type plain part
	return json.Unmarshal(text, (*plain)(p))
}

// into decodes the configuration; none is an empty one.
func (p *part) into(v any) error {
	if len(p.Configuration) == 0 {
		return nil
	}
	if err := json.Unmarshal(p.Configuration, v); err != nil {
		return corrupt("metadata", "configuration of %q: %v", p.Name, err)
	}
	return nil
}

// document3 is a zarr.json.
type document3 struct {
	ZarrFormat          int                        `json:"zarr_format"`
	NodeType            string                     `json:"node_type"`
	Shape               []int64                    `json:"shape"`
	DataType            json.RawMessage            `json:"data_type"`
	ChunkGrid           part                       `json:"chunk_grid"`
	ChunkKeyEncoding    part                       `json:"chunk_key_encoding"`
	FillValue           json.RawMessage            `json:"fill_value"`
	Codecs              []part                     `json:"codecs"`
	DimensionNames      []*string                  `json:"dimension_names"`
	Attributes          map[string]json.RawMessage `json:"attributes"`
	StorageTransformers []part                     `json:"storage_transformers"`
	Consolidated        *struct {
		Metadata map[string]json.RawMessage `json:"metadata"`
	} `json:"consolidated_metadata"`
}

// parse3 reads a zarr.json as far as JSON goes.
func parse3(text []byte) (*document3, error) {
	d := &document3{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, corrupt("", "%v", err)
	}
	if d.ZarrFormat != 3 {
		return nil, unsupported("", "zarr_format %d", d.ZarrFormat)
	}
	if d.NodeType != "array" && d.NodeType != "group" {
		return nil, unsupported("", "node_type %q", d.NodeType)
	}
	return d, mustKnow(text)
}

// mustKnow refuses what stands in a document and has to be understood, but is not.
func mustKnow(text []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return corrupt("", "%v", err)
	}
	for key, value := range all {
		switch key {
		case "zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding", "fill_value", "codecs",
			"dimension_names", "attributes", "storage_transformers", "consolidated_metadata":
			continue
		}
		var may part
		if len(value) == 0 || value[0] != '{' || json.Unmarshal(value, &may) != nil || may.MustUnderstand == nil || *may.MustUnderstand {
			return unsupported("", "%.100q", key)
		}
	}
	return nil
}

// array returns what the document says of an array.
func (d *document3) array(l formats.Limits) (*Meta, error) {
	m := &Meta{Version: 3, Shape: d.Shape, Attrs: tidy(d.Attributes)}
	if len(d.StorageTransformers) > 0 {
		return nil, unsupported("", "storage transformer %.100q", d.StorageTransformers[0].Name)
	}
	var err error
	if m.DType, err = typeIn(d.DataType, l); err != nil {
		return nil, err
	}
	var grid struct {
		ChunkShape []int64 `json:"chunk_shape"`
	}
	if d.ChunkGrid.Name != "regular" {
		return nil, unsupported("chunk_grid", "%.100q", d.ChunkGrid.Name)
	}
	if err := d.ChunkGrid.into(&grid); err != nil {
		return nil, err
	}
	if m.keys, err = d.ChunkKeyEncoding.keys(); err != nil {
		return nil, err
	}
	if len(d.Codecs) > maxCodecs {
		return nil, fail("codecs", formats.ErrTooLarge, "%d of them", len(d.Codecs))
	}
	if m.enc, err = encodingOf(d.Codecs, len(grid.ChunkShape), wordSize(m.DType), 0); err != nil {
		return nil, err
	}
	if m.enc.big && m.DType.Kind() == dtype.Struct {
		return nil, unsupported("codecs", "big-endian items with members, which zarr-python takes for little-endian ones")
	}
	if len(d.FillValue) == 0 {
		return nil, corrupt("fill value", "none")
	}
	if m.Fill, err = ParseFill(m.DType, d.FillValue); err != nil {
		return nil, err
	}
	m.FillValue = FillText(m.DType, m.Fill)
	if string(d.FillValue) == "null" {
		m.FillValue = nil
	}
	m.Dims, m.Renamed = axisNames(d.DimensionNames, len(m.Shape))
	return m, m.check(grid.ChunkShape, l)
}

// maxCodecs bounds the codecs of a chunk; nobody has use for more than a handful.
const maxCodecs = 16

// typeIn reads a data_type.
func typeIn(text json.RawMessage, l formats.Limits) (dtype.DType, error) { return typeAt(text, l, 0) }

// typeAt reads a type, or that of a member in other types.
func typeAt(text json.RawMessage, l formats.Limits, depth int) (dtype.DType, error) {
	var p part
	if len(text) == 0 || json.Unmarshal(text, &p) != nil {
		return dtype.DType{}, corrupt("data_type", "%.100s", text)
	}
	name := ""
	switch p.Name {
	case "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
		"float16", "float32", "float64", "complex64", "complex128":
		name = p.Name
	case "numpy.datetime64", "numpy.timedelta64":
		var c struct {
			Unit  string `json:"unit"`
			Scale int64  `json:"scale_factor"`
		}
		if err := p.into(&c); err != nil {
			return dtype.DType{}, err
		}
		if name = "<" + map[bool]string{true: "M8", false: "m8"}[p.Name == "numpy.datetime64"]; c.Unit != "generic" {
			name += fmt.Sprintf("[%d%s]", c.Scale, c.Unit)
		}
	case "null_terminated_bytes", "fixed_length_utf32", "raw_bytes":
		var c struct {
			Length int64 `json:"length_bytes"`
		}
		if err := p.into(&c); err != nil {
			return dtype.DType{}, err
		}
		letter, unit := map[string]string{"null_terminated_bytes": "|S", "fixed_length_utf32": "<U", "raw_bytes": "|V"}[p.Name], int64(1)
		if letter == "<U" {
			unit = 4
		}
		if c.Length < 1 || c.Length > min(l.MaxDecoded, math.MaxInt32) || c.Length%unit != 0 {
			return dtype.DType{}, corrupt("data_type", "%s of %d bytes", p.Name, c.Length)
		}
		name = letter + strconv.FormatInt(c.Length/unit, 10)
	case "structured", "struct":
		return p.members3(l, depth)
	default:
		bits, ok := rawBits(p.Name)
		if !ok || bits/8 > min(l.MaxDecoded, math.MaxInt32) {
			return dtype.DType{}, refusedType(p.Name)
		}
		name = "|V" + strconv.FormatInt(bits/8, 10)
	}
	d, err := dtype.Parse(name)
	if err != nil {
		return d, within("data_type", err)
	}
	return d, nil
}

// refusedType is about a type that has no place here.
func refusedType(name string) error {
	switch name {
	case "string", "variable_length_utf8", "vlen-utf8":
		return unsupported("type", "text of any length (%s): make it text of a fixed length, as NumPy's <U16", name)
	case "bytes", "variable_length_bytes", "vlen-bytes":
		return unsupported("type", "bytes of any length (%s): make them bytes of a fixed length, as NumPy's S16", name)
	}
	return unsupported("type", "%.100q", name)
}

// keys name the objects of chunks.
type keys struct {
	prefix    string // "c" in version 3
	separator string
}

// keys reads a chunk_key_encoding.
func (p *part) keys() (keys, error) {
	k := keys{"c", "/"}
	switch p.Name {
	case "default":
	case "v2":
		k = keys{"", "."}
	default:
		return k, unsupported("chunk_key_encoding", "%.100q", p.Name)
	}
	var c struct {
		Separator *string `json:"separator"`
	}
	if err := p.into(&c); err != nil {
		return k, err
	}
	if c.Separator != nil {
		k.separator = *c.Separator
	}
	return k, k.check()
}

func (k keys) check() error {
	if k.separator != "/" && k.separator != "." {
		return unsupported("chunk_key_encoding", "separator %.20q", k.separator)
	}
	return nil
}

// of is the key of the chunk at the coordinates.
func (k keys) of(at []int64) string {
	b := []byte(k.prefix)
	for i, n := range at {
		if i > 0 || k.prefix != "" {
			b = append(b, k.separator...)
		}
		b = strconv.AppendInt(b, n, 10)
	}
	if len(b) == 0 {
		return "0" // version 2 without axes
	}
	return string(b)
}

// tidy takes white space out of attributes.
func tidy(attrs map[string]json.RawMessage) map[string]json.RawMessage {
	for name, text := range attrs {
		var b bytes.Buffer
		if json.Compact(&b, text) == nil {
			attrs[name] = b.Bytes()
		}
	}
	return attrs
}
