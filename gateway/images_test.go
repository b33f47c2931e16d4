package gateway

import (
	"bytes"
	"os"
	"testing"

	"github.com/farread/farread/formats/gulp"
)

// TestImageTypes: frames of every kind come as they are, with their media type.
func TestImageTypes(t *testing.T) {
	g := newGround(t, Config{})
	types := map[string]string{"photo.jpg": "image/jpeg", "photo.png": "image/png", "alpha.webp": "image/webp", "frames.gif": "image/gif", "photo.avif": "image/avif"}
	var data, meta bytes.Buffer
	w := gulp.NewWriter(&data, gulp.WriteOptions{})
	images := map[string][]byte{}
	for name := range types {
		p, err := os.ReadFile("../functions/pack/testdata/images/" + name)
		if err == nil {
			err = w.WriteFrame(name, p)
		}
		if err != nil {
			t.Fatal(err)
		}
		images[name] = p
	}
	if err := w.WriteMeta(&meta); err != nil {
		t.Fatal(err)
	}
	g.put(t, "kinds.gulp", data.Bytes())
	g.put(t, "kinds.gmeta", meta.Bytes())
	for name, media := range types {
		got := g.get(t, "/get/d/kinds.gulp?frame=0&id="+name)
		if got.Header().Get("Content-Type") != media || !bytes.Equal(got.Body.Bytes(), images[name]) {
			t.Errorf("%s: %v, %d bytes", name, got.Header(), got.Body.Len())
		}
	}
}
