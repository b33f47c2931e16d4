package farread

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/objstore"
)

// TestVerifyMissing: an item that was never written is told once all others were read.
func TestVerifyMissing(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	w, err := b.Create(t.Context(), "a.blp", objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	items, err := bloscpack.NewWriter(w, bloscpack.WriteOptions{Variable: true, Chunks: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"one", "two", "three"} {
		if err := items.WriteItem([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := items.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole := opened[Ranger](t, c, "a.blp", AnyOptions{})
	file := make([]byte, whole.Object().Size())
	if err := whole.ReadRange(t.Context(), file, 0); err != nil {
		t.Fatal(err)
	}
	if r, err := whole.Verify(t.Context(), nil); err != nil || r.Entries != 3 || r.NBytes != 11 {
		t.Errorf("%+v, %v", r, err)
	}
	copy(file[bloscpack.HeaderLen+8:], bytes.Repeat([]byte{0xff}, 8)) // the place of item 1
	put(t, b, "b.blp", file, nil)
	r, err := opened[Dataset](t, c, "b.blp", AnyOptions{}).Verify(t.Context(), nil)
	detail, ok := r.Detail.(bloscpack.Report)
	if !errors.Is(err, formats.ErrNoEntry) || !strings.Contains(err.Error(), "item 1: never written, 1 in all of 3") || !ok || detail.Missing != 1 || r.Entries != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestVerifySeries: the report of a series has both passes; the first mismatch is the
// error, and says how many there are.
func TestVerifySeries(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	put(t, b, "x.zoom", twoTracks(t, 20_000, true), nil)
	r, err := opened[Dataset](t, c, "x.zoom", AnyOptions{}).Verify(t.Context(), nil)
	z, ok := r.Detail.(ZoomReport)
	if err != nil || !ok || r.Entries != 2 || z.Tracks[0].Samples != 20_000 || z.Again.Summaries == 0 || !z.Again.Indexed {
		t.Errorf("%+v, %v", r, err)
	}
	for _, tc := range []struct {
		first zoomcache.Mismatch
		n     int64
		want  string
	}{
		{zoomcache.Mismatch{Track: 3, Level: 2, Off: 77, Text: "mean"}, 1, "track 3, summary of level 2 at 77: not what the samples say: mean: "},
		{zoomcache.Mismatch{Track: 3, Level: 2, Off: -1, Text: "mean"}, 1235, "track 3, index, level 2: not what the samples say: mean, and 1,234 more: "},
		{zoomcache.Mismatch{Track: 3, Bin: 64, Off: -1, Text: "mean"}, 1, "track 3, index, bins of 64: "},
		{zoomcache.Mismatch{Off: 5, Text: "its hash"}, 1, "index at 5: its hash: "},
	} {
		var again zoomindex.Recomputed
		again.Add(tc.first)
		again.Wrong = tc.n
		if err := mismatch(again); !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
	if err := mismatch(zoomindex.Recomputed{}); err != nil {
		t.Error(err)
	}
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
