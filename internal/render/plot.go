package render

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/internal/human"
	"github.com/farread/farread/internal/picture"
)

// A Labeler is an array that may say what its axes and items are.
type Labeler interface {
	Shape() []int64
	Meaning(ctx context.Context) (arraymeta.Meta, error)
	Axis(ctx context.Context, i int) (arraymeta.Axis, error)
}

// Explained is what an array says of the items of a box.
type Explained struct {
	Sides []picture.Side // of the axes that the box keeps, nil if it does not tell which
	// Values is what the items are, with units; "" if the array does not say it.
	Values string
	// Fixed are the places along axes of one item, "time=2025-03-01".
	Fixed []string
}

// Explain reads what an array says of the items of a box. It costs what Meaning costs, and
// the coordinates that are arrays of their own.
func Explain(ctx context.Context, a Labeler, box nd.Box) (Explained, error) {
	m, err := a.Meaning(ctx)
	if err != nil {
		return Explained{}, err
	}
	e := Explained{Values: named(m.Attrs)}
	sides := make([]picture.Side, len(box.Start))
	for i := range sides {
		s := &sides[i]
		*s = picture.Side{First: float64(box.Start[i]), Step: float64(box.Step[i]), Whole: true}
		if i >= len(m.Dims) {
			continue
		}
		s.Name = plain(m.Dims[i])
		axis, err := a.Axis(ctx, i)
		switch {
		case errors.Is(err, formats.ErrNoEntry) || errors.Is(err, formats.ErrUnsupported) || errors.Is(err, formats.ErrTooLarge):
			continue // positions tell where items are
		case err != nil:
			return Explained{}, err
		}
		c, _ := m.Coord(m.Dims[i])
		if n := box.Count(i); n == 1 {
			e.Fixed = append(e.Fixed, s.Name+"="+plain(rounded(axis.Text(box.Start[i]))))
		}
		along(s, axis, c.Attrs, box.Start[i], box.Step[i], box.Count(i))
	}
	kept, ok := arraymeta.Kept(box)
	if !ok {
		return e, nil
	}
	for _, i := range kept {
		e.Sides = append(e.Sides, sides[i])
	}
	return e, nil
}

// plain is a text of the file on one short line.
func plain(s string) string { return human.Printable(human.Shorten(s, 60)) }

// along fills the side of n items of a coordinate.
func along(s *picture.Side, a arraymeta.Axis, attrs map[string]json.RawMessage, start, step, n int64) {
	if s.Time = a.IsTime(); !s.Time {
		s.Name = united(s.Name, a.Units())
	}
	s.Whole = false
	s.Text = func(i int) string { return a.Text(start + int64(i)*step) }
	first, last := a.Number(start), a.Number(start+(n-1)*step)
	if a.Regular() && !a.Months() && !math.IsNaN(first) && !math.IsNaN(last) {
		s.First, s.Step = first, (last-first)/float64(max(n-1, 1))
	} else {
		s.Values = make([]float64, n)
		for i := range s.Values {
			s.Values[i] = a.Number(start + int64(i)*step)
		}
	}
	// Values rise upwards, as on a map; depths and pressures run down.
	down := slices.Contains([]string{"Pa", "hPa", "mbar", "millibar", "millibars"}, a.Units()) || attribute(attrs, "positive") == "down"
	s.Up = !s.Time && first < last && !down
}

func attribute(attrs map[string]json.RawMessage, name string) string {
	var s string
	if json.Unmarshal(attrs[name], &s) != nil {
		return ""
	}
	return plain(s)
}

// named is the name that attributes have, with units.
func named(attrs map[string]json.RawMessage) string {
	name := ""
	for _, key := range []string{"long_name", "standard_name", "name"} {
		if name == "" {
			name = attribute(attrs, key)
		}
	}
	return united(name, attribute(attrs, "units"))
}

func united(name, units string) string {
	if units = plain(units); units == "" || units == "1" {
		return name
	}
	return strings.TrimPrefix(fmt.Sprintf("%s [%s]", name, units), " ")
}

// plotFile gathers the items and draws them with axes at the end.
type plotFile struct {
	pictureFile

	plot picture.Plot
}

func (f *plotFile) end(w io.Writer) error { return f.plot.Encode(w, f.d, f.shape, f.p) }

// newPlot draws an array whose items take most bytes at most.
func newPlot(d dtype.DType, shape []int64, o ArrayOptions) (encoder, error) {
	gather, err := newPicture(d, shape, o.Picture, o.Memory)
	if err != nil {
		return nil, err
	}
	g, ok := gather.(*pictureFile)
	if !ok {
		return nil, fmt.Errorf("a %T: %w", gather, formats.ErrUnsupported)
	}
	f := &plotFile{*g, *o.Plot}
	f.plot.SVG, f.plot.Map = o.Format == SVG, o.Picture
	return f, nil
}

// rounded is a number with six digits, if it has more and a point; other texts stay.
func rounded(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	if short := strconv.FormatFloat(f, 'g', 6, 64); err == nil && len(short) < len(text) && strings.Contains(text, ".") {
		return short
	}
	return text
}
