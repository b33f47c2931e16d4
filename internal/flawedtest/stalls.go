package flawedtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/internal/pipetest"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// Stalls reads an object of a server whose bodies stall again and again, in virtual time.
// with runs f on the bucket of a server that answers by h, and returns what that took.
func Stalls(t *testing.T, with func(t *testing.T, h http.HandlerFunc, f func(ctx context.Context, b objstore.Bucket) error) (time.Duration, error)) {
	t.Helper()
	const size = 1 << 20
	data := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	// stalling lets each nth body of more than a byte bring a part of its bytes, and then
	// nothing. The other bodies bring half of their bytes at once and half after d.
	stalling := func(nth int64, part float64, d time.Duration) http.HandlerFunc {
		var n atomic.Int64
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Etag", `"v"`)
			rec := httptest.NewRecorder()
			rec.Header().Set("Etag", `"v"`)
			http.ServeContent(rec, r, "", time.Time{}, bytes.NewReader(data))
			for k, v := range rec.Header() {
				w.Header()[k] = v
			}
			w.WriteHeader(rec.Code)
			body := rec.Body.String()
			if len(body) > 1 && n.Add(1)%nth == 0 {
				_, _ = io.WriteString(w, body[:int(float64(len(body))*part)])
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
				return
			}
			pipetest.Slowly(r.Context(), w, body, (len(body)+1)/2, d)
		}
	}
	one := func(ctx context.Context, ob *objstore.Object) error { // a single read of many requests
		p := make([]byte, size)
		err := ob.ReadRanges(ctx, []rangeio.Span{{P: p}})
		if err == nil && !bytes.Equal(p, data) {
			return errors.New("wrong bytes")
		}
		return err
	}
	stream := func(ctx context.Context, ob *objstore.Object) error {
		rc := ob.NewReader(ctx, objstore.ReadOptions{Part: 50_000, Ahead: 1})
		defer rc.Close()
		p, err := io.ReadAll(rc)
		if err == nil && !bytes.Equal(p, data) {
			return errors.New("wrong bytes")
		}
		return err
	}
	steps := func(ctx context.Context, ob *objstore.Object) error { // reads that depend on each other
		p := make([]byte, 10_000)
		for off := int64(len(p)); off < size-int64(len(p)); off += int64(len(p)) {
			if err := ob.ReadRanges(ctx, []rangeio.Span{{Off: off, P: p}}); err != nil {
				return err
			}
			if !bytes.Equal(p, data[off:][:len(p)]) {
				return errors.New("wrong bytes")
			}
		}
		return nil
	}
	for _, c := range []struct {
		name  string
		h     http.HandlerFunc
		o     objstore.OpenOptions
		read  func(ctx context.Context, ob *objstore.Object) error
		hedge bool
		most  time.Duration // 0: the read succeeds
	}{
		{"the opening", stalling(1, 0.1, 0), objstore.OpenOptions{}, one, false, silence.Default},
		{"the opening, hedged", stalling(1, 0.1, 0), objstore.OpenOptions{}, one, true, silence.Default},
		{"the opening, other patience", stalling(1, 0.3, 0), objstore.OpenOptions{Stall: 5 * time.Second}, one, true, 5 * time.Second},
		{"the opening, without a repetition", stalling(1, 0.1, 0), objstore.OpenOptions{Resumes: -1}, one, false, silence.Default / 2},
		{"one read", stalling(1, 0.5, 0), objstore.OpenOptions{Head: 1}, one, false, silence.Default},
		{"one read, hedged", stalling(1, 0.5, 0), objstore.OpenOptions{Head: 1}, one, true, silence.Default},
		{"a stream", stalling(1, 0.8, 0), objstore.OpenOptions{Head: 1}, stream, false, silence.Default},
		{"a stream, hedged", stalling(1, 0.8, 0), objstore.OpenOptions{Head: 1}, stream, true, silence.Default + 2*time.Second},
		{"one read after the other", stalling(1, 0.8, 0), objstore.OpenOptions{Head: 1}, steps, false, silence.Default},
		{"one read after the other, hedged", stalling(1, 0.8, 0), objstore.OpenOptions{Head: 1}, steps, true, silence.Default + 2*time.Second},
		{"now and then, quick", stalling(40, 0.8, time.Second/2), objstore.OpenOptions{Head: 1}, steps, false, 0},
		{"now and then, slow", stalling(10, 0.8, 2*time.Second), objstore.OpenOptions{Head: 1}, steps, false, 0},
		{"now and then, hedged", stalling(10, 0.8, time.Second/2), objstore.OpenOptions{Head: 1}, steps, true, 0},
		{"a stream, now and then", stalling(6, 0.8, 4*time.Second), objstore.OpenOptions{Head: 1}, stream, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Helper()
			took, err := with(t, c.h, func(ctx context.Context, b objstore.Bucket) error {
				if c.hedge {
					b = objstore.Hedge(&objstore.Pace{})(b)
				}
				ob, err := objstore.Open(ctx, b, "k", c.o)
				if err != nil {
					return err
				}
				return c.read(ctx, ob)
			})
			t.Logf("after %v: %v", took, err)
			switch {
			case c.most == 0 && err != nil, c.most > 0 && (!errors.Is(err, objstore.ErrUnavailable) || !silence.Is(err) && c.o.Resumes == 0):
				t.Errorf("after %v: %v", took, err)
			case c.most > 0 && took > c.most+10*time.Millisecond:
				t.Errorf("after %v, at most %v: %v", took, c.most, err)
			case err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "127.0.0.1") && !strings.Contains(err.Error(), "store")):
				t.Errorf("who stalled? %v", err)
			}
		})
	}
}
