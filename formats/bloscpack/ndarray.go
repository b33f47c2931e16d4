package bloscpack

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/dtype/pylit"
)

// An Array describes the NumPy array that a file holds.
type Array struct {
	DType   dtype.DType
	Shape   []int64
	Fortran bool // the first axis varies fastest in the chunks
}

// NBytes returns the number of bytes of all items of the array.
func (a Array) NBytes() int64 { return int64(a.DType.ItemSize()) * product(a.Shape) }

// maxDims is NumPy's own limit.
const maxDims = 64

// Array describes the NumPy array in the chunks. ok is false if the metadata are
// not those that the Python tool writes for a NumPy array. If ok is true and err
// is not nil, err tells why the metadata cannot be used; the chunks can still be
// read.
func (f *File) Array() (a Array, ok bool, err error) {
	var m struct {
		Container string          `json:"container"`
		DType     json.RawMessage `json:"dtype"`
		Shape     []int64         `json:"shape"`
		Order     string          `json:"order"`
	}
	var all map[string]json.RawMessage
	if !bytes.HasPrefix(bytes.TrimLeft(f.meta, " \t\r\n"), []byte("{")) {
		return Array{}, false, nil
	}
	if err := json.Unmarshal(f.meta, &all); err != nil {
		return Array{}, false, corrupt("metadata", HeaderLen, "%v", err)
	}
	if string(all["container"]) != `"numpy"` {
		return Array{}, false, nil
	}
	const part = "metadata"
	if err := json.Unmarshal(f.meta, &m); err != nil {
		return Array{}, true, corrupt(part, HeaderLen, "of a NumPy array: %v", err)
	}
	if a.DType, err = parseDType(m.DType); err != nil {
		return Array{}, true, wrap(part, HeaderLen, err)
	}
	n := int64(a.DType.ItemSize())
	if all["shape"] == nil || len(m.Shape) > maxDims {
		return Array{}, true, corrupt(part, HeaderLen, "shape of %d axes", len(m.Shape))
	}
	empty := n == 0
	for _, s := range m.Shape {
		if s < 0 {
			return Array{}, true, corrupt(part, HeaderLen, "shape %v", m.Shape)
		}
		empty = empty || s == 0
	}
	if !empty {
		for _, s := range m.Shape {
			if n > math.MaxInt64/s {
				return Array{}, true, corrupt(part, HeaderLen, "shape %v", m.Shape)
			}
			n *= s
		}
	} else {
		n = 0
	}
	switch m.Order {
	case "C", "":
	case "F":
		a.Fortran = true
	default:
		return Array{}, true, corrupt(part, HeaderLen, "order %q", m.Order)
	}
	if h := f.h; !h.Variable && h.ChunkSize >= 0 && h.LastChunk >= 0 && h.Chunks > 0 && h.ChunkSize*(h.Chunks-1)+h.LastChunk != n {
		return Array{}, true, corrupt(part, HeaderLen, "an array of %d bytes in chunks of %d", n, h.ChunkSize*(h.Chunks-1)+h.LastChunk)
	}
	a.Shape = append([]int64{}, m.Shape...)
	return a, true, nil
}

// maxDType bounds the text of a type, far above the type of any record, since a
// parsed type takes 30 times the memory of its text.
const maxDType = 1 << 20

// parseDType parses the type of an array. Files have three spellings. The usual one
// is a JSON string that holds a Python literal. Before version 0.7.2 the tool wrote
// the bare name of a type, and JSON lists for a structured type: JSON turned
// Python's tuples into lists.
func parseDType(raw json.RawMessage) (dtype.DType, error) {
	if len(raw) > maxDType {
		return dtype.DType{}, fmt.Errorf("dtype of %d bytes, %d are the most: %w", len(raw), maxDType, formats.ErrTooLarge)
	}
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		if v, err := pylit.Parse(text); err == nil {
			if v.Kind == pylit.String {
				return dtype.Parse(v.Str)
			}
			return dtype.FromLiteral(v)
		}
		return dtype.Parse(text)
	}
	var list []any
	if err := json.Unmarshal(raw, &list); err != nil {
		return dtype.DType{}, fmt.Errorf("dtype %s: %w", short(raw), formats.ErrCorrupt)
	}
	v, err := oldDType(list, 0)
	if err != nil {
		return dtype.DType{}, err
	}
	return dtype.FromLiteral(v)
}

func short(b []byte) []byte { return b[:min(len(b), 60)] }

// oldDType restores NumPy's descr from JSON lists: a list of members, each a
// tuple of a name, a type and perhaps a shape.
func oldDType(list []any, depth int) (pylit.Value, error) {
	bad := fmt.Errorf("dtype of lists: %w", formats.ErrCorrupt)
	if depth > 32 {
		return pylit.Value{}, bad
	}
	out := pylit.Value{Kind: pylit.List}
	for _, m := range list {
		member, ok := m.([]any)
		if !ok || len(member) < 2 || len(member) > 3 {
			return pylit.Value{}, bad
		}
		tuple := pylit.Value{Kind: pylit.Tuple}
		switch name := member[0].(type) {
		case string:
			tuple.List = append(tuple.List, pylit.Value{Kind: pylit.String, Str: name})
		case []any: // title and name
			names := pylit.Value{Kind: pylit.Tuple}
			for _, n := range name {
				s, ok := n.(string)
				if !ok || len(name) != 2 {
					return pylit.Value{}, bad
				}
				names.List = append(names.List, pylit.Value{Kind: pylit.String, Str: s})
			}
			tuple.List = append(tuple.List, names)
		default:
			return pylit.Value{}, bad
		}
		switch t := member[1].(type) {
		case string:
			tuple.List = append(tuple.List, pylit.Value{Kind: pylit.String, Str: t})
		case []any:
			v, err := oldDType(t, depth+1)
			if err != nil {
				return pylit.Value{}, err
			}
			tuple.List = append(tuple.List, v)
		default:
			return pylit.Value{}, bad
		}
		if len(member) == 3 {
			shape, err := oldShape(member[2])
			if err != nil {
				return pylit.Value{}, err
			}
			tuple.List = append(tuple.List, shape)
		}
		out.List = append(out.List, tuple)
	}
	return out, nil
}

func oldShape(v any) (pylit.Value, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	out := pylit.Value{Kind: pylit.Tuple}
	for _, n := range list {
		x, ok := n.(float64)
		if !ok || x != math.Trunc(x) || x < 0 || x > math.MaxInt32 {
			return pylit.Value{}, fmt.Errorf("shape of a sub-array: %w", formats.ErrCorrupt)
		}
		out.List = append(out.List, pylit.Value{Kind: pylit.Int, Int: int64(x)})
	}
	return out, nil
}
