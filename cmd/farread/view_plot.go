package main

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/farread/farread/formats/zoomcache"
)

// The size of a plot in pixels, at plotDPI to the inch: a pixel for each point, and
// room for the axes.
const (
	plotDPI    = 96
	plotHeight = 420
	plotAxes   = 90
	minPlot    = 400
	maxPlot    = 8000
)

// A band is the space between least and greatest of each point: a bar from where
// the point begins to where it ends.
type band struct {
	x0, x1, lo, hi []float64
	color          color.Color
}

// Plot implements plot.Plotter.
func (b *band) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	c.SetColor(b.color)
	for i := range b.x0 {
		l, r, d, u := tx(b.x0[i]), tx(b.x1[i]), ty(b.lo[i]), ty(b.hi[i])
		thin := vg.Points(0.75)
		if r-l < thin {
			r = l + thin
		}
		if u-d < thin {
			d, u = d-thin/2, u+thin/2
		}
		var path vg.Path
		path.Move(vg.Point{X: l, Y: d})
		path.Line(vg.Point{X: r, Y: d})
		path.Line(vg.Point{X: r, Y: u})
		path.Line(vg.Point{X: l, Y: u})
		path.Close()
		c.Fill(path)
	}
}

// DataRange implements plot.DataRanger.
func (b *band) DataRange() (x0, x1, y0, y1 float64) {
	x0, y0 = math.Inf(1), math.Inf(1)
	x1, y1 = math.Inf(-1), math.Inf(-1)
	for i := range b.x0 {
		x0, x1 = min(x0, b.x0[i]), max(x1, b.x1[i])
		y0, y1 = min(y0, b.lo[i]), max(y1, b.hi[i])
	}
	return x0, x1, y0, y1
}

// plot draws points: the band of each channel, and the line of its means.
func (x *wideView) plot(points []zoomcache.Point) ([]byte, error) {
	p := plot.New()
	p.Title.Text = printable(shorten(x.k.Name, 60))
	p.X.Label.Text = "seconds"
	origin, utc := x.t.f.Header().Origin.UTC()
	if utc {
		p.X.Label.Text = "UTC"
		p.X.Tick.Marker = plot.TimeTicks{Format: tickFormat(x.spanOf(points)), Ticker: timeTicker{}, Time: func(t float64) time.Time {
			return origin.Add(time.Duration(t * float64(time.Second))).UTC()
		}}
	}
	colors := []color.NRGBA{{31, 119, 180, 255}, {214, 96, 39, 255}, {44, 140, 70, 255}, {140, 86, 160, 255}}
	for c := range max(x.k.Codec.Channels, 1) {
		col := colors[c%len(colors)]
		light := col
		light.A = 110
		b := &band{color: light}
		var lines []plotter.XYs
		gap := true
		for i := range points {
			o := &points[i]
			lo, hi := bounds(&o.Channels[c])
			mean := o.Channels[c].Mean
			if !finite(lo) || !finite(hi) || !finite(mean) {
				gap = true
				continue
			}
			t0, t1 := x.k.Rate.Seconds(o.Entry), x.k.Rate.Seconds(o.Exit)
			if !x.k.Variable && i+1 < len(points) && points[i+1].Entry == o.Exit+1 {
				t1 = x.k.Rate.Seconds(points[i+1].Entry)
			}
			b.x0, b.x1, b.lo, b.hi = append(b.x0, t0), append(b.x1, t1), append(b.lo, lo), append(b.hi, hi)
			if gap = gap || i > 0 && x.apart(&points[i-1], o); gap {
				lines, gap = append(lines, nil), false
			}
			lines[len(lines)-1] = append(lines[len(lines)-1], plotter.XY{X: (t0 + t1) / 2, Y: mean})
		}
		if len(b.x0) == 0 {
			continue
		}
		p.Add(b)
		for _, xys := range lines {
			l, err := plotter.NewLine(xys)
			if err != nil {
				return nil, fmt.Errorf("plot: %w", err)
			}
			l.Color, l.Width = col, vg.Points(0.8)
			p.Add(l)
		}
	}
	if math.IsInf(p.X.Min, 0) { // nothing was added
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, 1, 0, 1
	}
	if room := (p.Y.Max - p.Y.Min) / 20; room > 0 {
		p.Y.Min, p.Y.Max = p.Y.Min-room, p.Y.Max+room
	}
	p.Add(plotter.NewGrid())
	return x.draw(p)
}

// spanOf is the seconds that points span.
func (x *wideView) spanOf(points []zoomcache.Point) float64 {
	if len(points) == 0 {
		return 1
	}
	return x.k.Rate.Seconds(points[len(points)-1].Exit) - x.k.Rate.Seconds(points[0].Entry)
}

// apart says whether there is nothing between two points that follow each other.
func (x *wideView) apart(a, b *zoomcache.Point) bool {
	gap := b.Entry - a.Exit
	return !x.k.Variable && gap > 1 || gap > 4*max(a.Exit-a.Entry, b.Exit-b.Entry, 1)
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// timeTicker puts ticks where the seconds are round.
type timeTicker struct{}

// Ticks implements plot.Ticker.
func (timeTicker) Ticks(lo, hi float64) []plot.Tick {
	steps := []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400}
	span := hi - lo
	step := math.Pow(10, math.Floor(math.Log10(max(span, 1e-9)/5)))
	if span >= 5 {
		step = math.Ceil(span/6/86400) * 86400
		for _, s := range steps {
			if span/s <= 8 {
				step = s
				break
			}
		}
	}
	var out []plot.Tick
	for k := math.Ceil(lo / step); k*step <= hi && len(out) < 100; k++ {
		out = append(out, plot.Tick{Value: k * step, Label: "tick"})
	}
	return out
}

func tickFormat(span float64) string {
	switch {
	case span > 2*86400:
		return "Jan 2\n15:04"
	case span > 600:
		return "15:04"
	case span > 5:
		return "15:04:05"
	}
	return "15:04:05.000"
}

// draw makes the picture.
func (x *wideView) draw(p *plot.Plot) ([]byte, error) {
	w := min(max(x.width, minPlot), maxPlot) + plotAxes
	width, height := vg.Length(w)*vg.Inch/plotDPI, vg.Length(plotHeight)*vg.Inch/plotDPI
	var b bytes.Buffer
	if x.format == viewSVG {
		c := vgsvg.New(width, height)
		p.Draw(draw.New(c))
		_, err := c.WriteTo(&b)
		return b.Bytes(), err
	}
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(plotDPI))
	p.Draw(draw.New(c))
	_, err := vgimg.PngCanvas{Canvas: c}.WriteTo(&b)
	return b.Bytes(), err
}
