package picture

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image"
	"image/color"
	imagedraw "image/draw"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/image/font"
	plain "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// written is a picture of a line of text, large enough to tell glyphs apart. It is
// true at pixels with ink.
func written(line string, sty plain.Style) [][]bool {
	const dpi = 5 * seriesDPI
	c := vgimg.NewWith(vgimg.UseWH(sty.Width(line)+4*sty.Font.Size, 3*sty.Font.Size), vgimg.UseDPI(dpi))
	d := draw.New(c)
	d.FillText(sty, vg.Point{X: sty.Font.Size, Y: sty.Font.Size}, line)
	return inkOf(c.Image())
}

func inkOf(m image.Image) [][]bool {
	b := m.Bounds()
	g := image.NewGray(b)
	imagedraw.Draw(g, b, m, b.Min, imagedraw.Src)
	out := make([][]bool, b.Dy())
	for y := range out {
		out[y] = make([]bool, b.Dx())
		for x, v := range g.Pix[y*g.Stride:][:b.Dx()] {
			out[y][x] = v < 128
		}
	}
	return out
}

// blobs are the pieces of ink with white columns between them, each cut to its own
// size; top is how many rows lie above each.
func blobs(ink [][]bool) (list [][][]bool, top []int) {
	used := func(x int) bool {
		for y := range ink {
			if ink[y][x] {
				return true
			}
		}
		return false
	}
	for x := 0; x < len(ink[0]); x++ {
		a := x
		for x < len(ink[0]) && used(x) {
			x++
		}
		if a == x {
			continue
		}
		var rows [][]bool
		first := -1
		last := 0
		for y := range ink {
			rows = append(rows, ink[y][a:x])
			for _, v := range ink[y][a:x] {
				if v {
					if first < 0 {
						first = y
					}
					last = y
				}
			}
		}
		list, top = append(list, rows[first:last+1]), append(top, first)
	}
	return list, top
}

// unlike is the share of pixels in which two pieces of ink differ.
func unlike(a, b [][]bool) float64 {
	h, w := max(len(a), len(b)), max(len(a[0]), len(b[0]))
	n := 0
	for y := range h {
		for x := range w {
			p := y < len(a) && x < len(a[0]) && a[y][x]
			q := y < len(b) && x < len(b[0]) && b[y][x]
			if p != q {
				n++
			}
		}
	}
	return float64(n) / float64(h*w)
}

// exponent reads the raised part of "× 10" and an exponent, by its pixels.
func exponent(t *testing.T, name string) (text string) {
	t.Helper()
	sty := tickStyle()
	glyphs := map[string][][]bool{}
	small := sty
	small.Font.Size *= smaller
	small.Handler = plain.Plain{Fonts: sty.Handler.Cache()}
	for _, r := range "−0123456789" {
		list, _ := blobs(written(string(r), small))
		glyphs[string(r)] = list[0]
	}
	_, line := blobs(written("10", sty))
	list, top := blobs(written(name, sty))
	for i, b := range list {
		if i < 3 { // × 1 0
			continue
		}
		if top[i] >= line[0]+len(glyphs["0"])/2 && len(b) > 2*len(glyphs["−"]) {
			t.Errorf("glyph %d of %q is not raised", i, name)
		}
		best, is := 0.2, "?"
		for k, g := range glyphs {
			if u := unlike(b, g); u < best {
				best, is = u, k
			}
		}
		text += is
	}
	return text
}

// TestExponents reads the exponents of axes back from their pixels: of values of every
// size, and of both signs.
func TestExponents(t *testing.T) {
	t.Parallel()
	read := map[string]string{} // the exponents of names
	for e := -300; e <= 300; e++ {
		for _, sign := range []float64{1, -1} {
			v := sign * math.Pow(10, float64(e)) * 5
			axis := newValues(min(v, 0), max(v, 0), 7)
			if -4 < e && e < 7 {
				if axis.name != "" {
					t.Errorf("%g: %q", v, axis.name)
				}
				continue
			}
			want := fmt.Sprint(3 * int(math.Floor(float64(e)/3)))
			if _, ok := read[axis.name]; !ok {
				read[axis.name] = exponent(t, axis.name)
			}
			if got := read[axis.name]; got != strings.Replace(want, "-", "−", 1) {
				t.Errorf("%g: %q is drawn as ten to the %q", v, axis.name, got)
			}
			// Labels and exponent together say the values.
			for _, x := range axis.ticks {
				var f float64
				if _, err := fmt.Sscanf(strings.NewReplacer("−", "-", ",", "").Replace(x.Label)+"e"+want, "%g", &f); err != nil || math.Abs(f-x.Value*axis.unit) > math.Abs(v)*1e-9 {
					t.Fatalf("%g: a tick at %g says %s %s, %v", v, x.Value*axis.unit, x.Label, axis.name, err)
				}
			}
		}
	}
}

