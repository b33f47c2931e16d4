package picture

import (
	"image/color"
	"math"
)

// Map is a colour map.
type Map uint8

// The colour maps.
const (
	Viridis Map = iota // even steps to the eye, also without colour vision
	Gray               // black to white
)

// String is the name that ParseMap reads.
func (m Map) String() string {
	if m == Gray {
		return "gray"
	}
	return "viridis"
}

// ParseMap finds a map by its name; false when there is none.
func ParseMap(name string) (Map, bool) {
	for _, m := range []Map{Viridis, Gray} {
		if m.String() == name {
			return m, true
		}
	}
	return 0, false
}

// levels is the number of colours of a map. The first entry of a palette is
// transparent.
const levels = 255

// palette is a transparent colour, then the map from its low end up.
func (m Map) palette() color.Palette {
	p := make(color.Palette, 1, levels+1)
	p[0] = color.NRGBA{}
	for i := range levels {
		p = append(p, m.At(float64(i)/(levels-1)))
	}
	return p
}

// At is the colour at t, from 0 to 1.
func (m Map) At(t float64) color.NRGBA {
	t = min(max(t, 0), 1)
	if m == Gray {
		v := uint8(math.Round(255 * t))
		return color.NRGBA{v, v, v, 0xff}
	}
	return color.NRGBA{polynomial(viridisRed(), t), polynomial(viridisGreen(), t), polynomial(viridisBlue(), t), 0xff}
}

// Viridis is the map of Stéfan van der Walt and Nathaniel Smith for Matplotlib
// (CC0). These are the coefficients of Matt Zucker's polynomials fitted to it
// (shadertoy.com/view/WlfXRN, CC0), constant term first; they stay within 4 of
// 255 of Matplotlib's table.
func viridisRed() [7]float64 {
	return [7]float64{0.2777273272234177, 0.1050930431085774, -0.3308618287255563, -4.634230498983486, 6.228269936347081, 4.776384997670288, -5.435455855934631}
}

func viridisGreen() [7]float64 {
	return [7]float64{0.005407344544966578, 1.404613529898575, 0.214847559468213, -5.799100973351585, 14.17993336680509, -13.74514537774601, 4.645852612178535}
}

func viridisBlue() [7]float64 {
	return [7]float64{0.3340998053353061, 1.384590162594685, 0.09509516302823659, -19.33244095627987, 56.69055260068105, -65.35303263337234, 26.3124352495832}
}

func polynomial(c [7]float64, t float64) uint8 {
	v := 0.0
	for i := len(c) - 1; i >= 0; i-- {
		v = v*t + c[i]
	}
	return uint8(math.Round(255 * min(max(v, 0), 1)))
}
