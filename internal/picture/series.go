package picture

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"time"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// A Series is a picture of a long series over time: for each channel the band
// between the least and the greatest values, and the line of the means.
type Series struct {
	Title string // over the picture, on its left
	Note  string // over the picture, on its right
	// From and To are the seconds at the left and the right edge. If To is not
	// after From, the spans decide.
	From, To float64
	Origin   time.Time // UTC of second 0; zero: seconds count from the start of the series
	// Untimed tells that the rate of samples is unknown: all times are offsets of
	// samples.
	Untimed bool
	// Width and Height are pixels of the area of the data: axes and titles come on
	// top. 0: 800 and 320; outside of 400 to 8000 and 80 to 4000 they are cut.
	Width, Height int
	Channels      []Channel
}

// A Channel is one line of a picture.
type Channel struct {
	Name  string // shown if there are several channels
	Spans []Span // spans in the order of time
}

// A Span is the drawing of the samples between two times. If Low or High is NaN,
// nothing is drawn; infinities reach to the edge of the picture.
type Span struct {
	T0, T1, Low, High, Mean float64
	Single                  bool // one sample, at T0
	Apart                   bool // nothing is known of the time since the span before
}

const (
	seriesDPI    = 96
	seriesWidth  = 800
	seriesHeight = 320
	minWidth     = 400
	maxWidth     = 8000
	minHeight    = 80
	maxHeight    = 4000
	pixel        = vg.Inch / seriesDPI
	headHeight   = 22 * pixel
	// dotRoom is how many pixels a sample must have for itself to be shown as a dot.
	dotRoom = 6
)

// PNG writes the picture as PNG.
func (s Series) PNG(w io.Writer) error {
	p, c := s.plot()
	width, height := s.size(p, c)
	img := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(seriesDPI))
	s.draw(p, c, draw.New(img))
	_, err := vgimg.PngCanvas{Canvas: img}.WriteTo(w)
	return err
}

// SVG writes the picture as SVG.
func (s Series) SVG(w io.Writer) error {
	p, c := s.plot()
	width, height := s.size(p, c)
	svg := newSheet(width, height)
	s.draw(p, c, draw.New(svg))
	return svg.writeTo(w)
}

// A chart is the part of a picture that does not depend on where things are drawn.
type chart struct {
	lanes []*lane
	void  string // the text that replaces missing data
}

func grey(y uint8) color.Color { return color.Gray{Y: y} }

// colours differ also for people who cannot tell red from green.
func colours() []color.NRGBA {
	return []color.NRGBA{{0x1f, 0x6f, 0xb4, 255}, {0xd9, 0x5f, 0x0e, 255}, {0x1b, 0x93, 0x77, 255}, {0x75, 0x50, 0xa8, 255},
		{0xc0, 0x33, 0x6b, 255}, {0x8a, 0x6d, 0x1d, 255}, {0x4a, 0x4a, 0x4a, 255}, {0x2a, 0x9d, 0xc4, 255}}
}

// plot lays the axes out.
func (s *Series) plot() (*plot.Plot, *chart) {
	p := plot.New()
	c := &chart{}
	lo, hi := math.Inf(1), math.Inf(-1)
	drawn := false
	for i := range s.Channels {
		l := newLane(&s.Channels[i], colours()[i%len(colours())], len(s.Channels) > 1)
		c.lanes = append(c.lanes, l)
		lo, hi = min(lo, l.low), max(hi, l.high)
		drawn = drawn || l.drawn
	}
	s.edges()
	for _, l := range c.lanes {
		l.from, l.to = s.From, s.To
		p.Add(l)
	}
	switch {
	case drawn:
	case s.empty():
		c.void = "no samples here"
	default:
		c.void = "only NaN here"
	}
	y := newValues(lo, hi)
	for _, l := range c.lanes {
		l.unit = y.unit
	}
	s.axes(p, y)
	return p, c
}

func (s *Series) empty() bool {
	for i := range s.Channels {
		if len(s.Channels[i].Spans) > 0 {
			return false
		}
	}
	return true
}

// edges sets the times at the left and the right edge.
func (s *Series) edges() {
	if s.From < s.To {
		return
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	for i := range s.Channels {
		for _, x := range s.Channels[i].Spans {
			lo, hi = min(lo, x.T0), max(hi, x.T1)
		}
	}
	switch {
	case lo < hi:
		s.From, s.To = lo, hi
	case lo == hi:
		s.From, s.To = lo-0.5, lo+0.5
	case s.From == s.To:
		s.To++
	default:
		s.From, s.To = 0, 1
	}
}

// axes are quiet: light grid lines, dark labels.
func (s *Series) axes(p *plot.Plot, y values) {
	p.BackgroundColor = color.White
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Padding = 0
		a.Color, a.Width = grey(0x90), vg.Points(0.75)
		a.Tick.Color, a.Tick.Width = grey(0x90), vg.Points(0.75)
		a.Tick.Length = 4 * pixel
		label := tickStyle()
		label.XAlign, label.YAlign = a.Tick.Label.XAlign, a.Tick.Label.YAlign
		a.Tick.Label = label
		name := tickStyle()
		name.XAlign, name.YAlign = a.Label.TextStyle.XAlign, a.Label.TextStyle.YAlign
		a.Label.TextStyle = name
		a.Label.Padding = 4 * pixel
	}
	p.X.Min, p.X.Max = s.From, s.To
	times := s.times()
	p.X.Label.Text, p.X.Tick.Marker = times.name, plot.ConstantTicks(times.ticks)
	p.Y.Min, p.Y.Max = y.low, y.high
	p.Y.Label.Text, p.Y.Tick.Marker = y.name, plot.ConstantTicks(y.ticks)
}

