package httpstore_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
	"github.com/farread/farread/objstore/objstoretest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var modified = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

// files serves objects below /data/ as Go's own file server would.
func files(objects map[string][]byte, etag bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := objects[strings.TrimPrefix(r.URL.Path, "/data/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if etag {
			w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprintf("%x", sha256.Sum256(data))))
		}
		http.ServeContent(w, r, "", modified, bytes.NewReader(data))
	})
}

// serve opens a bucket on a server with that handler.
func serve(t *testing.T, h http.Handler, c httpstore.Config) *httpstore.Bucket {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	c.Base = srv.URL + "/data" + c.Base
	if c.MinWait == 0 {
		c.MinWait, c.MaxWait = time.Microsecond, time.Millisecond
	}
	b, err := httpstore.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.CloseIdleConnections)
	return b
}

func TestConformance(t *testing.T) {
	for _, etag := range []bool{true, false} {
		t.Run(fmt.Sprintf("etag=%v", etag), func(t *testing.T) {
			open := func(t *testing.T, objects map[string][]byte) objstore.Bucket {
				t.Helper()
				return serve(t, files(objects, etag), httpstore.Config{})
			}
			objstoretest.RunRead(t, open, objstoretest.Features{NoETag: !etag, NoList: true, BadKeys: []string{".", "..", "a/../b", "../x"}})
		})
	}
}

func TestReadOnly(t *testing.T) {
	b, err := httpstore.New(httpstore.Config{Base: "http://127.0.0.1:1/data"})
	if err != nil {
		t.Fatal(err)
	}
	_, errCreate := b.Create(t.Context(), "k", objstore.PutOptions{})
	var errList error
	for _, err := range b.List(t.Context(), "") {
		errList = err
	}
	for call, err := range map[string]error{"create": errCreate, "delete": b.Delete(t.Context(), "k"), "list": errList} {
		if !errors.Is(err, objstore.ErrInvalid) || !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, base := range []string{"", "data", "ftp://host/x", "http://", "/data", "http://[::1/x", "file:///x"} {
		if _, err := httpstore.New(httpstore.Config{Base: base}); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("base %q: %v", base, err)
		}
	}
}

// TestSplit: the URL that a key is read from is the one that was split.
func TestSplit(t *testing.T) {
	for _, c := range []struct{ url, base, key string }{
		{"https://h/a/b.bin", "https://h/a/", "b.bin"},
		{"https://h/b.bin", "https://h/", "b.bin"},
		{"http://u:p@h:81/a%20b/c%2Bd%25?X-Sig=a%2Fb&x=1", "http://u:p@h:81/a%20b/?X-Sig=a%2Fb&x=1", "c+d%"},
		{"https://h/x%2Fy/z", "https://h/x%2Fy/", "z"},
		{"https://h/é/ü", "https://h/%C3%A9/", "ü"},
	} {
		base, key, err := httpstore.Split(c.url)
		if err != nil || base != c.base || key != c.key {
			t.Errorf("%s: %q %q %v, want %q %q", c.url, base, key, err, c.base, c.key)
			continue
		}
		seen := make(chan *url.URL, 1)
		b, err := httpstore.New(httpstore.Config{Base: base, Retries: -1, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			seen <- r.URL
			return nil, errors.New("seen")
		})})
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = b.Get(t.Context(), key, objstore.GetOptions{})
		if !errors.Is(err, objstore.ErrUnavailable) {
			t.Errorf("%s: %v", c.url, err)
		}
		if strings.Contains(err.Error(), "Sig") || strings.Contains(b.Name(), "u:p") {
			t.Errorf("%s shows its secrets: %v", b.Name(), err)
		}
		want, err := url.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got.Path != want.Path || got.RawQuery != want.RawQuery || got.Host != want.Host {
			t.Errorf("%s is read from %s", c.url, got)
		}
	}
	for _, bad := range []string{"https://h", "https://h/", "https://h/a/", "https://h/a%2Fb", "https://h/%zz", "\x00"} {
		if _, _, err := httpstore.Split(bad); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const data = "0123456789abcdefghijklmnopqrstuvwxyz"

// answers runs one handler for each request in turn, the last one for ever.
func answers(hs ...http.HandlerFunc) http.Handler {
	n := make(chan int, 1)
	n <- 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i := <-n
		n <- i + 1
		hs[min(i, len(hs)-1)](w, r)
	})
}

