package farread

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/objstore"
)

// Meaning returns what the items of the array mean: names of dimensions, attributes, fill
// value and coordinates. Names that other programs have left in the metalayers
// dimension_names or _ARRAY_DIMENSIONS count. It is empty if the array says nothing.
// It costs what Frame.VLMetalayers costs: nothing if the end of the frame came with Open.
func (a *Array) Meaning(ctx context.Context) (arraymeta.Meta, error) {
	layers, err := a.Source.VLMetalayers(ctx)
	if err != nil {
		return arraymeta.Meta{}, err
	}
	m, _ := b2nd.Meaning(slices.Concat(layers, a.Source.Metalayers()), a.Shape(), a.Limits())
	return m, nil
}

// maxAxis bounds the bytes of a coordinate that is an array of its own.
const maxAxis = 64 << 20

// Axis returns the coordinate of axis i of the array, with its values. If it is an array
// beside, that is opened, and as much of it read as the axis has items, 64 MiB at most: an append makes it
// longer before the axis. If there is none the error is formats.ErrNoEntry.
func (a *Array) Axis(ctx context.Context, i int) (arraymeta.Axis, error) {
	m, err := a.Meaning(ctx)
	if err != nil {
		return arraymeta.Axis{}, err
	}
	return a.axis(ctx, m, i)
}

func (a *Array) axis(ctx context.Context, m arraymeta.Meta, i int) (arraymeta.Axis, error) {
	shape := a.Shape()
	if i < 0 || i >= len(m.Dims) || i >= len(shape) {
		return arraymeta.Axis{}, fmt.Errorf("axis %d has no name: %w", i, formats.ErrNoEntry)
	}
	c, ok := m.Coord(m.Dims[i])
	if !ok {
		return arraymeta.Axis{}, fmt.Errorf("dimension %q has no coordinate: %w", m.Dims[i], formats.ErrNoEntry)
	}
	if c.Inline() {
		return c.Axis(shape[i])
	}
	return a.axisBeside(ctx, c, shape[i])
}

// axisBeside reads a coordinate that is an array beside a.
func (a *Array) axisBeside(ctx context.Context, c arraymeta.Coord, n int64) (arraymeta.Axis, error) {
	at := a.Source.Object.Info().Key
	if a.Source.Folder != "" {
		at = strings.TrimSuffix(a.Source.Folder, "/")
	}
	ob, err := objstore.Open(ctx, a.Source.Object.Bucket(), path.Join(path.Dir(at), c.Array), objstore.OpenOptions{Head: objstore.DefaultHead})
	if err != nil {
		return arraymeta.Axis{}, fmt.Errorf("coordinate %q: %w", c.Dim, err)
	}
	x, err := b2nd.Open(ctx, ob, b2nd.Options{Limits: a.Limits()})
	if err != nil {
		return arraymeta.Axis{}, fmt.Errorf("coordinate %q: %w", c.Dim, err)
	}
	var box nd.Box
	var size int64
	switch {
	case len(x.Shape()) != 1 || x.Shape()[0] < n:
		err = fmt.Errorf("%s has the shape %v, the axis %d items: %w", c.Array, x.Shape(), n, formats.ErrUnsupported)
	default:
		box = b2nd.Sub([]int64{0}, []int64{n})
		if size, err = x.SizeOf(box); err == nil && size > maxAxis {
			err = fmt.Errorf("%s of %d bytes: %w", c.Array, size, formats.ErrTooLarge)
		}
	}
	if err != nil {
		return arraymeta.Axis{}, fmt.Errorf("coordinate %q: %w", c.Dim, err)
	}
	p := make([]byte, size)
	if err := x.ReadSlice(ctx, p, box); err != nil {
		return arraymeta.Axis{}, fmt.Errorf("coordinate %q: %w", c.Dim, err)
	}
	return c.AxisOf(n, x.DType(), p)
}

// SelectOptions tune Select.
type SelectOptions struct {
	// Nearest selects the nearest item of a single label that no item is equal to.
	Nearest bool
}

// A Labeler is an array whose axes may have names and coordinates.
type Labeler interface {
	Slicer
	// Meaning returns names, attributes and coordinates; see Array.Meaning.
	Meaning(ctx context.Context) (arraymeta.Meta, error)
	// Axis returns the coordinate of an axis; see Array.Axis.
	Axis(ctx context.Context, i int) (arraymeta.Axis, error)
	// Select resolves the text of a slice, by positions or by coordinates; see Array.Select.
	Select(ctx context.Context, slice string, o SelectOptions) (b2nd.Box, error)
}

