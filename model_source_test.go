package farread

import (
	"bytes"
	"os"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/objstore"
)

// TestSparseSource: nothing names the bytes of a sparse frame. A chunk that is replaced
// while the frame is open does not come from a cache.
func TestSparseSource(t *testing.T) {
	t.Parallel()
	c, folder, cache := stocked(t), "formats/b2nd/testdata/sparse_dir.b2nddir/", formats.NewCache(1<<20)
	d := opened[Slicer](t, c, folder, AnyOptions{Cache: cache})
	if s, err := d.Source(t.Context()); err != nil || s.ID != "" || s.ETag == "" {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := opened[Slicer](t, c, "formats/b2nd/testdata/nd3.b2nd", AnyOptions{}).Source(t.Context()); err != nil || s.ID == "" {
		t.Errorf("one object: %+v, %v", s, err)
	}
	box := b2nd.Whole(d.Shape())
	n, err := d.SizeOf(box)
	if err != nil {
		t.Fatal(err)
	}
	first, second := make([]byte, n), make([]byte, n)
	if err := d.ReadSlice(t.Context(), first, box); err != nil {
		t.Fatal(err)
	}
	p, err := os.ReadFile(folder + "00000002.chunk")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := objstore.Put(t.Context(), d.Place().Bucket, folder+"00000001.chunk", bytes.NewReader(p), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := d.ReadSlice(t.Context(), second, box); err != nil || bytes.Equal(first, second) {
		t.Errorf("of the old chunk, %v", err)
	}
	if cache.Size() != 0 {
		t.Errorf("%d bytes are kept", cache.Size())
	}
}
