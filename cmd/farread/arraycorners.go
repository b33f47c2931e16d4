package main

import (
	"context"
	"slices"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/internal/render"
)

const (
	// maxCornered is how many axes may be longer than what is shown of them: 64 corners are read, and 6⁶ items shown.
	maxCornered = 6
	// cornersAside is how many of them are read side by side.
	cornersAside = 8
)

// corners are the first and the last few items along each axis of a selection that is shown on a
// terminal and too long to be shown whole.
type corners struct {
	axes []cornered
	lens []int64 // shown along each axis of the array
}

// cornered is an axis: the parts of it that are read, and where they stand in what is shown.
type cornered struct{ from, to, at [2]int64 }

// cornersOf finds the corners of a box; ok is false if there are too many, or a screen has room for none.
func (x *itemSelection) cornersOf() (c corners, ok bool) {
	long := 0
	for _, n := range x.box.Counts() {
		shown := render.Shown(n)
		a := cornered{to: [2]int64{n, 0}}
		if shown < n {
			long++
			a = cornered{from: [2]int64{0, n - render.Edge}, to: [2]int64{render.Edge, n}, at: [2]int64{0, shown - render.Edge}}
		}
		c.axes, c.lens = append(c.axes, a), append(c.lens, shown)
	}
	return c, long <= maxCornered
}

// abridge makes x show its corners alone, if it has more items than a screen shows whole.
func (x *itemSelection) abridge() error {
	n, err := x.box.Items()
	if x.format != render.Text || err == nil && n <= render.MaxText {
		return nil
	}
	c, ok := x.cornersOf()
	if err != nil || x.columns == 0 || !ok || x.s.has("where") {
		return usagef("%s items are too many to show: name a file with -o, or a --format for stdout", human.Count(n))
	}
	x.corners = &c
	return nil
}

// shape is that of what is shown, of a selection of some shape.
func (c *corners) shape(of []int64, axes int) []int64 {
	out := slices.Clone(of)
	for i := range out[:axes] {
		out[i] = render.Shown(out[i])
	}
	return out
}

// part is the box of the items from one position of a box to another one along each axis.
func part(b b2nd.Box, from, to []int64) b2nd.Box {
	out := b2nd.Box{Start: slices.Clone(b.Start), Stop: slices.Clone(b.Stop), Step: b.Step}
	for i := range from {
		out.Start[i] = b.Start[i] + from[i]*b.Step[i]
		last := b.Start[i] + (to[i]-1)*b.Step[i]
		if out.Stop[i] = last + 1; b.Step[i] < 0 {
			out.Stop[i] = last - 1
		}
	}
	out.OutShape = out.Counts()
	return out
}

// read reads the corners into the items that are shown. Between them are zeros, which nobody sees.
func (c *corners) read(ctx context.Context, x *itemSelection) ([]byte, error) {
	total, err := nd.Prod(c.lens)
	if err != nil {
		return nil, err
	}
	size := x.itemSize()
	out := make([]byte, total*size)
	var boxes []b2nd.Box
	var places [][]int64
	for i := range 1 << len(c.axes) {
		from, to, at := make([]int64, len(c.axes)), make([]int64, len(c.axes)), make([]int64, len(c.axes))
		some := true
		for k, a := range c.axes {
			side := i >> k & 1
			from[k], to[k], at[k] = a.from[side], a.to[side], a.at[side]
			some = some && from[k] < to[k]
		}
		if some {
			boxes, places = append(boxes, part(x.box, from, to)), append(places, at)
		}
	}
	err = par.Do(ctx, len(boxes), cornersAside, func(ctx context.Context, i int) error {
		n := boxes[i].Counts()
		var p []byte
		err := x.t.arr.EachSlab(ctx, boxes[i], x.slab(), x.field, func(_ b2nd.Box, q []byte) error {
			p = append(p, q...)
			return nil
		})
		if err == nil {
			nd.CopyBox(out, c.lens, places[i], p, n, make([]int64, len(n)), n, int(size))
		}
		return err
	})
	return out, err
}
