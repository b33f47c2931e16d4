package arraymeta

import (
	"slices"

	"github.com/farread/farread/formats/nd"
)

// Cut returns what the items of a box of an array mean: dimensions and coordinates of the
// axes that the box keeps, with those of its items, and all attributes. Coordinates that are too long
// for it are left out, and names if the box does not tell which axes it dropped. The
// result has no Source.
func (m Meta) Cut(shape []int64, box nd.Box) Meta {
	out := Meta{Attrs: m.Attrs, Fill: m.Fill}
	kept, ok := Kept(box)
	if !ok || m.Dims == nil || len(m.Dims) != len(shape) {
		return out
	}
	out.Dims = []string{}
	for _, i := range kept {
		out.Dims = append(out.Dims, m.Dims[i])
		c, ok := m.Coord(m.Dims[i])
		if !ok || !c.Inline() {
			continue
		}
		if c, ok := c.cut(shape[i], box.Start[i], box.Step[i], box.Count(i)); ok {
			out.Coords = append(out.Coords, c)
		}
	}
	return out
}

// cut returns the coordinate of n items from start on.
func (c Coord) cut(length, start, step, n int64) (Coord, bool) {
	a, err := c.Axis(length)
	if err != nil {
		return Coord{}, false
	}
	const most = 1 << 20 // values that are looked at
	if start == 0 && step == 1 && (a.Regular() || n == length) {
		return c, true
	}
	if n > most {
		return Coord{}, false
	}
	var values []byte
	for i := range n {
		values = append(values, a.item(start+i*step)...)
	}
	out, ok := NewCoord(c.Dim, a.d, values)
	out.Attrs = c.Attrs
	return out, ok
}

// Kept returns the axes of an array that are axes of what a box selects. ok is false if
// the box does not tell, since some axes of one item were dropped and others not.
func Kept(box nd.Box) (kept []int, ok bool) {
	counts := box.Counts()
	if slices.Equal(counts, box.OutShape) {
		for i := range counts {
			kept = append(kept, i)
		}
		return kept, true
	}
	var lengths []int64
	for i, n := range counts {
		if n != 1 {
			kept, lengths = append(kept, i), append(lengths, n)
		}
	}
	return kept, slices.Equal(lengths, box.OutShape)
}
