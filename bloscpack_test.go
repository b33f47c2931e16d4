package farread

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// manyRecords puts a file of n items into b.
func manyRecords(t *testing.T, b *memstore.Bucket, key string, n int) func(i int64) []byte {
	t.Helper()
	record := func(i int64) []byte { return fmt.Appendf(nil, `{"id": %d, "square": %d}`, i, i*i) }
	w, err := b.Create(t.Context(), key, objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	p, err := bloscpack.NewWriter(w, bloscpack.WriteOptions{Variable: true, Metadata: map[string]any{"container": "lines", "shape": []int{n}}})
	for i := int64(0); i < int64(n) && err == nil; i++ {
		err = p.WriteItem(record(i))
	}
	if err == nil {
		err = p.Close()
	}
	if err == nil {
		_, err = w.Commit(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// TestOpenBloscpack: what a cold item costs by each policy, wherever in the file
// it lies.
func TestOpenBloscpack(t *testing.T) {
	t.Parallel()
	const n = 100_000 // a table of 800 KB
	source := memstore.New(memstore.Config{Name: "source"})
	record := manyRecords(t, source, "x.blp", n)
	file := contents(t, source, "x.blp")
	for name, policy := range map[string]rangeio.Policy{"fast": rangeio.Fast(), "few": rangeio.Few(), "lean": rangeio.Lean()} {
		for _, i := range []int64{0, 1, 1990, 2040, 8180, 50_000, n - 1} {
			c, b := remote(Config{NoHedge: true, Policy: policy})
			put(t, b, "x.blp", file, nil)
			f, err := c.OpenBloscpack(t.Context(), "s3://b/x.blp", BloscpackOptions{Options: bloscpack.Options{Item: i}})
			if err != nil {
				t.Fatal(err)
			}
			p, err := f.AppendItem(t.Context(), nil, i)
			if err != nil || !bytes.Equal(p, record(i)) {
				t.Fatalf("%s: item %d: %q, %v", name, i, p, err)
			}
			s := c.Stats()
			if s.Phases > 2 || s.Requests > 3 || name == "lean" && s.Bytes > int64(len(p))+64<<10 {
				t.Errorf("%s: item %d: %+v", name, i, s)
			}
			if _, err := f.AppendItem(t.Context(), nil, i); err != nil {
				t.Fatal(err)
			}
			if again := c.Stats(); again.Requests > s.Requests+1 {
				t.Errorf("%s: item %d once more: %+v", name, i, again)
			}
		}
	}
}

// TestBloscpackIn opens a file inside another, locally and from afar, and what is
// none.
func TestBloscpackIn(t *testing.T) {
	t.Parallel()
	source := memstore.New(memstore.Config{Name: "source"})
	record := manyRecords(t, source, "x.blp", 500)
	file := contents(t, source, "x.blp")
	c, b := remote(Config{NoHedge: true})
	put(t, b, "in.bin", append(bytes.Repeat([]byte("blpk"), 250), file...), nil)
	local := filepath.Join(t.TempDir(), "x.blp")
	if err := os.WriteFile(local, file, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := c.OpenBloscpack(t.Context(), "s3://b/in.bin", BloscpackOptions{Offset: 1000, Options: bloscpack.Options{Item: 499}})
	if err != nil {
		t.Fatal(err)
	}
	here, err := OpenBloscpack(t.Context(), local)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []*Bloscpack{in, here} {
		items, err := f.AppendItems(t.Context(), nil, 490, f.Len())
		if err != nil || len(items) != 10 || !bytes.Equal(items[9], record(499)) || f.Object == nil {
			t.Errorf("%d items, %v", len(items), err)
		}
	}
	for _, tc := range []struct {
		uri  string
		off  int64
		want error
	}{
		{"s3://b/none", 0, objstore.ErrNotFound}, {"s3://b/in.bin", 0, formats.ErrUnsupported}, {"s3://b/in.bin", 999, formats.ErrCorrupt},
		{"s3://b/in.bin", 1 << 40, objstore.ErrInvalid}, {"s3://b/in.bin", -1, objstore.ErrInvalid}, {"ftp://b/x", 0, objstore.ErrInvalid},
	} {
		if _, err := c.OpenBloscpack(t.Context(), tc.uri, BloscpackOptions{Offset: tc.off}); !errors.Is(err, tc.want) {
			t.Errorf("%s at %d: %v, want %v", tc.uri, tc.off, err, tc.want)
		}
	}
}

func contents(t *testing.T, b objstore.Bucket, key string) []byte {
	t.Helper()
	r, _, err := b.Get(t.Context(), key, objstore.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
