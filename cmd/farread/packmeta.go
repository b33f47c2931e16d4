package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/npy"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/rangeio"
)

// metaFlags say what the items of an array mean.
type metaFlags struct {
	dims   string
	attrs  []string
	coords []string
	fill   string

	known bool // they were read already
	array map[string]json.RawMessage
	axes  map[string]axisGiven
}

// An axisGiven is what flags say of a coordinate.
type axisGiven struct {
	file   string
	dtype  dtype.DType
	values []byte
	attrs  map[string]json.RawMessage
}

func metaFlagNames() []string { return []string{"dims", "attrs", "coord", "fill"} }

func (f *metaFlags) register(c *cobra.Command) {
	c.Flags().StringVar(&f.dims, "dims", "", "names of an array's dimensions: `NAME,NAME`")
	c.Flags().StringArrayVar(&f.attrs, "attrs", nil, "attributes of an array: a JSON `FILE` of one object; NAME=FILE are those of the coordinate of a dimension")
	c.Flags().StringArrayVar(&f.coords, "coord", nil, "`NAME=FILE`: the coordinate of a dimension, a .npy of one axis; once for each")
	c.Flags().StringVar(&f.fill, "fill", "", "fill value `V` of an array: a number, NaN, true, …")
}

func (f *metaFlags) given() bool {
	return f.dims != "" || f.attrs != nil || f.coords != nil || f.fill != ""
}

// mostMetaFile bounds files of attributes and of coordinates.
const mostMetaFile = 64 << 20

// load reads the files that the flags name.
func (f *metaFlags) load(ctx context.Context, a *app) error {
	dims := f.names()
	if f.dims == "" && f.coords != nil {
		return usagef("--coord needs --dims")
	}
	f.axes = map[string]axisGiven{}
	for _, text := range f.coords {
		name, file, ok := strings.Cut(text, "=")
		if !ok || !slices.Contains(dims, name) {
			return usagef("--coord %s: want NAME=FILE, NAME one of --dims %s", human.Printable(text), human.Printable(f.dims))
		}
		if _, twice := f.axes[name]; twice {
			return usagef("--coord %s: twice", human.Printable(name))
		}
		x, err := a.readAxis(ctx, file)
		if err != nil {
			return at(file, err)
		}
		f.axes[name] = x
	}
	for _, text := range f.attrs {
		name, file, ok := strings.Cut(text, "=")
		x, axis := f.axes[name]
		if axis = axis && ok; !axis {
			file = text
		}
		attrs, err := a.readAttrs(ctx, file)
		if err != nil {
			return at(file, err)
		}
		a.rounded(file, "", attrs)
		switch {
		case axis:
			x.attrs = attrs
			f.axes[name] = x
		case f.array != nil:
			return usagef("--attrs %s: a second file; NAME=FILE wants a NAME of --coord", human.Printable(text))
		default:
			f.array = attrs
		}
	}
	return nil
}

// readAttrs reads a file of attributes.
func (a *app) readAttrs(ctx context.Context, file string) (attrs map[string]json.RawMessage, err error) {
	p, err := a.readSmall(ctx, file, arraymeta.MaxLen)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(p, &attrs); err != nil || attrs == nil {
		return nil, fmt.Errorf("attributes are one JSON object: %w", formats.ErrCorrupt)
	}
	return attrs, nil
}

// rounded says which attributes have whole numbers that become floats.
func (a *app) rounded(src, name string, attrs map[string]json.RawMessage) {
	if list := arraymeta.BeyondInt(attrs); list != nil {
		a.warn(src, name+"whole numbers beyond 64 bits become floats: "+human.Printable(strings.Join(list, ", ")))
	}
}

