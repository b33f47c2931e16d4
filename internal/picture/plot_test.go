package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"

	"github.com/farread/farread/formats/dtype"
)

func singles(n int, f func(i int) float64) []byte {
	var p []byte
	for i := range n {
		p = binary.LittleEndian.AppendUint32(p, math.Float32bits(float32(f(i))))
	}
	return p
}

func typed(t *testing.T, text string) dtype.DType {
	t.Helper()
	d, err := dtype.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// areaOf finds the pixels of the area of the data.
func areaOf(f *figure) image.Rectangle {
	c := draw.New(vgimg.NewWith(vgimg.UseWH(f.size()), vgimg.UseDPI(8)))
	a := f.area(c)
	x, y := int(math.Round(float64(a.Min.X/pixel))), int(math.Round(float64((c.Max.Y-a.Max.Y)/pixel)))
	return image.Rect(x, y, x+int(math.Round(float64((a.Max.X-a.Min.X)/pixel))), y+int(math.Round(float64((a.Max.Y-a.Min.Y)/pixel))))
}

// TestPlotPixels: each item has its colour at its place, whichever way the axis runs, and
// the area has the size that was asked for.
func TestPlotPixels(t *testing.T) {
	t.Parallel()
	d := typed(t, "<f4")
	const rows, cols = 7, 13
	value := func(i int) float64 {
		if i == 5 {
			return math.NaN()
		}
		return float64(i*i%97) / 3
	}
	items := singles(rows*cols, value)
	for _, c := range []struct {
		width, height int
		up, dark      bool
	}{{400, 160, false, false}, {400, 300, true, true}, {801, 333, true, false}, {800, 0, false, true}, {400, 80, false, false}} {
		p := Plot{Title: "title", Values: "speed [m s-1]", Width: c.width, Height: c.height, Dark: c.dark, Sides: []Side{{Name: "lat [degrees_north]", First: -90, Step: 30, Up: c.up}, {Name: "x", Step: 1, Whole: true}}}
		p.Sides = []Side{p.Sides[0], {}, p.Sides[1]}
		f, err := p.figure(d, []int64{rows, 1, cols}, items)
		if err != nil {
			t.Fatal(err)
		}
		area := areaOf(f)
		if area.Dx() != c.width || c.height > 0 && area.Dy() != c.height {
			t.Fatalf("%+v: an area of %v", c, area)
		}
		var b bytes.Buffer
		if err := p.Encode(&b, d, []int64{rows, 1, cols}, items); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		low, high := scale(items, d, Options{})
		for i := range rows * cols {
			y, x := i/cols, i%cols
			if c.up {
				y = rows - 1 - y
			}
			want := Viridis.palette()[level(float64(float32(value(i))), low, high)]
			if i == 5 {
				want = themeOf(c.dark).grid
			}
			at := area.Min.Add(image.Pt((2*x+1)*area.Dx()/(2*cols), (2*y+1)*area.Dy()/(2*rows)))
			if got := color.NRGBAModel.Convert(img.At(at.X, at.Y)); got != want {
				t.Fatalf("%+v: item %d is %v at %v, want %v", c, i, got, at, want)
			}
		}
		if got := color.NRGBAModel.Convert(img.At(0, 0)); got != themeOf(c.dark).back {
			t.Errorf("%+v: the ground is %v", c, got)
		}
	}
}

// TestPlotMeans: of many items a pixel has the mean, and no NaN spoils it.
func TestPlotMeans(t *testing.T) {
	t.Parallel()
	c := &cells{rows: 4, cols: 800, width: 400, height: 4, low: 0, high: 10, palette: Gray.palette(),
		value: func(i int) float64 {
			if i%2 == 0 {
				return math.NaN()
			}
			return 10 * float64(i%4) / 3 // 10/3, 10
		}}
	img := c.image()
	for x := range 400 {
		want := Gray.palette()[level([]float64{10. / 3, 10}[x%2], 0, 10)]
		if got := img.NRGBAAt(x, 2); got != want {
			t.Fatalf("%d: %v, want %v", x, got, want)
		}
	}
	for k := range 400 { // all items once
		a, b := span(k, 400, 1234)
		if c, _ := span(k+1, 400, 1234); b != c || b <= a {
			t.Fatal(a, b, c)
		}
	}
}

// TestSideTicks: ticks stand where the items lie, at round numbers and at times of the
// calendar, and at items where neither is possible.
func TestSideTicks(t *testing.T) {
	t.Parallel()
	months, levels := Side{Name: "time", Time: true}, Side{Name: "level [hPa]"}
	for i := range 36 {
		months.Values = append(months.Values, float64(time.Date(2020, time.Month(1+i), 1, 0, 0, 0, 0, time.UTC).Unix()))
	}
	levels.Values = []float64{1, 10, 100, 500, 1000}
	levels.Text = func(i int) string { return fmt.Sprint(levels.Values[i]) }
	names := Side{Name: "city", Values: []float64{math.NaN(), math.NaN(), math.NaN()}, Text: func(i int) string { return []string{"Ulm", "Bonn", "Wien\x1b[0m"}[i] }}
	for _, c := range []struct {
		side    Side
		n       int
		upright bool
		want    string
		name    string
		at      []float64 // of the first ticks
	}{
		{Side{Name: "lat [degrees_north]", First: -90, Step: 2.5}, 73, true, "−80 −60 −40 −20 0 20 40 60 80", "lat [degrees_north]", []float64{4, 12}},
		{Side{Name: "lat", First: 90, Step: -2.5}, 73, true, "80 60 40 20 0 −20 −40 −60 −80", "lat", []float64{4, 12}},
		{Side{First: 100, Step: 2, Whole: true}, 50, false, "100 120 140 160 180", "", []float64{0, 10}},
		{months, 36, false, "Jan 2020 Jul Jan 2021 Jul Jan 2022 Jul", "time, UTC, 2020-01-01 to 2022-12-01", []float64{0, 6, 12}},
		{levels, 5, true, "1 10 100 500 1000", "level [hPa]", []float64{0, 1, 2}},
		{names, 3, false, "Ulm Bonn", "city", []float64{0, 1}},
		{Side{First: 7, Step: 3}, 1, false, "7", "", []float64{0}},
	} {
		got := c.side.ticks(c.n, 400, c.upright)
		text := strings.ReplaceAll(labels(got.ticks), "\n", " ")
		if !strings.HasPrefix(text, c.want) || got.name != c.name || strings.Contains(text, "\x1b") {
			t.Errorf("%q %q, want %q %q", text, got.name, c.want, c.name)
			continue
		}
		for i, at := range c.at {
			if math.Abs(got.ticks[i].Value-at) > 1e-9 {
				t.Errorf("%s: tick %d at %g, want %g", c.want, i, got.ticks[i].Value, at)
			}
		}
	}
}

// TestPlotLine: of an array of one axis a spike among a million items is seen, and times
// that fall run from left to right.
func TestPlotLine(t *testing.T) {
	t.Parallel()
	d := typed(t, "<f4")
	const n, spike = 100_000, 77_777
	items := singles(n, func(i int) float64 {
		if i == spike {
			return 100
		}
		return math.Sin(float64(i))
	})
	p := Plot{Width: 800, Sides: []Side{{Name: "x", First: n, Step: -1}}}
	f, err := p.figure(d, []int64{n}, items)
	if err != nil {
		t.Fatal(err)
	}
	area := areaOf(f)
	var b bytes.Buffer
	if err := p.Encode(&b, d, []int64{n}, items); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	seen, want := -1, 800-800*spike/n
	for x := range area.Dx() {
		if r, _, b, _ := img.At(area.Min.X+x, area.Min.Y+area.Dy()*24/100).RGBA(); b > r+0x1000 {
			seen = x
		}
	}
	if seen < want-3 || seen > want+3 {
		t.Errorf("the spike is at %d, want %d", seen, want)
	}
}

// TestPlotRefuses: shapes and types without a picture are refused, odd numbers are not.
func TestPlotRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		typ   string
		shape []int64
		ok    bool
	}{
		{"<f4", []int64{2, 3, 4}, false}, {"<f4", []int64{0, 4}, false}, {"<c8", []int64{2, 2}, false}, {"<U1", []int64{2, 2}, false}, {"<M8[s]", []int64{4}, false},
		{"<f4", []int64{1, 1}, true}, {"<f4", nil, true}, {"|b1", []int64{2, 2}, true}, {"|u1", []int64{4, 5, 3}, true}, {"|u1", []int64{4, 5, 4}, true}, {"<i8", []int64{3, 1, 3}, true},
	} {
		d, n := typed(t, c.typ), int64(1)
		for _, k := range c.shape {
			n *= k
		}
		for _, svg := range []bool{false, true} {
			var b bytes.Buffer
			err := Plot{Width: 400, Height: 80, SVG: svg}.Encode(&b, d, c.shape, make([]byte, n*int64(d.ItemSize())))
			if (err == nil) != c.ok || !c.ok && (!errors.Is(err, ErrRefused) || b.Len() > 0) {
				t.Errorf("%s of %v: %v", c.typ, c.shape, err)
			}
		}
	}
	d := typed(t, "<f8")
	inf := math.Inf(1)
	for _, v := range [][]float64{{inf, -inf, inf, -inf}, {math.NaN(), math.NaN(), math.NaN(), math.NaN()}, {math.MaxFloat64, -math.MaxFloat64, 0, inf}, {5e-324, 0, 0, 0}} {
		var p []byte
		for _, x := range v {
			p = binary.LittleEndian.AppendUint64(p, math.Float64bits(x))
		}
		for _, shape := range [][]int64{{2, 2}, {4}} {
			for _, side := range []Side{{}, {First: inf, Step: 1}, {First: math.NaN()}, {Step: 1e-320}, {First: 1e300, Step: 1e290}, {Values: []float64{1, 1, 2, 2}}, {Values: []float64{0, inf}, Time: true}, {First: 1e18, Step: 1e17, Time: true}} {
				if err := (Plot{Width: 400, Height: 80, SVG: true, Sides: []Side{side, side}}).Encode(&bytes.Buffer{}, d, shape, p); err != nil {
					t.Errorf("%v: %v", v, err)
				}
			}
		}
	}
}

