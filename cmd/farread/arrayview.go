package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/picture"
	"github.com/farread/farread/internal/render"
)

// An arrayView is a picture of a box of an array, with axes.
type arrayView struct {
	*itemSelection

	width int
	look  lookFlags
}

var _ selection = (*arrayView)(nil)

// pickPlot selects what a picture shows.
func (t *frameContent) pickPlot(ctx context.Context, s selector) (selection, error) {
	if t.arr == nil {
		return nil, usagef("a picture is of an array or a zoom-cache file, and this is a %s", t.d.Format())
	}
	if err := s.only(t.d.Format(), "slice", "nearest", "field", "dtype", "width", "format"); err != nil {
		return nil, err
	}
	if err := refusal(t.d); err != nil {
		return nil, err
	}
	if s.has("width") && (s.width < picture.MinWidth || s.width > picture.MaxWidth) {
		return nil, usagef("--width %d: a picture of an array has %d to %d pixels", s.width, picture.MinWidth, picture.MaxWidth)
	}
	if s.slice == nil { // all of it
		var err error
		if s.slice, err = parseSlice(everything); err != nil {
			return nil, err
		}
		s.sliceText = everything
	}
	x, err := t.selected(ctx, s)
	if err != nil {
		return nil, err
	}
	return &arrayView{x, s.width, s.look}, nil
}

// everything is the slice of all items.
const everything = "..."

func (x *arrayView) sink(out string) (sink.Sink, error) {
	if x.format = x.s.format; x.format == "" && out != "-" {
		x.format = strings.ToLower(strings.TrimPrefix(filepath.Ext(out), "."))
	}
	if x.format != render.PNG && x.format != render.SVG {
		return nil, usagef("a view of an array is a picture: want -o with a name in .png or .svg, or --format png or svg; farread slice writes other files")
	}
	if k := picture.Axes(x.dtype, x.shape); k > 2 {
		return nil, usagef("a picture of shape %s: take a slice of one or two axes", human.Shape(x.shape))
	}
	return x.t.a.byteSink(out)
}

func (x *arrayView) copy(ctx context.Context, w sink.Sink, b bar) error {
	p := picture.Plot{Title: x.look.titled(""), Width: x.width, Height: x.look.height, Dark: x.look.dark}
	if l, ok := x.t.arr.(render.Labeler); ok {
		e, err := render.Explain(ctx, l, x.box)
		if err != nil {
			return err
		}
		p.Sides, p.Values = e.Sides, e.Values
		if x.field != nil {
			p.Values = human.Printable(human.Shorten(x.s.field, 60))
		}
		p.Title = x.look.titled(x.title(e.Fixed))
	}
	texts := []string{p.Title, p.Values}
	for _, side := range p.Sides {
		texts = append(texts, side.Name)
	}
	x.t.a.boxes(x.t.uri, x.format, texts...)
	o := render.ArrayOptions{Format: x.format, Picture: x.s.picture.options(), Plot: &p, Memory: int64(x.t.a.flags.maxMemory) / 4}
	return render.Array(w, x.dtype, x.shape, o, func(put func(p []byte) error) error {
		if x.total() <= 0 {
			return nil
		}
		return x.each(ctx, func(p []byte) error {
			b.add(int64(len(p)))
			return put(p)
		})
	})
}

// title tells what the picture shows: the name, and the slice or the places that it fixes.
func (x *arrayView) title(fixed []string) string {
	text := lastName(x.t.uri)
	slice := strings.TrimSpace(x.s.sliceText)
	switch {
	case slice == everything:
	case len(fixed) > 0:
		text += ", " + strings.Join(fixed, ", ")
	default:
		text += " [" + slice + "]"
	}
	return human.Printable(human.Shorten(text, render.MaxTitle))
}