func (f *metaFlags) names() []string {
	if f.dims == "" {
		return nil
	}
	names := strings.Split(f.dims, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}

// replaces reports whether flags say another coordinate of a dimension, or other names.
func (f *metaFlags) replaces(dim string) bool {
	_, ok := f.axes[dim]
	return ok || f.dims != "" && !slices.Contains(f.names(), dim)
}

// layers returns the vlmetalayers of an array, none if no flag was given, and the coordinates that are too long for them, which
// they name as arrays beside.
func (f *metaFlags) layers(ctx context.Context, a *app, arr pack.Array) ([]cframe.Metalayer, []besideCoord, error) {
	if !f.given() {
		return nil, nil, nil
	}
	if !f.known {
		if err := f.load(ctx, a); err != nil {
			return nil, nil, err
		}
		f.known = true
	}
	var beside []besideCoord
	m := arraymeta.Meta{Dims: f.names(), Attrs: f.array}
	if m.Dims != nil && len(m.Dims) != len(arr.Shape) {
		return nil, nil, usagef("--dims %s has %s, the array %s", human.Printable(f.dims), human.Plural(int64(len(m.Dims)), "name"), human.Plural(int64(len(arr.Shape)), "axis"))
	}
	for i, dim := range m.Dims {
		x, ok := f.axes[dim]
		if !ok {
			continue
		}
		if n := int64(len(x.values) / x.dtype.ItemSize()); n != arr.Shape[i] {
			return nil, nil, usagef("--coord %s: %s has %s, the axis %s", human.Printable(dim), human.Printable(x.file), human.Plural(n, "value"), human.Count(arr.Shape[i]))
		}
		c, ok := arraymeta.NewCoord(dim, x.dtype, x.values)
		if !ok {
			whole, err := arraymeta.Coord{Dim: dim, DType: x.dtype.String()}.AxisOf(arr.Shape[i], x.dtype, x.values) // little endian
			if err != nil {
				return nil, nil, at(x.file, err)
			}
			c = besideNamed(arraymeta.Coord{Dim: dim, DType: whole.Type().String(), Attrs: x.attrs})
			beside = append(beside, besideCoord{c, whole.AppendValues(nil)})
		}
		c.Attrs = x.attrs
		m.Coords = append(m.Coords, c)
	}
	if f.fill != "" {
		fill, err := arraymeta.FillOf(f.fill, arr.DType)
		if err != nil {
			return nil, nil, usagef("--fill %s: %s", human.Printable(f.fill), err)
		}
		m.Fill = fill
	}
	data, err := m.Append(nil)
	if err != nil {
		return nil, nil, usagef("%s", err)
	}
	return []cframe.Metalayer{{Name: arraymeta.Layer, Data: data}}, beside, nil
}

// readAxis reads the values of a coordinate.
func (a *app) readAxis(ctx context.Context, file string) (axisGiven, error) {
	p, err := a.readSmall(ctx, file, mostMetaFile)
	if err != nil {
		return axisGiven{}, err
	}
	r := bufio.NewReader(bytes.NewReader(p))
	h, n, err := npy.ParseHeader(r)
	if err != nil {
		return axisGiven{}, err
	}
	size, err := h.NBytes()
	if err != nil || len(h.Shape) != 1 || h.DType.ItemSize() == 0 || size > int64(len(p))-n {
		return axisGiven{}, fmt.Errorf("a coordinate is a .npy of one axis, this has the shape %s: %w", human.Shape(h.Shape), formats.ErrUnsupported)
	}
	values := make([]byte, size)
	if _, err := io.ReadFull(r, values); err != nil {
		return axisGiven{}, err
	}
	if _, ok := arraymeta.NewCoord("x", h.DType, values[:min(len(values), h.DType.ItemSize())]); !ok {
		return axisGiven{}, fmt.Errorf("a coordinate of %s: %w", h.DType, formats.ErrUnsupported)
	}
	return axisGiven{file: file, dtype: h.DType, values: values}, nil
}

// readSmall reads a whole object of at most so many bytes.
func (a *app) readSmall(ctx context.Context, uri string, most int64) ([]byte, error) {
	ob, err := a.client.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	if ob.Size() > most {
		return nil, fmt.Errorf("%s, at most %s: %w", human.Size(ob.Size()), human.Size(most), formats.ErrTooLarge)
	}
	p := make([]byte, ob.Size())
	return p, ob.ReadRanges(ctx, []rangeio.Span{{P: p}})
}
