package s3store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// tamper passes requests on to the real server and bends what f says.
type tamper struct {
	http.Transport
	f func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)
}

// RoundTrip lets parts and requests for an upload finish, even if the caller leaves.
// TestPartCutOff covers a request that is cut off; on a busy machine any request could
// be.
func (t *tamper) RoundTrip(r *http.Request) (*http.Response, error) {
	return t.f(r, func() (*http.Response, error) {
		if q := r.URL.Query(); r.Context().Err() == nil && (q.Has("partNumber") || q.Has("uploads")) {
			return t.Transport.RoundTrip(r.WithContext(context.WithoutCancel(r.Context())))
		}
		return t.Transport.RoundTrip(r)
	})
}

// publishes says whether a request is the one that makes an object visible.
func publishes(r *http.Request) bool {
	q := r.URL.Query()
	return r.Method == http.MethodPut && !q.Has("partNumber") || r.Method == http.MethodPost && q.Has("uploadId")
}

var errLost = errors.New("connection lost")

// drop sends the request and loses the answer.
func drop(send func() (*http.Response, error)) (*http.Response, error) {
	resp, err := send()
	if err != nil {
		return nil, err
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return nil, errLost
}

func answer(r *http.Request, status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/xml"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body))}
}

// TestLostAnswers: whatever happens to the answers, Commit tells the truth:
// without an error the object is there, with one it is not, or is another's.
func TestLostAnswers(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"one"}})
	plain := open(t, s, s3store.Config{})
	const small, large = 1000, 14 << 20
	type try = func(n int, r *http.Request, send func() (*http.Response, error)) (*http.Response, error)
	first := func(n int, _ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if n == 1 {
			return drop(send)
		}
		return send()
	}
	for _, c := range []struct {
		name   string
		size   int
		before string // what is there already
		o      objstore.PutOptions
		try    try
		err    error
	}{
		{"put, lost once", small, "", objstore.PutOptions{}, first, nil},
		{"put if absent, lost once", small, "", objstore.PutOptions{IfAbsent: true, Meta: map[string]string{"a": "b"}, ContentType: "image/x"}, first, nil},
		{"put if match, lost once", small, "old", objstore.PutOptions{IfMatch: "old"}, first, nil},
		{"upload, lost once", large, "", objstore.PutOptions{}, first, nil},
		{"upload if absent, lost once", large, "", objstore.PutOptions{IfAbsent: true}, first, nil},
		{"upload if match, lost once", large, "old", objstore.PutOptions{IfMatch: "old"}, first, nil},
		{"upload, then the upload is unknown", large, "", objstore.PutOptions{IfAbsent: true},
			func(n int, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				if n == 1 {
					return drop(send)
				}
				return answer(r, 404, "<Error><Code>NoSuchUpload</Code></Error>"), nil
			}, nil},
		{"put, lost every time", small, "", objstore.PutOptions{},
			func(_ int, _ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				return drop(send)
			}, nil},
		{"upload, lost every time", large, "", objstore.PutOptions{},
			func(_ int, _ *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				return drop(send)
			}, nil},
		{"put, never sent", small, "", objstore.PutOptions{},
			func(int, *http.Request, func() (*http.Response, error)) (*http.Response, error) { return nil, errLost }, objstore.ErrUnavailable},
		{"upload, never sent", large, "", objstore.PutOptions{},
			func(int, *http.Request, func() (*http.Response, error)) (*http.Response, error) { return nil, errLost }, objstore.ErrUnavailable},
		{"upload, never sent, another there", large, "old", objstore.PutOptions{},
			func(int, *http.Request, func() (*http.Response, error)) (*http.Response, error) { return nil, errLost }, objstore.ErrUnavailable},
		{"if absent, hung up, another there", small, "old", objstore.PutOptions{IfAbsent: true},
			func(int, *http.Request, func() (*http.Response, error)) (*http.Response, error) { return nil, errLost }, objstore.ErrExists},
		{"if match, hung up, another there", small, "old", objstore.PutOptions{IfMatch: `"x"`},
			func(int, *http.Request, func() (*http.Response, error)) (*http.Response, error) { return nil, errLost }, objstore.ErrChanged},
		{"conflict", small, "", objstore.PutOptions{IfAbsent: true},
			func(_ int, r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
				return answer(r, 409, "<Error><Code>ConditionalRequestConflict</Code></Error>"), nil
			}, objstore.ErrExists},
		{"if match, and gone", small, "", objstore.PutOptions{IfMatch: `"x"`},
			func(_ int, r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
				return answer(r, 404, "<Error><Code>NoSuchKey</Code></Error>"), nil
			}, objstore.ErrChanged},
		{"if match, denied", small, "old", objstore.PutOptions{IfMatch: "old"},
			func(_ int, r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
				return answer(r, 403, "<Error><Code>AccessDenied</Code></Error>"), nil
			}, objstore.ErrDenied},
		{"if match, no bucket", small, "old", objstore.PutOptions{IfMatch: "old"},
			func(_ int, r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
				return answer(r, 404, "<Error><Code>NoSuchBucket</Code></Error>"), nil
			}, objstore.ErrNotFound},
		{"upload if match, the upload is unknown", large, "old", objstore.PutOptions{IfMatch: "old"},
			func(_ int, r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
				return answer(r, 404, "<Error><Code>NoSuchUpload</Code></Error>"), nil
			}, objstore.ErrUnavailable},
		{"error in a 200", large, "", objstore.PutOptions{},
			func(_ int, r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
				return answer(r, 200, "<Error><Code>InternalError</Code></Error>"), nil
			}, objstore.ErrUnavailable},
		{"lost once, then another one was faster", small, "", objstore.PutOptions{IfAbsent: true},
			func(n int, r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				if n == 1 {
					if _, err := objstore.Put(r.Context(), plain, "k", strings.NewReader("faster"), objstore.PutOptions{}); err != nil {
						t.Error(err)
					}
					return nil, errLost
				}
				return send()
			}, objstore.ErrExists},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := plain.Delete(t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
			if c.before != "" {
				info, err := objstore.Put(t.Context(), plain, "k", strings.NewReader(c.before), objstore.PutOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if c.o.IfMatch == "old" {
					c.o.IfMatch = info.ETag
				}
			}
			n := 0
			tr := &tamper{}
			tr.f = func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				if !publishes(r) {
					return send()
				}
				n++
				return c.try(n, r, send)
			}
			defer tr.CloseIdleConnections()
			b := open(t, s, s3store.Config{Transport: tr})
			data := bytes.Repeat([]byte{7, 8, 9, 1}, c.size/4)
			info, err := objstore.Put(t.Context(), b, "k", bytes.NewReader(data), c.o)
			if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
				t.Fatalf("got %v, want %v", err, c.err)
			}
			there, herr := plain.Head(t.Context(), "k")
			if err == nil && (herr != nil || there.ETag != info.ETag || there.Size != int64(c.size)) {
				t.Errorf("commit says %+v, there is %+v, %v", info, there, herr)
			}
			if err != nil && herr == nil && there.Size == int64(c.size) {
				t.Errorf("published in spite of %v", err)
			}
			if n := uploads(t, s); n > 0 {
				t.Errorf("%d uploads are left over", n)
			}
		})
	}
}

