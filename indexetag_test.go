package farread

import (
	"bytes"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/rangeio"
)

// pairedVersions is two arrays, without an index, whose files have the same size and all chunks at
// the same places, but the blocks of a chunk in another order: block starts differ, and nothing that
// an index is bound to besides the ETag.
func pairedVersions(t *testing.T) (old, now []byte) {
	t.Helper()
	const n = 32
	a := bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7, 8}, n*512) // chunks of two blocks: even, then noise
	for i := range n {
		copy(a[i*4096:], noise(2048))
	}
	b := bytes.Clone(a)
	for i := range n {
		copy(b[i*4096:], a[i*4096+2048:(i+1)*4096])
		copy(b[i*4096+2048:], a[i*4096:i*4096+2048])
	}
	pack := func(p []byte) []byte {
		var out bloscpackOutput
		m := b2nd.Meta{Shape: []int64{n, 4096}, ChunkShape: []int{1, 4096}, BlockShape: []int{1, 2048}, DType: "|u1"}
		w, err := b2nd.NewWriter(&out, m, b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.LZ4}})
		if err == nil {
			_, err = w.Write(p)
		}
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	return pack(a), pack(b)
}

// TestFrameIndexETags: an index beside a frame is made and believed by a strong ETag of it and
// by no other: one that is about an object of the same size would give wrong bytes.
func TestFrameIndexETags(t *testing.T) {
	t.Parallel()
	old, now := pairedVersions(t)
	if len(old) != len(now) || bytes.Equal(old, now) {
		t.Fatal(len(old), len(now))
	}
	for etag, strong := range map[string]bool{"": false, `W/"same"`: false, `"same"`: true} {
		h := &plainServer{files: map[string][]byte{"x.b2nd": old, "x.b2nd" + index.Suffix: besideOf(t, old, `"same"`)}, etag: etag}
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		read := func(want []byte) *Array {
			t.Helper()
			a, err := New(Config{}).OpenArray(t.Context(), s.URL+"/x.b2nd", FrameOptions{Beside: true})
			if err != nil {
				t.Fatal(err)
			}
			local, err := b2nd.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(want), int64(len(want))), b2nd.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, column := make([]byte, 32), make([]byte, 32)
			box := b2nd.Sub([]int64{0, 3000}, []int64{32, 3001})
			if err := errors.Join(a.ReadSlice(t.Context(), got, box), local.ReadSlice(t.Context(), column, box)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, column) {
				t.Errorf("ETag %q: other bytes", etag)
			}
			return a
		}
		a := read(old)
		if x, err := a.Source.UsedIndex(t.Context()); err != nil || x.Bytes > 0 != strong || strong == strings.Contains(x.Unused, "ETag") {
			t.Errorf("ETag %q: %+v, %v", etag, x, err)
		}
		for name, build := range map[string]func() ([]byte, error){
			"frame": func() ([]byte, error) { return a.Source.BuildIndex(t.Context(), a.Source.Object.Info().ETag, nil) },
			"array": func() ([]byte, error) { return a.BuildIndex(t.Context(), a.Source.Object.Info().ETag, nil) },
		} {
			if _, err := build(); strong != (err == nil) || !strong && !errors.Is(err, formats.ErrUnsupported) {
				t.Errorf("ETag %q: index of the %s: %v", etag, name, err)
			}
		}
		if !strong { // a new version of the same size, under the same ETag
			h.set("x.b2nd", now)
			read(now)
		}
	}
}

// TestZoomIndexETags is the same of a series.
func TestZoomIndexETags(t *testing.T) {
	t.Parallel()
	old := twoTracks(t, 300_000, false)
	f, err := zoomindex.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(old), int64(len(old))), ZoomOptions{}.Options)
	if err != nil {
		t.Fatal(err)
	}
	side, err := f.BuildIndex(t.Context(), `"same"`, zoomindex.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for etag, strong := range map[string]bool{"": false, `W/"same"`: false, `"same"`: true} {
		h := &plainServer{files: map[string][]byte{"x.zoom": old, "x.zoom" + index.Suffix: side}, etag: etag}
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		for _, beside := range []bool{false, true} {
			z, err := New(Config{}).OpenZoom(t.Context(), s.URL+"/x.zoom", ZoomOptions{Beside: beside})
			if err != nil {
				t.Fatal(err)
			}
			v, err := z.View(t.Context(), 1, 0, 300_000, 1000)
			if err != nil || v.Indexed != strong {
				t.Errorf("ETag %q: by index %t, %v", etag, v.Indexed, err)
			}
			_, err = z.BuildIndex(t.Context(), z.Object.Info().ETag, zoomindex.WriteOptions{})
			if strong != (err == nil) || !strong && !errors.Is(err, formats.ErrUnsupported) {
				t.Errorf("ETag %q: %v", etag, err)
			}
		}
	}
}
