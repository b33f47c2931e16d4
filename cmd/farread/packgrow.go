package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/all"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/draft"
)

// growArray puts the array of SRC behind the items of a .b2nd.
func growArray(ctx context.Context, a *app, src string, o *objstore.Object, f *packFlags, rep *appendReport) error {
	arr, axis, err := a.appended(ctx, src, f)
	if err != nil {
		return at(src, err)
	}
	rep.Bytes = arr.NBytes
	return a.draft(ctx, o, func(file *draft.File) error {
		eo := b2nd.EditOptions{Draft: true, Index: f.blosc.whenGrown(o), Sidecar: a.sidecar(o, f, rep)}
		if eo.Encode, err = f.blosc.given(); err != nil {
			return err
		}
		e, err := b2nd.Edit(ctx, file, eo)
		if err != nil {
			return at(rep.Output, err)
		}
		g := &axisGrower{a: a, o: o, e: e, rep: rep}
		if had := e.Meta().Shape; len(had) > 0 && len(arr.Shape) > 0 {
			g.had, g.rows = had[0], arr.Shape[0]
			if err := g.plan(ctx, src, axis, f.meta.coords); err != nil {
				return err
			}
		}
		b := a.newBar("pack", arr.NBytes)
		defer b.clear()
		if err := arr.Append(ctx, e, int64(a.flags.maxMemory)/2, b.set); err != nil {
			return at(src, maybeAbsent(err))
		}
		if arr.Zarr() != nil {
			rep.zarrChunks = a.absentChunks(src, []pack.Array{arr}, f.array.deniedIsAbsent)
		}
		rep.Shape, rep.Added = e.Meta().Shape, arr.Shape[0]
		if err := g.apply(ctx); err != nil {
			return err
		}
		err = e.Close() //nolint:contextcheck // writes to a temporary file
		rep.inside = e.Frame().Indexed()
		return at(rep.Output, err)
	}, rep)
}

// An axisOf returns the coordinate along the first axis of an array, if it has one.
type axisOf func(ctx context.Context) (x arraymeta.Axis, ok bool, err error)

// appended opens the array that is SRC of an append, with what says its coordinate.
func (a *app) appended(ctx context.Context, src string, f *packFlags) (pack.Array, axisOf, error) {
	var arrays []pack.Array
	axis := func(context.Context) (x arraymeta.Axis, ok bool, err error) { return x, false, nil }
	n, err := a.zarrSource(ctx, src, f.array.deniedIsAbsent)
	if err != nil {
		return pack.Array{}, nil, err
	}
	switch {
	case n != nil:
		if f.array.dtype != "" || f.array.shape != nil || f.array.order != "" {
			return pack.Array{}, nil, usagef("%s says what its items are: --dtype, --shape and --order are for raw bytes", human.Printable(src))
		}
		if arrays, err = a.zarrArrays(ctx, src, n, f.array.member); err != nil {
			return pack.Array{}, nil, err
		}
		axis = func(ctx context.Context) (arraymeta.Axis, bool, error) { return arrays[0].Axis(ctx, 0) }
	case storedNamed(src):
		stored, of, err := a.storedArray(ctx, src, f)
		if err != nil {
			return pack.Array{}, nil, err
		}
		arrays = []pack.Array{stored}
		axis = func(ctx context.Context) (arraymeta.Axis, bool, error) {
			x, err := of.Axis(ctx, 0)
			if errors.Is(err, formats.ErrNoEntry) {
				return x, false, nil
			}
			return x, err == nil, err
		}
	default:
		var err error
		if arrays, _, err = a.arrays(ctx, src, f); err != nil {
			return pack.Array{}, nil, err
		}
	}
	if len(arrays) > 1 {
		return pack.Array{}, nil, usagef("%s has %s: name one with --member", src, human.Plural(int64(len(arrays)), "array"))
	}
	return arrays[0], axis, nil
}

// An axisGrower keeps the coordinate of the first axis as long as the axis.
type axisGrower struct {
	a         *app
	o         *objstore.Object
	e         *b2nd.Editor
	rep       *appendReport
	had, rows int64 // items that are there, and that are added

	meta   arraymeta.Meta
	coord  arraymeta.Coord // that is there
	values []byte          // of the rows that are added, as it stores them; nil: it goes on without
	whole  []byte          // of all rows

	beside   *b2nd.Array // that has the coordinate, if it was opened
	besideOf *objstore.Object
}

