package memstore_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func put(t *testing.T, b objstore.Bucket, key, data string) objstore.Info {
	t.Helper()
	info, err := objstore.Put(t.Context(), b, key, strings.NewReader(data), objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// TestEveryWriteIsAnotherObject: the same bytes written twice have two ETags, so
// that a reader pinned to the first sees the change.
func TestEveryWriteIsAnotherObject(t *testing.T) {
	t.Parallel()
	b := memstore.New(memstore.Config{})
	first, second := put(t, b, "k", "same"), put(t, b, "k", "same")
	if first.ETag == second.ETag || !strings.HasPrefix(first.ETag, `"`) || !strings.HasSuffix(first.ETag, `"`) {
		t.Fatalf("ETags %s and %s", first.ETag, second.ETag)
	}
	if _, _, err := b.Get(t.Context(), "k", objstore.GetOptions{IfMatch: first.ETag}); !errors.Is(err, objstore.ErrChanged) {
		t.Fatalf("want ErrChanged, got %v", err)
	}
}

func TestVersionsOutliveDelete(t *testing.T) {
	t.Parallel()
	b := memstore.New(memstore.Config{Versioned: true})
	first := put(t, b, "k", "one")
	put(t, b, "k", "two")
	if err := b.Delete(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Head(t.Context(), "k"); !errors.Is(err, objstore.ErrNotFound) {
		t.Fatalf("head of a hidden object: %v", err)
	}
	r, _, err := b.Get(t.Context(), "k", objstore.GetOptions{VersionID: first.VersionID})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if p, err := io.ReadAll(r); err != nil || string(p) != "one" {
		t.Fatalf("%q, %v", p, err)
	}
}

func TestTagsBehindMiddleware(t *testing.T) {
	t.Parallel()
	b := memstore.New(memstore.Config{Versioned: true})
	old := put(t, b, "k", "one")
	want := map[string]string{"label": "cat"}
	if err := b.SetTags("k", want); err != nil {
		t.Fatal(err)
	}
	put(t, b, "k", "two")
	wrapped := objstore.Chain(b, objstore.Limit(1), objstore.Count(nil), objstore.Trace(func(objstore.Event) {}))
	for version, want := range map[string]map[string]string{"": {}, old.VersionID: want} {
		got, err := objstore.Tags(t.Context(), wrapped, "k", version)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("version %q: %v, %v; want %v", version, got, err, want)
		}
	}
	if _, err := objstore.Tags(t.Context(), wrapped, "absent", ""); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("tags of an absent object: %v", err)
	}
}

func TestMaxObject(t *testing.T) {
	t.Parallel()
	b := memstore.New(memstore.Config{MaxObject: 10})
	put(t, b, "k", "0123456789")
	_, err := objstore.Put(t.Context(), b, "k", strings.NewReader("0123456789a"), objstore.PutOptions{})
	if !errors.Is(err, objstore.ErrInvalid) {
		t.Fatalf("want ErrInvalid, got %v", err)
	}
	if info, err := b.Head(t.Context(), "k"); err != nil || info.Size != 10 {
		t.Fatalf("%+v, %v", info, err)
	}
}

func TestCancelledGetFails(t *testing.T) {
	t.Parallel()
	b := memstore.New(memstore.Config{})
	put(t, b, "k", "data")
	ctx, cancel := context.WithCancel(t.Context())
	r, _, err := b.Get(ctx, "k", objstore.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cancel()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Fatalf("want context.Canceled, got %v", err)
	}
}