// sine is a picture of values as large as amp.
func sine(amp float64) Series {
	s := Series{Title: "sine", To: 100, Channels: make([]Channel, 1)}
	for i := range 100 {
		v := amp * math.Sin(float64(i)/7)
		s.Channels[0].Spans = append(s.Channels[0].Spans, Span{T0: float64(i), T1: float64(i + 1), Low: v - amp/9, High: v + amp/9, Mean: v})
	}
	return s
}

// TestTinyAndHuge: pictures of values near 1e-9 and 1e9 differ in the exponent, and in
// nothing else; the minus has ink.
func TestTinyAndHuge(t *testing.T) {
	t.Parallel()
	for _, e := range []int{6, 9, 300} {
		tiny, huge := shot(t, sine(math.Pow10(-e)*1.25)), shot(t, sine(math.Pow10(e)*1.25))
		if e == 6 { // 1.25e6 is written in full
			huge = shot(t, sine(1.25e9))
		}
		if tiny.Bounds() != huge.Bounds() {
			t.Fatalf("%d: %v, %v", e, tiny.Bounds(), huge.Bounds())
		}
		differ, ink := image.Rectangle{}, [2]int{}
		for y := range tiny.Bounds().Dy() {
			for x := range tiny.Bounds().Dx() {
				if tiny.At(x, y) != huge.At(x, y) {
					differ = differ.Union(image.Rect(x, y, x+1, y+1))
				}
				for i, m := range []image.Image{tiny, huge} {
					if c, _ := color.GrayModel.Convert(m.At(x, y)).(color.Gray); x < 24 {
						ink[i] += 255 - int(c.Y)
					}
				}
			}
		}
		if differ.Empty() || differ.Max.X > 24 || differ.Dy() > 60 {
			t.Errorf("10 to the %d: they differ in %v", e, differ)
		}
		if e != 6 && ink[0] < ink[1]+200 {
			t.Errorf("10 to the minus %d: the ink is %d, without minus %d", e, ink[0], ink[1])
		}
	}
}

// TestEveryRune: the font has each rune that we draw, in both weights, and each has
// ink.
func TestEveryRune(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	all.WriteString("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙ…·×−µμ°%‰±≤≥ÄÖÜäöüßéñçØåŁжΩ–—" + missing)
	for r := rune('!'); r <= '~'; r++ {
		all.WriteRune(r)
	}
	note := func(name string, list string) { all.WriteString(name + list) }
	for e := -320; e <= 308; e++ {
		v := newValues(-math.Pow10(e), math.Pow10(e), 7)
		note(v.name, labels(v.ticks))
	}
	for s := 1e-15; s < 1e14; s *= 1.9 {
		for _, origin := range []time.Time{{}, time.Unix(1.7e9, 987654321), time.Date(-4000, 2, 29, 0, 0, 0, 0, time.UTC)} {
			v := newTimes(-s/3, s, origin, 800)
			note(v.name, labels(v.ticks))
		}
		v := counts(-s, s, 800)
		note(v.name, labels(v.ticks))
	}
	for i := range []int64{0, 1, 12_345} {
		note(plural(int64(i), "sample")+" in "+plural(int64(i), "point"), "no samples here only NaN here channel")
	}
	seen := map[rune]bool{}
	for _, r := range all.String() {
		if seen[r] || r == ' ' || r == '\n' {
			continue
		}
		seen[r] = true
		for _, w := range []font.Weight{font.WeightNormal, font.WeightBold} {
			sty := style(9, w, gray(0))
			if width, known := sty.Handler.(lettering).width(string(r), sty); !known || width <= 0 {
				t.Errorf("%q (%U), weight %d: the font has not got it", r, r, w)
			}
			if list, _ := blobs(written(string(r), sty)); len(list) == 0 {
				t.Errorf("%q (%U), weight %d: no ink", r, r, w)
			}
		}
	}
	if len(seen) < 150 {
		t.Errorf("only %d runes", len(seen))
	}
}

// TestMissingRunes: each rune that the font lacks becomes a box, whatever users have
// called their tracks.
func TestMissingRunes(t *testing.T) {
	t.Parallel()
	sty := style(11, font.WeightBold, gray(0))
	for line, want := range map[string]string{
		"心電図": "□□□", "a😀b": "a□b", "👩‍🔬": "□□", "❤️": "□", "ไทย": "□□□", "한국": "□□", "\x00\x1b": "□□", "\uFFFD": "□", "a\xffb": "a□b", "e\u0301": "e\u0301", "Škoda ж": "Škoda ж",
	} {
		if got := written(line, sty); !slices.EqualFunc(got, written(want, sty), slices.Equal) {
			t.Errorf("%q is not drawn as %q", line, want)
		}
	}
	one, other := shot(t, Series{}), shot(t, Series{Title: "心"})
	n := 0
	for y := range one.Bounds().Dy() {
		for x := range one.Bounds().Dx() {
			if one.At(x, y) != other.At(x, y) {
				n++
			}
		}
	}
	if n < 20 {
		t.Errorf("a title of one box has %d pixels", n)
	}
}

