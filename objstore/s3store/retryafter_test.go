package s3store_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// TestRetryAfter: the time that the store asks for is waited out, up to MaxWait, and is no
// silence. Waits of one's own before the first repetition are below 2 s.
func TestRetryAfter(t *testing.T) {
	const most, times = 5 * time.Second, 4
	asking := func(status, times int, asked string) http.HandlerFunc {
		n := 0
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if n++; n <= times {
				fault(status, "SlowDown", "Retry-After", asked)(w, r)
				return
			}
			if r.Method == http.MethodPut {
				w.Header().Set("ETag", `"1"`)
				return
			}
			good(w, r)
		}
	}
	get := func(ctx context.Context, b *s3store.Bucket) error {
		body, _, err := b.Get(ctx, "k", objstore.GetOptions{})
		if err == nil {
			err = errors.Join(body.Close())
		}
		return err
	}
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		call func(context.Context, *s3store.Bucket) error
		took time.Duration
		err  error
	}{
		"503, 4 s":             {asking(503, 1, "4"), get, 4 * time.Second, nil},
		"429, 4 s":             {asking(429, 1, "4"), get, 4 * time.Second, nil},
		"put, 4 s":             {asking(503, 1, "4"), put(100), 4 * time.Second, nil},
		"an hour, four times":  {asking(503, times, "3600"), get, times * most, nil},
		"put, an hour":         {asking(429, times, "3600"), put(100), times * most, nil},
		"an hour, and no more": {asking(503, times+1, "3600"), get, times * most, objstore.ErrThrottled},
	} {
		t.Run(name, func(t *testing.T) {
			took, err := virtualWith(t, s3store.Config{MaxWait: most, Timeout: 3 * time.Second}, c.h, c.call)
			if took != c.took || !errors.Is(err, c.err) {
				t.Errorf("%v after %v; want %v after %v", err, took, c.err, c.took)
			}
		})
	}
	t.Run("all waits within the timeout", func(t *testing.T) {
		took, err := virtualWith(t, s3store.Config{Timeout: 2 * time.Second}, asking(503, times+1, "3600"), get)
		if took != 2*time.Second || !errors.Is(err, objstore.ErrThrottled) {
			t.Errorf("%v after %v, want 2 s", err, took)
		}
	})
	t.Run("500 asks for nothing", func(t *testing.T) {
		took, err := virtualWith(t, s3store.Config{MaxWait: most}, asking(500, 1, "4"), get)
		if took >= 2*time.Second || err != nil {
			t.Errorf("%v after %v", err, took)
		}
	})
}
