package objstore_test

import (
	"context"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// TestTally: two contexts get what their own calls took, of stores and of files, whose
// reads need no Get; calls of other contexts count nowhere.
func TestTally(t *testing.T) {
	files, err := filestore.New(filestore.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for name, driver := range map[string]objstore.Bucket{"memory": memstore.New(memstore.Config{Name: "mem://t"}), "files": files} {
		t.Run(name, func(t *testing.T) {
			putBytes(t, driver, "a/k", make([]byte, 1<<20))
			var all, one, two objstore.Counter
			b := objstore.Chain(driver, objstore.Tally(), objstore.Count(&all))
			read := func(ctx context.Context, o *objstore.Object) {
				t.Helper()
				p := make([]byte, 100)
				if err := o.WithContext(ctx).ReadRanges(ctx, []rangeio.Span{{Off: 500_000, P: p}}); err != nil {
					t.Fatal(err)
				}
			}
			o, err := objstore.Open(t.Context(), b, "a/k", objstore.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			opened := all.Stats().Requests
			first, second := objstore.WithCounter(t.Context(), &one), objstore.WithCounter(t.Context(), &two)
			read(first, o)
			read(second, o)
			read(second, o)
			for _, err := range objstore.ListAfter(second, b, "a/", "a/a") {
				if two.AddHits(1); err != nil {
					t.Error(err)
				}
			}
			for _, err := range objstore.ListFolder(second, b, "", "") {
				if two.AddHits(1); err != nil {
					t.Error(err)
				}
			}
			if _, err := b.Head(second, "a/k"); err != nil {
				t.Fatal(err)
			}
			if s := one.Stats(); s.Requests != 1 || s.Bytes != 100 {
				t.Errorf("the first: %+v", s)
			}
			if s := two.Stats(); s.Requests != 5 || s.Bytes != 200 || s.CacheHits != 2 {
				t.Errorf("the second: %+v", s)
			}
			if n := all.Stats().Requests; n != opened+6 {
				t.Errorf("all: %d requests, %d to open", n, opened)
			}
			if local := name == "files"; o.Local() != local {
				t.Errorf("local: %v", !local)
			}
		})
	}
}

func putBytes(t *testing.T, b objstore.Bucket, key string, p []byte) {
	t.Helper()
	w, err := b.Create(t.Context(), key, objstore.PutOptions{})
	if err == nil {
		_, err = w.Write(p)
	}
	if err == nil {
		_, err = w.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}
