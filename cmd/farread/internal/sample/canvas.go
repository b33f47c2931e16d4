package sample

import (
	"bytes"
	"image"
	"image/jpeg"
	"math"
)

// Size of every frame: sixteen to nine, and small enough that a clip is a
// few hundred kilobytes.
const (
	Width  = 320
	Height = 180
)

// quality keeps the skies free of visible blocks at about 12 KB a frame.
const quality = 88

// rgb is light of three colours, linear, where 1 is paper white.
type rgb struct{ r, g, b float64 }

// hex is a colour as screens write it.
func hex(v uint32) rgb {
	lin := func(c uint32) float64 { return math.Pow(float64(c&0xff)/255, gamma) }
	return rgb{lin(v >> 16), lin(v >> 8), lin(v)}
}

func (c rgb) times(k float64) rgb { return rgb{c.r * k, c.g * k, c.b * k} }
func (c rgb) plus(d rgb) rgb      { return rgb{c.r + d.r, c.g + d.g, c.b + d.b} }
func (c rgb) tint(d rgb) rgb      { return rgb{c.r * d.r, c.g * d.g, c.b * d.b} }

// mix goes from c at 0 to d at 1.
func (c rgb) mix(d rgb, k float64) rgb {
	return rgb{c.r + (d.r-c.r)*k, c.g + (d.g-c.g)*k, c.b + (d.b-c.b)*k}
}

// ramp is colours at equal steps from 0 to 1.
type ramp []rgb

func (r ramp) at(x float64) rgb {
	x = clamp(x) * float64(len(r)-1)
	i := min(int(x), len(r)-2)
	return r[i].mix(r[i+1], x-float64(i))
}

// canvas is one frame in linear light.
type canvas [Width * Height]rgb

func (c *canvas) at(x, y int) *rgb { return &c[y*Width+x] }

// add puts light on a pixel, if there is one.
func (c *canvas) add(x, y int, l rgb) {
	if x >= 0 && x < Width && y >= 0 && y < Height {
		p := c.at(x, y)
		*p = p.plus(l)
	}
}

// cover paints a colour over a pixel, if there is one.
func (c *canvas) cover(x, y int, l rgb, alpha float64) {
	if x >= 0 && x < Width && y >= 0 && y < Height && alpha > 0 {
		p := c.at(x, y)
		*p = p.mix(l, min(alpha, 1))
	}
}

// glow adds a point of light with a soft edge around it.
func (c *canvas) glow(x, y, radius float64, l rgb) {
	n := int(math.Ceil(radius * 2.5))
	x0, y0 := int(math.Floor(x)), int(math.Floor(y))
	for j := y0 - n; j <= y0+n; j++ {
		for i := x0 - n; i <= x0+n; i++ {
			dx, dy := float64(i)+0.5-x, float64(j)+0.5-y
			c.add(i, j, l.times(math.Exp(-(dx*dx+dy*dy)/(radius*radius))))
		}
	}
}

const gamma = 2.2

// tones turns linear light into bytes.
type tones [4097]float64

func newTones() *tones {
	var t tones
	for i := range t {
		x := 4 * float64(i) / float64(len(t)-1)
		if x > shoulder { // bright lights bend towards white instead of being cut
			x = shoulder + (1-shoulder)*(1-math.Exp(-(x-shoulder)/(1-shoulder)))
		}
		t[i] = 255 * math.Pow(x, 1/gamma)
	}
	return &t
}

const shoulder = 0.6

func (t *tones) at(x float64) float64 {
	x = max(0, min(x/4, 1)) * float64(len(t)-1)
	i := min(int(x), len(t)-2)
	// The curve is steep near black: between two entries follow the chord.
	return t[i] + (t[i+1]-t[i])*(x-float64(i))
}

// encode makes the JPEG. A fixed pattern below half a step hides the bands that
// eight bits leave in smooth skies.
func (c *canvas) encode(t *tones) ([]byte, error) {
	img := image.NewRGBA(image.Rect(0, 0, Width, Height))
	for y := range Height {
		for x := range Width {
			p, o := c.at(x, y), img.PixOffset(x, y)
			d := float64(dither[y&3][x&3])/16 + 1.0/32
			for i, v := range [...]float64{p.r, p.g, p.b} {
				img.Pix[o+i] = uint8(min(t.at(v)+d, 255))
			}
			img.Pix[o+3] = 255
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// dither is the ordered pattern of Bayer.
var dither = [4][4]uint8{{0, 8, 2, 10}, {12, 4, 14, 6}, {3, 11, 1, 9}, {15, 7, 13, 5}}
