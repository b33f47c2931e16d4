package sample

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"image"
	_ "image/jpeg"
	"image/png"
	"math"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata")

// TestPictures compares pictures, not bytes: another processor may round a pixel the
// other way, and another release may encode it differently.
func TestPictures(t *testing.T) {
	if testing.Short() {
		t.Skip("draws everything")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Draw(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	clips, storm, err := Draw(t.Context())
	if err != nil || len(clips) != 3 {
		t.Fatalf("%d clips, %v", len(clips), err)
	}
	for _, c := range clips {
		if c.Label == "" || c.Title == "" || len(c.Frames) < 36 {
			t.Errorf("%q %q %q: %d frames", c.ID, c.Label, c.Title, len(c.Frames))
		}
		golden(t, c.ID+".jpg", c.Frames[len(c.Frames)/2], c.Frames[0])
	}
	plane := func(k int) []byte {
		img := image.NewGray(image.Rect(0, 0, stormCols, stormRows))
		for i := range img.Pix {
			x := storm.Values[k*len(img.Pix)+i]
			if img.Pix[i] = uint8(x * 2.55); x < 0 || x > 100 || float64(x)*16 != math.Trunc(float64(x)*16) {
				t.Fatalf("item %d of plane %d is %v", i, k, x)
			}
		}
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	golden(t, "storm.png", plane(stormPlanes/2), plane(0))
}

// golden compares a picture with that of testdata; other is a picture that has to
// differ.
func golden(t *testing.T, name string, got, other []byte) {
	t.Helper()
	name = "testdata/" + name
	if *update {
		if err := os.WriteFile(name, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	same, change := difference(t, got, want), difference(t, other, want)
	if same > 0.3 || change < 1 { // the measure sees changes
		t.Errorf("%s: %.2f of 255 away on average, and another picture %.2f", name, same, change)
	}
}

// difference is the mean difference of green over all pixels.
func difference(t *testing.T, a, b []byte) (sum float64) {
	t.Helper()
	x, _, err := image.Decode(bytes.NewReader(a))
	y, _, err2 := image.Decode(bytes.NewReader(b))
	if err = errors.Join(err, err2); err != nil || x.Bounds() != y.Bounds() {
		t.Fatalf("%v, %v", err, x)
	}
	size := x.Bounds().Size()
	for i := range size.X * size.Y {
		_, g, _, _ := x.At(i%size.X, i/size.X).RGBA()
		_, h, _, _ := y.At(i%size.X, i/size.X).RGBA()
		sum += math.Abs(float64(g)-float64(h)) / 257
	}
	return sum / float64(size.X*size.Y)
}
