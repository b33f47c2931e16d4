package zoom_test

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/rangeio"
)

// TestFlushBefore holds the flush that an index tells to those that a walk over all blocks finds.
func TestFlushBefore(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	s, err := series(t, "x.csv", hour(r, 1, 8000), nil)
	if err != nil {
		t.Fatal(err)
	}
	open := func(o zoom.WriteOptions) *zoomindex.File {
		var b bytes.Buffer
		if _, err := zoom.Write(t.Context(), &b, s, o); err != nil {
			t.Fatal(err)
		}
		f, err := zoomindex.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(b.Bytes()), int64(b.Len())), zoomcache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := open(zoom.WriteOptions{Watermark: 64})
	type flush struct {
		off  int64
		have []int64
	}
	flushes := []flush{{f.Body(), []int64{0, 0}}}
	have, sums := []int64{0, 0}, false
	err = f.EachBlock(t.Context(), func(b zoomcache.Block, tr *zoomcache.Track, _ []byte) error {
		switch {
		case tr == nil:
		case b.Summary:
			sums = true
		default:
			if sums {
				flushes = append(flushes, flush{b.Off, slices.Clone(have)})
			}
			sums = false
			have[b.Track-1] += int64(b.Count)
		}
		return nil
	})
	if err != nil || len(flushes) < 50 {
		t.Fatal(len(flushes), err)
	}
	for i := range 300 {
		rows := []int64{r.Int64N(have[0] + 1), r.Int64N(have[1] + 1)}
		if i%2 == 0 {
			rows = flushes[r.IntN(len(flushes))].have
		}
		off, got, ok, err := f.FlushBefore(t.Context(), rows)
		if err != nil || !ok {
			t.Fatal(rows, ok, err)
		}
		last := 0
		for k := range flushes {
			if flushes[k].have[0] <= rows[0] && flushes[k].have[1] <= rows[1] {
				last = k
			}
		}
		at := slices.IndexFunc(flushes, func(x flush) bool { return x.off == off })
		if at < 0 || !slices.Equal(flushes[at].have, got) || at > last || at < last-2 {
			t.Fatalf("%d: flush %d at %d with %d, want %d with %d", rows, at, off, got, last, flushes[last].have)
		}
	}
	if _, _, ok, err := f.FlushBefore(t.Context(), []int64{1}); ok || err != nil {
		t.Error("rows of one track of two", ok, err)
	}
	if _, _, ok, err := open(zoom.WriteOptions{NoIndex: true}).FlushBefore(t.Context(), []int64{1, 1}); ok || err != nil {
		t.Error("no index", ok, err)
	}
}
