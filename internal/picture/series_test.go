package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot"
	"pgregory.net/rapid"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
)

func labels(t []plot.Tick) string {
	var out []string
	for _, x := range t {
		out = append(out, x.Label)
	}
	return strings.Join(out, " ")
}

// TestTicks: labels are round numbers in the fewest digits.
func TestTicks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lo, hi     float64
		want, name string
	}{
		{-120, 20_000, "0 5,000 10,000 15,000 20,000", ""},
		{-200, 200, "−200 −100 0 100 200", ""},
		{0, 1, "0.0 0.2 0.4 0.6 0.8 1.0", ""},
		{0.99, 1.01, "0.990 0.995 1.000 1.005 1.010", ""},
		{42.5, 42.5, "40 42 44 46", ""},
		{0, 0, "−1.0 −0.5 0.0 0.5 1.0", ""},
		{0, 5e15, "0 1 2 3 4 5", "× 10¹⁵"},
		{-3e-6, 3e-6, "−3 −2 −1 0 1 2 3", "× 10⁻⁶"},
		{2e9, 7e9, "2 3 4 5 6 7", "× 10⁹"},
		{-5e-300, 0, "−5 −4 −3 −2 −1 0", "× 10⁻³⁰⁰"},
		{0, 5e-305, "0 10 20 30 40 50", "× 10⁻³⁰⁶"},
		{0, 3e-307, "0.00 0.05 0.10 0.15 0.20 0.25 0.30", "× 10⁻³⁰⁶"},
		{-math.MaxFloat64, math.MaxFloat64, "−160 −80 0 80 160", "× 10³⁰⁶"},
		{math.Inf(1), math.Inf(-1), "", ""},
	} {
		v := newValues(c.lo, c.hi, 7)
		if got := labels(v.ticks); got != c.want || v.name != c.name {
			t.Errorf("%g to %g: %q %q, want %q %q", c.lo, c.hi, got, v.name, c.want, c.name)
		}
	}
	origin := time.Date(2026, 5, 1, 22, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		from, to   float64
		origin     time.Time
		want, name string
	}{
		{0, 86_400, time.Time{}, "0:00 3:00 6:00 9:00 12:00 15:00 18:00 21:00 24:00", "h:min"},
		{600, 602, time.Time{}, "600.0 600.2 600.4 600.6 600.8 601.0 601.2 601.4 601.6 601.8 602.0", "seconds"},
		{60, 600, time.Time{}, "1:00 2:00 3:00 4:00 5:00 6:00 7:00 8:00 9:00 10:00", "min:s"},
		{7200, 7260, time.Time{}, "2:00:00 2:00:10 2:00:20 2:00:30 2:00:40 2:00:50 2:01:00", "h:min:s"},
		{7200, 7202, time.Time{}, "2:00:00.0 2:00:00.2 2:00:00.4 2:00:00.6 2:00:00.8 2:00:01.0 2:00:01.2 2:00:01.4 2:00:01.6 2:00:01.8 2:00:02.0", "h:min:s"},
		{0, 30 * day, time.Time{}, "0 5 10 15 20 25 30", "days"},
		{-90, 90, time.Time{}, "−90 −60 −30 0 30 60 90", "seconds"},
		{0, 7200, origin, "22:30 22:45 23:00 23:15 23:30 23:45 00:00\nMay 2 00:15 00:30", "UTC, 2026-05-01 to 2026-05-02"},
		{0, 1, origin, "22:30:00.0 22:30:00.1 22:30:00.2 22:30:00.3 22:30:00.4 22:30:00.5 22:30:00.6 22:30:00.7 22:30:00.8 22:30:00.9 22:30:01.0", "UTC, 2026-05-01"},
		{0, 20 * day, origin, "May 3 May 5 May 7 May 9 May 11 May 13 May 15 May 17 May 19 May 21", "UTC, 2026-05-01 to 2026-05-21"},
	} {
		v := newTimes(c.from, c.to, c.origin, 800)
		if got := labels(v.ticks); got != c.want || v.name != c.name {
			t.Errorf("%g to %g: %q %q, want %q %q", c.from, c.to, got, v.name, c.want, c.name)
		}
	}
}