func good(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"v1"`)
	http.ServeContent(w, r, "", modified, strings.NewReader(data))
}

// says answers with a status, headers and a body.
func says(status int, body string, kv ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(kv); i += 2 {
			w.Header().Set(kv[i], kv[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

const denied = `<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>no</Message><RequestId>R1</RequestId></Error>`

func TestGetFaults(t *testing.T) {
	middle := objstore.Range{Off: 10, Len: 5}
	start := objstore.Range{Off: 0, Len: 5}
	suffix := objstore.Range{Off: -5}
	for _, c := range []struct {
		name     string
		h        http.Handler
		o        objstore.GetOptions
		want     string
		err      error
		code     string
		requests int64 // 0: 1
		retries  int64
	}{
		{name: "good", h: answers(good), o: objstore.GetOptions{Range: middle}, want: data[10:15]},
		{name: "403 xml", h: says(403, denied), o: objstore.GetOptions{Range: middle}, err: objstore.ErrDenied, code: "AccessDenied"},
		{name: "404 xml", h: says(404, strings.Replace(denied, "AccessDenied", "NoSuchKey", 1)), o: objstore.GetOptions{Range: start}, err: objstore.ErrNotFound, code: "NoSuchKey"},
		{name: "404 html", h: says(404, "<html><p>none"), o: objstore.GetOptions{}, err: objstore.ErrNotFound},
		{name: "410", h: says(410, ""), o: objstore.GetOptions{}, err: objstore.ErrNotFound},
		{name: "200 for a range", h: says(200, data), o: objstore.GetOptions{Range: middle}, err: objstore.ErrBadRange},
		{name: "200 for a head", h: says(200, data), o: objstore.GetOptions{Range: start}, want: data[:5]},
		{name: "200 for a suffix", h: says(200, data), o: objstore.GetOptions{Range: suffix}, err: objstore.ErrBadRange},
		{name: "206 other range", h: says(206, data[11:16], "Content-Range", "bytes 11-15/36"), o: objstore.GetOptions{Range: middle}, err: objstore.ErrBadRange},
		{name: "206 no range", h: says(206, data[10:15]), o: objstore.GetOptions{Range: middle}, err: objstore.ErrBadRange},
		{name: "206 with less than it says", h: says(206, data[10:14], "Content-Range", "bytes 10-14/36"), o: objstore.GetOptions{Range: middle}, want: data[10:14], err: objstore.ErrUnavailable},
		{name: "206 of a part of the range", h: says(206, data[10:13], "Content-Range", "bytes 10-12/36"), o: objstore.GetOptions{Range: middle}, want: data[10:13], err: objstore.ErrUnavailable},
		{name: "206 with more than it says", h: says(206, data[10:15], "Content-Range", "bytes 10-12/36"), o: objstore.GetOptions{Range: middle}, err: objstore.ErrBadRange},
		{name: "206 with more than was asked", h: says(206, data[10:16], "Content-Range", "bytes 10-15/36"), o: objstore.GetOptions{Range: middle}, err: objstore.ErrBadRange},
		{name: "206 of several ranges", h: says(206, "--b--", "Content-Range", "bytes 10-14/36", "Content-Type", "multipart/byteranges; boundary=b"), o: objstore.GetOptions{Range: middle}, err: objstore.ErrBadRange},
		{name: "206 size unknown", h: says(206, data[10:15], "Content-Range", "bytes 10-14/*"), o: objstore.GetOptions{Range: middle}, err: objstore.ErrBadRange},
		{name: "412", h: says(412, ""), o: objstore.GetOptions{Range: middle, IfMatch: `"v0"`}, err: objstore.ErrChanged},
		{name: "If-Match ignored", h: says(206, data[10:15], "Content-Range", "bytes 10-14/36", "ETag", `"v1"`), o: objstore.GetOptions{Range: middle, IfMatch: `"v0"`}, err: objstore.ErrChanged},
		{name: "If-Match kept", h: answers(good), o: objstore.GetOptions{Range: middle, IfMatch: `"v1"`}, want: data[10:15]},
		{name: "If-Unmodified-Since", h: answers(good), o: objstore.GetOptions{Range: middle, IfUnmod: modified.Add(-time.Second)}, err: objstore.ErrChanged},
		{name: "unmodified", h: answers(good), o: objstore.GetOptions{Range: middle, IfUnmod: modified}, want: data[10:15]},
		{name: "416", h: says(416, "", "Content-Range", "bytes */36"), o: objstore.GetOptions{Range: objstore.Range{Off: 99}}, err: objstore.ErrBadRange},
		{name: "416 of an empty object", h: says(416, "", "Content-Range", "bytes */0", "ETag", `"e"`), o: objstore.GetOptions{Range: start}, want: ""},
		{name: "416 of an empty object, suffix", h: says(416, "", "Content-Range", "bytes */0", "ETag", `"e"`), o: objstore.GetOptions{Range: suffix}, want: ""},
		{name: "416 without more", h: answers(says(416, ""), says(200, "", "ETag", `"e"`, "Content-Length", "0")), o: objstore.GetOptions{Range: start}, want: "", requests: 2},
		{name: "416 of an object with bytes", h: answers(says(416, ""), good), o: objstore.GetOptions{Range: start}, err: objstore.ErrBadRange, requests: 2},
		{name: "429 then good", h: answers(says(429, "", "Retry-After", "1"), good), o: objstore.GetOptions{Range: middle}, want: data[10:15], requests: 2, retries: 1},
		{name: "503 then good", h: answers(says(503, "slow", "Retry-After", "100000"), good), o: objstore.GetOptions{Range: middle}, want: data[10:15], requests: 2, retries: 1},
		{name: "503 for ever", h: says(503, "slow"), o: objstore.GetOptions{Range: middle}, err: objstore.ErrThrottled, requests: 5, retries: 4},
		{name: "429 for ever", h: says(429, "slow"), o: objstore.GetOptions{Range: middle}, err: objstore.ErrThrottled, requests: 5, retries: 4},
		{name: "500 three times", h: answers(says(500, "a"), says(502, "b"), says(504, "c"), good), o: objstore.GetOptions{Range: middle}, want: data[10:15], requests: 4, retries: 3},
		{name: "500 for ever", h: says(500, "a"), o: objstore.GetOptions{Range: middle}, err: objstore.ErrUnavailable, requests: 5, retries: 4},
		{name: "no answer, then good", h: answers(hangUp, hangUp, good), o: objstore.GetOptions{Range: middle}, want: data[10:15], requests: 3, retries: 2},
		{name: "never an answer", h: answers(hangUp), o: objstore.GetOptions{Range: middle}, err: objstore.ErrUnavailable, requests: 5, retries: 4},
		{name: "redirect", h: answers(says(302, "", "Location", "/data/elsewhere"), good), o: objstore.GetOptions{Range: middle}, want: data[10:15], requests: 2},
		{name: "redirects for ever", h: says(302, "", "Location", "/data/k"), o: objstore.GetOptions{Range: middle}, err: objstore.ErrUnavailable, requests: 10},
		{name: "204", h: says(204, ""), o: objstore.GetOptions{Range: middle}, err: objstore.ErrInvalid},
		{name: "400", h: says(400, "what?"), o: objstore.GetOptions{Range: middle}, err: objstore.ErrInvalid},
		{name: "gzip as stored", h: says(206, "\x1f\x8b\x08xx", "Content-Range", "bytes 0-4/36", "Content-Encoding", "gzip"), o: objstore.GetOptions{Range: start}, want: "\x1f\x8b\x08xx"},
		{name: "short body", h: answers(short), o: objstore.GetOptions{Range: middle}, want: data[10:12], err: objstore.ErrUnavailable},
		{name: "longer body", h: answers(long), o: objstore.GetOptions{Range: middle}, want: data[10:15]},
		{name: "a version", h: answers(good), o: objstore.GetOptions{VersionID: "3"}, err: objstore.ErrInvalid, requests: -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n objstore.Counter
			b := serve(t, c.h, httpstore.Config{Counter: &n})
			body, _, err := b.Get(t.Context(), "k", c.o)
			var got []byte
			if err == nil {
				got, err = io.ReadAll(body)
				body.Close()
			}
			if string(got) != c.want || !errors.Is(err, c.err) {
				t.Errorf("%q, %v; want %q, %v", got, err, c.want, c.err)
			}
			var e *objstore.Error
			if errors.As(err, &e) && c.code != "" && (e.Code != c.code || e.RequestID != "R1") {
				t.Errorf("%+v", e)
			}
			want := max(c.requests, 0)
			if c.requests == 0 {
				want = 1
			}
			if s := n.Stats(); s.Requests != want || s.Retries != c.retries {
				t.Errorf("%+v; want %d requests, %d retries", s, want, c.retries)
			}
		})
	}
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func short(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Range", "bytes 10-14/36")
	w.Header().Set("Content-Length", "5")
	w.WriteHeader(206)
	io.WriteString(w, data[10:12])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// long sends more than the range says, in chunks, so that no length forbids it.
func long(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Range", "bytes 10-14/36")
	w.WriteHeader(206)
	w.(http.Flusher).Flush()
	io.WriteString(w, data[10:])
}

func TestHeadFallsBack(t *testing.T) {
	for _, status := range []int{403, 405, 501} {
		var n objstore.Counter
		b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodHead || r.URL.RawQuery != "X-Amz-Signature=abc%2F" {
				w.WriteHeader(status)
				return
			}
			w.Header().Set("X-Amz-Meta-Label", "cat")
			good(w, r)
		}), httpstore.Config{Base: "?X-Amz-Signature=abc%2F", Counter: &n})
		info, err := b.Head(t.Context(), "k")
		if err != nil || info.Size != int64(len(data)) || info.ETag != `"v1"` || info.Meta["label"] != "cat" {
			t.Errorf("%d: %+v, %v", status, info, err)
		}
		if s := n.Stats(); s.Requests != 2 {
			t.Errorf("%d: %+v", status, s)
		}
	}
}

func TestHeader(t *testing.T) {
	b := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer x" || r.Header.Get("Accept-Encoding") != "identity" {
			w.WriteHeader(401)
			return
		}
		good(w, r)
	}), httpstore.Config{Header: http.Header{"Authorization": {"Bearer x"}}})
	if _, err := b.Head(t.Context(), "k"); err != nil {
		t.Error(err)
	}
}

// TestCancel: a caller who leaves gets the error of the context at once, at whatever
// point the request is.
func TestCancel(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"no answer":       func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"between retries": says(503, "", "Retry-After", "3600"),
		"in the body": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "36")
			io.WriteString(w, data[:3])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
		"in an error's body": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(404)
			io.WriteString(w, "<Error>")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			came := make(chan struct{})
			b := serve(t, answers(func(w http.ResponseWriter, r *http.Request) { close(came); h(w, r) }, h),
				httpstore.Config{MinWait: time.Hour, MaxWait: time.Hour})
			go func() { <-came; cancel() }()
			body, _, err := b.Get(ctx, "k", objstore.GetOptions{})
			if err == nil {
				_, err = io.ReadAll(body)
				body.Close()
			}
			if !errors.Is(err, context.Canceled) || errors.Is(err, objstore.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
		})
	}
}
