package sample

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"image"
	"image/jpeg"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata")

// drawn are the clips; drawing them takes a second, and ten under the race detector.
var drawn = sync.OnceValues(func() ([]Clip, error) { return Clips(context.Background()) })

func clips(tb testing.TB) []Clip {
	tb.Helper()
	c, err := drawn()
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestClips(t *testing.T) {
	got := clips(t)
	for i, f := range films() {
		for _, k := range []int{0, f.frames / 3, f.frames - 1} {
			again, err := f.frame(k, newTones())
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got[i].Frames[k], again) {
				t.Errorf("%s %d: drawn again it differs", f.ID, k)
			}
		}
	}
	ids := []string{}
	for _, c := range got {
		ids = append(ids, c.ID)
		if n := len(c.Frames); n < 24 || n > 48 {
			t.Errorf("%s: %d frames", c.ID, n)
		}
		if c.Label == "" || c.Title == "" {
			t.Errorf("%s: label %q, title %q", c.ID, c.Label, c.Title)
		}
		for i, f := range c.Frames {
			img, err := jpeg.Decode(bytes.NewReader(f))
			if err != nil {
				t.Fatalf("%s %d: %v", c.ID, i, err)
			}
			if b := img.Bounds(); b != image.Rect(0, 0, Width, Height) {
				t.Fatalf("%s %d: %v", c.ID, i, b)
			}
			if i > 0 {
				if bytes.Equal(f, c.Frames[i-1]) {
					t.Errorf("%s %d: nothing moves", c.ID, i)
				}
			}
		}
	}
	if d := cmp.Diff([]string{"sunrise", "planet", "aurora"}, ids); d != "" {
		t.Error(d)
	}
}

// TestGolden compares pictures, not bytes: another processor may round a pixel
// the other way, and another release may encode it differently.
func TestGolden(t *testing.T) {
	for _, c := range clips(t) {
		name := filepath.Join("testdata", c.ID+".jpg")
		got := c.Frames[len(c.Frames)/2]
		if *update {
			if err := os.WriteFile(name, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if d := difference(t, got, want); d > 0.3 {
			t.Errorf("%s: %.2f of 255 away from %s on average", c.ID, d, name)
		}
		if d := difference(t, c.Frames[0], want); d < 1 { // the measure sees changes
			t.Errorf("%s: the first frame is only %.2f away from the middle one", c.ID, d)
		}
	}
}

// difference is the mean over all pixels of luma.
func difference(t *testing.T, a, b []byte) float64 {
	t.Helper()
	x, y := luma(t, a), luma(t, b)
	sum := 0.0
	for i := range x {
		sum += max(float64(x[i])-float64(y[i]), float64(y[i])-float64(x[i]))
	}
	return sum / float64(len(x))
}

func luma(t *testing.T, b []byte) []byte {
	t.Helper()
	img, err := jpeg.Decode(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return img.(*image.YCbCr).Y
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Clips(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestArchives(t *testing.T) {
	c := Clip{ID: "a", Label: "b, c", Title: `say "x"`, Frames: [][]byte{{1, 2, 3}, {}, make([]byte, 5000)}}
	files := c.Files()
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if d := cmp.Diff([]string{"a/0000.jpg", "a/0001.jpg", "a/0002.jpg"}, names); d != "" {
		t.Error(d)
	}
	for name, write := range map[string]func(io.Writer, []File) error{"tar": WriteTar, "zip": WriteZip} {
		var one, two bytes.Buffer
		if err := errors.Join(write(&one, files), write(&two, files)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Errorf("%s: a second run differs", name)
		}
		if d := cmp.Diff(files, unpack(t, name, one.Bytes())); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func unpack(t *testing.T, kind string, b []byte) []File {
	t.Helper()
	var files []File
	take := func(name string, r io.Reader) {
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, File{name, data})
	}
	if kind == "tar" {
		for r := tar.NewReader(bytes.NewReader(b)); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				return files
			}
			if err != nil {
				t.Fatal(err)
			}
			take(h.Name, r)
		}
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		take(f.Name, r)
		r.Close()
	}
	return files
}

func TestLabels(t *testing.T) {
	c := Clip{ID: "a", Label: "b, c", Title: `say "x"`}
	f, err := c.LabelsCSV()
	if err != nil || f.Name != "labels.csv" {
		t.Fatal(f.Name, err)
	}
	rows, err := csv.NewReader(bytes.NewReader(f.Data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]string{{"id", "label", "title"}, {"a", "b, c", `say "x"`}}, rows); d != "" {
		t.Error(d)
	}
	if f, err = c.LabelsJSON(); err != nil || f.Name != "labels.json" {
		t.Fatal(f.Name, err)
	}
	var got map[string]map[string]string
	if err := json.Unmarshal(f.Data, &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]map[string]string{"a": {"label": "b, c", "title": `say "x"`}}, got); d != "" {
		t.Error(d)
	}
}

func BenchmarkClips(b *testing.B) {
	for b.Loop() {
		if _, err := Clips(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
