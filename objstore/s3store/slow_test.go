package s3store_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/internal/pipetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

const longText = 100_000

func goodLong(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"v1"`)
	http.ServeContent(w, r, "", changed, strings.NewReader(strings.Repeat("x", longText)))
}

// stallsAt sends the head of an answer and n bytes.
func stallsAt(n int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", `"v1"`)
		w.Header().Set("Last-Modified", changed.Format(http.TimeFormat))
		w.Header().Set("Content-Length", "65536")
		w.Header().Set("Content-Range", "bytes 0-65535/100000")
		w.WriteHeader(http.StatusPartialContent)
		_ = http.NewResponseController(w).Flush()
		pipetest.Slowly(r.Context(), w, strings.Repeat("x", n), max(n, 1), time.Hour)
		<-r.Context().Done()
	}
}

// TestSlowOnce: a store that is slow once costs a second and one request more.
func TestSlowOnce(t *testing.T) {
	busy := fault(503, "SlowDown")
	slow := func(d time.Duration) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(d):
				goodLong(w, r)
			case <-r.Context().Done():
			}
		}
	}
	const most = 1100 * time.Millisecond
	for name, c := range map[string]struct {
		h                         http.HandlerFunc
		least, most               time.Duration
		requests, retries, hedged int64
	}{
		"well":                     {goodLong, 0, 100 * time.Millisecond, 2, 0, 0},
		"no answer, once":          {answers(never, goodLong), time.Second, most, 3, 0, 1},
		"no answer to a read":      {answers(goodLong, never, goodLong), time.Second, most, 3, 0, 1},
		"stalls at the start":      {answers(stallsAt(0), goodLong), time.Second, most, 3, 1, 1},
		"stalls in the middle":     {answers(stallsAt(5000), goodLong), time.Second, most, 3, 1, 1},
		"stalls at the last byte":  {answers(stallsAt(65535), goodLong), time.Second, most, 3, 1, 1},
		"no answer, and a stall":   {answers(never, stallsAt(5000), goodLong), 2 * time.Second, time.Second + most, 4, 1, 2},
		"the second try is busy":   {answers(slow(3*time.Second), busy, goodLong), 3 * time.Second, 2*time.Second + most, 3, 0, 1},
		"the second try is lost":   {answers(slow(3*time.Second), hangUp, goodLong), 3 * time.Second, 2*time.Second + most, 3, 0, 1},
		"busy, and then no answer": {answers(busy, never, goodLong), 10 * time.Second, 11 * time.Second, 4, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var n objstore.Counter
			took, err := virtualWith(t, s3store.Config{MaxWait: time.Nanosecond, Counter: &n}, c.h, func(ctx context.Context, b *s3store.Bucket) error {
				ob, err := objstore.Open(ctx, objstore.Hedge(&objstore.Pace{})(b), "k", objstore.OpenOptions{Counter: &n})
				if err == nil {
					_, err = ob.ReadAt(make([]byte, 1000), 90_000)
				}
				return err
			})
			s := n.Stats()
			if err != nil || took < c.least || took > c.most || s.Requests != c.requests || s.Retries != c.retries || s.Hedged != c.hedged {
				t.Errorf("after %v: %v; %+v", took, err, s)
			}
		})
	}
}
