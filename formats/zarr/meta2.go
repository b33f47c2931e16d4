package zarr

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// document2 is a .zarray.
type document2 struct {
	ZarrFormat int               `json:"zarr_format"`
	Shape      []int64           `json:"shape"`
	Chunks     []int64           `json:"chunks"`
	DType      json.RawMessage   `json:"dtype"`
	FillValue  json.RawMessage   `json:"fill_value"`
	Order      string            `json:"order"`
	Filters    []json.RawMessage `json:"filters"`
	Compressor json.RawMessage   `json:"compressor"`
	Separator  *string           `json:"dimension_separator"`
}

// array2 returns what a .zarray and a .zattrs say. attrs may be empty.
func array2(text, attrs []byte, l formats.Limits) (*Meta, error) {
	var d document2
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, corrupt("", "%v", err)
	}
	if d.ZarrFormat != 2 {
		return nil, unsupported("", "zarr_format %d", d.ZarrFormat)
	}
	m := &Meta{Version: 2, Shape: d.Shape, keys: keys{"", "."}}
	if d.Separator != nil {
		m.keys.separator = *d.Separator
	}
	if err := m.keys.check(); err != nil {
		return nil, err
	}
	var err error
	if m.Attrs, err = attributes(attrs); err != nil {
		return nil, err
	}
	var names []*string
	if json.Unmarshal(m.Attrs[dimsAttribute], &names) == nil && names != nil && len(names) == len(d.Shape) {
		m.Dims, m.Renamed = axisNames(names, len(d.Shape))
		delete(m.Attrs, dimsAttribute)
	}
	if m.DType, err = d.dtype(); err != nil {
		return nil, err
	}
	if m.Fill, err = ParseFill(m.DType, d.FillValue); err != nil {
		return nil, err
	}
	if len(d.FillValue) > 0 && string(d.FillValue) != "null" {
		m.FillValue = FillText(m.DType, m.Fill)
	}
	if m.enc, err = d.encoding(); err != nil {
		return nil, err
	}
	return m, m.check(d.Chunks, l)
}

// attributes reads a .zattrs.
func attributes(text []byte) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	if len(text) == 0 {
		return out, nil
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, corrupt(attrs2, "%v", err)
	}
	return tidy(out), nil
}

// dtype reads the type, which is a text of NumPy, or a list of members.
func (d *document2) dtype() (dtype.DType, error) {
	for _, f := range d.Filters { // what they hold is behind |O
		if p, err := codec2(f); err == nil && strings.HasPrefix(p.Name, "vlen-") {
			return dtype.DType{}, refusedType(p.Name)
		}
	}
	var name string
	if json.Unmarshal(d.DType, &name) != nil {
		return members2(d.DType)
	}
	t, err := dtype.Parse(name)
	switch {
	case err != nil && errors.Is(err, formats.ErrUnsupported):
		return t, unsupported("type", "%.100q: objects and types of one machine alone", name)
	case err != nil:
		return t, within("type", err)
	case t.Kind() == dtype.Struct: // a text that looks like members
		return t, corrupt("type", "%.100q", name)
	case t.Kind() == dtype.Float && t.ItemSize() > 8 || t.Kind() == dtype.Complex && t.ItemSize() > 16:
		return t, unsupported("type", "%q", name)
	}
	return t, nil
}

// codec2 reads a codec of numcodecs, whose configuration stands beside its name.
func codec2(text json.RawMessage) (part, error) {
	var id struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(text, &id); err != nil || id.ID == "" {
		return part{}, corrupt("codecs", "%.100s", text)
	}
	return part{Name: id.ID, Configuration: text}, nil
}

// encoding is that of chunks: items in their order, filters, and the compressor.
func (d *document2) encoding() (*encoding, error) {
	e := &encoding{}
	switch d.Order {
	case "F":
		e.perm = make([]int, len(d.Shape))
		for i := range e.perm {
			e.perm[i] = len(d.Shape) - 1 - i
		}
	case "C":
	default:
		return nil, corrupt("", "order %.20q", d.Order)
	}
	list := slices.Clone(d.Filters)
	if len(d.Compressor) > 0 && string(d.Compressor) != "null" {
		list = append(list, d.Compressor)
	}
	if len(list) > maxCodecs {
		return nil, fail("codecs", formats.ErrTooLarge, "%d of them", len(list))
	}
	for _, text := range list {
		p, err := codec2(text)
		if err != nil {
			return nil, err
		}
		s, err := stepOf(&p)
		if err != nil {
			return nil, err
		}
		e.bytes = append(e.bytes, s)
	}
	return e, nil
}
