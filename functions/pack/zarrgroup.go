package pack

import (
	"context"
	"maps"
	"path"
	"slices"

	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/formats/zarr"
)

// maxCoord bounds the coordinates of an axis that are looked at. Longer ones are arrays beside.
const maxCoord = 4 << 20

// ZarrArrays returns the Arrays of a group by the order of their paths. As xarray has it, an
// array of one axis that is called as the axis has the coordinates along it, for the arrays of
// the same folder: they get them into the layer arraymeta.Layer, as numbers if these are few or
// regular, else as the name of the b2nd that is made of them. It reads such arrays of up to 4
// MiB, each once.
func ZarrArrays(ctx context.Context, arrays map[string]*zarr.Array) ([]Array, error) {
	coords := map[string]*arraymeta.Coord{} // by the path of their array; nil: not looked at yet
	out := make([]Array, 0, len(arrays))
	for _, p := range slices.Sorted(maps.Keys(arrays)) {
		a := ZarrArray(p, arrays[p])
		for i, dim := range a.zarr.Meta().Dims {
			at := path.Join(path.Dir(p), dim)
			z := arrays[at]
			if z == nil || at == p || !slices.Equal(z.Meta().Dims, []string{dim}) || z.Shape()[0] != a.Shape[i] || a.Shape[i] == 0 {
				continue
			}
			if coords[at] == nil {
				c, err := zarrCoord(ctx, dim, z)
				if err != nil {
					return nil, err
				}
				coords[at] = &c
			}
			a.coords = append(a.coords, *coords[at])
		}
		out = append(out, a)
	}
	return out, nil
}

// zarrCoord reads the coordinates along an axis.
func zarrCoord(ctx context.Context, dim string, z *zarr.Array) (arraymeta.Coord, error) {
	beside := arraymeta.Coord{Dim: dim, DType: z.DType().String(), Array: dim + ArraySuffix, Attrs: z.Meta().Attrs}
	n := z.Meta().NBytes()
	if n > maxCoord {
		return beside, nil
	}
	values := make([]byte, n)
	if err := z.ReadBox(ctx, values, nd.Whole(z.Shape())); err != nil {
		return beside, err
	}
	d := z.DType()
	if d.BigEndian() {
		little, err := dtype.Parse("<" + d.String()[1:])
		if err != nil || !d.CanConvert(little) {
			return beside, err
		}
		if err := d.Convert(values, little, slices.Clone(values)); err != nil {
			return beside, err
		}
		d = little
		beside.DType = d.String()
	}
	if c, ok := arraymeta.NewCoord(dim, d, values); ok {
		c.Attrs = beside.Attrs
		return c, nil
	}
	return beside, nil
}

// Alone returns a without coordinates that are arrays beside it, for one that is packed alone.
func (a Array) Alone() Array {
	a.coords = slices.DeleteFunc(slices.Clone(a.coords), func(c arraymeta.Coord) bool { return c.Array != "" })
	return a
}
