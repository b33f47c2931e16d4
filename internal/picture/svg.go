package picture

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/color"
	"io"
	"math"
	"strings"

	"golang.org/x/image/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A sheet is an SVG. It writes text itself. The viewer may have other fonts than those
// that widths were measured with, so each line is anchored where it is aligned: at its
// beginning, its middle or its end.
type sheet struct {
	*vgsvg.Canvas

	width, height vg.Length
	text          bytes.Buffer
}

func newSheet(width, height vg.Length) *sheet {
	return &sheet{Canvas: vgsvg.New(width, height), width: width, height: height}
}

// families are fonts of about the same widths, and a fallback.
const families = "'Liberation Sans', Arial, Helvetica, sans-serif"

// write writes a line that is aligned at pt. Its base lies up above pt, in the
// direction to which the style turns it.
func (s *sheet) write(h lettering, line string, sty text.Style, pt vg.Point, up vg.Length) {
	sin, cos := math.Sincos(sty.Rotation)
	x, y := (pt.X - up*vg.Length(sin)).Points(), (s.height - pt.Y - up*vg.Length(cos)).Points()
	b := &s.text
	fmt.Fprintf(b, `<text x="%.2f" y="%.2f" font-size="%.4g" fill="%s"`, x, y, sty.Font.Size.Points(), hex(sty.Color))
	if sty.Font.Weight >= font.WeightBold {
		b.WriteString(` font-weight="bold"`)
	}
	switch {
	case sty.XAlign < -0.75:
		b.WriteString(` text-anchor="end"`)
	case sty.XAlign < -0.25:
		b.WriteString(` text-anchor="middle"`)
	}
	if sty.Rotation != 0 {
		fmt.Fprintf(b, ` transform="rotate(%.4g %.2f %.2f)"`, -sty.Rotation*180/math.Pi, x, y)
	}
	if width, known := h.width(line, sty); h.tight && known {
		fmt.Fprintf(b, ` textLength="%.2f" lengthAdjust="spacingAndGlyphs"`, width.Points())
	}
	b.WriteByte('>')
	at := vg.Length(0)
	for _, r := range runs(line) {
		up, size := r.shift(sty.Font.Size)
		if r.level == 0 && up == at {
			_ = xml.EscapeText(b, []byte(r.text)) // a write to a buffer cannot fail
			continue
		}
		fmt.Fprintf(b, `<tspan font-size="%.4g" dy="%.4g">`, size.Points(), (at - up).Points())
		_ = xml.EscapeText(b, []byte(r.text)) // a write to a buffer cannot fail
		b.WriteString("</tspan>")
		at = up
	}
	b.WriteString("</text>\n")
}

// width is the width of a line; known is false if the font lacks some of its runes.
func (h lettering) width(line string, sty text.Style) (width vg.Length, known bool) {
	for _, r := range runs(line) {
		if _, s := h.face(r, sty.Font); s != r.text {
			return 0, false
		}
	}
	return sty.Width(line), true
}

func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}

// writeTo writes the document: the drawing, and the text over it.
func (s *sheet) writeTo(w io.Writer) error {
	var b bytes.Buffer
	if _, err := s.WriteTo(&b); err != nil {
		return err
	}
	shapes, ok := strings.CutSuffix(strings.TrimSpace(b.String()), "</svg>")
	if !ok {
		return fmt.Errorf("picture: an SVG that ends in %q", shapes[max(0, len(shapes)-20):])
	}
	// The size in pixels, since some viewers know no points.
	shapes = strings.Replace(shapes, fmt.Sprintf(`width="%.5gpt" height="%.5gpt"`, s.width.Points(), s.height.Points()), fmt.Sprintf(`width="%.0f" height="%.0f"`, s.width/pixel, s.height/pixel), 1)
	_, err := fmt.Fprintf(w, "%s<g font-family=\"%s\">\n%s</g>\n</svg>\n", shapes, families, &s.text)
	return err
}

var _ vg.CanvasSizer = (*sheet)(nil)
