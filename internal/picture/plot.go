package picture

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"

	"gonum.org/v1/plot"

	"github.com/farread/farread/formats/dtype"
)

// A Plot is a picture of an array with axes around it: of two axes its items as colours,
// with a bar that tells which numbers they are, of one axis a line.
type Plot struct {
	Title  string
	Values string // what the items are, with units
	Sides  []Side // one for each axis of the array, or none
	// Width and Height are pixels of the area of the data, as those of a Series. Without a Height an
	// array of two axes gets one that makes items about square.
	Width, Height int
	Dark          bool
	SVG           bool
	Map           Options
}

// Encode draws a C-order array. Axes of length 1 do not count. Of an array of two axes,
// rows run downwards unless the side says Up; if a pixel has several items it shows their
// mean, and the numbers of the bar are those of the items. Of an array of one axis, a pixel with several
// items shows the band between the least and the greatest of them: no spike is lost. An
// array of uint8 whose last axis has 3 or 4 items is taken for RGB or RGBA. Errors match
// ErrRefused. The cost in memory is PlotMemory.
func (p Plot) Encode(w io.Writer, d dtype.DType, shape []int64, items []byte) error {
	f, err := p.figure(d, shape, items)
	if err != nil {
		return err
	}
	var b bytes.Buffer // write nothing if the plot fails
	write := f.png
	if p.SVG {
		write = f.svg
	}
	if err := write(&b); err != nil {
		return err
	}
	_, err = w.Write(b.Bytes())
	return err
}

// PlotMemory is about how many bytes a Plot takes while it is drawn and encoded, besides
// its items, whichever the array.
func PlotMemory(width, height int) int64 {
	if height <= 0 {
		height = width * 5 / 4
	}
	return 2 * SeriesMemory(width, height)
}

func (p *Plot) figure(d dtype.DType, shape []int64, items []byte) (*figure, error) {
	if err := drawn(d); err != nil {
		return nil, err
	}
	n := int64(1)
	var axes []int64
	var sides []Side
	for i, k := range shape {
		if k <= 0 || k > int64(len(items))/n {
			return nil, fmt.Errorf("picture of shape %v: want one item or more: %w", shape, ErrRefused)
		}
		n *= k
		if k == 1 {
			continue
		}
		axes = append(axes, k)
		s := positions()
		if i < len(p.Sides) {
			if s = p.Sides[i]; s.Values != nil && int64(len(s.Values)) != k {
				s = positions()
			}
		}
		sides = append(sides, s)
	}
	if n*int64(d.ItemSize()) != int64(len(items)) {
		return nil, errBytes
	}
	switch {
	case len(axes) == 0:
		return p.line(d, 1, positions(), items), nil
	case len(axes) == 1:
		return p.line(d, int(axes[0]), sides[0], items), nil
	case len(axes) == 2, isColour(d, axes):
		return p.heat(d, axes, sides, items), nil
	}
	return nil, fmt.Errorf("picture of shape %v: take a slice of one or two axes: %w", shape, ErrRefused)
}

// Axes is how many axes a picture of a shape has to draw: those of more than one item, without colours.
func Axes(d dtype.DType, shape []int64) int {
	s := slices.DeleteFunc(slices.Clone(shape), func(n int64) bool { return n == 1 })
	if isColour(d, s) {
		return 2
	}
	return len(s)
}

// drawn refuses types that are no numbers.
func drawn(d dtype.DType) error {
	switch d.Kind() {
	case dtype.Bool, dtype.Int, dtype.Uint, dtype.Float:
		if !d.Opaque() && d.ItemSize() > 0 {
			return nil
		}
	case dtype.Struct:
		return fmt.Errorf("picture of %s: choose a field: %w", d, ErrRefused)
	default:
	}
	return fmt.Errorf("picture of %s: %w", d, ErrRefused)
}

// leastHeat is the least height of an array of two axes, if nobody asks for another.
const leastHeat = 160

