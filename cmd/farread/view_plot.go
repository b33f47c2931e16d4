package main

import (
	"bytes"
	"fmt"
	"math"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/picture"
)

// plot draws points: the band of each channel, and the line of its means.
func (x *wideView) plot(v *zoomcache.View) ([]byte, error) {
	s := picture.Series{Title: printable(shorten(x.k.Name, 60)), Width: x.width}
	if s.Title == "" {
		s.Title = fmt.Sprintf("track %d", x.k.Number)
	}
	if utc, ok := x.t.f.Header().Origin.UTC(); ok {
		s.Origin = utc
	}
	s.From, s.To = x.edges(v.Points)
	samples := int64(0)
	for i := range v.Points {
		samples += v.Points[i].Count
	}
	if len(v.Points) > 0 {
		s.Note = plural(samples, "sample") + " in " + plural(int64(len(v.Points)), "point")
		if samples == int64(len(v.Points)) {
			s.Note = plural(samples, "sample")
		}
	}
	for c := range max(x.k.Codec.Channels, 1) {
		s.Channels = append(s.Channels, picture.Channel{Name: fmt.Sprintf("channel %d", c), Spans: x.spans(v.Points, c)})
	}
	var b bytes.Buffer
	draw := s.PNG
	if x.format == viewSVG {
		draw = s.SVG
	}
	err := draw(&b)
	return b.Bytes(), err
}

// edges are the ends of the axis of time: those that were asked for, else those of
// the points.
func (x *wideView) edges(points []zoomcache.Point) (from, to float64) {
	first, last := x.first, x.last
	if n := len(points); n > 0 {
		if first == zoomcache.FirstOffset {
			if first = points[0].Entry; !x.k.Variable && (n > 1 || points[0].Count > 1) {
				first-- // a sample ends the time that it is for: the first is at 1
			}
		}
		if last == zoomcache.LastOffset {
			last = points[n-1].Exit
		}
	}
	if first == zoomcache.FirstOffset || last == zoomcache.LastOffset || first > last {
		return 0, 0
	}
	return x.k.Rate.Seconds(first), x.k.Rate.Seconds(last)
}

// spans are what is drawn of a channel.
func (x *wideView) spans(points []zoomcache.Point, c int) []picture.Span {
	out := make([]picture.Span, len(points))
	for i := range points {
		o := &points[i]
		st := &o.Channels[c]
		s := &out[i]
		s.Low, s.High = bounds(st)
		s.Mean = st.Mean
		s.T0, s.T1 = x.k.Rate.Seconds(o.Entry), x.k.Rate.Seconds(o.Exit)
		s.Single = o.Count == 1
		// A point reaches to where the next begins, if that follows at once.
		if !x.k.Variable && !s.Single && o.Exit < math.MaxInt64 {
			s.T1 = x.k.Rate.Seconds(o.Exit + 1)
		}
		s.Apart = i > 0 && x.apart(points, i)
	}
	return out
}

// apart says whether samples are missing between a point and the one before it. At
// variable rate that is where there are none for several times the usual while.
func (x *wideView) apart(points []zoomcache.Point, i int) bool {
	a, b := &points[i-1], &points[i]
	gap := b.Entry - a.Exit
	if !x.k.Variable {
		return gap > 1
	}
	usual := max((a.Exit-a.Entry)/max(a.Count-1, 1), (b.Exit-b.Entry)/max(b.Count-1, 1))
	if i > 1 {
		usual = max(usual, min(a.Entry-points[i-2].Exit, gap/3))
	}
	if i+1 < len(points) {
		usual = max(usual, min(points[i+1].Entry-b.Exit, gap/3))
	}
	return usual > 0 && gap > 4*usual
}