// TestAnyTicks: between any ends there are a few ticks, in order, each with a label of
// its own.
func TestAnyTicks(t *testing.T) {
	t.Parallel()
	check := func(t *rapid.T, lo, hi float64, list []plot.Tick, most int, distinct bool) {
		if len(list) > most {
			t.Fatalf("%g to %g: %d ticks", lo, hi, len(list))
		}
		for i, x := range list {
			if !(x.Value >= lo && x.Value <= hi) || x.Label == "" || strings.Contains(x.Label, "NaN") {
				t.Fatalf("%g to %g: tick %g %q", lo, hi, x.Value, x.Label)
			}
			if i > 0 && (x.Value <= list[i-1].Value || distinct && x.Label == list[i-1].Label) {
				t.Fatalf("%g to %g: ticks %+v and %+v", lo, hi, list[i-1], x)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		lo := rapid.Float64().Draw(t, "low")
		hi := lo + math.Abs(rapid.Float64().Draw(t, "span"))
		if math.IsInf(hi, 0) {
			hi = math.MaxFloat64
		}
		v := newValues(lo, hi, 7)
		near := (v.high-v.low) < 1e-8*math.Abs(v.low) || math.Abs(v.high-v.low) < 1e-290
		check(t, v.low, v.high, v.ticks, 3*7, !near)
		from := rapid.Float64Range(-1e9, 1e12).Draw(t, "from")
		to := from + math.Pow(10, rapid.Float64Range(-3, 11).Draw(t, "exponent"))
		origin := []time.Time{{}, time.Unix(1.7e9, 12345)}[rapid.IntRange(0, 1).Draw(t, "origin")]
		for _, pixels := range []int{MinWidth, 800, MaxWidth} {
			x := newTimes(from, to, origin, pixels)
			check(t, from, to, x.ticks, pixels/40, false)
		}
	})
}

func shot(t *testing.T, s Series) image.Image {
	t.Helper()
	var b, v bytes.Buffer
	if err := s.PNG(&b); err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.SVG(&v); err != nil {
		t.Fatal(err)
	}
	if size := m.Bounds().Size(); !strings.Contains(v.String(), fmt.Sprintf(`width="%d" height="%d"`, size.X, size.Y)) {
		t.Errorf("svg: not the size of the png: %.100s", v.String())
	}
	d := xml.NewDecoder(&v)
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return m
		} else if err != nil {
			t.Fatal("svg:", err)
		}
	}
}

// data counts the pixels of column x that show something.
func data(m image.Image, x int) (n int) {
	for y := range m.Bounds().Dy() {
		c, _ := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA)
		if int(c.B)-int(c.R) > 40 || int(c.R)-int(c.B) > 40 {
			n++
		}
	}
	return n
}

// leftOf is the column of the axis of values.
func leftOf(t *testing.T, m image.Image) int {
	t.Helper()
	for x := range m.Bounds().Dx() {
		n := 0
		for y := range m.Bounds().Dy() {
			if c, _ := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA); c.R < 0xd0 && c.R == c.B {
				n++
			}
		}
		if n > m.Bounds().Dy()*7/10 {
			return x
		}
	}
	t.Fatal("no axis")
	return 0
}

// TestSpike: a spike in one point of thousands is a column of its full colour, from
// bottom to top, however wide the picture is.
func TestSpike(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1, 400, 1000, 2000, 3999, 9000} {
		const n, at = 3000, 1234
		s := Series{Title: "spike", Width: width, From: 0, To: n, Channels: make([]Channel, 1)}
		for i := range n {
			x := Span{T0: float64(i), T1: float64(i + 1), Low: -1, High: 1}
			if i == at {
				x.High = 1000
			}
			s.Channels[0].Spans = append(s.Channels[0].Spans, x)
		}
		m := shot(t, s)
		tall, first := 0, 0
		for x := range m.Bounds().Dx() {
			if data(m, x) > seriesHeight*8/10 {
				if tall == 0 {
					first = x
				}
				tall++
			}
		}
		most := max(width/n, 1) + 1
		if tall < 1 || tall > most {
			t.Errorf("width %d: %d columns are tall, want 1 to %d", width, tall, most)
		}
		if place := float64(first-leftOf(t, m)) / float64(min(max(width, MinWidth), MaxWidth)) * n; math.Abs(place-at) > 12 {
			t.Errorf("width %d: the spike is at %.0f, want %d", width, place, at)
		}
	}
}

