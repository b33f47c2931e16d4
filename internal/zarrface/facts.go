package zarrface

import (
	"context"
	"maps"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/groupindex"
)

// Facts are what the document of an array is made of.
type Facts struct {
	Meta   b2nd.Meta
	DType  dtype.DType
	Layers []cframe.Metalayer // vlmetalayers
	NaN    bool               // chunks are marked as NaN, and none as zeros
}

// FactsOf returns those of an array, with its vlmetalayers. Errors and cost are those of New.
func FactsOf(ctx context.Context, a *b2nd.Array, layers []cframe.Metalayer) (Facts, error) {
	nan, err := look(ctx, a.Frame())
	return Facts{a.Meta(), a.DType(), layers, nan}, err
}

// FactsIn returns those that the index of a group has of an array. If it was refused, the error
// matches formats.ErrUnsupported: the array itself tells more.
func FactsIn(a groupindex.Array) (Facts, error) {
	if a.Refused != "" {
		return Facts{}, formats.ErrUnsupported
	}
	d, err := dtype.Parse(a.DType)
	f := Facts{Meta: b2nd.Meta{Shape: a.Shape, ChunkShape: a.ChunkShape, BlockShape: a.BlockShape, DType: a.DType}, DType: d, NaN: a.NaN}
	for _, name := range slices.Sorted(maps.Keys(a.Layers)) {
		f.Layers = append(f.Layers, cframe.Metalayer{Name: name, Data: a.Layers[name]})
	}
	return f, err
}

// Index returns what an index says of an array with these facts; refused is why none can be served.
func (f Facts) Index(size int64, etag string, refused error) groupindex.Array {
	m, _ := b2nd.Meaning(f.Layers, f.Meta.Shape, formats.Limits{})
	a := groupindex.Array{Size: size, ETag: etag, DType: f.Meta.DType, Shape: list(f.Meta.Shape), ChunkShape: list(f.Meta.ChunkShape), BlockShape: list(f.Meta.BlockShape),
		Dims: m.Dims, NaN: f.NaN}
	if d, err := dtype.Parse(a.DType); err != nil || !d.Equal(f.DType) {
		a.DType, a.Refused = f.DType.String(), "its type is not what its metadata say"
	}
	sum := 0
	for _, l := range f.Layers {
		sum += len(l.Name) + len(l.Data)
	}
	switch {
	case refused != nil:
		a.Refused = refused.Error()
	case sum > groupindex.MaxLayers || len(f.Layers) > 64:
		a.Refused = "its layers are too long for an index"
	default:
		a.Layers = map[string][]byte{}
		for _, l := range f.Layers {
			a.Layers[l.Name] = l.Data
		}
	}
	a.Refused = a.Refused[:min(len(a.Refused), 512)]
	return a
}

// Document returns the zarr.json that New would make of the array, and its coordinates, without the array.
func (f Facts) Document(o Options) ([]byte, Coordinates, error) {
	if err := o.check(); err != nil {
		return nil, Coordinates{}, err
	}
	v, err := newView(f, o)
	if err != nil {
		return nil, Coordinates{}, err
	}
	return v.doc, v.Coordinates(), nil
}