// plan decides what becomes of the coordinate, and refuses an append that would leave it too short.
func (g *axisGrower) plan(ctx context.Context, src string, of axisOf, flags []string) error {
	layers, err := g.e.Frame().VLMetalayers()
	if err != nil {
		return at(g.rep.Output, err)
	}
	shape := g.e.Meta().Shape
	g.meta, _ = b2nd.Meaning(slices.Concat(layers, g.e.Frame().Metalayers()), shape, formats.Limits{})
	has := false
	if g.meta.Dims != nil {
		g.coord, has = g.meta.Coord(g.meta.Dims[0])
	}
	more, given, err := g.given(ctx, flags, has)
	if err != nil || !has {
		return err
	}
	if !given {
		if more, given, err = of(ctx); err != nil {
			return at(src, err)
		}
		given = given && more.Dim() == g.coord.Dim
	}
	if !given {
		return g.without(ctx)
	}
	p, err := g.coord.Follow(more)
	if err != nil {
		return at(g.rep.Output, err)
	}
	if more.Len() != g.rows {
		g.whole = p
		return g.remarkOrder()
	}
	if !g.coord.Fits(g.had) {
		return g.short(g.coord.Len())
	}
	g.values = p
	return g.inOrder(ctx)
}

// given reads the coordinate that --coord names.
func (g *axisGrower) given(ctx context.Context, flags []string, has bool) (x arraymeta.Axis, ok bool, err error) {
	for _, text := range flags {
		name, file, is := strings.Cut(text, "=")
		switch {
		case ok:
			return x, false, usagef("--coord %s: a second one; the first axis alone grows", human.Printable(text))
		case !is || !has || name != g.coord.Dim:
			if !has {
				return x, false, usagef("--coord %s: the first axis of %s has no coordinate that would grow", human.Printable(text), human.Printable(g.rep.Output))
			}
			return x, false, usagef("--coord %s: want %s=FILE, the first axis, which grows", human.Printable(text), human.Printable(g.coord.Dim))
		}
		r, err := g.a.readAxis(ctx, file)
		if err != nil {
			return x, false, at(file, err)
		}
		n := int64(len(r.values) / r.dtype.ItemSize())
		if n != g.rows && n != g.had+g.rows {
			return x, false, usagef("--coord %s: %s has %s: want %s, of the rows of SRC, or %s, of all", human.Printable(name), human.Printable(file), human.Plural(n, "value"), human.Count(g.rows), human.Count(g.had+g.rows))
		}
		if x, err = (arraymeta.Coord{Dim: name, DType: r.dtype.String()}).AxisOf(n, r.dtype, r.values); err != nil {
			return x, false, at(file, err)
		}
		ok = true
	}
	return x, ok, nil
}

// without refuses an append that says nothing of the coordinate, unless that goes on by itself.
func (g *axisGrower) without(ctx context.Context) error {
	if !g.coord.Inline() {
		x, _, err := g.openBeside(ctx)
		if err != nil {
			return err
		}
		if x.Shape()[0] >= g.had+g.rows {
			return nil
		}
		return g.wants(fmt.Sprintf("is the array %s of %s", human.Printable(g.coord.Array), human.Plural(x.Shape()[0], "value")))
	}
	if !g.coord.Fits(g.had) {
		return g.short(g.coord.Len())
	}
	if g.rows == 0 {
		return nil
	}
	if g.coord.GoesOn(g.had, g.rows) == nil {
		return nil
	}
	if g.coord.Len() < 0 {
		return g.wants("of " + g.coord.DType + " would run over")
	}
	return g.wants("is a list of " + human.Plural(g.coord.Len(), "value"))
}

func (g *axisGrower) wants(is string) error {
	dim := human.Printable(g.coord.Dim)
	return usagef("%s: the coordinate %s %s, and SRC says nothing of its own: add --coord %s=FILE, a .npy of %s", human.Printable(g.rep.Output), dim, is, dim, human.Plural(g.rows, "value"))
}

func (g *axisGrower) short(n int64) error {
	dim := human.Printable(g.coord.Dim)
	return usagef("%s: the coordinate %s has %s for %s already: add --coord %s=FILE, a .npy of all %s", human.Printable(g.rep.Output), dim, human.Plural(n, "value"), human.Plural(g.had, "item"), dim, human.Plural(g.had+g.rows, "value"))
}