// TestPartsFail: a part that fails ends the upload, and nothing is left.
func TestPartsFail(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"one"}})
	for name, c := range map[string]struct {
		status int
		part   string
		err    error
	}{
		"part 2 denied":           {403, "2", objstore.ErrDenied},
		"part 3 denied":           {403, "3", objstore.ErrDenied},
		"part 4 never gets there": {500, "4", objstore.ErrUnavailable},
		"the head":                {500, "1", objstore.ErrUnavailable},
		"create":                  {503, "", objstore.ErrThrottled},
	} {
		t.Run(name, func(t *testing.T) {
			looks := 0
			tr := &tamper{}
			tr.f = func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
				q := r.URL.Query()
				if r.Method == http.MethodHead {
					looks++
				}
				if c.part != "" && q.Get("partNumber") == c.part || c.part == "" && q.Has("uploads") {
					if r.Body != nil {
						io.Copy(io.Discard, r.Body)
						r.Body.Close()
					}
					return answer(r, c.status, ""), nil
				}
				return send()
			}
			defer tr.CloseIdleConnections()
			b := open(t, s, s3store.Config{Transport: tr})
			_, err := objstore.Put(t.Context(), b, "k", io.LimitReader(zeros{}, 64<<20), objstore.PutOptions{})
			if !errors.Is(err, c.err) || looks > 0 { // there is no doubt that it is not published
				t.Errorf("got %v, want %v; %d looks", err, c.err, looks)
			}
			if _, err := b.Head(t.Context(), "k"); !errors.Is(err, objstore.ErrNotFound) {
				t.Errorf("head: %v", err)
			}
			if n := uploads(t, s); n > 0 {
				t.Errorf("%d uploads are left over", n)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestCancelledUpload: the end of the context that was given to Create drops
// the upload, without any further call, at whichever request it comes.
func TestCancelledUpload(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"one"}})
	for at := range int64(6) { // create, parts 2 to 4, head, complete
		ctx, cancel := context.WithCancel(t.Context())
		var n, parts atomic.Int64
		aborted := make(chan struct{}, 1)
		tr := &tamper{}
		tr.f = func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			if r.Method == http.MethodDelete {
				resp, err := send()
				select {
				case aborted <- struct{}{}:
				default:
				}
				return resp, err
			}
			if n.Add(1)-1 == at {
				cancel()
			}
			if r.URL.Query().Has("partNumber") {
				parts.Add(1)
			}
			return send()
		}
		b := open(t, s, s3store.Config{Transport: tr})
		w, err := b.Create(ctx, "k", objstore.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(w, io.LimitReader(zeros{}, 22<<20))
		if err == nil {
			_, err = w.Commit(t.Context())
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at request %d: %v", at, err)
		}
		if at > 0 {
			<-aborted // nobody called Abort
		}
		w.Abort()
		if at == 0 && parts.Load() > 0 {
			t.Errorf("%d parts were sent to an upload that nobody waits for", parts.Load())
		}
		if _, err := b.Head(t.Context(), "k"); !errors.Is(err, objstore.ErrNotFound) && at < 5 {
			t.Errorf("cancelled at request %d: head: %v", at, err)
		}
		if n := uploads(t, s); n > 0 && at < 5 { // the store may be joining the parts just now
			t.Errorf("cancelled at request %d: %d uploads are left over", at, n)
		}
		cancel()
		tr.CloseIdleConnections()
	}
}

