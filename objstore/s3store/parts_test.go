package s3store

import (
	"errors"
	"testing"

	"github.com/farread/farread/objstore"
)

// TestParts: the largest object fits, and no part is one that S3 refuses.
func TestParts(t *testing.T) {
	total, held := int64(5<<20), int64(0)
	for n := int32(2); n <= maxParts; n++ {
		size := int64(partSize(n))
		if size < 5<<20 || size > 5<<30 {
			t.Fatalf("part %d has %d bytes", n, size)
		}
		flying := int64(2)
		if size >= bigPart {
			flying = 1
		}
		held = 5<<20 + (1+flying)*size
		total += size
		// Two writers of a 256 MiB worker, up to 43 GiB each.
		if total <= 43<<30 && 2*held > 140<<20 {
			t.Fatalf("after %d bytes a writer holds %d", total, held)
		}
	}
	if total < 5<<40 {
		t.Errorf("%d parts hold %d bytes, less than 5 TiB", maxParts, total)
	}
}

// TestTooManyParts: what lies behind the last part is refused without a request.
func TestTooManyParts(t *testing.T) {
	b, err := New(t.Context(), Config{Bucket: "one", Region: "us-east-1", AccessKey: "AK", SecretKey: "SK", Endpoint: "http://127.0.0.1:9", Attempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{b: b, key: "k", ctx: t.Context(), n: maxParts + 1}
	if err := w.flush(t.Context()); !errors.Is(err, objstore.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