// TestNoSeams: at any width, if points of variable rate follow each other, every column
// of pixels between them has a band. If samples are missing, some columns have none.
func TestNoSeams(t *testing.T) {
	t.Parallel()
	k := &zoomcache.Track{Variable: true, Rate: zoomcache.Rate{Num: 1, Den: 1}}
	const every, n, gap = 96, 900, 400
	var points []zoomindex.Point
	for i := range int64(n) {
		if i >= gap && i < gap+100 {
			continue
		}
		points = append(points, zoomindex.Point{Entry: every * i, Exit: every*i + every - 1, Count: every, Channels: []zoomcache.Stats{{Mean: .5}}})
	}
	for _, width := range []int{400, 777, 1200, 2345} {
		m := shot(t, OfView(&zoomcache.Header{}, k, points, zoomcache.FirstOffset, zoomcache.LastOffset, width))
		left, empty := leftOf(t, m), 0
		for x := 2; x < width-2; x++ { // the axis is drawn over the first
			switch at := float64(x+1) / float64(width) * n; {
			case at < gap-3 || at > gap+103:
				if data(m, left+1+x) < 10 {
					t.Fatalf("width %d: column %d is empty", width, x)
				}
			case data(m, left+1+x) == 0:
				empty++
			}
		}
		if empty < width/n*90 || empty == 0 {
			t.Errorf("width %d: %d columns of the gap are empty", width, empty)
		}
	}
}

// TestUnseenGaps: if samples come by chance, every picture has a pause that is longer
// than the rest. A pause shorter than a pixel does not break the line of means. A
// visible pause breaks it, however few points there are.
func TestUnseenGaps(t *testing.T) {
	t.Parallel()
	k := &zoomcache.Track{Variable: true, Rate: zoomcache.Rate{Num: 1, Den: 1}}
	for _, c := range []struct {
		span, gap int64
		apart     bool
	}{{100, 9, false}, {100, 99, false}, {100, 150, true}, {10_000, 99, false}, {10_000, 150, true}} {
		const all = 80_000 // 800 pixels of 100
		var points []zoomindex.Point
		for at := int64(0); at < all; at += c.span + 1 {
			if len(points) == 3 {
				at += c.gap - 1
			}
			points = append(points, zoomindex.Point{Entry: at, Exit: at + c.span, Count: c.span + 1, Channels: []zoomcache.Stats{{Mean: .5}}})
		}
		s := OfView(&zoomcache.Header{}, k, points, 0, all, 0)
		for i, x := range s.Channels[0].Spans {
			if want := c.apart && i == 3; x.Apart != want {
				t.Errorf("points of %d, a gap of %d: point %d is apart: %v", c.span, c.gap, i, x.Apart)
			}
		}
	}
}

// TestNoRate: samples without times stand side by side, by their offsets.
func TestNoRate(t *testing.T) {
	t.Parallel()
	k := &zoomcache.Track{Codec: zoomcache.Codec{Kind: zoomcache.Unit}}
	var points []zoomindex.Point
	for i := range int64(3) {
		points = append(points, zoomindex.Point{Entry: 1000*i + 1, Exit: 1000*i + 1000, Count: 1000, Channels: make([]zoomcache.Stats, 1)})
	}
	h := &zoomcache.Header{Origin: zoomcache.Origin{Day: 60_000, Den: 1}}
	s := OfView(h, k, points, zoomcache.FirstOffset, zoomcache.LastOffset, 400)
	list := s.Channels[0].Spans
	if s.From != 0 || s.To != 3000 || list[0].T0 != 1 || list[1].T0 != 1001 || list[0].T1 != 1001 {
		t.Errorf("from %v to %v: %+v", s.From, s.To, list)
	}
	if x := s.times(); labels(x.ticks) != "0 500 1,000 1,500 2,000 2,500 3,000" || x.name != "sample offsets" {
		t.Errorf("%s: %s", x.name, labels(x.ticks))
	}
	if s.From, s.To = 7, 9; labels(s.times().ticks) != "7 8 9" {
		t.Error(labels(s.times().ticks))
	}
	k.Rate = zoomcache.Rate{Num: 1000, Den: 1}
	s = OfView(h, k, points, zoomcache.FirstOffset, zoomcache.LastOffset, 1000)
	if x := s.times(); s.To != 3 || !strings.HasPrefix(x.name, "UTC") {
		t.Errorf("to %v: %s", s.To, x.name)
	}
}