// TestFit: a title that is longer than the picture is cut and ends with an ellipsis.
func TestFit(t *testing.T) {
	t.Parallel()
	sty := style(11, font.WeightBold, gray(0))
	for _, c := range [][2]string{{"short", "short"}, {strings.Repeat("long ", 20), "long lon…"}, {"心電図心電図心電図心電図", "心電図心電図心…"}, {"", ""}} {
		got := fit(c[0], sty, 60)
		if got != c[1] || sty.Width(got) > 60 {
			t.Errorf("%q: %q of %v, want %q", c[0], got, sty.Width(got), c[1])
		}
	}
	m := shot(t, Series{Title: strings.Repeat("心電図 wide title ", 30), Note: "note", Width: MinWidth})
	b := m.Bounds()
	for y := range b.Max.Y {
		if c, _ := color.GrayModel.Convert(m.At(b.Max.X-1, y)).(color.Gray); c.Y != 255 {
			t.Fatalf("the title reaches the edge at %d", y)
		}
	}
}

// An svgText is a line of text in an SVG.
type svgText struct {
	Y         string `xml:"y,attr"`
	Anchor    string `xml:"text-anchor,attr"`
	Length    string `xml:"textLength,attr"`
	Transform string `xml:"transform,attr"`
	Inner     string `xml:",innerxml"`
}

// texts are the lines of text in the SVG of a picture, by their content.
func texts(t *testing.T, s Series) map[string]svgText {
	t.Helper()
	var b bytes.Buffer
	if err := s.SVG(&b); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Groups []struct {
			Texts []svgText `xml:"text"`
		} `xml:"g"`
	}
	if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]svgText{}
	for _, g := range doc.Groups {
		for _, x := range g.Texts {
			plain := x.Inner
			for {
				a, b, ok := strings.Cut(plain, "<")
				if !ok {
					break
				}
				_, b, _ = strings.Cut(b, ">")
				plain = a + b
			}
			out[plain] = x
		}
	}
	return out
}

// TestAnchors: text of an SVG is anchored where it is aligned, so that another font
// does not push it over an edge. It keeps runes that the font of the PNG lacks, and
// has no character that XML forbids.
func TestAnchors(t *testing.T) {
	t.Parallel()
	s := sine(1e-6)
	s.Title, s.Note = "心 <1> & \x01\xff e⁻²", "3 samples"
	got := texts(t, s)
	for text, want := range map[string]string{"3 samples": "end", "−1.0": "end", "80": "middle", "seconds": "middle", "× 10−6": "middle", "心 &lt;1&gt; &amp; \uFFFD\uFFFD e−2": ""} {
		x, ok := got[text]
		if !ok || x.Anchor != want {
			t.Errorf("%q: anchor %q, want %q; of %v", text, x.Anchor, want, got)
		}
	}
	if x := got["× 10−6"]; !strings.Contains(x.Inner, `dy="-`) || !strings.Contains(x.Transform, "rotate(-90 ") {
		t.Errorf("the exponent: %+v", x)
	}
	two := texts(t, Series{To: 800 * day, Origin: time.Date(1999, 12, 4, 0, 0, 0, 0, time.UTC)})
	if jan, apr := two["Jan"], two["Apr"]; jan.Y == "" || jan.Y != apr.Y || two["2000"].Y <= jan.Y {
		t.Errorf("labels of one line and two: %+v", two)
	}
	s.Title, s.Channels = "two", append(s.Channels, s.Channels[0])
	s.Channels[1].Name = "右"
	got = texts(t, s)
	if got["two"].Length == "" || got["channel 0"].Length == "" || got["右"].Length != "" {
		t.Errorf("lengths: %+v", got)
	}
}

// TestLacks: letters that are drawn as boxes are told, once each; those that are drawn otherwise are not.
func TestLacks(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "temp °C, Größe, Ψ Ж": "", "m² s⁻¹ H₂O x₋₁": "", "温度 temp 温": "温度", "a\tb\n": "", "e\u0301": "", "😀": "😀",
	} {
		if got := Lacks(text); got != want {
			t.Errorf("%q lacks %q, want %q", text, got, want)
		}
	}
	if got := Lacks("日本", "x", "本語"); got != "日本語" {
		t.Errorf("%q", got)
	}
}