// TestLineColours: lines differ for people without one kind of cones, too, and stand out
// from the ground. The matrices are those of Machado, Oliveira and Fernandes (2009).
func TestLineColours(t *testing.T) {
	t.Parallel()
	eyes := map[string][9]float64{
		"all":    {1, 0, 0, 0, 1, 0, 0, 0, 1},
		"protan": {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
		"deutan": {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881},
		"tritan": {1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.303900},
	}
	for _, dark := range []bool{false, true} {
		th := themeOf(dark)
		for name, eye := range eyes {
			for i, a := range th.lines {
				for j, b := range th.lines[:i] {
					if d := apart(seen(a, eye), seen(b, eye)); d < 20 {
						t.Errorf("dark %v, %s: lines %d and %d are %.1f apart", dark, name, i, j, d)
					}
				}
			}
		}
		for i, a := range th.lines {
			if c := contrast(a, th.back); c < 3 {
				t.Errorf("dark %v: line %d has a contrast of %.2f", dark, i, c)
			}
		}
		for _, a := range []color.NRGBA{th.title, th.text, th.quiet} {
			if c := contrast(a, th.back); c < 4.5 {
				t.Errorf("dark %v: text has a contrast of %.2f", dark, c)
			}
		}
	}
}

func linear(c color.NRGBA) (out [3]float64) {
	for i, v := range [3]uint8{c.R, c.G, c.B} {
		x := float64(v) / 255
		if out[i] = x / 12.92; x > 0.04045 {
			out[i] = math.Pow((x+0.055)/1.055, 2.4)
		}
	}
	return out
}

func contrast(a, b color.NRGBA) float64 {
	of := func(c color.NRGBA) float64 { l := linear(c); return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2] + 0.05 }
	return max(of(a), of(b)) / min(of(a), of(b))
}

