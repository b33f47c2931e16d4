package pack

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/zarr"
)

// zarrFlight is how many chunks of Zarr are read and encoded side by side, as far as memory
// allows: each is a request of its own, so of fewer most of the time would be round trips.
const zarrFlight = 16

// ZarrArray returns the Array that Write makes of an array of Zarr. name is its path in a group,
// or "". The b2nd has the chunks of the source, but where they are longer than the array.
func ZarrArray(name string, z *zarr.Array) Array {
	return Array{Name: name, DType: z.DType(), Shape: z.Shape(), NBytes: z.Meta().NBytes(), zarr: z}
}

// Zarr returns the array of Zarr that is the source, or nil.
func (a Array) Zarr() *zarr.Array { return a.zarr }

// zarrLayers adds what the metadata say of the meaning of the items. A layer that is there
// already comes first, part by part.
func (a Array) zarrLayers(layers []cframe.Metalayer) ([]cframe.Metalayer, error) {
	m := a.zarr.Meta()
	meta := arraymeta.Meta{Dims: m.Dims, Attrs: withMissing(m), Fill: m.FillValue, Coords: a.coords}
	layers = slices.Clone(layers)
	if i := slices.IndexFunc(layers, func(l cframe.Metalayer) bool { return l.Name == arraymeta.Layer }); i >= 0 {
		own, err := arraymeta.Decode(layers[i].Data, a.Shape, formats.Limits{})
		if err != nil {
			return nil, err
		}
		meta = over(meta, own)
		layers = slices.Delete(layers, i, i+1)
	}
	if meta.Empty() && meta.Source == "" {
		return layers, nil
	}
	p, err := meta.Append(nil)
	return append(layers, cframe.Metalayer{Name: arraymeta.Layer, Data: p}), err
}

// withMissing returns the attributes, and for what xarray has written in version 2 the value of items
// that are missing. There it is the fill value; version 3 has it as an attribute, since its arrays all have
// a fill value.
func withMissing(m *zarr.Meta) map[string]json.RawMessage {
	const name = "_FillValue"
	if m.Version != 2 || m.Dims == nil || m.FillValue == nil || m.Attrs[name] != nil {
		return m.Attrs
	}
	text := m.FillValue
	switch m.DType.Kind() {
	case dtype.Int, dtype.Uint, dtype.Bool:
	case dtype.Float: // in base64, the eight bytes of a float64
		v, ok := m.DType.Float(m.Fill)
		if !ok {
			return m.Attrs
		}
		text = json.RawMessage(strconv.Quote(base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))))
	default:
		return m.Attrs
	}
	attrs := maps.Clone(m.Attrs)
	if attrs == nil {
		attrs = map[string]json.RawMessage{}
	}
	attrs[name] = text
	return attrs
}

// over is what own says, and what m says besides.
func over(m, own arraymeta.Meta) arraymeta.Meta {
	if own.Dims != nil && !slices.Equal(own.Dims, m.Dims) {
		m.Dims, m.Coords = own.Dims, nil // coordinates belong to names
	}
	if own.Attrs != nil {
		attrs := maps.Clone(m.Attrs)
		if attrs == nil {
			attrs = map[string]json.RawMessage{}
		}
		maps.Copy(attrs, own.Attrs)
		m.Attrs = attrs
	}
	if own.Fill != nil {
		m.Fill = own.Fill
	}
	for _, c := range own.Coords {
		m.Coords = append(slices.DeleteFunc(slices.Clone(m.Coords), func(k arraymeta.Coord) bool { return k.Dim == c.Dim }), c)
	}
	m.Source = own.Source
	return m
}

// boxedZarr is what is written of an array of Zarr, which is read chunk by chunk. It holds
// half as much memory besides that of the writer.
func (a Array) boxedZarr(o ArrayWrite) (boxed, error) {
	m := b2nd.Meta{Shape: a.Shape, ChunkShape: o.ChunkShape, BlockShape: o.BlockShape, DType: a.DType.String()}
	if m.ChunkShape == nil {
		for i, n := range a.zarr.ChunkShape() {
			m.ChunkShape = append(m.ChunkShape, int(min(n, max(a.Shape[i], 1), math.MaxInt32)))
		}
		if m.ChunkShape == nil {
			m.ChunkShape, m.BlockShape = []int{}, []int{}
		}
	}
	if o.Write.Parallel == 0 {
		o.Write.Parallel = zarrFlight
	}
	if o.Write.MaxMemory == 0 {
		o.Write.MaxMemory = b2nd.DefaultMaxMemory
	}
	pass := a.zarr.Pass(o.Write.MaxMemory / 3)
	end := pass.ReadAhead()
	o.Write.MaxMemory -= o.Write.MaxMemory / 3
	var err error
	o.Write.VLMetalayers, err = a.zarrLayers(o.Write.VLMetalayers)
	return boxed{m, o.Write, pass.ReadBox, end}, err
}
