package farread

import (
	"errors"
	"fmt"
	"testing"

	"github.com/farread/farread/objstore"
)

// TestPin: a dataset that is pinned opens what its listing showed and nothing else, and two
// that listed the same have the same ETag.
func TestPin(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	replace := func(k, frames int) {
		data, meta := chunk(t, frames, 50, fmt.Sprintf("id%d", k))
		in := put(t, b, fmt.Sprintf("set/data_%d.gulp", k), data, nil)
		put(t, b, fmt.Sprintf("set/meta_%d.gmeta", k), meta, map[string]string{metaDataETag: in.ETag})
	}
	for k := range 4 {
		replace(k, 3)
	}
	listed := func() *GulpDataset {
		d, err := c.OpenGulpDataset(t.Context(), "s3://b/set", GulpOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	one, two, free, late := listed(), listed(), listed(), listed()
	if _, err := late.Chunk(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	before := c.Stats()
	x, err := one.Pin()
	if err != nil {
		t.Fatal(err)
	}
	if y, err := two.Pin(); err != nil || y != x || c.Stats().Requests != before.Requests {
		t.Errorf("%+v, %v, want %+v and no request", y, err, x)
	}
	if y, err := late.Pin(); err != nil || y != x {
		t.Errorf("%+v, %v, want %+v", y, err, x)
	}
	replace(2, 5)
	for k, d := range map[*GulpDataset]bool{one: true, free: false} {
		if _, err := k.Chunk(t.Context(), 1); err != nil {
			t.Error(err)
		}
		if _, err := k.Chunk(t.Context(), 2); errors.Is(err, objstore.ErrChanged) != d || !d && err != nil {
			t.Errorf("pinned %v: %v", d, err)
		}
	}
	if _, err := free.Pin(); !errors.Is(err, objstore.ErrChanged) {
		t.Errorf("a chunk that is open is not as listed: %v", err)
	}
	if y, err := listed().Pin(); err != nil || y.ETag == x.ETag {
		t.Errorf("%+v, %v, another set", y, err)
	}
}
