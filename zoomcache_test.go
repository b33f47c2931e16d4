package farread

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/objstore"
)

// longSeries is a zoom-cache file of n samples 0, 1, 2 … at 1 kHz.
func longSeries(t *testing.T, n int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: []zoomcache.Track{
		{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I32}, Rate: zoomcache.Rate{Num: 1000, Den: 1}, Name: "count"}}})
	if err != nil {
		t.Fatal(err)
	}
	v := make([]int32, n)
	for i := range v {
		v[i] = int32(i)
	}
	if err := errors.Join(zoomcache.WriteSamples(w.Track(1), v), w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestOpenZoom: opening takes two requests side by side, and all samples those of
// the windows, which are one phase. Samples at the start take a part of them.
func TestOpenZoom(t *testing.T) {
	t.Parallel()
	file := longSeries(t, 1_000_000)
	c, b := remote(Config{NoHedge: true})
	put(t, b, "x.zoom", file, nil)
	f, err := c.OpenZoom(t.Context(), "s3://b/x.zoom", ZoomOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Stats(); s.Requests != 2 || s.Phases != 1 || s.Bytes > 40<<10 {
		t.Errorf("open: %+v", s)
	}
	sum := func(from, to int64) (n, sum int64) {
		err := f.EachPacket(t.Context(), 1, from, to, func(p *zoomcache.Packet) error {
			for i, v := range p.Values.I32 {
				if p.Offset(i) != int64(v)+1 {
					t.Fatalf("sample %d is %d", p.Offset(i), v)
				}
				n, sum = n+1, sum+int64(v)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return n, sum
	}
	if n, got := sum(zoomcache.FirstOffset, zoomcache.LastOffset); n != 1_000_000 || got != 999_999*500_000 {
		t.Errorf("%d samples, sum %d", n, got)
	}
	if s := c.Stats(); s.Requests > 5 || s.Phases != 2 || s.Bytes > int64(len(file)) {
		t.Errorf("all of %d bytes: %+v", len(file), s)
	}
	before := c.Stats()
	if n, _ := sum(100, 199); n != 100 {
		t.Errorf("%d samples", n)
	}
	if s := c.Stats(); s.Requests != before.Requests {
		t.Errorf("samples in the head: %+v after %+v", s, before)
	}
}

// TestZoomIn opens a file inside another, locally and from afar, and what is
// none.
func TestZoomIn(t *testing.T) {
	t.Parallel()
	file := longSeries(t, 5000)
	c, b := remote(Config{NoHedge: true})
	put(t, b, "in.bin", append(bytes.Repeat([]byte("\xe5ZX5"), 250), file...), nil)
	put(t, b, "cut.zoom", file[:60], nil)
	local := filepath.Join(t.TempDir(), "x.zoom")
	if err := os.WriteFile(local, file, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := c.OpenZoom(t.Context(), "s3://b/in.bin", ZoomOptions{Offset: 1000})
	if err != nil {
		t.Fatal(err)
	}
	here, err := OpenZoom(t.Context(), local)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*Zoom{in, here} {
		r, err := f.Verify(t.Context(), nil)
		if err != nil || r.Tracks[0].Samples != 5000 || f.Object == nil {
			t.Errorf("%+v, %v", r, err)
		}
	}
	for _, tc := range []struct {
		uri  string
		off  int64
		want error
	}{
		{"s3://b/none", 0, objstore.ErrNotFound}, {"s3://b/in.bin", 0, formats.ErrCorrupt}, {"s3://b/in.bin", 999, formats.ErrCorrupt},
		{"s3://b/in.bin", 1 << 40, objstore.ErrInvalid}, {"s3://b/cut.zoom", 0, formats.ErrCorrupt}, {"ftp://b/x", 0, objstore.ErrInvalid},
	} {
		if _, err := c.OpenZoom(t.Context(), tc.uri, ZoomOptions{Offset: tc.off}); !errors.Is(err, tc.want) {
			t.Errorf("%s at %d: %v, want %v", tc.uri, tc.off, err, tc.want)
		}
	}
}
