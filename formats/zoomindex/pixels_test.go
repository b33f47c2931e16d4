package zoomindex

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/racetest"
)

// TestPixels: points of pixels have exactly the samples of their pixels, whatever the
// index has, and no sample is missing.
func TestPixels(t *testing.T) {
	t.Parallel()
	for i, c := range sampledCases() {
		if c.track.Variable || i%3 == 1 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a, b := c.track, zoomcache.Track{Number: 9, Codec: zoomcache.Codec{Kind: zoomcache.I16}}
			a.Number = 5
			inside, s := c.write(t, NewBuilder([]zoomcache.Track{a, b}, WriteOptions{}))
			plain, _ := c.write(t, nil)
			r := rand.New(rand.NewPCG(c.seed, 3))
			lo, hi := s.off[0], s.off[len(s.off)-1]
			for i := range racetest.Share(18, 6) {
				span := 1 + hi/2000 + r.Int64N(1<<r.IntN(14))
				if i%4 == 0 {
					span = int64(c.mark) << r.IntN(5)
				}
				from, to := lo-3+r.Int64N(hi-lo+4), hi+3-r.Int64N(hi-lo+4)
				switch i % 3 {
				case 0:
					from, to = zoomcache.FirstOffset, zoomcache.LastOffset
				case 1:
					from = lo + r.Int64N(1+(hi-lo)/span)*span
				}
				f := openView(t, [][]byte{inside, plain}[i%2])
				v, err := f.Pixels(t.Context(), 5, from, to, span, PixelOptions{})
				if err != nil {
					t.Fatal(err)
				}
				s.checkPixels(t, c.track.Codec.Kind, &v, from, to, span)
			}
		})
	}
}

func (s *series) checkPixels(t *testing.T, kind zoomcache.Kind, v *View, from, to, span int64) {
	t.Helper()
	from, to = cutPixels(from, to, s.off[0], s.off[len(s.off)-1], span)
	k := 0
	for first := from; first <= to; first += span {
		want := brute{}
		for i := s.from(first, true); i < len(s.off) && s.off[i] < first+span; i++ {
			want.add(s.v[i*s.width : (i+1)*s.width])
		}
		if want.n == nil {
			continue
		}
		what := fmt.Sprintf("pixel of %d from %d, level %d, bin %d", span, first, v.Level, v.Bin)
		if k >= len(v.Points) || v.Points[k].Entry < first || v.Points[k].Exit >= first+span {
			t.Fatalf("%s: point %d of %d", what, k, len(v.Points))
		}
		want.check(t, kind, what, &v.Points[k])
		k++
	}
	if k != len(v.Points) {
		t.Fatalf("%d points of %d pixels", len(v.Points), k)
	}
}

// TestPixelLevels: pixels come of the coarsest spans of which they are a multiple, and of
// samples if there are none, and cost what was planned.
func TestPixelLevels(t *testing.T) {
	t.Parallel()
	tracks := []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}}
	var out bytes.Buffer
	w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: tracks, Sink: NewBuilder(tracks, WriteOptions{})})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]int16, 4_000_123)
	for i := range v {
		v[i] = int16(r.NormFloat64() * 1000)
	}
	if err := errors.Join(zoomcache.WriteSamples(w.Track(1), v), w.Close()); err != nil {
		t.Fatal(err)
	}
	for span, want := range map[int64]string{1024: "level 1 bin 0", 3072: "level 1 bin 0", 2048: "level 2 bin 0", 65536: "level 7 bin 0", 1 << 40: "level 12 bin 0", 512: "level 0 bin 0", 5000: "level 0 bin 0", 1000: "level 0 bin 0"} {
		f := openView(t, out.Bytes())
		got, err := f.Pixels(t.Context(), 1, zoomcache.FirstOffset, zoomcache.LastOffset, span, PixelOptions{MaxRead: 10 << 20})
		if text := fmt.Sprintf("level %d bin %d", got.Level, got.Bin); err != nil || text != want || int64(len(got.Points)) != (int64(len(v))-1)/span+1 {
			t.Errorf("span %d: %s, want %s, %d points, %v", span, text, want, len(got.Points), err)
		}
		list, err := f.ExplainPixels(t.Context(), 1, zoomcache.FirstOffset, zoomcache.LastOffset, span, PixelOptions{})
		if n := planned(list); err != nil || (n > 1<<20) != (span%1024 != 0) {
			t.Errorf("span %d: %d bytes in %d requests, %v", span, n, len(list), err)
		}
	}
	f := openView(t, whole(t, 1000))
	for span, want := range map[int64]int64{100: 100, 300: 100, 500: 100, 50: 0, 250: 0} {
		got, err := f.Pixels(t.Context(), 1, 1, 400_000, span, PixelOptions{})
		if err != nil || got.Level != 0 || got.Bin != want || len(got.Points) != int((400_000-1)/span+1) {
			t.Errorf("span %d: level %d, bins of %d, %d points, %v", span, got.Level, got.Bin, len(got.Points), err)
		}
	}
	f = openView(t, out.Bytes())
	for _, span := range []int64{1024, 1000} {
		if _, err := f.Pixels(t.Context(), 1, zoomcache.FirstOffset, zoomcache.LastOffset, span, PixelOptions{MaxRead: 10_000}); !errors.Is(err, formats.ErrTooLarge) {
			t.Errorf("span %d: %v", span, err)
		}
	}
	if _, err := f.Pixels(t.Context(), 1, 1, 1000, 1, PixelOptions{MaxPixels: 999}); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	for _, x := range []struct{ track, span int64 }{{1, 0}, {1, -5}, {2, 5}} {
		_, err := f.Pixels(t.Context(), int32(x.track), zoomcache.FirstOffset, zoomcache.LastOffset, x.span, PixelOptions{})
		if !errors.Is(err, formats.ErrUnsupported) && !errors.Is(err, formats.ErrNoEntry) {
			t.Errorf("%v: %v", x, err)
		}
	}
}

