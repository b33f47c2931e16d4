// Package picture draws arrays of two axes as PNG images (numbers through a colour
// map, and bytes of three or four channels as they are), and long series over time
// as PNG or SVG.
package picture

import (
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// Options map numbers to colours. The zero value scales from the least to the
// greatest finite value through Viridis.
type Options struct {
	Map Map
	// Robust scales from the 2nd to the 98th percentile, so that a few outliers
	// do not turn the rest into one colour.
	Robust bool
	// Low and High fix the scale instead, when they differ.
	Low, High float64
	// MaxPixels bounds the picture; 0 means 1<<26.
	MaxPixels int64
	// MinSide is the least length of the longer side of a picture: smaller
	// arrays are enlarged in whole steps. 0 means 256; 1 means that no array is
	// enlarged.
	MinSide int
}

const (
	defaultPixels = 1 << 26 // 64 MiB of palette indexes
	defaultSide   = 256
	rowHeight     = 32      // height of a stripe for an array of one axis
	sampleSize    = 1 << 18 // values looked at for percentiles
)

// ErrRefused is matched by errors for arrays that cannot be drawn: the type is
// not a number, or there are more than two axes. It wraps
// formats.ErrUnsupported.
var ErrRefused = fmt.Errorf("no picture: %w", formats.ErrUnsupported)

var errBytes = errors.New("picture: items do not fill the shape")

// Encode writes a C-order array as a PNG image: rows downwards, columns to the
// right. Axes of length 1 beyond the second do not count, and an array of one
// axis is a stripe. NaN is transparent, infinities have the colours of the ends.
// An array of uint8 whose third axis has 3 or 4 items is taken for RGB or RGBA.
// Small arrays are enlarged, each item a square; none is shrunk: above MaxPixels
// the error matches formats.ErrTooLarge, and one takes a slice with steps. The
// cost in memory is one byte a pixel, four for RGBA.
func Encode(w io.Writer, d dtype.DType, shape []int64, items []byte, o Options) error {
	g, err := lay(d, shape, o)
	if err != nil {
		return err
	}
	if int64(len(items)) != int64(g.rows)*int64(g.cols)*int64(g.channels)*int64(d.ItemSize()) {
		return errBytes
	}
	var img image.Image
	if g.channels > 1 {
		img = g.colours(items)
	} else {
		img = g.mapped(items, d, o)
	}
	return png.Encode(w, img)
}

// A layout tells how items lie in a picture.
type layout struct {
	rows, cols int
	channels   int // 1: through the map
	scaleY     int // pixels of an item
	scaleX     int
}

func lay(d dtype.DType, shape []int64, o Options) (layout, error) {
	switch d.Kind() {
	case dtype.Bool, dtype.Int, dtype.Uint, dtype.Float:
	case dtype.Struct:
		return layout{}, fmt.Errorf("picture of %s: choose a field: %w", d, ErrRefused)
	default:
		return layout{}, fmt.Errorf("picture of %s: %w", d, ErrRefused)
	}
	if d.Opaque() {
		return layout{}, fmt.Errorf("picture of %s: %w", d, ErrRefused)
	}
	g := layout{channels: 1}
	s := squeeze(d, shape)
	if isColour(d, s) {
		g.channels = int(s[2])
		s = s[:2]
	}
	if len(s) == 1 {
		s = []int64{1, s[0]}
	}
	if len(s) != 2 || s[0] <= 0 || s[1] <= 0 {
		return layout{}, fmt.Errorf("picture of shape %v: want two axes of one item or more: %w", shape, ErrRefused)
	}
	pixels := o.MaxPixels
	if pixels == 0 {
		pixels = defaultPixels
	}
	if s[0] > pixels/s[1] {
		return layout{}, fmt.Errorf("picture of %d x %d items, more than %d: take a slice with steps: %w", s[1], s[0], pixels, formats.ErrTooLarge)
	}
	g.rows, g.cols = int(s[0]), int(s[1])
	g.enlarge(o, pixels, len(shape) == 1)
	return g, nil
}

// enlarge chooses how many pixels an item gets, within the limit.
func (g *layout) enlarge(o Options, pixels int64, stripe bool) {
	side := o.MinSide
	if side == 0 {
		side = defaultSide
	}
	// Rounded up to reach the side; small by then, so products stay far from
	// overflow.
	k := max(1, (side-1)/max(g.rows, g.cols)+1)
	for k > 1 && int64(g.rows)*int64(g.cols)*int64(k)*int64(k) > pixels {
		k--
	}
	g.scaleX, g.scaleY = k, k
	if stripe && side > 1 {
		g.scaleY = max(1, int(min(rowHeight, pixels/(int64(g.cols)*int64(k)))))
	}
}

func isColour(d dtype.DType, s []int64) bool {
	return len(s) == 3 && (s[2] == 3 || s[2] == 4) && d.Kind() == dtype.Uint && d.ItemSize() == 1
}

// squeeze drops axes of length 1, the first ones first, until the rest can be
// drawn.
func squeeze(d dtype.DType, shape []int64) []int64 {
	s := slices.Clone(shape)
	for len(s) > 2 && !isColour(d, s) {
		i := slices.Index(s, 1)
		if i < 0 {
			break
		}
		s = slices.Delete(s, i, i+1)
	}
	if len(s) == 0 {
		s = []int64{1}
	}
	return s
}

// colours draws RGB and RGBA.
func (g layout) colours(items []byte) image.Image {
	img := image.NewNRGBA(image.Rect(0, 0, g.cols*g.scaleX, g.rows*g.scaleY))
	for y := range g.rows {
		line := img.Pix[y*g.scaleY*img.Stride:][:img.Stride]
		at := 0
		for range g.cols {
			px := [4]byte{0, 0, 0, 0xff}
			copy(px[:], items[:g.channels])
			items = items[g.channels:]
			for range g.scaleX {
				copy(line[at:], px[:])
				at += 4
			}
		}
		g.repeat(img.Pix, img.Stride, y)
	}
	return img
}

// repeat copies the first line of an item's row to the others.
func (g layout) repeat(pix []byte, stride, y int) {
	first := pix[y*g.scaleY*stride:]
	for k := 1; k < g.scaleY; k++ {
		copy(first[k*stride:(k+1)*stride], first[:stride])
	}
}

// mapped draws numbers.
func (g layout) mapped(items []byte, d dtype.DType, o Options) image.Image {
	img := image.NewPaletted(image.Rect(0, 0, g.cols*g.scaleX, g.rows*g.scaleY), o.Map.palette())
	low, high := scale(items, d, o)
	size := d.ItemSize()
	for y := range g.rows {
		line := img.Pix[y*g.scaleY*img.Stride:][:img.Stride]
		at := 0
		for range g.cols {
			v, _ := d.Float(items[:size])
			items = items[size:]
			c := level(v, low, high)
			for range g.scaleX {
				line[at] = c
				at++
			}
		}
		g.repeat(img.Pix, img.Stride, y)
	}
	return img
}

// level is the palette index of a value: 0 for NaN, 1 to 255 along the map, and the
// middle if all values are equal.
func level(v, low, high float64) uint8 {
	switch {
	case math.IsNaN(v):
		return 0
	case v < low:
		return 1
	case v > high:
		return levels
	case low == high:
		return (levels + 1) / 2
	}
	t := (v - low) / (high - low)
	if math.IsInf(high-low, 1) { // the ends of float64 are that far apart
		t = (v/2 - low/2) / (high/2 - low/2)
	}
	return 1 + uint8(math.Round(t*(levels-1)))
}

// scale returns the values for the two ends of the colour map.
func scale(items []byte, d dtype.DType, o Options) (low, high float64) {
	if o.Low != o.High {
		return min(o.Low, o.High), max(o.Low, o.High)
	}
	if o.Robust {
		if low, high, ok := percentiles(items, d); ok {
			return low, high
		}
	}
	low, high = math.Inf(1), math.Inf(-1)
	for size := d.ItemSize(); len(items) > 0; items = items[size:] {
		if v, _ := d.Float(items[:size]); !math.IsInf(v, 0) && !math.IsNaN(v) {
			low, high = min(low, v), max(high, v)
		}
	}
	if low > high { // nothing finite
		return 0, 0
	}
	return low, high
}

// percentiles returns the 2nd and the 98th, of evenly spread samples if there are
// many values; false if the two are the same.
func percentiles(items []byte, d dtype.DType) (low, high float64, ok bool) {
	size := d.ItemSize()
	n := len(items) / size
	step := max(1, n/sampleSize)
	var sample []float64
	for i := 0; i < n; i += step {
		if v, _ := d.Float(items[i*size : (i+1)*size]); !math.IsInf(v, 0) && !math.IsNaN(v) {
			sample = append(sample, v)
		}
	}
	if len(sample) == 0 {
		return 0, 0, false
	}
	slices.Sort(sample)
	last := float64(len(sample) - 1)
	low, high = sample[int(last*0.02)], sample[int(math.Ceil(last*0.98))]
	return low, high, low < high
}
