package objstore_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// A flaw is a server that misbehaves. It answers the n-th request since it was
// switched on, or returns false to have it answered well.
type flaw func(s *flawed, n int, w http.ResponseWriter, r *http.Request) bool

// flawed is a real HTTP server with one object, which can be replaced, and a
// flaw that can be switched on and off.
type flawed struct {
	url string
	srv *httptest.Server

	mu      sync.Mutex
	version int
	flaw    flaw
	n       int
	tag     func(version int) string // ETag, "" for none
	noDate  bool
	grow    int // bytes that each version has more
}

const objectSize = 300_000

func newFlawed(t *testing.T) *flawed {
	t.Helper()
	s := &flawed{tag: func(v int) string { return fmt.Sprintf(`"v%d"`, v) }}
	s.srv = httptest.NewServer(s)
	t.Cleanup(s.srv.Close)
	s.url = s.srv.URL
	return s
}

// content is the object's bytes in one version: other bytes everywhere.
func (s *flawed) content(version int) []byte {
	p := make([]byte, objectSize+version*s.grow)
	for i := range p {
		p[i] = byte(i>>8) ^ byte(i*7) ^ byte(version*85)
	}
	return p
}

func (s *flawed) current() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.content(s.version)
}

func (s *flawed) replace(version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

func (s *flawed) set(f flaw) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flaw, s.n = f, 0
}

func (s *flawed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.n++
	f, n := s.flaw, s.n
	s.mu.Unlock()
	if f == nil || !f(s, n, w, r) {
		s.good(w, r)
	}
}

// good answers as a server should.
func (s *flawed) good(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	v := s.version
	s.mu.Unlock()
	if t := s.tag(v); t != "" {
		w.Header().Set("ETag", t)
	}
	date := time.Date(2026, 1, 1, v, 0, 0, 0, time.UTC)
	if s.noDate {
		date = time.Time{}
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", date, bytes.NewReader(s.content(v)))
}

// bend lets f change a good answer before it goes out.
func (s *flawed) bend(w http.ResponseWriter, r *http.Request, f func(a *httptest.ResponseRecorder)) {
	a := httptest.NewRecorder()
	s.good(a, r)
	f(a)
	for k, v := range a.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(a.Code)
	w.Write(a.Body.Bytes())
}

// cut sends the header and the first k bytes (from the end if negative, half
// with k = half) and closes the connection.
func (s *flawed) cut(w http.ResponseWriter, r *http.Request, k int) {
	a := httptest.NewRecorder()
	s.good(a, r)
	for key, v := range a.Header() {
		w.Header()[key] = v
	}
	b := a.Body.Bytes()
	switch {
	case k == half:
		k = len(b) / 2
	case k < 0:
		k += len(b)
	}
	w.WriteHeader(a.Code)
	w.Write(b[:min(k, len(b))])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

const half = 1 << 30

func page(status int, kv ...string) flaw {
	return func(_ *flawed, _ int, w http.ResponseWriter, _ *http.Request) bool {
		for i := 0; i < len(kv); i += 2 {
			w.Header().Set(kv[i], kv[i+1])
		}
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>Code%d</Code><RequestId>R1</RequestId></Error>", status)
		return true
	}
}

// first has the flaw in the first k answers only.
func first(k int, f flaw) flaw {
	return func(s *flawed, n int, w http.ResponseWriter, r *http.Request) bool { return n <= k && f(s, n, w, r) }
}

func bent(f func(a *httptest.ResponseRecorder)) flaw {
	return func(s *flawed, _ int, w http.ResponseWriter, r *http.Request) bool { s.bend(w, r, f); return true }
}

func contentRange(a *httptest.ResponseRecorder) (from, to, size int) {
	if _, err := fmt.Sscanf(a.Header().Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &size); err != nil {
		panic(err)
	}
	return from, to, size
}

func cutAt(k int) flaw {
	return func(s *flawed, _ int, w http.ResponseWriter, r *http.Request) bool { s.cut(w, r, k); return true }
}

func hang(_ *flawed, _ int, _ http.ResponseWriter, r *http.Request) bool {
	<-r.Context().Done()
	return true
}

// hangInBody sends a third and no more.
func hangInBody(s *flawed, _ int, w http.ResponseWriter, r *http.Request) bool {
	a := httptest.NewRecorder()
	s.good(a, r)
	for key, v := range a.Header() {
		w.Header()[key] = v
	}
	w.WriteHeader(a.Code)
	w.Write(a.Body.Bytes()[:a.Body.Len()/3])
	w.(http.Flusher).Flush()
	<-r.Context().Done()
	return true
}

// whole answers with everything, whatever was asked.
func whole(s *flawed, _ int, w http.ResponseWriter, r *http.Request) bool {
	r.Header.Del("Range")
	s.good(w, r)
	return true
}

func isSuffix(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Range"), "bytes=-") }

// ignoring conditions is what some servers do.
func unconditional(s *flawed, _ int, w http.ResponseWriter, r *http.Request) bool {
	r.Header.Del("If-Match")
	r.Header.Del("If-Unmodified-Since")
	s.good(w, r)
	return true
}