// apply makes the coordinate as long as the axis. An array beside grows first: readers take of a longer one what
// the axis has.
func (g *axisGrower) apply(ctx context.Context) error {
	var c arraymeta.Coord
	switch {
	case g.whole == nil && g.values == nil:
		return nil
	case !g.coord.Inline():
		return g.growBeside(ctx)
	case g.whole != nil:
		d, err := g.coord.Type()
		if err != nil {
			return err
		}
		var ok bool
		if c, ok = arraymeta.NewCoord(g.coord.Dim, d, g.whole); !ok {
			c = besideNamed(g.coord)
			if err := g.a.writeBeside(ctx, g.o.Bucket(), g.o.Info().Key, besideCoord{c, g.whole}, false); err != nil {
				return err
			}
		}
		c.Attrs = g.coord.Attrs
	default:
		var ok bool
		if c, ok = g.coord.Grow(g.had, g.values); !ok {
			n := g.had * int64(len(g.values)) / max(g.rows, 1)
			if n > mostMetaFile {
				return usagef("%s: %s of a regular axis would become a list of %s: give values that go on, or pack anew", human.Printable(g.rep.Output), human.Plural(g.had, "value"), human.Size(n))
			}
			c = besideNamed(g.coord)
			if err := g.a.writeBeside(ctx, g.o.Bucket(), g.o.Info().Key, besideCoord{c, append(g.coord.AppendValues(nil, g.had), g.values...)}, false); err != nil {
				return err
			}
		}
	}
	i := slices.IndexFunc(g.meta.Coords, func(c arraymeta.Coord) bool { return c.Dim == g.coord.Dim })
	g.meta.Coords = slices.Clone(g.meta.Coords)
	g.meta.Coords[i] = c
	p, err := g.meta.Append(nil)
	if err != nil {
		return at(g.rep.Output, err)
	}
	return at(g.rep.Output, g.e.Frame().SetVLMetalayer(arraymeta.Layer, p))
}

// openBeside opens the array that has the coordinate, once.
func (g *axisGrower) openBeside(ctx context.Context) (*b2nd.Array, *objstore.Object, error) {
	if g.beside != nil {
		return g.beside, g.besideOf, nil
	}
	key := besideKey(g.o.Info().Key, g.coord.Array)
	name := join(g.o.Bucket().Name(), key)
	o, err := objstore.Open(ctx, g.o.Bucket(), key, objstore.OpenOptions{Ahead: -1})
	if err != nil {
		return nil, nil, at(name, fmt.Errorf("the coordinate %s: %w", human.Printable(g.coord.Dim), err))
	}
	x, err := b2nd.Open(ctx, o, b2nd.Options{})
	if err != nil {
		return nil, nil, at(name, err)
	}
	if len(x.Shape()) != 1 || x.Shape()[0] < g.had {
		return nil, nil, at(name, fmt.Errorf("the coordinate %s has the shape %s for %s: %w", human.Printable(g.coord.Dim), human.Shape(x.Shape()), human.Plural(g.had, "item"), formats.ErrUnsupported))
	}
	if d, err := g.coord.Type(); err != nil || !d.Equal(x.DType()) {
		return nil, nil, at(name, fmt.Errorf("items of %s, not of %s: %w", x.DType(), g.coord.DType, formats.ErrUnsupported))
	}
	g.beside, g.besideOf = x, o
	return x, o, nil
}

// growBeside puts values behind those of the array that has the coordinate. What it has more than the axis already, since
// another array of the folder has grown, must be the same.
func (g *axisGrower) growBeside(ctx context.Context) error {
	x, o, err := g.openBeside(ctx)
	if err != nil {
		return err
	}
	rep := &appendReport{Format: all.B2ND, Output: join(o.Bucket().Name(), o.Info().Key)}
	values, from := g.values, g.had
	if g.whole != nil {
		values, from = g.whole, 0
	}
	size := int64(x.ItemSize())
	has := min(x.Shape()[0], g.had+g.rows)
	both := make([]byte, (has-from)*size)
	if err := x.ReadSlice(ctx, both, b2nd.Sub([]int64{from}, []int64{has})); err != nil {
		return at(rep.Output, err)
	}
	if !bytes.Equal(both, values[:len(both)]) {
		return g.otherBeside(ctx, rep.Output, from, has)
	}
	if values = values[len(both):]; len(values) == 0 {
		return nil
	}
	g.rep.Beside = rep
	rep.Bytes, rep.Added = int64(len(values)), int64(len(values))/size
	return g.a.draft(ctx, o, func(file *draft.File) error {
		e, err := b2nd.Edit(ctx, file, b2nd.EditOptions{Draft: true, Index: cframe.NoIndex})
		if err != nil {
			return at(rep.Output, err)
		}
		if err := e.Extend(values); err != nil {
			return at(rep.Output, err)
		}
		rep.Shape = e.Meta().Shape
		return at(rep.Output, e.Close()) //nolint:contextcheck // writes to a temporary file
	}, rep)
}

// otherBeside is the error for an array beside that another append has made longer by other values: one that was faster, if the
// array itself is another one by now.
func (g *axisGrower) otherBeside(ctx context.Context, name string, from, to int64) error {
	if now, err := g.o.Bucket().Head(ctx, g.o.Info().Key); err == nil && now.ETag != g.o.Info().ETag {
		return at(g.rep.Output, lostTo(objstore.ErrChanged))
	}
	return at(name, fmt.Errorf("it has other values for items from %d to %d than those that are given: those of another append, which is under way or has ended early: %w", from, to, formats.ErrUnsupported))
}
