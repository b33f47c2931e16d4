package s3store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farread/farread/internal/stack"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

const text = "0123456789abcdefghijklmnopqrstuvwxyz"

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

// fault is an error as S3 words it.
func fault(status int, code string, kv ...string) http.HandlerFunc {
	return says(status, "<Error><Code>"+code+"</Code><Message>m</Message><RequestId>R1</RequestId></Error>",
		append(kv, "Content-Type", "application/xml", "X-Amz-Request-Id", "R1")...)
}

var changed = time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)

func good(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("ETag", `"v1"`)
	http.ServeContent(w, r, "", changed, strings.NewReader(text))
}

func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// answers runs one handler for each request in turn, the last one for ever.
func answers(hs ...http.HandlerFunc) http.HandlerFunc {
	var mu sync.Mutex
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		i := n
		n++
		mu.Unlock()
		hs[min(i, len(hs)-1)](w, r)
	}
}

// fake is a bucket whose server is that handler: for what a real one never does.
func fake(t *testing.T, h http.Handler, c s3store.Config) *s3store.Bucket {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return open(t, &teststack.Stack{Process: &stack.Process{Endpoint: srv.URL, AccessKey: "AK", SecretKey: "SK"}}, c)
}

func TestGetFaults(t *testing.T) {
	middle := objstore.GetOptions{Range: objstore.Range{Off: 10, Len: 5}}
	start := objstore.GetOptions{Range: objstore.Range{Len: 5}}
	suffix := objstore.GetOptions{Range: objstore.Range{Off: -5}}
	pinned := objstore.GetOptions{Range: objstore.Range{Off: 10, Len: 5}, IfMatch: `"v0"`}
	empty := says(200, "", "Content-Length", "0", "ETag", `"e"`)
	part := says(206, text[10:15], "Content-Range", "bytes 10-14/36", "ETag", `"v1"`)
	for _, c := range []struct {
		name     string
		h        http.HandlerFunc
		o        objstore.GetOptions
		want     string
		err      error
		code     string
		requests int64 // 0: 1
		retries  int64
	}{
		{name: "good", h: good, o: middle, want: text[10:15]},
		{name: "200 for a range", h: says(200, text), o: middle, err: objstore.ErrBadRange},
		{name: "200 for a head", h: says(200, text), o: start, want: text[:5]},
		{name: "200 for a suffix", h: says(200, text), o: suffix, err: objstore.ErrBadRange},
		{name: "206 other range", h: says(206, text[11:16], "Content-Range", "bytes 11-15/36"), o: middle, err: objstore.ErrBadRange},
		{name: "206 without range", h: says(206, text[10:15]), o: middle, err: objstore.ErrBadRange},
		{name: "206 with less than it says", h: says(206, text[10:14], "Content-Range", "bytes 10-14/36"), o: middle, want: text[10:14], err: objstore.ErrUnavailable},
		{name: "206 of a part of the range", h: says(206, text[10:13], "Content-Range", "bytes 10-12/36"), o: middle, want: text[10:13], err: objstore.ErrUnavailable},
		{name: "206 with more than it says", h: says(206, text[10:15], "Content-Range", "bytes 10-12/36"), o: middle, err: objstore.ErrBadRange},
		{name: "206 of several ranges", h: says(206, "--b--", "Content-Range", "bytes 10-14/36", "Content-Type", "multipart/byteranges; boundary=b"), o: middle, err: objstore.ErrBadRange},
		{name: "If-Match ignored", h: part, o: pinned, err: objstore.ErrChanged},
		{name: "If-Match ignored, no ETag", h: says(206, text[10:15], "Content-Range", "bytes 10-14/36"), o: pinned, want: text[10:15]},
		{name: "changed since", h: good, o: objstore.GetOptions{IfUnmod: changed.Add(-time.Second)}, err: objstore.ErrChanged},
		{name: "not changed since", h: good, o: objstore.GetOptions{IfUnmod: changed}, want: text},
		{name: "412", h: fault(412, "PreconditionFailed"), o: pinned, err: objstore.ErrChanged, code: "PreconditionFailed"},
		{name: "403", h: fault(403, "AccessDenied"), o: middle, err: objstore.ErrDenied, code: "AccessDenied"},
		{name: "expired token", h: fault(400, "ExpiredToken"), o: middle, err: objstore.ErrDenied, code: "ExpiredToken"},
		{name: "404 of an access key", h: fault(404, "XAdminUserNotFound"), o: middle, err: objstore.ErrDenied, code: "XAdminUserNotFound"},
		{name: "400 of an access key", h: fault(400, "InvalidAccessKeyId"), o: middle, err: objstore.ErrDenied, code: "InvalidAccessKeyId"},
		{name: "404", h: fault(404, "NoSuchKey"), o: middle, err: objstore.ErrNotFound, code: "NoSuchKey"},
		{name: "no bucket", h: fault(404, "NoSuchBucket"), o: middle, err: objstore.ErrNotFound, code: "NoSuchBucket"},
		{name: "404 html", h: says(404, "<html>none</html>"), o: middle, err: objstore.ErrNotFound},
		{name: "405 of a delete marker", h: fault(405, "MethodNotAllowed"), o: middle, err: objstore.ErrNotFound, code: "MethodNotAllowed"},
		{name: "416", h: fault(416, "InvalidRange"), o: middle, err: objstore.ErrBadRange, code: "InvalidRange"},
		{name: "416 of an empty object", h: answers(fault(416, "InvalidRange"), empty), o: start, want: "", requests: 2},
		{name: "416 of an empty object, suffix", h: answers(fault(416, "InvalidRange"), empty), o: suffix, want: "", requests: 2},
		{name: "416 of an object with bytes", h: answers(fault(416, "InvalidRange"), good), o: start, err: objstore.ErrBadRange, requests: 2},
		{name: "416, then changed", h: answers(fault(416, "InvalidRange"), says(412, "")), o: objstore.GetOptions{IfMatch: `"v0"`}, err: objstore.ErrChanged, requests: 2},
		{name: "416, then denied", h: answers(fault(416, "InvalidRange"), says(403, "")), o: start, err: objstore.ErrBadRange, code: "InvalidRange", requests: 2},
		{name: "503 then good", h: answers(fault(503, "SlowDown"), fault(503, "SlowDown"), good), o: middle, want: text[10:15], requests: 3, retries: 2},
		{name: "429 then good", h: answers(says(429, ""), good), o: middle, want: text[10:15], requests: 2, retries: 1},
		{name: "500 three times", h: answers(fault(500, "InternalError"), says(502, ""), says(504, ""), good), o: middle, want: text[10:15], requests: 4, retries: 3},
		{name: "slow down for ever", h: fault(503, "SlowDown"), o: middle, err: objstore.ErrThrottled, code: "SlowDown", requests: 5, retries: 4},
		{name: "500 for ever", h: fault(500, "InternalError"), o: middle, err: objstore.ErrUnavailable, code: "InternalError", requests: 5, retries: 4},
		{name: "no answer, then good", h: answers(hangUp, hangUp, good), o: middle, want: text[10:15], requests: 3, retries: 2},
		{name: "never an answer", h: hangUp, o: middle, err: objstore.ErrUnavailable, requests: 5, retries: 4},
		{name: "gzip as stored", h: says(206, "\x1f\x8b\x08xx", "Content-Range", "bytes 0-4/36", "Content-Encoding", "gzip"), o: start, want: "\x1f\x8b\x08xx"},
		{name: "short body", o: middle, want: text[10:12], err: objstore.ErrUnavailable, h: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", "bytes 10-14/36")
			w.Header().Set("Content-Length", "5")
			w.WriteHeader(206)
			io.WriteString(w, text[10:12])
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}},
		{name: "longer body", o: middle, want: text[10:15], h: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", "bytes 10-14/36")
			w.WriteHeader(206)
			w.(http.Flusher).Flush()
			io.WriteString(w, text[10:])
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var n objstore.Counter
			b := fake(t, c.h, s3store.Config{Counter: &n})
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
			if errors.As(err, &e) && c.code != "" && (e.Code != c.code || e.RequestID != "R1" || e.Status == 0) {
				t.Errorf("%+v", e)
			}
			if s := n.Stats(); s.Requests != max(c.requests, 1) || s.Retries != c.retries {
				t.Errorf("%+v; want %d requests, %d retries", s, max(c.requests, 1), c.retries)
			}
		})
	}
}

