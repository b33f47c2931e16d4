package picture

import (
	"image/color"

	"gonum.org/v1/plot/vg"
)

// A theme is the colours of a picture with axes.
type theme struct {
	back, title, text, quiet, axis, grid color.NRGBA
	lines                                []color.NRGBA
	dark                                 bool
}

func gray(y uint8) color.NRGBA { return color.NRGBA{y, y, y, 255} }

func themeOf(dark bool) theme {
	if dark {
		return theme{back: color.NRGBA{0x1b, 0x1e, 0x23, 255}, title: gray(0xf0), text: gray(0xd8), quiet: gray(0xa8), axis: gray(0x80), grid: gray(0x38), lines: darkLines(), dark: true}
	}
	return theme{back: gray(0xff), title: gray(0x20), text: gray(0x30), quiet: gray(0x60), axis: gray(0x90), grid: gray(0xe4), lines: lightLines()}
}

// lightLines differ on white for people who see no red, no green or no blue, too, and
// each has a contrast of 3 to 1. They were searched for so; a test holds it.
func lightLines() []color.NRGBA {
	return []color.NRGBA{{0x1f, 0x6f, 0xb4, 255}, {0xd9, 0x5f, 0x0e, 255}, {0x45, 0x36, 0x22, 255}, {0x9d, 0x04, 0xff, 255},
		{0xc6, 0x7f, 0x94, 255}, {0x6a, 0x06, 0x5e, 255}, {0x41, 0x06, 0x9f, 255}, {0x6a, 0x7a, 0x49, 255}}
}

// darkLines are the same on a dark ground.
func darkLines() []color.NRGBA {
	return []color.NRGBA{{0x5a, 0xae, 0xf0, 255}, {0xff, 0x90, 0x40, 255}, {0xde, 0xd5, 0xba, 255}, {0xf0, 0x4b, 0x5f, 255},
		{0x92, 0x7e, 0x9d, 255}, {0x59, 0xf7, 0xfd, 255}, {0xb7, 0xf2, 0x0b, 255}, {0xbd, 0x57, 0xfd, 255}}
}

// line is the colour of line i.
func (t theme) line(i int) color.NRGBA { return t.lines[i%len(t.lines)] }

// dashes tell lines of the same colour apart.
func (t theme) dashes(i int) []vg.Length {
	switch i / len(t.lines) {
	case 0:
		return nil
	case 1:
		return []vg.Length{6 * pixel, 3 * pixel}
	}
	return []vg.Length{2 * pixel, 2 * pixel}
}

// band is the colour of a band behind a line, half of it the ground.
func (t theme) band(line color.NRGBA) color.NRGBA { return mix(line, t.back, 50) }

// stroke is the colour of a line on its band: farther from the ground.
func (t theme) stroke(line color.NRGBA) color.NRGBA {
	if t.dark {
		return mix(line, gray(255), 75)
	}
	return mix(line, gray(0), 75)
}

// mix is so many percent of a, and the rest of b.
func mix(a, b color.NRGBA, percent int) color.NRGBA {
	of := func(x, y uint8) uint8 { return uint8((int(x)*percent + int(y)*(100-percent)) / 100) }
	return color.NRGBA{of(a.R, b.R), of(a.G, b.G), of(a.B, b.B), 255}
}
