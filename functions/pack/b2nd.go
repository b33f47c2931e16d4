package pack

import (
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
)

// A stored array is the source of an Array that is b2nd already.
type storedArray struct {
	a      *b2nd.Array
	layers []cframe.Metalayer
}

// StoredArray returns the Array that Write makes of a b2nd array, in other chunks or encoded
// otherwise. layers are the vlmetalayers of its frame, which the new one gets. Write keeps the
// shapes of chunks and blocks unless it is given others. Then parts of a chunk are needed for
// several of the new ones: up to half of ArrayWrite.Write.MaxMemory keeps decoded blocks,
// and what it does not hold is read again.
func StoredArray(a *b2nd.Array, layers []cframe.Metalayer) Array {
	d := a.DType()
	return Array{DType: d, Shape: a.Shape(), NBytes: a.Items() * int64(a.ItemSize()), source: d, b2nd: &storedArray{a, layers}}
}

// boxedStored is what is written of an array that is b2nd already.
func (a Array) boxedStored(o ArrayWrite) (boxed, error) {
	s := a.b2nd
	m := s.a.Meta()
	o.Write.ItemSize = s.a.ItemSize()
	if o.Write.MaxMemory == 0 {
		o.Write.MaxMemory = b2nd.DefaultMaxMemory
	}
	from := s.a
	if o.ChunkShape != nil || o.BlockShape != nil {
		m.ChunkShape, m.BlockShape = o.ChunkShape, o.BlockShape
		o.Write.MaxMemory /= 2
		from = from.WithCache(o.Write.MaxMemory)
	}
	var err error
	o.Write.VLMetalayers, err = a.storedLayers(o.Write.VLMetalayers)
	return boxed{m, o.Write, from.ReadSlice, func() {}}, err
}

// storedLayers returns the layers of the source with those that are given, which come first,
// part by part where they say what items mean.
func (a Array) storedLayers(given []cframe.Metalayer) ([]cframe.Metalayer, error) {
	out := slices.Clone(given)
	for _, l := range a.b2nd.layers {
		i := slices.IndexFunc(out, func(k cframe.Metalayer) bool { return k.Name == l.Name })
		switch {
		case i < 0:
			out = append(out, l)
		case l.Name == arraymeta.Layer:
			was, err := arraymeta.Decode(l.Data, a.Shape, formats.Limits{})
			if err != nil {
				continue // what cannot be read says nothing
			}
			own, err := arraymeta.Decode(out[i].Data, a.Shape, formats.Limits{})
			if err != nil {
				return nil, err
			}
			source := was.Source
			if was = over(was, own); was.Source == "" {
				was.Source = source
			}
			if out[i].Data, err = was.Append(nil); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