// TestWholeLabels: no label is cut by the edge of the picture, whether there are
// labels of values beside the axis or not.
func TestWholeLabels(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 9, 30, 0, 0, 0, 0, time.UTC)
	for name, s := range map[string]Series{
		"nothing": {}, "nothing in h:min": {To: 13 * hour}, "nothing in UTC": {To: 3 * day, Origin: midnight},
		"nothing but NaN":     {To: day, Origin: midnight, Channels: []Channel{{Spans: []Span{{T1: day, Low: math.NaN(), High: math.NaN()}}}}},
		"nothing far away":    {From: 4e9, To: 4e9 + 400},
		"nanoseconds":         {To: 12e-9, Origin: midnight, Channels: []Channel{{Spans: []Span{{T1: 12e-9, Low: 1, High: 7}}}}},
		"values of one digit": {To: 2 * day, Origin: midnight, Channels: []Channel{{Spans: []Span{{T1: day, Low: 1, High: 7}}}}},
	} {
		m := shot(t, s)
		b := m.Bounds()
		for _, x := range []int{0, 1, b.Max.X - 2, b.Max.X - 1} {
			for y := range b.Max.Y {
				if c, _ := color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA); c != (color.NRGBA{255, 255, 255, 255}) {
					t.Errorf("%s: the pixel at %d, %d is %v", name, x, y, c)
					break
				}
			}
		}
	}
}

// TestOddSeries: nothing, one sample, NaN, infinities and the ends of float64 are
// drawn without fault.
func TestOddSeries(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	span := func(v ...float64) (list []Span) {
		for i, x := range v {
			list = append(list, Span{T0: float64(i), T1: float64(i), Low: x, High: x, Mean: x, Single: true})
		}
		return list
	}
	for name, c := range map[string]struct {
		spans []Span
		seen  bool
	}{
		"nothing": {nil, false}, "one": {span(7), true}, "nan": {span(nan, nan), false}, "constant": {span(3, 3, 3), true},
		"infinite": {span(1, inf, -inf, 2), true}, "only infinite": {span(inf, inf), true}, "far": {span(-math.MaxFloat64, math.MaxFloat64), true},
		"tiny": {span(0, 5e-324), true}, "alone among NaN": {span(nan, 4, nan), true},
	} {
		m := shot(t, Series{Title: name, Channels: []Channel{{Spans: c.spans}}})
		n := 0
		for x := range m.Bounds().Dx() {
			n += data(m, x)
		}
		if (n > 0) != c.seen {
			t.Errorf("%s: %d pixels of data", name, n)
		}
	}
	// Several channels are told apart, and a gap is left open.
	s := Series{From: 0, To: 10, Channels: make([]Channel, 2)}
	for c := range s.Channels {
		s.Channels[c].Name = strconv.Itoa(c)
		s.Channels[c].Spans = []Span{{T0: 0, T1: 4, Low: 0, High: 1, Mean: .5}, {T0: 6, T1: 10, Low: 0, High: 1, Mean: .5, Apart: true}}
	}
	m := shot(t, s)
	left := leftOf(t, m)
	if data(m, left+DefaultWidth/2) != 0 || data(m, left+DefaultWidth/5) == 0 {
		t.Error("the gap is drawn, or the data are not")
	}
}
