package farread

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/objstore"
)

// TestManyReaders: what one reader gets, eight get side by side, of one dataset and with
// one cache that is too small for all.
func TestManyReaders(t *testing.T) {
	t.Parallel()
	c := stocked(t)
	cache := formats.NewCache(8 << 10)
	for _, k := range kinds {
		d := opened[Dataset](t, c, k.path, AnyOptions{Cache: cache})
		want, err := everything(t, d)
		if err != nil {
			t.Fatalf("%s: %v", k.path, err)
		}
		var g errgroup.Group
		for range 8 {
			g.Go(func() error {
				got, err := everything(t, d)
				if err == nil && !bytes.Equal(got, want) {
					err = errors.New("other bytes")
				}
				return err
			})
		}
		if err := g.Wait(); err != nil {
			t.Errorf("%s: %v", k.path, err)
		}
	}
	if cache.Size() > cache.Max() {
		t.Errorf("%d bytes kept of %d", cache.Size(), cache.Max())
	}
}

// everything reads all that a dataset can give, but for series.
func everything(t *testing.T, d Dataset) (all []byte, err error) {
	t.Helper()
	ctx := t.Context()
	if s, ok := d.(Slicer); ok {
		box := b2nd.Whole(s.Shape())
		n, err := s.SizeOf(box)
		if err != nil {
			return nil, err
		}
		all = make([]byte, n)
		if err := s.ReadSlice(ctx, all, box); err != nil {
			return nil, err
		}
	}
	if k, ok := d.(Chunker); ok {
		for i := range k.Chunks() {
			if all, err = k.AppendStored(ctx, all, i); err != nil {
				return nil, err
			}
		}
	}
	if it, ok := d.(Itemer); ok {
		for i := range int64(3) {
			if all, err = it.AppendItem(ctx, all, i); err != nil {
				return nil, err
			}
		}
	}
	for e, err := range d.Entries(ctx, EntriesOptions{}) {
		if err != nil {
			return nil, err
		}
		all = append(all, e.Cursor+e.Name...)
		if m, ok := d.(Imager); ok && e.Images > 0 {
			if all, _, err = m.AppendImage(ctx, all, e.Name, e.Images-1); err != nil {
				return nil, err
			}
		}
	}
	s, err := d.Source(ctx)
	return append(all, s.ID...), err
}

// TestNoListing: a plain HTTP server lists no folder, and says so.
func TestNoListing(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	c := New(Config{NoHedge: true})
	defer c.CloseIdleConnections()
	d, err := c.OpenAny(t.Context(), srv.URL+"/x/", AnyOptions{AsFolder: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := firstError(t.Context(), d, ""); !errors.Is(err, objstore.ErrInvalid) || !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
	if _, err := c.OpenAny(t.Context(), srv.URL+"/x/", AnyOptions{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}