// Select resolves the text of a slice: by positions as b2nd.ParseSlice reads it, or by
// coordinates, "time=2025-03-01:2025-04-01, lat=40:60", as arraymeta.ParseSelection
// does. By coordinates both ends of a range are included, whichever way the axis runs. An error
// matches nd.ErrSyntax, or nd.ErrIndex if no item is there; then it names the range of the
// axis. A coordinate that is an array beside is read for it.
func (a *Array) Select(ctx context.Context, slice string, o SelectOptions) (b2nd.Box, error) {
	if !arraymeta.HasLabels(slice) {
		s, err := b2nd.ParseSlice(slice)
		if err != nil {
			return b2nd.Box{}, err
		}
		return s.Resolve(a.Shape())
	}
	parsed, err := arraymeta.ParseSelection(slice)
	if err != nil {
		return b2nd.Box{}, err
	}
	m, err := a.Meaning(ctx)
	if err != nil {
		return b2nd.Box{}, err
	}
	dims := m.Dims
	if dims == nil {
		return b2nd.Box{}, fmt.Errorf("slice %.200q: the array has no names of dimensions: %w", slice, nd.ErrSyntax)
	}
	s, err := parsed.Slice(dims, func(i int) (arraymeta.Axis, error) {
		x, err := a.axis(ctx, m, i)
		if errors.Is(err, formats.ErrNoEntry) {
			err = fmt.Errorf("it has no coordinate, select it by position: %w", nd.ErrSyntax)
		}
		return x, err
	}, o.Nearest)
	if err != nil {
		return b2nd.Box{}, err
	}
	return s.Resolve(a.Shape())
}

func (s frameSlices) Meaning(ctx context.Context) (arraymeta.Meta, error) { return s.x.a.Meaning(ctx) }

func (s frameSlices) Axis(ctx context.Context, i int) (arraymeta.Axis, error) {
	return s.x.a.Axis(ctx, i)
}

func (s frameSlices) Select(ctx context.Context, slice string, o SelectOptions) (b2nd.Box, error) {
	return s.x.a.Select(ctx, slice, o)
}

// A Coordinate describes the coordinate of a dimension in a Description: with Start and
// Step, or Values, or neither if it is an array beside or does not fit the axis.
type Coordinate struct {
	Dim   string `json:"dim"`
	DType string `json:"dtype"`
	N     int64  `json:"n"` // items of the axis
	// Time says that Start, Step and Values are seconds since 1970 in UTC.
	Time  bool   `json:"time,omitempty"`
	Units string `json:"units,omitempty"`
	// First and Last are the ends as people read them, and By the distance if it is the same all along: "day", "0.5".
	First string `json:"first,omitempty"`
	Last  string `json:"last,omitempty"`
	By    string `json:"by,omitempty"`
	// Item i lies at Start + i*Step.
	Start *float64 `json:"start,omitempty"`
	Step  *float64 `json:"step,omitempty"`
	// Values are numbers, or texts; null is no number.
	Values []any  `json:"values,omitempty"`
	Array  string `json:"array,omitempty"`  // the array beside that has the values
	Unused string `json:"unused,omitempty"` // why the coordinate cannot be used
}

// coordinates describes the coordinates of an array.
func coordinates(m arraymeta.Meta, shape []int64) (list []Coordinate) {
	for i, dim := range m.Dims {
		c, ok := m.Coord(dim)
		if !ok || i >= len(shape) {
			continue
		}
		x := Coordinate{Dim: dim, DType: c.DType, N: shape[i], Array: c.Array}
		if c.Inline() {
			x.fill(c)
		}
		list = append(list, x)
	}
	return list
}

func (x *Coordinate) fill(c arraymeta.Coord) {
	a, err := c.Axis(x.N)
	if err != nil {
		x.Unused = err.Error()
		return
	}
	x.Time, x.Units, x.By = a.IsTime(), a.Units(), a.Step()
	if x.N == 0 {
		return
	}
	x.First, x.Last = a.Text(0), a.Text(x.N-1)
	if a.Regular() && !a.Months() {
		start := a.Number(0)
		x.Start = &start
		step := 0.0
		if x.N > 1 {
			step = (a.Number(x.N-1) - start) / float64(x.N-1)
		}
		x.Step = &step
		return
	}
	for i := range min(x.N, maxListedValues) {
		x.Values = append(x.Values, a.JSON(i))
	}
}

// maxListedValues bounds Coordinate.Values. Longer ones of months are cut; others are
// bounded by arraymeta.MaxValues.
const maxListedValues = 1 << 16
