package bootstrap_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// TestItemsOnS3 packs so many lines that the first part of an upload has no room for
// their table, and reads them back.
func TestItemsOnS3(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts the local cloud")
	}
	s := teststack.Run(t, teststack.Options{Buckets: []string{"uploads", "datasets"}})
	buckets := map[string]objstore.Bucket{}
	for _, name := range []string{"uploads", "datasets"} {
		b, err := s3store.New(t.Context(), s3store.Config{Bucket: name, Endpoint: s.Endpoint, Region: s.Region, AccessKey: s.AccessKey, SecretKey: s.SecretKey})
		if err != nil {
			t.Fatal(err)
		}
		buckets[name] = b
	}
	h := &functions.Handler{Jobs: map[string]functions.JobMaker{"pack": pack.New(pack.Options{})},
		Rules:   functions.Rules{{Bucket: "uploads", Job: "pack", Out: functions.Out{Bucket: "datasets"}}},
		Buckets: func(name string) (objstore.Bucket, error) { return buckets[name], nil }}
	const key = "logs/a b+ü%.jsonl"
	for seed, n := range []int{800_000, 3} { // the second is smaller than a part
		var text bytes.Buffer
		for i := range n {
			fmt.Fprintf(&text, "{\"seed\":%d,\"i\":%d}\n", seed, i)
		}
		info, err := objstore.Put(t.Context(), buckets["uploads"], key, bytes.NewReader(text.Bytes()), objstore.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for again := range 2 {
			r, err := h.Handle(t.Context(), event(key, info, seed+1))
			if err != nil || r.Packed != 1-again || r.Unchanged != again {
				t.Fatalf("%+v, %v", r, err)
			}
		}
		obj, err := objstore.Open(t.Context(), buckets["datasets"], key+bloscpack.Suffix, objstore.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		f, err := bloscpack.Open(t.Context(), obj, bloscpack.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := f.Each(t.Context(), 0, f.Len(), func(_ int64, p []byte) error {
			_, err := got.Write(append(p, '\n'))
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), text.Bytes()) || !strings.Contains(string(f.Metadata()), fmt.Sprintf(`"shape":[%d],"final_newline":true`, n)) {
			t.Errorf("%d bytes of %d, %s", got.Len(), text.Len(), f.Metadata())
		}
	}
}
