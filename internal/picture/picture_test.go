package picture_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/internal/picture"
)

func parse(t *testing.T, text string) dtype.DType {
	t.Helper()
	d, err := dtype.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func draw(t *testing.T, typ string, shape []int64, items any, o picture.Options) image.Image {
	t.Helper()
	raw, ok := items.([]byte)
	if !ok {
		var err error
		if raw, err = binary.Append(nil, binary.LittleEndian, items); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := picture.Encode(&b, parse(t, typ), shape, raw, o); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func at(img image.Image, x, y int) color.NRGBA {
	return color.NRGBAModel.Convert(img.At(x, y)).(color.NRGBA)
}

var exact = picture.Options{MinSide: 1}

// The anchors are Matplotlib's; the polynomials are close to them, not equal.
func TestViridis(t *testing.T) {
	for i, want := range map[int][3]int{
		0: {68, 1, 84}, 32: {71, 45, 123}, 64: {59, 82, 139}, 96: {44, 114, 142}, 128: {33, 145, 140}, 160: {40, 174, 128}, 192: {94, 201, 98}, 224: {173, 220, 48}, 255: {253, 231, 37},
	} {
		c := picture.Viridis.At(float64(i) / 255)
		for k, got := range []uint8{c.R, c.G, c.B} {
			if d := int(got) - want[k]; d < -4 || d > 4 {
				t.Errorf("colour %d is %v, want %v", i, c, want)
			}
		}
	}
	if c := picture.Gray.At(2); c != (color.NRGBA{255, 255, 255, 255}) {
		t.Errorf("beyond the end: %v", c)
	}
	for _, m := range []picture.Map{picture.Viridis, picture.Gray} {
		if got, ok := picture.ParseMap(m.String()); !ok || got != m {
			t.Errorf("%v: %v, %t", m, got, ok)
		}
	}
	if _, ok := picture.ParseMap("jet"); ok {
		t.Error("jet is no map of ours")
	}
}

func TestNumbers(t *testing.T) {
	lo, mid, hi := picture.Viridis.At(0), picture.Viridis.At(0.5), picture.Viridis.At(1)
	none := color.NRGBA{}
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		typ   string
		items any
		want  [6]color.NRGBA // 2 rows of 3
	}{
		{"<f8", []float64{0, 1, 2, nan, inf, -inf}, [6]color.NRGBA{lo, mid, hi, none, hi, lo}},
		{"<f4", []float32{-1, 0, 1, -1, -1, -1}, [6]color.NRGBA{lo, mid, hi, lo, lo, lo}},
		{"<f8", []float64{-math.MaxFloat64, 0, math.MaxFloat64, nan, nan, nan}, [6]color.NRGBA{lo, mid, hi, none, none, none}},
		{"<f8", []float64{0, 5e-324, 1e-323, 0, 0, 0}, [6]color.NRGBA{lo, mid, hi, lo, lo, lo}},
		{"<f8", []float64{7, 7, 7, 7, nan, 7}, [6]color.NRGBA{mid, mid, mid, mid, none, mid}},
		{"<f8", []float64{nan, inf, -inf, nan, nan, nan}, [6]color.NRGBA{none, hi, lo, none, none, none}},
		{"|b1", []byte{0, 1, 1, 0, 0, 1}, [6]color.NRGBA{lo, hi, hi, lo, lo, hi}},
		{"|u1", []byte{10, 20, 30, 10, 10, 10}, [6]color.NRGBA{lo, mid, hi, lo, lo, lo}},
		{"<i2", []int16{-32768, 0, 32767, 0, 0, 0}, [6]color.NRGBA{lo, mid, hi, mid, mid, mid}},
		{">u2", []byte{0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0}, [6]color.NRGBA{lo, mid, hi, lo, lo, lo}},
		{"<f2", []uint16{0, 0x3c00, 0x4000, 0x7e00, 0x7c00, 0xfc00}, [6]color.NRGBA{lo, mid, hi, none, hi, lo}},
	} {
		img := draw(t, c.typ, []int64{2, 3}, c.items, exact)
		if img.Bounds() != image.Rect(0, 0, 3, 2) {
			t.Fatalf("%s: bounds %v", c.typ, img.Bounds())
		}
		for i, want := range c.want {
			if got := at(img, i%3, i/3); got != want {
				t.Errorf("%s %v: item %d is %v, want %v", c.typ, c.items, i, got, want)
			}
		}
	}
}

func TestScale(t *testing.T) {
	items := make([]float64, 100)
	for i := range items {
		items[i] = float64(i)
	}
	items[99] = 1e9 // an outlier
	shape := []int64{10, 10}
	if c := at(draw(t, "<f8", shape, items, exact), 5, 5); c != picture.Viridis.At(0) {
		t.Errorf("plain: %v", c)
	}
	robust := exact
	robust.Robust = true
	img := draw(t, "<f8", shape, items, robust)
	if c := at(img, 5, 5); c.G < 100 {
		t.Errorf("robust: the middle is %v", c)
	}
	if c := at(img, 9, 9); c != picture.Viridis.At(1) {
		t.Errorf("robust: the outlier is %v", c)
	}
	fixed := picture.Options{MinSide: 1, Low: 0, High: 10, Map: picture.Gray}
	img = draw(t, "<f8", shape, items, fixed)
	if a, b := at(img, 5, 0), at(img, 0, 5); a.R != 128 || b.R != 255 {
		t.Errorf("fixed: %v, %v", a, b)
	}
}

func TestColours(t *testing.T) {
	rgb := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	img := draw(t, "|u1", []int64{2, 2, 3}, rgb, exact)
	if got := at(img, 1, 0); got != (color.NRGBA{4, 5, 6, 255}) || img.Bounds().Dx() != 2 {
		t.Errorf("RGB: %v", got)
	}
	img = draw(t, "|u1", []int64{1, 3, 1, 4}, []byte{1, 2, 3, 200, 5, 6, 7, 0, 9, 10, 11, 255}, exact)
	if got := at(img, 0, 0); got != (color.NRGBA{1, 2, 3, 200}) || img.Bounds() != image.Rect(0, 0, 1, 3) {
		t.Errorf("RGBA: %v of %v", got, img.Bounds())
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		shape []int64
		o     picture.Options
		want  image.Point
	}{
		{[]int64{10, 10}, picture.Options{}, image.Pt(260, 260)},
		{[]int64{2, 100}, picture.Options{}, image.Pt(300, 6)},
		{[]int64{300, 2}, picture.Options{}, image.Pt(2, 300)},
		{[]int64{100}, picture.Options{}, image.Pt(300, 32)},
		{nil, picture.Options{}, image.Pt(256, 256)},
		{[]int64{1, 1, 4, 1, 8}, picture.Options{}, image.Pt(256, 128)},
		{[]int64{10, 10}, picture.Options{MaxPixels: 1000}, image.Pt(30, 30)},
		{[]int64{10, 10}, picture.Options{MinSide: 20}, image.Pt(20, 20)},
		{[]int64{10}, exact, image.Pt(10, 1)},
	} {
		n := int64(1)
		for _, k := range c.shape {
			n *= k
		}
		items := make([]byte, n)
		items[n-1] = 1
		img := draw(t, "|u1", c.shape, items, c.o)
		if got := img.Bounds().Size(); got != c.want {
			t.Errorf("%v: %v, want %v", c.shape, got, c.want)
		}
		if got := at(img, img.Bounds().Dx()-1, img.Bounds().Dy()-1); n > 1 && got != picture.Viridis.At(1) {
			t.Errorf("%v: last item %v", c.shape, got)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, c := range []struct {
		typ   string
		shape []int64
		want  error
	}{
		{"<f8", []int64{2, 2, 2}, picture.ErrRefused}, {"<f8", []int64{0, 2}, picture.ErrRefused}, {"<c8", []int64{2, 2}, picture.ErrRefused}, {"|S3", []int64{2, 2}, picture.ErrRefused},
		{"<f16", []int64{2, 2}, picture.ErrRefused}, {"[('a', '<i4')]", []int64{2, 2}, formats.ErrUnsupported}, {"<u2", []int64{2, 2, 3}, picture.ErrRefused},
		{"|u1", []int64{1 << 40, 1 << 40}, formats.ErrTooLarge}, {"|u1", []int64{1 << 14, 1 << 13}, formats.ErrTooLarge}, {"|u1", []int64{math.MaxInt64, 4, 4}, formats.ErrTooLarge},
		{"|u1", []int64{-1, -1}, picture.ErrRefused},
	} {
		if err := picture.Encode(&bytes.Buffer{}, parse(t, c.typ), c.shape, nil, picture.Options{}); !errors.Is(err, c.want) {
			t.Errorf("%s %v: %v, want %v", c.typ, c.shape, err, c.want)
		}
	}
	if err := picture.Encode(&bytes.Buffer{}, parse(t, "|u1"), []int64{2, 2}, make([]byte, 3), picture.Options{}); err == nil {
		t.Error("3 items of 4 were drawn")
	}
}