// TestRegion: the bucket's region is learned from the first answer that names
// it, and kept.
func TestRegion(t *testing.T) {
	const header = "X-Amz-Bucket-Region"
	for name, c := range map[string]struct {
		refuse   func(http.ResponseWriter, *http.Request)
		requests int64 // until the first answer
	}{
		"301 with the region":      {fault(301, "PermanentRedirect", header, "eu-west-1"), 2},
		"403 with the region":      {fault(403, "AccessDenied", header, "eu-west-1"), 2},
		"400 with the region":      {fault(400, "AuthorizationHeaderMalformed", header, "eu-west-1"), 2},
		"400 in words":             {says(400, "<Error><Code>AuthorizationHeaderMalformed</Code><Message>the region 'us-east-1' is wrong; expecting 'eu-west-1'</Message></Error>"), 2},
		"301 without, HEAD tells":  {answersHead(fault(301, "PermanentRedirect"), says(301, "", header, "eu-west-1")), 3},
		"301 without, HEAD is 200": {answersHead(fault(301, "PermanentRedirect"), says(200, "", header, "eu-west-1")), 3},
	} {
		t.Run(name, func(t *testing.T) {
			var n objstore.Counter
			b := fake(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.Header.Get("Authorization"), "/eu-west-1/s3/") {
					good(w, r)
					return
				}
				c.refuse(w, r)
			}), s3store.Config{Counter: &n})
			for i := range int64(3) {
				info, err := b.Head(t.Context(), "k")
				if strings.HasPrefix(name, "301") || strings.HasPrefix(name, "400 in") { // HEAD has no body to read the code from
					var body io.ReadCloser
					if body, info, err = b.Get(t.Context(), "k", objstore.GetOptions{}); err == nil {
						body.Close()
					}
				}
				if err != nil || info.Size != int64(len(text)) {
					t.Fatalf("%+v, %v", info, err)
				}
				if strings.HasPrefix(name, "403") || strings.HasPrefix(name, "400 with") {
					if s := n.Stats(); s.Requests != c.requests+i {
						t.Errorf("call %d: %d requests, want %d", i, s.Requests, c.requests+i)
					}
				}
			}
		})
	}
	t.Run("no region anywhere", func(t *testing.T) {
		var n objstore.Counter
		b := fake(t, fault(301, "PermanentRedirect"), s3store.Config{Counter: &n})
		if _, err := b.Head(t.Context(), "k"); !errors.Is(err, objstore.ErrUnavailable) || !strings.Contains(err.Error(), "the endpoint redirects") {
			t.Errorf("got %v", err)
		}
	})
}