// heat draws an array of two axes.
func (p *Plot) heat(d dtype.DType, axes []int64, sides []Side, items []byte) *figure {
	s := Series{Width: p.Width}
	c := &cells{rows: int(axes[0]), cols: int(axes[1]), width: s.pixels(), up: sides[0].Up}
	if s.Height = p.Height; s.Height <= 0 {
		s.Height = max(leastHeat, min(c.width*5/4, int(math.Round(float64(c.width)*float64(c.rows)/float64(c.cols)))))
	}
	c.height = s.rows()
	t := themeOf(p.Dark)
	note := fmt.Sprintf("%d × %d", c.rows, c.cols)
	if c.rows > c.height || c.cols > c.width {
		note += ", means of items"
	}
	var b *bar
	if len(axes) == 3 {
		c.void, c.colour = t.back, colourReader(items, int(axes[2]))
	} else {
		c.value, c.palette, c.void = reader(d, items), p.Map.Map.palette(), t.grid
		c.low, c.high = scale(items, d, p.Map)
		if k := missed(items, d); k > 0 {
			note += fmt.Sprintf(", %d NaN", k)
		}
		b = newBar(p, c)
	}
	q := plot.New()
	x, y := sides[1].ticks(c.cols, c.width, false), sides[0].ticks(c.rows, c.height, true)
	q.X.Min, q.X.Max = -0.5, float64(c.cols)-0.5
	q.Y.Min, q.Y.Max = -0.5, float64(c.rows)-0.5
	if !c.up { // the first row is the highest
		for i := range y.ticks {
			y.ticks[i].Value = float64(c.rows-1) - y.ticks[i].Value
		}
	}
	q.X.Label.Text, q.X.Tick.Marker = x.name, plot.ConstantTicks(x.ticks)
	q.Y.Label.Text, q.Y.Tick.Marker = y.name, plot.ConstantTicks(y.ticks)
	f := newFigure(q, t, c.width, c.height, p.Title, note, nil)
	f.cells, f.bar = c, b
	if b != nil {
		f.right = b.room()
	}
	return f
}

// newBar tells the numbers of the two ends of the colours, and round ones between.
func newBar(p *Plot, c *cells) *bar {
	v := values{low: c.low, high: c.high, unit: 1}
	if !(c.low < c.high) { // a single number
		v = newValues(c.low, c.high, 3)
	} else if e, name := powerOf(c.low, c.high); !math.IsInf(c.high-c.low, 0) {
		v.name = name
		step := niceStep((c.high - c.low) / float64(valueTicks(c.height)))
		if unit := math.Pow(10, -float64(e)); step > 0 && !math.IsInf(step, 0) {
			for _, k := range multiples(c.low, c.high, step) {
				v.ticks = append(v.ticks, tick(place(k, step), c.low, c.high, label(k*(step*unit), decimals(step*unit))))
			}
		}
	}
	return &bar{m: p.Map.Map, axis: v, name: joined(p.Values, v.name)}
}

// missed counts NaN.
func missed(items []byte, d dtype.DType) (n int) {
	if d.Kind() != dtype.Float {
		return 0
	}
	at := reader(d, items)
	for i := range len(items) / d.ItemSize() {
		if math.IsNaN(at(i)) {
			n++
		}
	}
	return n
}

func colourReader(items []byte, channels int) func(i int) color.NRGBA {
	return func(i int) color.NRGBA {
		px := [4]byte{3: 255}
		copy(px[:], items[i*channels:(i+1)*channels])
		return color.NRGBA{px[0], px[1], px[2], px[3]}
	}
}

// line draws an array of one axis.
func (p *Plot) line(d dtype.DType, n int, side Side, items []byte) *figure {
	s := Series{Title: p.Title, Width: p.Width, Height: p.Height, Dark: p.Dark, Values: p.Values, Note: plural(int64(n), "item")}
	if k := missed(items, d); k > 0 {
		s.Note += fmt.Sprintf(", %d NaN", k)
	}
	at := func(i float64) float64 { return side.place(i, n) }
	if side.ordered(n) && n > 1 { // at their places
		a, b := at(0), at(float64(n-1))
		s.From, s.To = min(a, b), max(a, b)
		s.axis = func() times {
			t := side.round(s.From, s.To, s.pixels(), false)
			t.name = joined(side.Name, t.name)
			return t
		}
	} else {
		at = func(i float64) float64 { return i }
		s.From, s.To = -0.5, float64(n)-0.5
		s.axis = func() times { return side.ticks(n, s.pixels(), false) }
	}
	spans := lineSpans(reader(d, items), n, s.pixels(), at)
	if n > 1 && at(0) > at(1) {
		slices.Reverse(spans)
		for i := range spans {
			spans[i].T0, spans[i].T1 = spans[i].T1, spans[i].T0
		}
	}
	s.Channels = []Channel{{Spans: spans}}
	return s.figure()
}

// lineSpans are items, or if there are more than pixels the least, the greatest and the
// mean of those of a pixel.
func lineSpans(value func(i int) float64, n, pixels int, at func(i float64) float64) []Span {
	parts := min(n, pixels)
	out := make([]Span, parts)
	for k := range out {
		a, b := k*n/parts, (k+1)*n/parts
		s := &out[k]
		if n == parts {
			v := value(k)
			*s = Span{T0: at(float64(k)), T1: at(float64(k)), Low: v, High: v, Mean: v, Single: true}
			continue
		}
		*s = Span{T0: at(float64(a)), T1: at(float64(min(b, n-1))), Low: math.NaN(), High: math.NaN()}
		sum, count := 0.0, 0
		for i := a; i < b; i++ {
			if v := value(i); !math.IsNaN(v) {
				if count++; count == 1 {
					s.Low, s.High = v, v
				}
				s.Low, s.High = min(s.Low, v), max(s.High, v)
				sum += v / 4
			}
		}
		s.Mean = sum / float64(count) * 4
	}
	return out
}
