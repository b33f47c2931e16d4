package picture

import (
	"image"
	"image/color"
	"image/draw"
	"math"

	"gonum.org/v1/plot/vg"
	canvas "gonum.org/v1/plot/vg/draw"

	"github.com/farread/farread/formats/dtype"
)

// cells are the items of an array of two axes, drawn into an area of so many pixels. Of
// several items in a pixel it has the colour of their mean.
type cells struct {
	rows, cols    int
	width, height int
	up            bool // the first row is the lowest
	colour        func(i int) color.NRGBA
	value         func(i int) float64 // nil: colour
	low, high     float64
	palette       []color.Color
	void          color.NRGBA // of NaN
}

// span is the items of pixel k of so many.
func span(k, pixels, items int) (from, to int) {
	if items <= pixels {
		from = min(int((float64(k)+0.5)*float64(items)/float64(pixels)), items-1)
		return from, from + 1
	}
	return k * items / pixels, (k + 1) * items / pixels
}

// image draws the cells.
func (c *cells) image() *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, c.width, c.height))
	for y := range c.height {
		k := y
		if c.up {
			k = c.height - 1 - y
		}
		r0, r1 := span(k, c.height, c.rows)
		for x := range c.width {
			c0, c1 := span(x, c.width, c.cols)
			img.SetNRGBA(x, y, c.pixel(r0, r1, c0, c1))
		}
	}
	return img
}

// pixel is the colour of items.
func (c *cells) pixel(r0, r1, c0, c1 int) color.NRGBA {
	if c.value == nil {
		return c.mixed(r0, r1, c0, c1)
	}
	sum, n := 0.0, 0
	for r := r0; r < r1; r++ {
		for k := c0; k < c1; k++ {
			if v := c.value(r*c.cols + k); !math.IsNaN(v) {
				sum += v / 4 // the sum of large numbers stays finite
				n++
			}
		}
	}
	if n == 0 {
		return c.void
	}
	v := sum / float64(n) * 4
	if n == 1 && r1-r0 == 1 && c1-c0 == 1 {
		v = c.value(r0*c.cols + c0)
	}
	i := level(v, c.low, c.high)
	if i == 0 { // infinities of both signs
		return c.void
	}
	return color.NRGBAModel.Convert(c.palette[i]).(color.NRGBA) //nolint:forcetypeassert // what the model is
}

// mixed is the mean of colours, on the ground where they are transparent.
func (c *cells) mixed(r0, r1, c0, c1 int) color.NRGBA {
	var sum [3]int
	n := 0
	for r := r0; r < r1; r++ {
		for k := c0; k < c1; k++ {
			p := c.colour(r*c.cols + k)
			a := int(p.A)
			for i, v := range [3][2]uint8{{p.R, c.void.R}, {p.G, c.void.G}, {p.B, c.void.B}} {
				sum[i] += (int(v[0])*a + int(v[1])*(255-a) + 127) / 255
			}
			n++
		}
	}
	return color.NRGBA{uint8((sum[0] + n/2) / n), uint8((sum[1] + n/2) / n), uint8((sum[2] + n/2) / n), 255}
}

// copyTo draws the cells onto a picture at a place.
func (c *cells) copyTo(dst draw.Image, at image.Point) {
	src := c.image()
	draw.Draw(dst, src.Bounds().Add(at), src, image.Point{}, draw.Src)
}

// A bar tells which colours are which numbers.
type bar struct {
	m    Map
	axis values
	name string
}

const (
	barGap   = 14 * pixel
	barWidth = 14 * pixel
	tickGap  = 6 * pixel
)

// room is how much the bar takes to the right of the area.
func (b *bar) room() vg.Length {
	sty, widest := tickStyle(), vg.Length(0)
	for _, t := range b.axis.ticks {
		widest = max(widest, sty.Width(t.Label))
	}
	w := barGap + barWidth + tickGap + widest + 8*pixel
	if b.name != "" {
		w += sty.Height(b.name) + 8*pixel
	}
	return w
}

func (b *bar) draw(c, area canvas.Canvas, t theme) {
	x := area.Max.X + barGap
	n := int(math.Round(float64((area.Max.Y - area.Min.Y) / pixel)))
	for i := range n { // from below, a pixel each, with no seams
		y := area.Min.Y + vg.Length(i)*pixel
		at := b.axis.low + (b.axis.high-b.axis.low)*(float64(i)+0.5)/float64(n)
		tone := b.m.At(0.5)
		if b.axis.high > b.axis.low {
			tone = b.m.At((at - b.axis.low) / (b.axis.high - b.axis.low))
		}
		c.SetColor(tone)
		c.Fill(vg.Rectangle{Min: vg.Point{X: x, Y: y}, Max: vg.Point{X: x + barWidth, Y: min(y+1.5*pixel, area.Max.Y)}}.Path())
	}
	sty := tickStyle()
	sty.Color, sty.XAlign, sty.YAlign = t.text, canvas.XLeft, canvas.YCenter
	widest := vg.Length(0)
	for _, k := range b.axis.ticks {
		y := area.Min.Y + vg.Length((k.Value-b.axis.low)/(b.axis.high-b.axis.low))*(area.Max.Y-area.Min.Y)
		c.StrokeLine2(canvas.LineStyle{Color: t.axis, Width: vg.Points(gridWidth)}, x+barWidth, y, x+barWidth+3*pixel, y)
		c.FillText(sty, vg.Point{X: x + barWidth + tickGap, Y: y}, k.Label)
		widest = max(widest, sty.Width(k.Label))
	}
	if b.name != "" {
		sty.Rotation, sty.XAlign, sty.YAlign = math.Pi/2, canvas.XCenter, canvas.YTop
		c.FillText(sty, vg.Point{X: x + barWidth + tickGap + widest + 8*pixel, Y: (area.Min.Y + area.Max.Y) / 2}, fit(b.name, sty, area.Max.Y-area.Min.Y))
	}
}

// reader returns the items of an array as numbers.
func reader(d dtype.DType, items []byte) func(i int) float64 {
	size := d.ItemSize()
	return func(i int) float64 {
		v, _ := d.Float(items[i*size : (i+1)*size])
		return v
	}
}