// TestPixelsOfPlain: without an index Pixels costs what its plan says, and a pixel may not
// end beyond all offsets.
func TestPixelsOfPlain(t *testing.T) {
	t.Parallel()
	c := viewCases()[4]
	plain, _ := c.write(t, nil)
	f := openView(t, plain)
	for _, from := range []int64{zoomcache.FirstOffset, 500} {
		list, err := f.ExplainPixels(t.Context(), 5, from, zoomcache.LastOffset, 1000, PixelOptions{MaxRead: 1})
		if n := planned(list); err != nil || n < int64(len(plain))-minHead {
			t.Errorf("from %d: %d bytes of %d, %v", from, n, len(plain), err)
		}
	}
	if _, err := f.Pixels(t.Context(), 5, 500, zoomcache.LastOffset, 1000, PixelOptions{MaxRead: 1000}); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if _, err := f.Pixels(t.Context(), 5, 500, zoomcache.LastOffset, 1<<63-1, PixelOptions{}); !errors.Is(err, formats.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	if v, err := f.Pixels(t.Context(), 5, 500, zoomcache.LastOffset, 1<<62, PixelOptions{}); err != nil || len(v.Points) != 1 || v.Points[0].Entry != 500 {
		t.Errorf("%d points, %v", len(v.Points), err)
	}
}

// whole is a file of packets of n samples.
func whole(t *testing.T, n int) []byte {
	t.Helper()
	tracks := []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}}
	var out bytes.Buffer
	w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: tracks, Watermark: -1, Sink: NewBuilder(tracks, WriteOptions{})})
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if err := errors.Join(zoomcache.WriteSamples(w.Track(1), make([]int16, n)), w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestPixelsUneven: spans of a mean length that fits may lie across pixels; then samples
// tell, unless they are too many.
func TestPixelsUneven(t *testing.T) {
	t.Parallel()
	tracks := []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}}
	var out bytes.Buffer
	w, err := zoomcache.NewWriter(&out, zoomcache.WriteOptions{Tracks: tracks, Watermark: -1, Sink: NewBuilder(tracks, WriteOptions{NoBins: true})})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4000 {
		v := make([]int16, []int{900, 1100}[i%2])
		for k := range v {
			v[k] = int16(i)
		}
		if err := errors.Join(zoomcache.WriteSamples(w.Track(1), v), w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := openView(t, out.Bytes())
	v, err := f.Pixels(t.Context(), 1, zoomcache.FirstOffset, zoomcache.LastOffset, 1000, PixelOptions{})
	if err != nil || len(v.Points) != 4000 || v.Level != 0 || v.Points[0].Channels[0].Max.String() != "1" {
		t.Errorf("%d points of level %d, %v", len(v.Points), v.Level, err)
	}
	if _, err := f.Pixels(t.Context(), 1, zoomcache.FirstOffset, zoomcache.LastOffset, 1000, PixelOptions{MaxRead: 1 << 20}); !errors.Is(err, formats.ErrTooLarge) {
		t.Errorf("%v", err)
	}
	if v, err := f.Pixels(t.Context(), 1, zoomcache.FirstOffset, zoomcache.LastOffset, 2000, PixelOptions{MaxRead: 1 << 20}); err != nil || v.Level != 2 || len(v.Points) != 2000 {
		t.Errorf("%d points of level %d, %v", len(v.Points), v.Level, err)
	}
}
