package farread

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/objstore"
)

// TestOpenSupposed: an array that is made up opens by two requests side by side, as a real one, and
// plans reads of blocks alone; its bucket gives the ranges of its bytes, and takes none.
func TestOpenSupposed(t *testing.T) {
	t.Parallel()
	m := b2nd.Meta{Shape: []int64{400, 300, 200}, DType: "<f8"}
	m.ChunkShape, m.BlockShape = b2nd.ShapesFor(b2nd.Series, m.Shape, 8)
	s, err := b2nd.Suppose(m, b2nd.SupposeOptions{CBytes: 50_000_000, Index: cframe.CheapIndex})
	if err != nil {
		t.Fatal(err)
	}
	c := New(Config{NoHedge: true})
	a, err := c.OpenSupposed(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if took := c.Stats(); took.Requests != 2 || took.Phases != 1 {
		t.Errorf("opened by %+v", took)
	}
	text, err := b2nd.ParseSlice(":, 7, 8")
	if err != nil {
		t.Fatal(err)
	}
	box, err := text.Resolve(m.Shape)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := a.ExplainSlice(t.Context(), box)
	// A block of at most 64 KiB takes its share of 50 MB, more or less a tenth, as the items do of 192 MB.
	if cost := plan.Cost(); err != nil || cost.Requests != 1 || cost.Bytes > 64<<10*50/192*11/10 || plan.Size != 400*8 || c.Stats().Requests != 2 {
		t.Errorf("%+v, %v", cost, err)
	}
	b := supposedBucket{s}
	all := make([]byte, s.Size())
	s.Read(all, 0)
	for _, r := range []objstore.Range{{}, {Off: 5, Len: 100}, {Off: -70}, {Off: s.Size() - 3, Len: 90}, {Off: -s.Size() - 5}} {
		body, in, err := b.Get(t.Context(), "x", objstore.GetOptions{Range: r})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(body)
		from, to := r.Off, s.Size()
		if from < 0 {
			from = max(from+s.Size(), 0)
		} else if r.Len > 0 {
			to = min(to, from+r.Len)
		}
		if err != nil || in.Size != s.Size() || !bytes.Equal(got, all[from:to]) {
			t.Errorf("%s: %d bytes, %v", r, len(got), err)
		}
	}
	if _, _, err := b.Get(t.Context(), "x", objstore.GetOptions{Range: objstore.Range{Off: s.Size()}}); !errors.Is(err, objstore.ErrBadRange) {
		t.Error(err)
	}
	if _, err := b.Create(t.Context(), "x", objstore.PutOptions{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if err := b.Delete(t.Context(), "x"); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}
