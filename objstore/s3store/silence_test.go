package s3store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/internal/pipetest"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// virtual runs f on a bucket whose server is h, in virtual time, and returns what it took.
func virtual(t *testing.T, h http.HandlerFunc, f func(ctx context.Context, b *s3store.Bucket) error) (took time.Duration, err error) {
	t.Helper()
	return virtualWith(t, s3store.Config{MaxWait: time.Nanosecond}, h, f)
}

// virtualWith is virtual for a bucket with limits of its own.
func virtualWith(t *testing.T, c s3store.Config, h http.HandlerFunc, f func(ctx context.Context, b *s3store.Bucket) error) (took time.Duration, err error) {
	t.Helper()
	return pipetest.Virtual(t, h, func(t *testing.T, srv *pipetest.Server) error {
		t.Helper()
		c.Bucket, c.Endpoint, c.AccessKey, c.SecretKey, c.Transport = "one", "http://127.0.0.1:9", "AK", "SK", srv.Transport
		b, err := s3store.New(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer b.CloseIdleConnections()
		return f(t.Context(), b)
	})
}

// never takes the whole request and does not answer.
func never(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

func listing(keys int) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><ListBucketResult><Name>one</Name><IsTruncated>false</IsTruncated>`)
	for i := range keys {
		fmt.Fprintf(&b, "<Contents><Key>k%05d</Key><Size>1</Size></Contents>", i)
	}
	return b.String() + "</ListBucketResult>"
}

func list(ctx context.Context, b objstore.Bucket) (err error) {
	for _, err = range b.List(ctx, "") {
		if err != nil {
			break
		}
	}
	return err
}

func put(n int) func(context.Context, *s3store.Bucket) error {
	return func(ctx context.Context, b *s3store.Bucket) error {
		_, err := objstore.Put(ctx, b, "k", bytes.NewReader(make([]byte, n)), objstore.PutOptions{})
		return err
	}
}

var calls = map[string]func(context.Context, *s3store.Bucket) error{
	"get": func(ctx context.Context, b *s3store.Bucket) error {
		_, _, err := b.Get(ctx, "k", objstore.GetOptions{})
		return err
	},
	"open": func(ctx context.Context, b *s3store.Bucket) error {
		_, err := objstore.Open(ctx, b, "k", objstore.OpenOptions{Tail: 100})
		return err
	},
	"head":   func(ctx context.Context, b *s3store.Bucket) error { _, err := b.Head(ctx, "k"); return err },
	"list":   func(ctx context.Context, b *s3store.Bucket) error { return list(ctx, b) },
	"delete": func(ctx context.Context, b *s3store.Bucket) error { return b.Delete(ctx, "k") },
	"tags":   func(ctx context.Context, b *s3store.Bucket) error { _, err := b.Tags(ctx, "k", ""); return err },
	"put":    put(100),
	"upload": put(30 << 20),
}

// TestSilentStore: whatever is asked of a store that takes all and never answers, the
// whole call takes as long as the configuration says, with its repetitions.
func TestSilentStore(t *testing.T) {
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			took, err := virtual(t, never, call)
			want := silence.Default
			if name == "put" {
				want += silence.Default / 4 // to ask whether the object is there
			}
			if !errors.Is(err, objstore.ErrUnavailable) || !silence.Is(err) || took < silence.Default || took > want+10*time.Millisecond {
				t.Errorf("after %v: %v", took, err)
			}
		})
	}
}

// TestSilentInside: a store that falls silent after it began.
func TestSilentInside(t *testing.T) {
	page := listing(1000)
	parts := func(h http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			switch {
			case q.Has("uploads"):
				_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
			case r.Method == http.MethodDelete:
				w.WriteHeader(http.StatusNoContent)
			case r.Method == http.MethodGet:
				fault(404, "NoSuchUpload")(w, r)
			default:
				h(w, r)
			}
		}
	}
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		call func(context.Context, *s3store.Bucket) error
	}{
		"a listing that stalls": {func(w http.ResponseWriter, r *http.Request) {
			pipetest.Slowly(r.Context(), w, page[:5000], 5000, time.Hour)
		}, calls["list"]},
		"a listing that trickles": {func(w http.ResponseWriter, r *http.Request) {
			pipetest.Slowly(r.Context(), w, page, 1, time.Second)
		}, calls["list"]},
		"a body that stalls": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100000")
			pipetest.Slowly(r.Context(), w, page[:5000], 5000, time.Hour)
		}, func(ctx context.Context, b *s3store.Bucket) error {
			body, _, err := b.Get(ctx, "k", objstore.GetOptions{})
			if err == nil {
				_, err = io.Copy(io.Discard, body)
				body.Close()
			}
			return err
		}},
		"an upload that is not taken": {parts(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadFull(r.Body, make([]byte, 100_000))
			<-r.Context().Done()
		}), calls["upload"]},
		"parts that are not answered": {parts(never), calls["upload"]},
	} {
		t.Run(name, func(t *testing.T) {
			took, err := virtual(t, c.h, c.call)
			if !errors.Is(err, objstore.ErrUnavailable) || !silence.Is(err) || took < silence.Default/2 || took > silence.Default+2*time.Second {
				t.Errorf("after %v: %v", took, err)
			}
		})
	}
}

// TestSlowStore: a request that makes progress is never cut, however long it takes.
func TestSlowStore(t *testing.T) {
	page := listing(3000)
	for name, c := range map[string]struct {
		h     http.HandlerFunc
		call  func(context.Context, *s3store.Bucket) error
		least time.Duration
	}{
		"a slow listing": {func(w http.ResponseWriter, r *http.Request) {
			pipetest.Slowly(r.Context(), w, page, 1200, 9*time.Second)
		}, calls["list"], 15 * time.Minute},
		"a slow upload": {func(w http.ResponseWriter, r *http.Request) {
			for { // net/http hands a connection 32 KiB at a time
				select {
				case <-time.After(4 * time.Second):
				case <-r.Context().Done():
					return
				}
				if _, err := io.ReadFull(r.Body, make([]byte, 20_000)); err != nil {
					break
				}
			}
			w.Header().Set("ETag", `"e"`)
		}, put(5 << 20), 15 * time.Minute},
		"parts that are joined for long": {func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			_, _ = io.Copy(io.Discard, r.Body)
			switch {
			case q.Has("uploads"):
				_, _ = io.WriteString(w, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")
			case r.Method == http.MethodPut:
				w.Header().Set("ETag", `"e"`)
			default:
				_, _ = io.WriteString(w, `<?xml version="1.0"?>`)
				pipetest.Slowly(r.Context(), w, strings.Repeat(" ", 60), 1, 9*time.Second)
				_, _ = io.WriteString(w, `<CompleteMultipartUploadResult><ETag>"e"</ETag></CompleteMultipartUploadResult>`)
			}
		}, calls["upload"], 9 * time.Minute},
		"a reader that does other things": {good, func(ctx context.Context, b *s3store.Bucket) error {
			body, _, err := b.Get(ctx, "k", objstore.GetOptions{})
			if err != nil {
				return err
			}
			defer body.Close()
			for range 3 {
				time.Sleep(time.Hour)
				if _, err := io.ReadFull(body, make([]byte, 5)); err != nil {
					return err
				}
			}
			return nil
		}, 3 * time.Hour},
		"refusals that come late": {answers(late(503), late(500), late(503), late(500), good), func(ctx context.Context, b *s3store.Bucket) error {
			_, err := b.Head(ctx, "k")
			return err
		}, 36 * time.Second},
		"no answer once": {answers(never, good), func(ctx context.Context, b *s3store.Bucket) error {
			_, err := objstore.Open(ctx, b, "k", objstore.OpenOptions{})
			return err
		}, silence.Default / 2},
	} {
		t.Run(name, func(t *testing.T) {
			if took, err := virtual(t, c.h, c.call); err != nil || took < c.least {
				t.Errorf("after %v: %v", took, err)
			}
		})
	}
}

// late answers after 9 seconds.
func late(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(9 * time.Second):
		case <-r.Context().Done():
		}
		w.WriteHeader(status)
	}
}

// TestStallsAgainAndAgain: the time of bodies that stall is one for all of them.
func TestStallsAgainAndAgain(t *testing.T) {
	flawedtest.Stalls(t, func(t *testing.T, h http.HandlerFunc, f func(ctx context.Context, b objstore.Bucket) error) (time.Duration, error) {
		t.Helper()
		return virtual(t, h, func(ctx context.Context, b *s3store.Bucket) error { return f(ctx, b) })
	})
}
