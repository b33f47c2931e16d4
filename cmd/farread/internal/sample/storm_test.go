package sample

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

var blown = sync.OnceValues(func() (Volume, error) { return Storm(context.Background()) })

func TestStorm(t *testing.T) {
	v, err := blown()
	if err != nil {
		t.Fatal(err)
	}
	const plane = stormRows * stormCols
	if len(v.Values) != stormPlanes*plane || !slices.Equal(v.Shape, []int64{stormPlanes, stormRows, stormCols}) || v.ID == "" || v.Title == "" {
		t.Fatalf("%q %q: %d values of shape %v", v.ID, v.Title, len(v.Values), v.Shape)
	}
	for i, x := range v.Values {
		if k := float64(x) * stormSteps; x < 0 || x > 100 || k != math.Trunc(k) {
			t.Fatalf("item %d is %v", i, x)
		}
	}
	again := make([]float32, plane)
	for k := range stormPlanes {
		page := v.Values[k*plane:][:plane]
		if low, high := slices.Min(page), slices.Max(page); low > 12 || high < 80 {
			t.Errorf("plane %d: from %v to %v", k, low, high)
		}
		if k > 0 && slices.Equal(page, v.Values[(k-1)*plane:][:plane]) {
			t.Errorf("plane %d: nothing moves", k)
		}
		if k%16 == 5 {
			if newStorm().draw(again, float64(k)/stormPlanes); !slices.Equal(page, again) {
				t.Errorf("plane %d: drawn again it differs", k)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Storm(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestStormGolden compares the middle of the day with a picture, as TestGolden does.
func TestStormGolden(t *testing.T) {
	v, err := blown()
	if err != nil {
		t.Fatal(err)
	}
	gray := func(k int) []byte {
		p := make([]byte, stormRows*stormCols)
		for i := range p {
			p[i] = uint8(v.Values[k*len(p)+i] * 2.55)
		}
		return p
	}
	name := filepath.Join("testdata", v.ID+".png")
	if *update {
		var b bytes.Buffer
		if err := errors.Join(png.Encode(&b, &image.Gray{Pix: gray(stormPlanes / 2), Stride: stormCols, Rect: image.Rect(0, 0, stormCols, stormRows)}),
			os.WriteFile(name, b.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	away := func(k int) float64 {
		sum := 0.0
		for i, x := range gray(k) {
			sum += math.Abs(float64(x) - float64(img.(*image.Gray).Pix[i]))
		}
		return sum / (stormRows * stormCols)
	}
	if d := away(stormPlanes / 2); d > 0.3 {
		t.Errorf("%.2f of 255 away from %s on average", d, name)
	}
	if d := away(0); d < 1 { // the measure sees changes
		t.Errorf("the first plane is only %.2f away from the middle one", d)
	}
}

func BenchmarkStorm(b *testing.B) {
	for b.Loop() {
		if _, err := Storm(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