// TestNoUpload: an answer that names no upload is none, and no part is sent to it.
func TestNoUpload(t *testing.T) {
	for _, text := range []string{"", "<html></html>", "<InitiateMultipartUploadResult><UploadId></UploadId></InitiateMultipartUploadResult>"} {
		var n objstore.Counter
		b := fake(t, says(200, text, "Content-Type", "application/xml"), s3store.Config{Counter: &n})
		err := put(30<<20)(t.Context(), b)
		if s := n.Stats(); !errors.Is(err, objstore.ErrUnavailable) || s.Requests-s.Retries != 1 {
			t.Errorf("%q: %v, %+v", text, err, s)
		}
	}
}

// TestPartCutOff: a part that does not end by itself is cut off when the upload is
// dropped, and when the store has taken it all the same, and so has the upload again,
// that is dropped again.
func TestPartCutOff(t *testing.T) {
	var aborts, looks atomic.Int64
	sending := make(chan struct{}, 2)
	b := fake(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		switch {
		case q.Has("uploads"):
			says(200, "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>")(w, r)
		case q.Has("partNumber"):
			io.Copy(io.Discard, r.Body)
			sending <- struct{}{}
			<-r.Context().Done()
		case r.Method == http.MethodDelete:
			aborts.Add(1)
			w.WriteHeader(http.StatusNoContent)
		case looks.Add(1) == 1:
			says(200, "<ListPartsResult><UploadId>u</UploadId></ListPartsResult>")(w, r)
		default:
			fault(404, "NoSuchUpload")(w, r)
		}
	}), s3store.Config{})
	ctx, cancel := context.WithCancel(t.Context())
	w, err := b.Create(ctx, "k", objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, io.LimitReader(zeros{}, 14<<20)); err != nil {
		t.Fatal(err)
	}
	<-sending
	cancel()
	w.Abort()
	if _, err := w.Write([]byte("x")); !errors.Is(err, context.Canceled) || aborts.Load() != 2 || looks.Load() != 2 {
		t.Errorf("%v; %d aborts, %d looks", err, aborts.Load(), looks.Load())
	}
}

// TestIdleUpload: an upload that is cancelled between two calls goes by itself.
func TestIdleUpload(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"one"}})
	var log []string
	done := make(chan struct{})
	tr := &tamper{}
	tr.f = func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		resp, err := send()
		if r.Method == http.MethodDelete {
			if log = append(log, r.Method); len(log) == 1 {
				close(done)
			}
		}
		return resp, err
	}
	defer tr.CloseIdleConnections()
	b := open(t, s, s3store.Config{Transport: tr})
	ctx, cancel := context.WithCancel(t.Context())
	w, err := b.Create(ctx, "k", objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, io.LimitReader(zeros{}, 30<<20)); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-done
	w.Abort()
	if !slices.Equal(log, []string{http.MethodDelete}) || uploads(t, s) > 0 {
		t.Errorf("%q, %d uploads are left over", log, uploads(t, s))
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v", err)
	}
}
