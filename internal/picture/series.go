package picture

import (
	"io"
	"math"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
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
	Dark          bool         // light on dark
	Values        string       // beside the axis of values: what they are
	axis          func() times // of other things than times; nil: of times
	Channels      []Channel

	samples, points int64 // that Note tells of
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
	seriesHeight = 320
	pixel        = vg.Inch / seriesDPI
	headHeight   = 22 * pixel
	// dotRoom is how many pixels a sample must have for itself to be shown as a dot.
	dotRoom = 6
)

// The least and the most pixels of the area of the data.
const (
	MinWidth = 400
	// DefaultWidth is that of pictures whose Width is 0.
	DefaultWidth = 800
	MaxWidth     = 8000
	MinHeight    = 80
	MaxHeight    = 4000
)

// PNG writes the picture as PNG.
func (s Series) PNG(w io.Writer) error { return s.figure().png(w) }

// SVG writes the picture as SVG.
func (s Series) SVG(w io.Writer) error { return s.figure().svg(w) }

// figure lays the axes out.
func (s *Series) figure() *figure {
	p := plot.New()
	lo, hi := math.Inf(1), math.Inf(-1)
	drawn := false
	lanes := make([]*lane, len(s.Channels))
	names := make([]string, len(s.Channels))
	t := themeOf(s.Dark)
	for i := range s.Channels {
		l := newLane(&s.Channels[i], t, i, len(s.Channels) > 1)
		lanes[i], names[i] = l, s.Channels[i].Name
		lo, hi = min(lo, l.low), max(hi, l.high)
		drawn = drawn || l.drawn
	}
	s.edges()
	y := newValues(lo, hi, valueTicks(s.rows()))
	for _, l := range lanes {
		l.from, l.to, l.unit = s.From, s.To, y.unit
		p.Add(laneBand{l})
	}
	for _, l := range lanes {
		p.Add(laneLine{l})
	}
	p.X.Min, p.X.Max = s.From, s.To
	x := s.times()
	p.X.Label.Text, p.X.Tick.Marker = x.name, plot.ConstantTicks(x.ticks)
	p.Y.Min, p.Y.Max = y.low, y.high
	p.Y.Label.Text, p.Y.Tick.Marker = joined(s.Values, y.name), plot.ConstantTicks(y.ticks)
	f := newFigure(p, t, s.pixels(), s.rows(), s.Title, s.Note, names)
	switch {
	case drawn:
	case s.empty():
		f.void = "no samples here"
	default:
		f.void = "only NaN here"
	}
	return f
}

// joined puts the unit of an axis behind what it shows.
func joined(name, unit string) string {
	if name == "" || unit == "" {
		return name + unit
	}
	return name + ", " + unit
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

// times is the axis of time.
func (s *Series) times() times {
	if s.axis != nil {
		return s.axis()
	}
	if s.Untimed {
		return counts(s.From, s.To, s.pixels())
	}
	return newTimes(s.From, s.To, s.Origin, s.pixels())
}

func (s *Series) pixels() int {
	if s.Width <= 0 {
		return DefaultWidth
	}
	return min(max(s.Width, MinWidth), MaxWidth)
}

// rows is the height of the area of the data in pixels.
func (s *Series) rows() int {
	if s.Height <= 0 {
		return seriesHeight
	}
	return min(max(s.Height, MinHeight), MaxHeight)
}

// SeriesMemory is about how many bytes a PNG of a Series of this width and height takes
// while it is drawn and encoded.
func SeriesMemory(width, height int) int64 {
	s := Series{Width: width, Height: height}
	const around, bytes = 300, 8 // labels; a pixel of the canvas, and what is encoded of it
	return int64(s.pixels()+around) * int64(s.rows()+around) * bytes
}
