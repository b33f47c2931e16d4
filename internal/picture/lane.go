package picture

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A lane draws a channel.
type lane struct {
	spans     []Span
	low, high float64 // least and greatest finite value; Inf and -Inf if there are none
	drawn     bool    // the lane has something to draw
	band      color.NRGBA
	stroke    draw.LineStyle
	unit      float64 // all values are divided by unit
	from, to  float64
}

func newLane(c *Channel, t theme, i int, several bool) *lane {
	l := &lane{spans: c.Spans, low: math.Inf(1), high: math.Inf(-1), unit: 1}
	// Light enough for the line of means on it, dark enough for a spike of one pixel.
	l.band = t.band(t.line(i))
	l.stroke = draw.LineStyle{Color: t.stroke(t.line(i)), Width: vg.Points(0.9), Dashes: t.dashes(i)}
	if several { // other channels below show through
		l.band = t.line(i)
		l.band.A = 120
		l.stroke.Color, l.stroke.Width = t.line(i), vg.Points(1.2)
	}
	for i := range c.Spans {
		s := &c.Spans[i]
		if math.IsNaN(s.Low) || math.IsNaN(s.High) {
			continue
		}
		l.drawn = true
		for _, v := range [...]float64{s.Low, s.High} {
			if !math.IsInf(v, 0) {
				l.low, l.high = min(l.low, v), max(l.high, v)
			}
		}
	}
	return l
}

// A laneBand draws the band of a lane, a laneLine what lies above all bands.
type (
	laneBand struct{ *lane }
	laneLine struct{ *lane }
)

// Plot implements plot.Plotter.
func (l laneBand) Plot(c draw.Canvas, p *plot.Plot) { l.fill(c, p) }

// Plot implements plot.Plotter.
func (l laneLine) Plot(c draw.Canvas, p *plot.Plot) { l.lines(c, p) }

// A column is the content of one column of pixels.
type column struct {
	low, high vg.Length
	used      bool
}

// fill draws the band, column by column of pixels. Columns side by side become one
// shape, so that there are no seams and a spike has its full colour.
func (l *lane) fill(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	n := int(math.Round(float64((c.Max.X - c.Min.X) / pixel)))
	if n < 1 {
		return
	}
	cols := make([]column, n)
	for i := range l.spans {
		s := &l.spans[i]
		if s.Single || math.IsNaN(s.Low) || math.IsNaN(s.High) || s.T1 < l.from || s.T0 > l.to {
			continue
		}
		a := int(math.Round(float64((tx(max(s.T0, l.from)) - c.Min.X) / pixel)))
		b := max(int(math.Round(float64((tx(min(s.T1, l.to))-c.Min.X)/pixel))), a+1)
		if a >= n {
			a, b = n-1, n
		}
		low, high := l.clamp(c, ty, s.Low), l.clamp(c, ty, s.High)
		if high-low < pixel {
			mid := (high + low) / 2
			low, high = mid-pixel/2, mid+pixel/2
		}
		for k := max(a, 0); k < min(b, n); k++ {
			o := &cols[k]
			if o.used {
				low, high := min(o.low, low), max(o.high, high)
				o.low, o.high = low, high
				continue
			}
			*o = column{low, high, true}
		}
	}
	c.SetColor(l.band)
	for i := 0; i < n; i++ {
		j := i
		for j < n && cols[j].used {
			j++
		}
		if j > i {
			c.Fill(outline(cols[i:j], c.Min.X+vg.Length(i)*pixel))
			i = j
		}
	}
}

// clamp is where a value is drawn: infinities at the edge.
func (l *lane) clamp(c draw.Canvas, ty func(float64) vg.Length, v float64) vg.Length {
	switch {
	case math.IsInf(v, 1):
		return c.Max.Y
	case math.IsInf(v, -1):
		return c.Min.Y
	}
	return ty(v / l.unit)
}

// outline goes over the columns and back below them.
func outline(cols []column, x vg.Length) vg.Path {
	var path vg.Path
	path.Move(vg.Point{X: x, Y: cols[0].low})
	for i := range cols {
		at := x + vg.Length(i)*pixel
		path.Line(vg.Point{X: at, Y: cols[i].high})
		path.Line(vg.Point{X: at + pixel, Y: cols[i].high})
	}
	for i := len(cols) - 1; i >= 0; i-- {
		at := x + vg.Length(i)*pixel
		path.Line(vg.Point{X: at + pixel, Y: cols[i].low})
		path.Line(vg.Point{X: at, Y: cols[i].low})
	}
	path.Close()
	return path
}

// lines draws the means, and single samples as dots.
func (l *lane) lines(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	style := l.stroke
	var run []vg.Point
	room := l.room(c, tx)
	flush := func(dots bool) {
		if len(run) > 1 {
			c.StrokeLines(style, c.ClipLinesXY(run)...)
		}
		if dots || len(run) == 1 {
			for _, at := range run {
				if c.Contains(at) {
					c.DrawGlyph(draw.GlyphStyle{Color: style.Color, Radius: 2 * pixel, Shape: draw.CircleGlyph{}}, at)
				}
			}
		}
		run = run[:0]
	}
	dots := room >= dotRoom*pixel
	for i := range l.spans {
		s := &l.spans[i]
		if math.IsNaN(s.Low) || math.IsNaN(s.High) || math.IsNaN(s.Mean) {
			flush(dots)
			continue
		}
		if s.Apart {
			flush(dots)
		}
		y := l.clamp(c, ty, s.Mean)
		switch a, b := tx(s.T0), tx(s.T1); {
		case s.Single:
			run = append(run, vg.Point{X: a, Y: y})
		case b-a > dotRoom*pixel: // wide enough for a visible step of the line
			run = append(run, vg.Point{X: a, Y: y}, vg.Point{X: b, Y: y})
		default:
			run = append(run, vg.Point{X: (a + b) / 2, Y: y})
		}
	}
	flush(dots)
}

// room is how many pixels a sample has for itself, 0 if spans are not samples.
func (l *lane) room(c draw.Canvas, tx func(float64) vg.Length) vg.Length {
	n := 0
	for i := range l.spans {
		if !l.spans[i].Single {
			return 0
		}
		if x := tx(l.spans[i].T0); x >= c.Min.X && x <= c.Max.X {
			n++
		}
	}
	return (c.Max.X - c.Min.X) / vg.Length(max(n, 1))
}
