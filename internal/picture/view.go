package picture

import (
	"fmt"
	"math"
	"slices"

	"github.com/dustin/go-humanize"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
)

// OfView is the picture of points of a track, in Width pixels: all that is missing is
// a title, which is the track's name, as it is. first and last are the offsets that
// were asked for, zoomcache.FirstOffset and LastOffset where that was all there is.
func OfView(h *zoomcache.Header, k *zoomcache.Track, points []zoomindex.Point, first, last int64, width int) Series {
	s := Series{Title: k.Name, Width: width, Untimed: k.Rate.Num == 0 || k.Rate.Den == 0}
	if utc, ok := h.Origin.UTC(); ok && !s.Untimed {
		s.Origin = utc
	}
	v := view{k: k, points: points, rate: k.Rate}
	if s.Untimed {
		v.rate = zoomcache.Rate{Num: 1, Den: 1}
	}
	s.From, s.To = v.edges(first, last)
	v.pixel = max(s.To-s.From, 0) / float64(s.pixels())
	s.samples, s.points = v.samples(), int64(len(points))
	s.Note = noteOf(s.samples, s.points)
	for c := range max(k.Codec.Channels, 1) {
		s.Channels = append(s.Channels, Channel{Name: fmt.Sprintf("channel %d", c), Spans: v.spans(c)})
	}
	return s
}

// MaxLines is how many lines differ by their colours and dashes.
const MaxLines = 24

// With returns the picture with the channels of another one of the same file, over the time
// of both.
func (s Series) With(o Series) Series {
	switch {
	case !(s.From < s.To):
		s.From, s.To = o.From, o.To
	case o.From < o.To:
		s.From, s.To = min(s.From, o.From), max(s.To, o.To)
	}
	s.Channels = append(slices.Clip(s.Channels), o.Channels...)
	s.samples, s.points = s.samples+o.samples, s.points+o.points
	s.Note = noteOf(s.samples, s.points)
	return s
}

// Bounds returns the least and the greatest value of a channel. For Bool they are
// 0 and 1, unless the channel was never or always true.
func Bounds(s *zoomcache.Stats) (lo, hi float64) {
	if !s.Min.Present() {
		return math.Floor(s.Mean), math.Ceil(s.Mean)
	}
	return s.Min.Float(), s.Max.Float()
}

type view struct {
	k      *zoomcache.Track
	points []zoomindex.Point
	rate   zoomcache.Rate // rate of the samples
	pixel  float64        // width of a pixel on the axis
}

// samples is how many samples points have.
func (v view) samples() (n int64) {
	for i := range v.points {
		n += v.points[i].Count
	}
	return n
}

// noteOf tells how much of the series is shown.
func noteOf(samples, points int64) string {
	text := plural(samples, "sample")
	switch points {
	case 0:
		return ""
	case samples:
		return text
	}
	return text + " in " + plural(points, "point")
}

func plural(n int64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return humanize.Comma(n) + " " + one + "s"
}

// edges are the ends of the axis of time: those that were asked for, else the ends of
// the points.
func (v view) edges(first, last int64) (from, to float64) {
	if n := len(v.points); n > 0 {
		if first == zoomcache.FirstOffset {
			if first = v.points[0].Entry; !v.k.Variable && (n > 1 || v.points[0].Count > 1) {
				first-- // a sample is at the end of its time: the first one has offset 1
			}
		}
		if last == zoomcache.LastOffset {
			last = v.points[n-1].Exit
		}
	}
	if first == zoomcache.FirstOffset || last == zoomcache.LastOffset || first > last {
		return 0, 0
	}
	return v.rate.Seconds(first), v.rate.Seconds(last)
}

// spans are the spans to draw for a channel.
func (v view) spans(c int) []Span {
	out := make([]Span, len(v.points))
	for i := range v.points {
		o := &v.points[i]
		s := &out[i]
		s.Low, s.High = Bounds(&o.Channels[c])
		s.Mean = o.Channels[c].Mean
		s.T0, s.T1 = v.rate.Seconds(o.Entry), v.rate.Seconds(o.Exit)
		s.Single = o.Count == 1
		s.Apart = i > 0 && v.apart(i)
		// A point reaches to the beginning of the next, unless samples are missing
		// there: pixels between two points would look like a gap.
		switch {
		case i > 0 && v.k.Variable && !out[i-1].Single && !s.Apart:
			out[i-1].T1 = s.T0
		case !v.k.Variable && !s.Single && o.Exit < math.MaxInt64:
			s.T1 = v.rate.Seconds(o.Exit + 1)
		}
	}
	return out
}

// apart reports whether samples are missing between a point and the one before it. At
// variable rate they are missing if the pause is several times the usual one and wide
// enough to be seen: samples that come by chance always have some long pauses.
func (v view) apart(i int) bool {
	a, b := &v.points[i-1], &v.points[i]
	gap := b.Entry - a.Exit
	if !v.k.Variable {
		return gap > 1
	}
	usual := max((a.Exit-a.Entry)/max(a.Count-1, 1), (b.Exit-b.Entry)/max(b.Count-1, 1))
	if i > 1 {
		usual = max(usual, min(a.Entry-v.points[i-2].Exit, gap/3))
	}
	if i+1 < len(v.points) {
		usual = max(usual, min(v.points[i+1].Entry-b.Exit, gap/3))
	}
	return usual > 0 && gap > 4*usual && v.rate.Seconds(b.Entry)-v.rate.Seconds(a.Exit) >= v.pixel
}
