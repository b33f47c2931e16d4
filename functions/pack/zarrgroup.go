package pack

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/functions/internal/kit"
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
			if strings.ContainsAny(dim, `/\`) || dim == "." || dim == ".." { // no name of an array of the same folder
				continue
			}
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
			if a.beside == nil {
				a.beside = map[string]*zarr.Array{}
			}
			a.beside[dim] = z
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

// maxAxis bounds the bytes of a coordinate that Axis reads.
const maxAxis = 64 << 20

// Axis returns the coordinate along an axis of an array of Zarr, if its group has one; other arrays have none. It
// reads an array of coordinates that is not in the layer.
func (a Array) Axis(ctx context.Context, i int) (x arraymeta.Axis, ok bool, err error) {
	if a.zarr == nil || i >= len(a.zarr.Meta().Dims) {
		return x, false, nil
	}
	dim := a.zarr.Meta().Dims[i]
	k := slices.IndexFunc(a.coords, func(c arraymeta.Coord) bool { return c.Dim == dim })
	if k < 0 {
		return x, false, nil
	}
	c := a.coords[k]
	if c.Inline() {
		x, err = c.Axis(a.Shape[i])
		return x, err == nil, err
	}
	z := a.beside[dim]
	if n := z.Meta().NBytes(); n > maxAxis {
		return x, false, kit.TooLarge("coordinate %q of %d bytes, at most %d", dim, n, maxAxis)
	}
	values := make([]byte, z.Meta().NBytes())
	if err := z.ReadBox(ctx, values, nd.Whole(z.Shape())); err != nil {
		return x, false, err
	}
	x, err = c.AxisOf(a.Shape[i], z.DType(), values)
	return x, err == nil, err
}

// ZarrCoords returns the arrays of Zarr that have the coordinates along the axes, by their names.
func (a Array) ZarrCoords() map[string]*zarr.Array { return a.beside }

// Beside returns the coordinates of an array of Zarr that are arrays beside it, by their axes.
func (a Array) Beside() map[int]arraymeta.Coord {
	out := map[int]arraymeta.Coord{}
	for _, c := range a.coords {
		if i := slices.Index(a.zarr.Meta().Dims, c.Dim); !c.Inline() && i >= 0 {
			out[i] = c
		}
	}
	return out
}

// Alone returns a without coordinates that are arrays beside it, for one that is packed alone.
func (a Array) Alone() Array {
	a.coords = slices.DeleteFunc(slices.Clone(a.coords), func(c arraymeta.Coord) bool { return c.Array != "" })
	return a
}
