package gateway

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"unicode/utf8"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/internal/picture"
	"github.com/farread/farread/internal/render"
)

// lookOf reads the parameters of how a picture with axes looks. given is the first of them,
// "" if there is none.
func lookOf(c *call) (o render.Look, given string, err error) {
	q := c.query
	for _, name := range []string{"height", "title", "dark"} {
		if q.Has(name) {
			given = name
			break
		}
	}
	if text := q.Get("height"); text != "" {
		if o.Height, err = between("height", text, picture.MinHeight, picture.MaxHeight); err != nil {
			return o, given, err
		}
	}
	if q.Has("title") {
		text := q.Get("title")
		if utf8.RuneCountInString(text) > render.MaxTitle {
			return o, given, beyondf("a title of %d characters, %d allowed", utf8.RuneCountInString(text), render.MaxTitle)
		}
		o.Title = &text
	}
	if text := q.Get("dark"); text != "" {
		if o.Dark, err = strconv.ParseBool(text); err != nil {
			return o, given, badf("dark", "dark %q: want 1 or 0", clip(text))
		}
	}
	return o, given, nil
}

// between reads a length in pixels. One beyond the limit is 413, as what it asks for would be too large.
func between(name, text string, low, high int) (int, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange) && n > 0 || err == nil && n > int64(high):
		return 0, beyondf("%s %s: %d allowed", name, clip(text), high)
	case err != nil || n < int64(low):
		return 0, badf(name, "%s %q: want %d to %d", name, clip(text), low, high)
	}
	return int(n), nil
}

// title names what a picture shows.
func (c *call) title() string {
	if c.key == "" {
		return c.root
	}
	return path.Base(c.key)
}

// plotOf reads the parameters of a picture of an array with axes; nil if none are asked for.
func plotOf(c *call, format string) (*picture.Plot, error) {
	look, given, err := lookOf(c)
	if err != nil {
		return nil, err
	}
	if c.query.Has("width") {
		given = "width"
	}
	axes := false
	if text := c.query.Get("axes"); text != "" {
		if axes, err = strconv.ParseBool(text); err != nil {
			return nil, badf("axes", "axes %q: want 1 or 0", clip(text))
		}
	}
	picture := format == render.PNG || format == render.SVG
	switch {
	case axes && !picture:
		return nil, badf("axes", "axes go with format=png or svg")
	case !axes && format == render.SVG:
		return nil, badf("format", "format \"svg\" goes with axes=1")
	case !axes && given != "":
		return nil, badf("query", "%s goes with axes=1", given)
	case !axes:
		return nil, nil
	}
	return sized(c, look)
}

func sized(c *call, look render.Look) (*picture.Plot, error) {
	p := &picture.Plot{Height: look.Height, Dark: look.Dark, Width: picture.DefaultWidth, Title: c.title()}
	if s := c.query.Get("s"); s != "" && s != "..." {
		p.Title += " [" + clip(s) + "]"
	}
	if look.Title != nil {
		p.Title = *look.Title
	}
	if text := c.query.Get("width"); text != "" {
		var err error
		if p.Width, err = between("width", text, picture.MinWidth, picture.MaxWidth); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// An inlineLabeler has no coordinates that are arrays beside, which would be read whole.
type inlineLabeler struct {
	render.Labeler

	meta arraymeta.Meta
}

func (l *inlineLabeler) Meaning(ctx context.Context) (m arraymeta.Meta, err error) {
	l.meta, err = l.Labeler.Meaning(ctx)
	return l.meta, err
}

func (l *inlineLabeler) Axis(_ context.Context, i int) (arraymeta.Axis, error) {
	shape := l.Shape()
	if i < 0 || i >= len(l.meta.Dims) || i >= len(shape) {
		return arraymeta.Axis{}, formats.ErrNoEntry
	}
	c, ok := l.meta.Coord(l.meta.Dims[i])
	if !ok || !c.Inline() {
		return arraymeta.Axis{}, fmt.Errorf("coordinate %q: %w", l.meta.Dims[i], formats.ErrNoEntry)
	}
	return c.Axis(shape[i])
}

// plotted fills in what the array says of its axes.
func (x *cut) plotted(ctx context.Context, p picture.Plot, titled bool) (*picture.Plot, error) {
	l, ok := x.a.(render.Labeler)
	if !ok {
		return &p, nil
	}
	e, err := render.Explain(ctx, &inlineLabeler{Labeler: l}, x.box)
	if err != nil {
		return nil, err
	}
	p.Sides, p.Values = e.Sides, e.Values
	if x.field != nil {
		p.Values = ""
	}
	if !titled {
		for _, f := range e.Fixed {
			p.Title += ", " + f
		}
	}
	return &p, nil
}