// seen is a colour in CIELAB as an eye sees it.
func seen(c color.NRGBA, m [9]float64) [3]float64 {
	l := linear(c)
	var s, f [3]float64
	for i := range 3 {
		s[i] = min(max(m[3*i]*l[0]+m[3*i+1]*l[1]+m[3*i+2]*l[2], 0), 1)
	}
	for i, k := range [3][4]float64{{0.4124, 0.3576, 0.1805, 0.95047}, {0.2126, 0.7152, 0.0722, 1}, {0.0193, 0.1192, 0.9505, 1.08883}} {
		x := (k[0]*s[0] + k[1]*s[1] + k[2]*s[2]) / k[3]
		if f[i] = math.Cbrt(x); x <= 0.008856 {
			f[i] = 7.787*x + 16./116
		}
	}
	return [3]float64{116*f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])}
}

func apart(a, b [3]float64) float64 {
	return math.Sqrt((a[0]-b[0])*(a[0]-b[0]) + (a[1]-b[1])*(a[1]-b[1]) + (a[2]-b[2])*(a[2]-b[2]))
}

// TestLegend: names stand in rows within the picture, none is left out in silence, and none
// overlaps another, the title or the note.
func TestLegend(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 9, 24, 200} {
		for _, width := range []int{400, 800} {
			s := Series{Title: strings.Repeat("long title ", n), Note: "1,000,000 samples in 800 points", Width: width}
			for i := range n {
				s.Channels = append(s.Channels, Channel{Name: strings.Repeat("name ", i%7) + fmt.Sprint(i), Spans: []Span{{T0: 0, T1: 9, Low: float64(i), High: float64(i) + 1, Mean: float64(i)}}})
			}
			f := s.figure()
			l, shown, room := &f.legend, 0, float64(width)
			for k, row := range l.rows {
				shown += len(row)
				if w := float64((l.used(f.nameStyle(), k) - afterName) / pixel); w > room+0.01 {
					t.Errorf("%d names, %d pixels: row %d takes %g", n, width, k, w)
				}
			}
			if n > 1 && shown+l.leftOver != n || n == 24 && l.leftOver > 0 || n == 1 && shown > 0 {
				t.Errorf("%d names in %d pixels: %d shown, %d left over", n, width, shown, l.leftOver)
			}
			title := float64(f.bold().Width(l.title) / pixel)
			if note := float64(f.small().Width(f.note) / pixel); title > room || l.noted && title+note > room {
				t.Errorf("a title of %g and a note of %g in %g", title, note, room)
			}
			if a := areaOf(f); a.Dx() != width || a.Dy() != seriesHeight {
				t.Errorf("an area of %v", a)
			}
		}
	}
}
