package s3store

import (
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/internal/pipetest"
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

// TestTooManyParts: bytes behind the last possible part are refused without a request.
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

// TestBigParts: of parts of 32 MiB one is on its way, of smaller ones two.
func TestBigParts(t *testing.T) {
	for part, want := range map[int32]int64{2: 2, 1600: 2, 1602: 1} {
		synctest.Test(t, func(t *testing.T) {
			var flying, most atomic.Int64
			srv := pipetest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				switch q := r.URL.Query(); {
				case q.Has("uploads"):
					_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
				case q.Has("partNumber"):
					n := flying.Add(1)
					most.Store(max(n, most.Load()))
					select {
					case <-time.After(time.Second):
					case <-r.Context().Done():
					}
					flying.Add(-1)
					w.Header().Set("ETag", `"p"`)
				case r.Method == http.MethodGet: // whether parts are left
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			b, err := New(t.Context(), Config{Bucket: "one", Region: "us-east-1", AccessKey: "AK", SecretKey: "SK", Endpoint: "http://127.0.0.1:9", Transport: srv.Transport})
			if err != nil {
				t.Fatal(err)
			}
			created, err := b.Create(t.Context(), "k", objstore.PutOptions{})
			if err != nil {
				t.Fatal(err)
			}
			w, _ := created.(*writer)
			w.n = part
			buf := make([]byte, 1<<20)
			for range 5 + 3*partSize(part)>>20 + 1 {
				if _, err := w.Write(buf); err != nil {
					t.Fatal(err)
				}
			}
			w.Abort()
			if most.Load() != want {
				t.Errorf("part %d: %d on their way, want %d", part, most.Load(), want)
			}
			b.CloseIdleConnections()
			srv.Close()
		})
	}
}