// answersHead answers HEAD of the bucket in its own way.
func answersHead(other, head http.HandlerFunc) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && strings.Count(r.URL.Path, "/") == 1 {
			head(w, r)
			return
		}
		other(w, r)
	}
}

func TestList(t *testing.T) {
	page := func(rest string) http.HandlerFunc {
		return says(200, `<ListBucketResult>`+rest+`</ListBucketResult>`, "Content-Type", "application/xml")
	}
	const one = `<EncodingType>url</EncodingType><Contents><Key>a%2Bb+c%01</Key><Size>3</Size></Contents>`
	for name, c := range map[string]struct {
		h    http.HandlerFunc
		keys int
		err  error
	}{
		"one page":        {page(one), 1, nil},
		"two pages":       {answers(page(one+`<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>`), page(one)), 2, nil},
		"no token":        {page(one + `<IsTruncated>true</IsTruncated>`), 1, objstore.ErrUnavailable},
		"the same token":  {page(one + `<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>`), 2, objstore.ErrUnavailable},
		"bad encoding":    {page(`<EncodingType>url</EncodingType><Contents><Key>%zz</Key></Contents>`), 0, objstore.ErrUnavailable},
		"denied":          {fault(403, "AccessDenied"), 0, objstore.ErrDenied},
		"second page 404": {answers(page(one+`<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>`), fault(404, "NoSuchBucket")), 1, objstore.ErrNotFound},
		"not XML":         {says(200, "hello"), 0, objstore.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			b := fake(t, c.h, s3store.Config{})
			n := 0
			var last error
			for info, err := range b.List(t.Context(), "") {
				if last = err; err != nil {
					continue
				}
				if n++; info.Key != "a+b c\x01" || info.Size != 3 {
					t.Errorf("%+v", info)
				}
			}
			if n != c.keys || !errors.Is(last, c.err) {
				t.Errorf("%d keys, %v; want %d, %v", n, last, c.keys, c.err)
			}
		})
	}
}

