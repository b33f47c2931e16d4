package picture

import (
	"image/color"
	"math"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// style returns the style of text; all text uses it.
func style(size float64, weight font.Weight, c color.Color) text.Style {
	f := plotfont.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: vg.Points(size)}
	return text.Style{Color: c, Font: f, Handler: lettering{Plain: text.Plain{Fonts: plot.DefaultTextHandler.Cache()}}}
}

// tightly is the handler for text that more text follows on the same line.
func tightly(sty text.Style) text.Handler {
	return lettering{Plain: text.Plain{Fonts: sty.Handler.Cache()}, tight: true}
}

// lettering draws text so that none of it vanishes. The font lacks some superscripts
// and the letters of many languages, and a canvas skips runes that the font lacks. So
// superscripts and subscripts are drawn as small ordinary digits above and below the
// line, and any other missing rune as a box.
type lettering struct {
	text.Plain

	// tight tells that more text follows on the line: the SVG then fixes the width
	// of the text for viewers with other fonts.
	tight bool
}

var _ text.Handler = lettering{}

const (
	missing   = "□"  // drawn for a rune that the font lacks
	smaller   = 0.75 // the size of raised and lowered text
	raisedBy  = 0.34 // as a share of the size of the line
	loweredBy = 0.14
)

// A run is a piece of a line that is drawn in one size.
type run struct {
	text  string
	level int // 1: raised, -1: lowered
}

// shift is how far above the line a run stands, and its size.
func (r run) shift(size vg.Length) (up, of vg.Length) {
	switch r.level {
	case 1:
		return size * raisedBy, size * smaller
	case -1:
		return -size * loweredBy, size * smaller
	}
	return 0, size
}

// runs takes a line apart.
func runs(line string) []run {
	var out []run
	for _, r := range line {
		plain, level := ordinary(r)
		if n := len(out); n > 0 && out[n-1].level == level {
			out[n-1].text += string(plain)
			continue
		}
		out = append(out, run{string(plain), level})
	}
	return out
}

// ordinary is the rune as which a superscript or subscript is drawn, and on which
// level.
func ordinary(r rune) (plain rune, level int) {
	const above, below, line = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿ", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙ", "0123456789+−=()n"
	find := func(list string) int {
		at := strings.IndexRune(list, r)
		if at < 0 {
			return -1
		}
		return len([]rune(list[:at]))
	}
	if i := find(above); i >= 0 {
		return []rune(line)[i], 1
	}
	if i := find(below); i >= 0 {
		return []rune(line)[i], -1
	}
	return r, 0
}

// Lacks returns the letters of texts for which a PNG has boxes, once each, in their order: the font lacks them. An SVG has all
// letters, in the fonts of who opens it.
func Lacks(texts ...string) string {
	h, _ := style(11, font.WeightNormal, color.Black).Handler.(lettering) // all text has it
	face := h.Fonts.Lookup(style(11, font.WeightNormal, color.Black).Font, vg.Points(11))
	var buf sfnt.Buffer
	var out []rune
	for _, s := range texts {
		for _, r := range s {
			plain, _ := ordinary(r)
			i, err := face.Face.GlyphIndex(&buf, plain)
			if (err != nil || i == 0) && !unicode.IsControl(r) && !unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) && !slices.Contains(out, r) {
				out = append(out, r)
			}
		}
	}
	return string(out)
}

// drawable is text with a box for each rune that the font lacks. A mark belongs to the
// rune before it and shares its box.
func drawable(face *plotfont.Face, s string) string {
	var buf sfnt.Buffer
	var b strings.Builder
	boxed := false
	for _, r := range s {
		if boxed && (unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf)) {
			continue
		}
		i, err := face.Face.GlyphIndex(&buf, r)
		if boxed = err != nil || i == 0; boxed {
			b.WriteString(missing)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// face is the font of a run of a line, and the text that is drawn with it.
func (h lettering) face(r run, f plotfont.Font) (plotfont.Face, string) {
	_, size := r.shift(f.Size)
	face := h.Fonts.Lookup(f, size)
	return face, drawable(&face, r.text)
}

// Box implements text.Handler.
func (h lettering) Box(line string, f plotfont.Font) (width, height, depth vg.Length) {
	for _, r := range runs(line) {
		face, s := h.face(r, f)
		width += face.Width(s)
	}
	e := h.Extents(f)
	return width, e.Ascent, e.Descent
}

// Draw implements text.Handler.
func (h lettering) Draw(c vg.Canvas, txt string, sty text.Style, pt vg.Point) {
	if txt = strings.TrimRight(txt, "\n"); txt == "" {
		return
	}
	lines, e := h.Lines(txt), h.Extents(sty.Font)
	// The first line stands where it would stand alone if the style hangs text from
	// its top: so labels of one line and of two are side by side.
	last := sty.Height(txt)*vg.Length(sty.YAlign) - e.Ascent + sty.Font.Size
	for i, line := range lines {
		at := vg.Point{Y: last + vg.Length(len(lines)-1-i)*e.Height} // seen from pt
		if s := sheetOf(c); s != nil {
			s.write(h, line, sty, pt, at.Y)
			continue
		}
		width, _, _ := h.Box(line, sty.Font)
		at.X = vg.Length(sty.XAlign) * width
		h.drawLine(c, line, sty, pt, at)
	}
}

// drawLine draws a line. Its left end is at a place seen from pt, turned as the style
// says.
func (h lettering) drawLine(c vg.Canvas, line string, sty text.Style, pt, at vg.Point) {
	c.SetColor(sty.Color)
	if sty.Rotation != 0 {
		c.Push()
		defer c.Pop()
		c.Rotate(sty.Rotation)
		sin, cos := math.Sincos(sty.Rotation)
		pt = vg.Point{X: pt.Y*vg.Length(sin) + pt.X*vg.Length(cos), Y: pt.Y*vg.Length(cos) - pt.X*vg.Length(sin)}
	}
	pt = pt.Add(at)
	for _, r := range runs(line) {
		face, s := h.face(r, sty.Font)
		up, _ := r.shift(sty.Font.Size)
		c.FillString(face, pt.Add(vg.Point{Y: up}), s)
		pt.X += face.Width(s)
	}
}

// fit cuts text that is wider than room, and ends it with an ellipsis.
func fit(s string, sty text.Style, room vg.Length) string {
	if sty.Width(s) <= room {
		return s
	}
	const most = 1 << 10 // wider than any picture
	list := []rune(s)
	list = list[:min(len(list), most)]
	for len(list) > 0 {
		list = list[:len(list)-1]
		if cut := strings.TrimRight(string(list), " ") + "…"; sty.Width(cut) <= room {
			return cut
		}
	}
	return ""
}

// sheetOf is the SVG that is drawn on, or nil.
func sheetOf(c vg.Canvas) *sheet {
	for {
		switch d := c.(type) {
		case *sheet:
			return d
		case *draw.Canvas:
			c = d.Canvas
		case draw.Canvas: // a part of another canvas
			c = d.Canvas
		default:
			return nil
		}
	}
}
