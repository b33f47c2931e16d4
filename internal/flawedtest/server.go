// Package flawedtest is a real HTTP server that misbehaves in every way that
// readers of ranges must survive, and the list of these ways with what must come
// of each. Stores and formats hold their readers against the same list.
package flawedtest

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
	"github.com/farread/farread/objstore/s3store"
)

// A Flaw is a server that misbehaves. It answers the n-th request since it was
// switched on, or returns false to have it answered well.
type Flaw func(s *Server, n int, w http.ResponseWriter, r *http.Request) bool

// A Server serves objects that can be replaced, all of them at once, and has a
// flaw that can be switched on and off.
type Server struct {
	*httptest.Server
	content func(name string, version int) []byte
	header  func(name string, etag string) http.Header

	mu      sync.Mutex
	version int
	flaw    Flaw
	n       int
	tag     func(version int) string // ETag, "" for none
	noDate  bool
	grow    int // by how many bytes each version is longer than the one before
}

const objectSize = 300_000

// contents are made once: each request asks for one.
var contents [256]struct {
	once sync.Once
	p    []byte
}

// Content is the content of one object of 300 000 bytes, other bytes everywhere
// in each version. Nobody may write to it.
func Content(_ string, version int) []byte {
	c := &contents[version%len(contents)]
	c.once.Do(func() {
		p := make([]byte, objectSize)
		for i := range p {
			p[i] = byte(i>>8) ^ byte(i*7) ^ byte(version*85)
		}
		c.p = p[:len(p):len(p)]
	})
	return c.p
}

// New starts a server that is well, for the length of the test. content gives
// version 0, 1 … of the object of that name, below any folder; header, unless it
// is nil, what its answers say besides, given its present ETag.
func New(t testing.TB, content func(name string, version int) []byte, header func(name, etag string) http.Header) *Server {
	t.Helper()
	s := &Server{content: content, header: header, tag: func(v int) string { return fmt.Sprintf(`"v%d"`, v) }}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// Bucket reads the server's objects, without long waits. Its URL is Base.
func (s *Server) Bucket(t testing.TB) *httpstore.Bucket {
	t.Helper()
	b, err := httpstore.New(httpstore.Config{Base: s.Base(), MinWait: time.Microsecond, MaxWait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.CloseIdleConnections)
	return b
}

// S3 reads the same objects as a bucket of S3, without long waits.
func (s *Server) S3(t testing.TB) *s3store.Bucket {
	t.Helper()
	b, err := s3store.New(t.Context(), s3store.Config{Bucket: "data", Endpoint: s.URL, Region: "us-east-1", PathStyle: true,
		AccessKey: "AK", SecretKey: "SK", MaxWait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.CloseIdleConnections)
	return b
}

// Open is S3 or Bucket.
func (s *Server) Open(t testing.TB, overS3 bool) objstore.Bucket {
	t.Helper()
	if overS3 {
		return s.S3(t)
	}
	return s.Bucket(t)
}

// Base is the URL of the folder of all objects.
func (s *Server) Base() string { return s.URL + "/data/" }

// Current is an object as it is now. What a version has more, for a case whose
// versions grow, is spaces.
func (s *Server) Current(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes(name, s.version)
}

func (s *Server) bytes(name string, version int) []byte {
	return append(slices.Clip(s.content(name, version)), bytes.Repeat([]byte(" "), version*s.grow)...)
}

// Replace puts another version in the place of all objects.
func (s *Server) Replace(version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version = version
}

// replaceMeanwhile is Replace of a flaw, while it is on: an answer to a client that has gone may
// come to it when the server is well again.
func (s *Server) replaceMeanwhile(version int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flaw != nil {
		s.version = version
	}
}

// Set switches a flaw on, or with nil off.
func (s *Server) Set(f Flaw) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flaw, s.n = f, 0
}

// ServeHTTP answers 404 for what the server does not have, such as an index beside an
// object, without a flaw: flaws are those of reads that have something to read.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	if s.content(path.Base(r.URL.Path), s.version) == nil {
		s.mu.Unlock()
		http.NotFound(w, r)
		return
	}
	s.n++
	f, n := s.flaw, s.n
	s.mu.Unlock()
	if f == nil || !f(s, n, w, r) {
		s.Good(w, r)
	}
}

// Good answers as a server should.
func (s *Server) Good(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	v := s.version
	s.mu.Unlock()
	s.good(v, w, r)
}

