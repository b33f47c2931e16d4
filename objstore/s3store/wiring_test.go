package s3store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/internal/pipetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// TestPathStyle: the bucket is part of the host's name if such a name can be looked up.
func TestPathStyle(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://s3.example.com":      "one.s3.example.com/k",
		"http://s3.example.com:9000": "one.s3.example.com:9000/k",
		"http://localhost:9000":      "localhost:9000/one/k",
		"http://minio:9000":          "minio:9000/one/k",
		"http://127.0.0.1:9000":      "127.0.0.1:9000/one/k",
		"http://[::1]:9000":          "[::1]:9000/one/k",
	} {
		for _, always := range []bool{false, true} {
			var got string
			srv := pipetest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.Host + r.URL.Path; good(w, r) }))
			b, err := s3store.New(t.Context(), s3store.Config{Bucket: "one", Endpoint: endpoint, Anonymous: true, PathStyle: always, Transport: srv.Transport})
			if err != nil {
				t.Fatal(err)
			}
			want := want
			if host, ok := strings.CutPrefix(want, "one."); ok && always {
				want = strings.TrimSuffix(host, "k") + "one/k"
			}
			if _, err := b.Head(t.Context(), "k"); err != nil || got != want {
				t.Errorf("%s, %t: %s, want %s; %v", endpoint, always, got, want, err)
			}
			srv.Close()
		}
	}
}

// TestCloseIdleConnections: connections are kept, until they are to be closed.
func TestCloseIdleConnections(t *testing.T) {
	var conns atomic.Int64
	srv := httptest.NewUnstartedServer(http.HandlerFunc(good))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	own := &http.Transport{}
	defer own.CloseIdleConnections()
	for name, tr := range map[string]http.RoundTripper{"its own": nil, "a given one": own} {
		conns.Store(0)
		b, err := s3store.New(t.Context(), s3store.Config{Bucket: "one", Endpoint: srv.URL, Anonymous: true, Transport: tr})
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []int64{1, 1, 2} {
			if i == 2 {
				b.CloseIdleConnections()
			}
			if _, err := b.Head(t.Context(), "k"); err != nil || conns.Load() != want {
				t.Errorf("%s, call %d: %d connections, %v", name, i, conns.Load(), err)
			}
		}
		b.CloseIdleConnections()
	}
}

// TestLogger: messages of the SDK go to the logger.
func TestLogger(t *testing.T) {
	var log bytes.Buffer
	b := fake(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", "yesterday")
		good(w, r)
	}), s3store.Config{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if _, err := b.Head(t.Context(), "k"); err != nil || !strings.Contains(log.String(), "level=DEBUG") || !strings.Contains(log.String(), `from="aws sdk" class=WARN`) {
		t.Errorf("%v, said %s", err, &log)
	}
}

// TestSilentCredentials: a source of credentials that does not answer ends a call as a
// silent store does, and the error says who it was.
func TestSilentCredentials(t *testing.T) {
	over := make(chan struct{})
	source := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer source.Close()
	defer close(over)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", source.URL)
	srv := httptest.NewServer(http.HandlerFunc(good))
	defer srv.Close()
	b, err := s3store.New(t.Context(), s3store.Config{Bucket: "one", Endpoint: srv.URL, Timeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer b.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := b.Head(ctx, "k"); !errors.Is(err, objstore.ErrUnavailable) || !strings.Contains(err.Error(), "the source of the credentials did not answer for 50ms") {
		t.Errorf("got %v", err)
	}
}

// TestAbort: how an upload that failed is dropped by a store that is not silent.
func TestAbort(t *testing.T) {
	for name, c := range map[string]struct {
		wait time.Duration // of the store, before it drops the upload
		look http.HandlerFunc
	}{
		"late":                            {8 * time.Second, fault(404, "NoSuchUpload")},
		"parts that may not be looked at": {0, fault(403, "AccessDenied")},
	} {
		t.Run(name, func(t *testing.T) {
			var drops, looks atomic.Int64
			_, err := virtual(t, func(w http.ResponseWriter, r *http.Request) {
				q := r.URL.Query()
				switch {
				case q.Has("uploads"):
					says(200, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")(w, r)
				case r.Method == http.MethodDelete:
					drops.Add(1)
					select {
					case <-time.After(c.wait):
					case <-r.Context().Done():
					}
					w.WriteHeader(http.StatusNoContent)
				case r.Method == http.MethodGet:
					looks.Add(1)
					c.look(w, r)
				default:
					_, _ = io.Copy(io.Discard, r.Body)
					fault(403, "AccessDenied")(w, r)
				}
			}, calls["upload"])
			if !errors.Is(err, objstore.ErrDenied) || drops.Load() != 1 || looks.Load() != 1 {
				t.Errorf("%v; %d drops, %d looks", err, drops.Load(), looks.Load())
			}
		})
	}
}

// TestEndWhileBeginning: a context may end at any moment of Create.
func TestEndWhileBeginning(t *testing.T) {
	b := fake(t, http.HandlerFunc(good), s3store.Config{})
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		w, err := b.Create(&looksAlive{Context: ctx}, "k", objstore.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte("x")); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		w.Abort()
	}
}

// looksAlive is a context that ends just after Err was called the first time.
type looksAlive struct {
	context.Context //nolint:containedctx // this is one

	looked atomic.Bool
}

func (c *looksAlive) Err() error {
	if c.looked.CompareAndSwap(false, true) {
		return nil
	}
	return c.Context.Err()
}

// TestNotAborted: an upload that stays is told, with its name.
func TestNotAborted(t *testing.T) {
	var log bytes.Buffer
	for _, logger := range []*slog.Logger{nil, slog.New(slog.NewTextHandler(&log, nil))} {
		b := fake(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("uploads") {
				says(200, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")(w, r)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			fault(403, "AccessDenied")(w, r)
		}), s3store.Config{Logger: logger})
		if err := put(30<<20)(t.Context(), b); !errors.Is(err, objstore.ErrDenied) {
			t.Errorf("got %v", err)
		}
	}
	if text := log.String(); !strings.Contains(text, `level=WARN msg="upload not aborted" bucket=s3://one key=k upload=u err=`) {
		t.Error(text)
	}
}