// times is the axis of time.
func (s *Series) times() times {
	if s.Untimed {
		return counts(s.From, s.To, s.pixels())
	}
	return newTimes(s.From, s.To, s.Origin, s.pixels())
}

func (s *Series) pixels() int {
	if s.Width <= 0 {
		return seriesWidth
	}
	return min(max(s.Width, minWidth), maxWidth)
}

// size returns the size of the whole picture, so that the area of the data gets
// exactly the requested number of pixels.
func (s *Series) size(p *plot.Plot, _ *chart) (width, height vg.Length) {
	h := s.Height
	if h <= 0 {
		h = seriesHeight
	}
	h = min(max(h, minHeight), maxHeight)
	w := s.pixels()
	const trial = 2000 * pixel
	rec := draw.New(vgimg.NewWith(vgimg.UseWH(trial, trial), vgimg.UseDPI(8)))
	area := p.DataCanvas(s.inside(rec, p))
	whole := func(v vg.Length) vg.Length { return vg.Length(math.Round(float64(v/pixel))) * pixel }
	return whole(vg.Length(w)*pixel + trial - (area.Max.X - area.Min.X)), whole(vg.Length(h)*pixel + trial - (area.Max.Y - area.Min.Y))
}

// inside leaves room around the plot, and for the head. If labels of times begin left
// of the axis of values and its labels, they get more room.
func (s *Series) inside(c draw.Canvas, p *plot.Plot) draw.Canvas {
	const air = 6 * pixel
	left, beside := 10*pixel, p.DataCanvas(c).Min.X-c.Min.X
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		at := vg.Length(p.X.Norm(t.Value)*float64(s.pixels())) * pixel
		left = max(left, p.X.Tick.Label.Width(t.Label)/2-at-beside+air)
	}
	return draw.Crop(c, left, -18*pixel, air, -headHeight-8*pixel)
}

func (s *Series) draw(p *plot.Plot, ch *chart, c draw.Canvas) {
	c.SetColor(color.White)
	c.Fill(c.Path())
	area := p.DataCanvas(s.inside(c, p))
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if y := area.Y(p.Y.Norm(t.Value)); t.Label != "" {
			c.StrokeLine2(draw.LineStyle{Color: grey(0xe4), Width: vg.Points(0.75)}, area.Min.X, y, area.Max.X, y)
		}
	}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if x := area.X(p.X.Norm(t.Value)); t.Label != "" {
			c.StrokeLine2(draw.LineStyle{Color: grey(0xe4), Width: vg.Points(0.75)}, x, area.Min.Y, x, area.Max.Y)
		}
	}
	p.BackgroundColor = nil
	p.Draw(s.inside(c, p))
	if ch.void != "" {
		t := style(11, font.WeightNormal, grey(0x80))
		t.XAlign, t.YAlign = draw.XCenter, draw.YCenter
		c.FillText(t, vg.Point{X: (area.Min.X + area.Max.X) / 2, Y: (area.Min.Y + area.Max.Y) / 2}, ch.void)
	}
	s.head(c, area)
}

// head writes title, names of channels and note in one line.
func (s *Series) head(c, area draw.Canvas) {
	y := c.Max.Y - headHeight
	x := area.Min.X
	bold := style(11, font.WeightBold, grey(0x20))
	several := len(s.Channels) > 1
	if several {
		bold.Handler = tightly(bold)
	}
	title := fit(s.Title, bold, area.Max.X-x)
	c.FillText(bold, vg.Point{X: x, Y: y}, title)
	if title != "" {
		x += bold.Width(title) + 14*pixel
	}
	end := area.Max.X
	note := style(9, font.WeightNormal, grey(0x60))
	note.XAlign = draw.XRight
	if w := note.Width(s.Note); end-w >= x { // leave the note out if there is no room
		c.FillText(note, vg.Point{X: end, Y: y}, s.Note)
		end -= w
	}
	if several {
		s.names(c, vg.Point{X: x, Y: y}, end-10*pixel)
	}
}

// names writes the names of channels from at to the right, as far as there is room.
func (s *Series) names(c draw.Canvas, at vg.Point, end vg.Length) {
	small := style(9, font.WeightNormal, grey(0x60))
	small.Handler = tightly(small)
	for i := range s.Channels {
		name := s.Channels[i].Name
		if name == "" {
			name = fmt.Sprintf("channel %d", i)
		}
		w := 14*pixel + small.Width(name)
		if at.X+w > end {
			c.FillText(small, at, "…")
			return
		}
		c.SetColor(colours()[i%len(colours())])
		c.Fill(vg.Rectangle{Min: at, Max: at.Add(vg.Point{X: 9 * pixel, Y: 9 * pixel})}.Path())
		c.FillText(small, at.Add(vg.Point{X: 13 * pixel}), name)
		at.X += w + 12*pixel
	}
}

// SeriesMemory is about how many bytes a PNG of a Series of this width takes while it is
// drawn and encoded.
func SeriesMemory(width int) int64 {
	s := Series{Width: width}
	const around, bytes = 300, 8 // labels; a pixel of the canvas, and what is encoded of it
	return int64(s.pixels()+around) * (seriesHeight + around) * bytes
}
