package main

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/internal/human"
)

// inOrder refuses values of the rows to append that end the order of those that are there: slices between two
// coordinates would find nothing any more.
func (g *axisGrower) inOrder(ctx context.Context) error {
	more, err := g.axisOf(g.values)
	if err != nil || g.had == 0 || g.rows == 0 {
		return err
	}
	var had arraymeta.Axis
	if g.coord.Inline() {
		had, err = g.coord.Axis(g.had)
	} else {
		had, err = g.besideEnds(ctx)
	}
	if err != nil {
		return at(g.rep.Output, err)
	}
	err = had.Continue(had.Order(), more)
	if err != nil && !g.coord.Inline() {
		if had, err = g.besideWhole(ctx); err == nil {
			err = had.Continue(had.Order(), more)
		}
	}
	if err == nil {
		return nil
	}
	dim := human.Printable(g.coord.Dim)
	return at(g.rep.Output, fmt.Errorf("%w; leave out rows that are there already, or if the values are labels in no order, give those of all %s items: --coord %s=FILE", err, human.Count(g.had+g.rows), dim))
}

// remarkOrder says so if a coordinate that was in order is given anew in none.
func (g *axisGrower) remarkOrder() error {
	if !g.coord.Inline() || !g.coord.Fits(g.had) {
		return nil
	}
	had, err := g.coord.Axis(g.had)
	if err != nil {
		return at(g.rep.Output, err)
	}
	all, err := g.axisOf(g.whole)
	if err != nil {
		return at(g.rep.Output, err)
	}
	if was, is := had.Order(), all.Order(); (was.Up || was.Down) && !is.Up && !is.Down {
		g.rep.Warnings = append(g.rep.Warnings, fmt.Sprintf("the coordinate %s is in no order now: slices take one of its values, and no range", human.Printable(g.coord.Dim)))
	}
	return nil
}

// axisOf is an axis of values as the coordinate stores them.
func (g *axisGrower) axisOf(values []byte) (arraymeta.Axis, error) {
	d, err := g.coord.Type()
	if err != nil {
		return arraymeta.Axis{}, err
	}
	return g.coord.AxisOf(int64(len(values)/d.ItemSize()), d, values)
}

// besideEnds has the first and the last one of the values in the array beside that items have. If what is given goes on with
// these, the others need not be read.
func (g *axisGrower) besideEnds(ctx context.Context) (arraymeta.Axis, error) {
	if g.had < 2 {
		return g.besideWhole(ctx)
	}
	return g.besideValues(ctx, nd.Box{Start: []int64{0}, Stop: []int64{g.had}, Step: []int64{g.had - 1}, OutShape: []int64{2}})
}

// besideWhole has all values in the array beside that items have.
func (g *axisGrower) besideWhole(ctx context.Context) (arraymeta.Axis, error) {
	return g.besideValues(ctx, b2nd.Sub([]int64{0}, []int64{g.had}))
}

func (g *axisGrower) besideValues(ctx context.Context, box nd.Box) (arraymeta.Axis, error) {
	x, o, err := g.openBeside(ctx)
	if err != nil {
		return arraymeta.Axis{}, err
	}
	name := join(o.Bucket().Name(), o.Info().Key)
	size, err := x.SizeOf(box)
	if err == nil && size > mostMetaFile {
		err = fmt.Errorf("%s of coordinates in no order, at most %s: %w", human.Size(size), human.Size(mostMetaFile), formats.ErrTooLarge)
	}
	if err != nil {
		return arraymeta.Axis{}, at(name, err)
	}
	p := make([]byte, size)
	if err := x.ReadSlice(ctx, p, box); err != nil {
		return arraymeta.Axis{}, at(name, err)
	}
	return g.coord.AxisOf(size/int64(x.ItemSize()), x.DType(), p)
}