// good answers with a version of the object.
func (s *Server) good(v int, w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	etag := s.tag(v)
	if etag != "" {
		w.Header().Set("ETag", etag)
	}
	if s.header != nil {
		for k, h := range s.header(name, etag) {
			w.Header()[k] = h
		}
	}
	date := time.Date(2026, 1, 1, v, 0, 0, 0, time.UTC)
	if s.noDate {
		date = time.Time{}
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", date, bytes.NewReader(s.bytes(name, v)))
}

// Bend lets f change a good answer before it goes out.
func (s *Server) Bend(w http.ResponseWriter, r *http.Request, f func(a *httptest.ResponseRecorder)) {
	a := httptest.NewRecorder()
	s.Good(a, r)
	f(a)
	for k, v := range a.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(a.Code)
	_, _ = w.Write(a.Body.Bytes())
}

// Cut sends the header and the first k bytes (from the end if negative, half
// with k = Half) and closes the connection.
func (s *Server) Cut(w http.ResponseWriter, r *http.Request, k int) {
	a := httptest.NewRecorder()
	s.Good(a, r)
	for key, v := range a.Header() {
		w.Header()[key] = v
	}
	b := a.Body.Bytes()
	switch {
	case k == Half:
		k = len(b) / 2
	case k < 0:
		k += len(b)
	}
	w.WriteHeader(a.Code)
	_, _ = w.Write(b[:min(k, len(b))])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// Half is the middle of a body, for Cut.
const Half = 1 << 30

// Page answers with an error page, and a header of names and values.
func Page(status int, kv ...string) Flaw {
	return func(_ *Server, _ int, w http.ResponseWriter, _ *http.Request) bool {
		for i := 0; i < len(kv); i += 2 {
			w.Header().Set(kv[i], kv[i+1])
		}
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>Code%d</Code><RequestId>R1</RequestId></Error>", status)
		return true
	}
}

// First has the flaw in the first k answers only.
func First(k int, f Flaw) Flaw {
	return func(s *Server, n int, w http.ResponseWriter, r *http.Request) bool { return n <= k && f(s, n, w, r) }
}

// Bent lets f change every answer.
func Bent(f func(a *httptest.ResponseRecorder)) Flaw {
	return func(s *Server, _ int, w http.ResponseWriter, r *http.Request) bool { s.Bend(w, r, f); return true }
}

// Behind lets f change every answer that does not begin with the object.
func Behind(f func(a *httptest.ResponseRecorder)) Flaw {
	return func(s *Server, _ int, w http.ResponseWriter, r *http.Request) bool {
		if strings.HasPrefix(r.Header.Get("Range"), "bytes=0-") {
			return false
		}
		s.Bend(w, r, f)
		return true
	}
}

// Shorter answers with the first k bytes of the range (counted as Cut does), and
// says so.
func Shorter(k int) Flaw {
	return Bent(func(a *httptest.ResponseRecorder) { shorten(a, k) })
}

func shorten(a *httptest.ResponseRecorder, k int) {
	n := a.Body.Len()
	switch {
	case k == Half:
		k = n / 2
	case k < 0:
		k += n
	}
	x, _, size := contentRange(a)
	a.Body.Truncate(max(k, 1))
	a.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", x, x+a.Body.Len()-1, size))
	a.Header().Set("Content-Length", strconv.Itoa(a.Body.Len()))
}

// squeeze replaces the bytes of an answer by other bytes, as many as before.
func squeeze(a *httptest.ResponseRecorder) {
	for p, i := a.Body.Bytes(), 0; i < len(p); i++ {
		p[i] ^= 0x5a
	}
}

func contentRange(a *httptest.ResponseRecorder) (from, to, size int) {
	if _, err := fmt.Sscanf(a.Header().Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &size); err != nil {
		panic(err)
	}
	return from, to, size
}

// CutAt cuts every answer; see Cut.
func CutAt(k int) Flaw {
	return func(s *Server, _ int, w http.ResponseWriter, r *http.Request) bool { s.Cut(w, r, k); return true }
}

// Hang never answers.
func Hang(_ *Server, _ int, _ http.ResponseWriter, r *http.Request) bool {
	<-r.Context().Done()
	return true
}

// Late gives the first request a good answer, after a time in which it is hedged. A request
// for the same bytes meanwhile, which is the hedge, gets f. All others are answered well.
func Late(f Flaw) Flaw {
	type asked struct {
		s           *Server
		path, bytes string
	}
	var waiting sync.Map
	return func(s *Server, n int, w http.ResponseWriter, r *http.Request) bool {
		a := asked{s, r.URL.Path, r.Header.Get("Range")}
		if n > 1 {
			_, same := waiting.Load(a)
			return same && f(s, n, w, r)
		}
		waiting.Store(a, true)
		defer waiting.Delete(a)
		select {
		case <-time.After(late):
		case <-r.Context().Done():
		}
		return false
	}
}

// late is longer than the second after which a reader that knows nothing of a server asks
// again, and has its answer.
const late = 1500 * time.Millisecond

// HangInBody sends a third and no more.
func HangInBody(s *Server, _ int, w http.ResponseWriter, r *http.Request) bool {
	a := httptest.NewRecorder()
	s.Good(a, r)
	for key, v := range a.Header() {
		w.Header()[key] = v
	}
	w.WriteHeader(a.Code)
	_, _ = w.Write(a.Body.Bytes()[:a.Body.Len()/3])
	w.(http.Flusher).Flush()
	<-r.Context().Done()
	return true
}

// Whole answers with everything, whatever was asked.
func Whole(s *Server, _ int, w http.ResponseWriter, r *http.Request) bool {
	r.Header.Del("Range")
	s.Good(w, r)
	return true
}

func isSuffix(r *http.Request) bool { return strings.HasPrefix(r.Header.Get("Range"), "bytes=-") }

// Unconditional ignores conditions, which is what some servers do.
func Unconditional(s *Server, _ int, w http.ResponseWriter, r *http.Request) bool {
	unconditional(r)
	s.Good(w, r)
	return true
}

func unconditional(r *http.Request) {
	r.Header.Del("If-Match")
	r.Header.Del("If-Unmodified-Since")
}