// TestNew: what the configuration can say, and where it looks else.
func TestNew(t *testing.T) {
	for name, c := range map[string]s3store.Config{
		"no bucket":         {},
		"slash in bucket":   {Bucket: "a/b"},
		"endpoint without":  {Bucket: "one", Endpoint: "127.0.0.1:9000"},
		"endpoint of ftp":   {Bucket: "one", Endpoint: "ftp://host"},
		"checksum mode":     {Bucket: "one", Checksum: "sometimes"},
		"half a key":        {Bucket: "one", AccessKey: "a"},
		"anonymous and key": {Bucket: "one", AccessKey: "a", SecretKey: "b", Anonymous: true},
		"unknown profile":   {Bucket: "one", Profile: "nobody"},
	} {
		if _, err := s3store.New(t.Context(), c); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}

	var seen *http.Request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { seen = r; good(w, r) }))
	defer srv.Close()
	look := func(t *testing.T, c s3store.Config) (*http.Request, error) {
		t.Helper()
		seen = nil
		c.Bucket = "one"
		b, err := s3store.New(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		defer b.CloseIdleConnections()
		_, err = b.Head(t.Context(), "a b/c+d")
		return seen, err
	}
	t.Run("environment", func(t *testing.T) {
		t.Setenv("AWS_ENDPOINT_URL", srv.URL)
		t.Setenv("AWS_ACCESS_KEY_ID", "ENVKEY")
		t.Setenv("AWS_SECRET_ACCESS_KEY", "x")
		t.Setenv("AWS_REGION", "eu-south-2")
		r, err := look(t, s3store.Config{})
		if err != nil || r.URL.EscapedPath() != "/one/a%20b/c%2Bd" || !strings.Contains(r.Header.Get("Authorization"), "ENVKEY/") ||
			!strings.Contains(r.Header.Get("Authorization"), "/eu-south-2/") {
			t.Errorf("%v, %+v", err, r)
		}
	})
	t.Run("an endpoint of the environment that is none", func(t *testing.T) {
		for _, endpoint := range []string{"127.0.0.1:9000", "localhost:9000", "ftp://host", "http://", "http://[::1"} {
			t.Setenv("AWS_ENDPOINT_URL", endpoint)
			if _, err := s3store.New(t.Context(), s3store.Config{Bucket: "one"}); !errors.Is(err, objstore.ErrInvalid) || !strings.Contains(err.Error(), fmt.Sprintf("endpoint %q", endpoint)) {
				t.Errorf("%s: %v", endpoint, err)
			}
			if r, err := look(t, s3store.Config{Endpoint: srv.URL, Anonymous: true}); err != nil { // another has the say
				t.Errorf("%s: %v, %+v", endpoint, err, r)
			}
		}
	})
	t.Run("region", func(t *testing.T) {
		t.Setenv("AWS_REGION", "eu-south-2")
		r, err := look(t, s3store.Config{Endpoint: srv.URL, AccessKey: "AK", SecretKey: "SK", Region: "ap-south-1"})
		if err != nil || !strings.Contains(r.Header.Get("Authorization"), "/ap-south-1/") {
			t.Errorf("%v, %+v", err, r)
		}
	})
	t.Run("a caller who has left", func(t *testing.T) {
		t.Setenv("AWS_DEFAULTS_MODE", "auto") // looks where it runs
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s3store.New(ctx, s3store.Config{Bucket: "one"}); !errors.Is(err, context.Canceled) || errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("longest key", func(t *testing.T) {
		b := fake(t, http.HandlerFunc(good), s3store.Config{})
		if _, err := b.Head(t.Context(), strings.Repeat("k", 1024)); err != nil {
			t.Error(err)
		}
	})
	t.Run("profile", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "config")
		conf := fmt.Sprintf("[profile lab]\nregion = ap-south-1\nendpoint_url = %s\naws_access_key_id = LABKEY\naws_secret_access_key = x\n", srv.URL)
		if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Setenv("AWS_CONFIG_FILE", file)
		r, err := look(t, s3store.Config{Profile: "lab"})
		if err != nil || !strings.Contains(r.Header.Get("Authorization"), "LABKEY/") || !strings.Contains(r.Header.Get("Authorization"), "/ap-south-1/") {
			t.Errorf("%v, %+v", err, r)
		}
	})
	t.Run("anonymous", func(t *testing.T) {
		r, err := look(t, s3store.Config{Endpoint: srv.URL, Anonymous: true})
		if err != nil || r.Header.Get("Authorization") != "" {
			t.Errorf("%v, %+v", err, r)
		}
	})
	t.Run("requester pays", func(t *testing.T) {
		r, err := look(t, s3store.Config{Endpoint: srv.URL, Anonymous: true, RequesterPays: true})
		if err != nil || r.Header.Get("X-Amz-Request-Payer") != "requester" {
			t.Errorf("%v, %+v", err, r)
		}
	})
	t.Run("no credentials", func(t *testing.T) {
		r, err := look(t, s3store.Config{Endpoint: srv.URL})
		if !errors.Is(err, objstore.ErrDenied) || r != nil || !strings.Contains(err.Error(), "AWS_PROFILE") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v", err)
		}
	})
}

// TestCancel: a caller who leaves gets the error of the context, at whatever point the
// request is.
func TestCancel(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"no answer":       func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"between retries": fault(503, "SlowDown"),
		"in the body": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "36")
			io.WriteString(w, text[:3])
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var once sync.Once
			b := fake(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				once.Do(func() { go cancel() })
				h(w, r)
			}), s3store.Config{Attempts: 1000})
			body, _, err := b.Get(ctx, "k", objstore.GetOptions{})
			if err == nil {
				_, err = io.ReadAll(body)
				body.Close()
			}
			if !errors.Is(err, context.Canceled) || errors.Is(err, objstore.ErrUnavailable) {
				t.Errorf("got %v", err)
			}
			if _, err := b.Create(ctx, "k", objstore.PutOptions{}); !errors.Is(err, context.Canceled) {
				t.Errorf("create: %v", err)
			}
		})
	}
}
