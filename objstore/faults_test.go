package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
	"github.com/farread/farread/rangeio"
)

// matrix is every flaw with what must come of it: the right bytes (nil), or an
// error of that kind.
var matrix = []struct {
	name       string
	set        func(s *flawed) // before Open, for good
	flaw       flaw
	replaced   bool  // by version 1 while the flaw is on
	open, read error // of Open, of ReadAt and ReadRanges
	stall      time.Duration
}{
	{name: "403 with XML", flaw: page(403), open: objstore.ErrDenied, read: objstore.ErrDenied},
	{name: "404 with XML", flaw: page(404), open: objstore.ErrNotFound, read: objstore.ErrNotFound},
	{name: "400", flaw: page(400), open: objstore.ErrInvalid, read: objstore.ErrInvalid},
	{name: "412", flaw: page(412), open: objstore.ErrChanged, read: objstore.ErrChanged},
	{name: "416", flaw: page(416), open: objstore.ErrBadRange, read: objstore.ErrBadRange},
	{name: "an error page that says 200", flaw: func(s *flawed, n int, w http.ResponseWriter, r *http.Request) bool {
		return !strings.HasPrefix(r.Header.Get("Range"), "bytes=0-") && page(200)(s, n, w, r)
	}, open: objstore.ErrChanged, read: objstore.ErrBadRange}, // the tail seems to be of a shorter object
	{name: "200 with the whole object", flaw: whole, open: objstore.ErrBadRange, read: objstore.ErrBadRange},
	{name: "suffix ranges ignored", flaw: func(s *flawed, n int, w http.ResponseWriter, r *http.Request) bool {
		return isSuffix(r) && whole(s, n, w, r)
	}},
	{name: "suffix ranges refused", flaw: func(s *flawed, n int, w http.ResponseWriter, r *http.Request) bool {
		return isSuffix(r) && page(416)(s, n, w, r)
	}},
	{name: "206 with another range", flaw: bent(func(a *httptest.ResponseRecorder) {
		x, y, size := contentRange(a)
		a.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", x+1, y+1, size+1))
	}), open: objstore.ErrBadRange, read: objstore.ErrBadRange},
	{name: "206 with a shorter range", flaw: bent(func(a *httptest.ResponseRecorder) {
		x, y, size := contentRange(a)
		a.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", x, y-1, size))
		a.Header().Set("Content-Length", strconv.Itoa(a.Body.Len()-1))
		a.Body.Truncate(a.Body.Len() - 1)
	}), open: objstore.ErrBadRange, read: objstore.ErrBadRange},
	{name: "no Content-Range", flaw: bent(func(a *httptest.ResponseRecorder) { a.Header().Del("Content-Range") }), open: objstore.ErrBadRange, read: objstore.ErrBadRange},
	{name: "Content-Range with another size", flaw: bent(func(a *httptest.ResponseRecorder) {
		a.Header().Set("Content-Range", strings.Replace(a.Header().Get("Content-Range"), "/", "/1", 1))
	}), open: objstore.ErrBadRange, read: objstore.ErrChanged},
	{name: "Content-Range of no size", flaw: bent(func(a *httptest.ResponseRecorder) {
		a.Header().Set("Content-Range", "bytes 0-10/*")
	}), open: objstore.ErrBadRange, read: objstore.ErrBadRange},
	{name: "Content-Range of garbage", flaw: bent(func(a *httptest.ResponseRecorder) {
		a.Header().Set("Content-Range", "bytes 99999999999999999999-1/-5")
	}), open: objstore.ErrBadRange, read: objstore.ErrBadRange},
	{name: "less announced than asked", flaw: bent(func(a *httptest.ResponseRecorder) {
		a.Header().Set("Content-Length", strconv.Itoa(a.Body.Len()-1))
		a.Body.Truncate(a.Body.Len() - 1)
	}), open: objstore.ErrBadRange, read: objstore.ErrBadRange},
	{name: "cut at once, once", flaw: first(1, cutAt(0))},
	{name: "cut after 1 byte, once", flaw: first(1, cutAt(1))},
	{name: "cut in the middle, once", flaw: first(1, cutAt(half))},
	{name: "one byte short, once", flaw: first(1, cutAt(-1))},
	{name: "cut in the middle, three times", flaw: first(3, cutAt(half))},
	{name: "cut at once, always", flaw: cutAt(0), open: objstore.ErrUnavailable, read: objstore.ErrUnavailable},
	{name: "no answer, once", flaw: first(1, func(*flawed, int, http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })},
	{name: "no answer, ever", flaw: func(*flawed, int, http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }, open: objstore.ErrUnavailable, read: objstore.ErrUnavailable},
	{name: "more bytes than the range, in chunks", flaw: func(s *flawed, _ int, w http.ResponseWriter, r *http.Request) bool {
		s.bend(w, r, func(a *httptest.ResponseRecorder) {
			a.Header().Del("Content-Length")
			a.Body.Write(make([]byte, 100_000))
		})
		return true
	}},
	{name: "more bytes than announced", flaw: func(s *flawed, _ int, w http.ResponseWriter, r *http.Request) bool {
		a := httptest.NewRecorder()
		s.good(a, r)
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		fmt.Fprintf(buf, "HTTP/1.1 %d OK\r\n", a.Code)
		a.Header().Set("Connection", "close")
		a.Header().Write(buf)
		fmt.Fprintf(buf, "\r\n%s%s", a.Body.Bytes(), make([]byte, 5000))
		buf.Flush()
		return true
	}},
	{name: "replaced", replaced: true, read: objstore.ErrChanged},
	{name: "replaced, conditions ignored", replaced: true, flaw: unconditional, read: objstore.ErrChanged},
	{name: "replaced by a longer one", set: func(s *flawed) { s.grow = 1000 }, replaced: true, flaw: unconditional, read: objstore.ErrChanged},
	{name: "replaced after the first answer", flaw: func(s *flawed, n int, _ http.ResponseWriter, _ *http.Request) bool {
		if n == 2 {
			s.replace(1)
		}
		return false
	}, read: errEither},
	{name: "replaced between break and resume", flaw: func(s *flawed, n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 1 {
			defer s.replace(1)
			s.cut(w, r, half)
		}
		return false
	}, read: objstore.ErrChanged},
	{name: "replaced between break and resume, conditions ignored", flaw: func(s *flawed, n int, w http.ResponseWriter, r *http.Request) bool {
		if n == 1 {
			defer s.replace(1)
			s.cut(w, r, half)
		}
		return unconditional(s, n, w, r)
	}, read: objstore.ErrChanged},
	{name: "another object in each answer", flaw: func(s *flawed, n int, w http.ResponseWriter, r *http.Request) bool {
		s.replace(n)
		return unconditional(s, n, w, r)
	}, open: objstore.ErrChanged, read: objstore.ErrChanged},
	{name: "no ETag", set: func(s *flawed) { s.tag = func(int) string { return "" } }},
	{name: "no ETag, cut", set: func(s *flawed) { s.tag = func(int) string { return "" } }, flaw: first(1, cutAt(half))},
	{name: "no ETag, replaced", set: func(s *flawed) { s.tag = func(int) string { return "" } }, replaced: true, read: objstore.ErrChanged},
	{name: "no ETag, replaced, conditions ignored", set: func(s *flawed) { s.tag = func(int) string { return "" } }, replaced: true, flaw: unconditional, read: objstore.ErrChanged},
	{name: "weak ETag", set: func(s *flawed) { s.tag = func(v int) string { return fmt.Sprintf(`W/"v%d"`, v) } }},
	{name: "weak ETag, replaced", set: func(s *flawed) { s.tag = func(v int) string { return fmt.Sprintf(`W/"v%d"`, v) } }, replaced: true, flaw: unconditional, read: objstore.ErrChanged},
	{name: "neither ETag nor date", set: func(s *flawed) { s.tag, s.noDate = func(int) string { return "" }, true }},
	{name: "neither ETag nor date, replaced by a longer one", set: func(s *flawed) {
		s.tag, s.noDate, s.grow = func(int) string { return "" }, true, 10
	}, replaced: true, read: objstore.ErrChanged},
	{name: "the ETag goes away", flaw: bent(func(a *httptest.ResponseRecorder) { a.Header().Del("ETag") }), read: objstore.ErrChanged},
	{name: "429, then good", flaw: first(2, page(429, "Retry-After", "1"))},
	{name: "503, then good", flaw: first(2, page(503, "Retry-After", "7200"))},
	{name: "429, never good", flaw: page(429, "Retry-After", "1"), open: objstore.ErrThrottled, read: objstore.ErrThrottled},
	{name: "503, never good", flaw: page(503, "Retry-After", "1"), open: objstore.ErrThrottled, read: objstore.ErrThrottled},
	{name: "500 three times", flaw: first(3, page(500))},
	{name: "500 always", flaw: page(500), open: objstore.ErrUnavailable, read: objstore.ErrUnavailable},
	{name: "stalls before the answer, once", flaw: first(1, hang), stall: time.Second},
	{name: "stalls in the body, once", flaw: first(1, hangInBody), stall: time.Second},
	{name: "stalls always", flaw: hang, stall: time.Second, open: objstore.ErrUnavailable, read: objstore.ErrUnavailable},
	{name: "Content-Encoding gzip", flaw: bent(func(a *httptest.ResponseRecorder) { a.Header().Set("Content-Encoding", "gzip") })},
	{name: "redirect", flaw: func(_ *flawed, _ int, w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/data/k" {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		}
		return r.URL.Path == "/data/k"
	}},
	{name: "redirect in a circle", flaw: func(_ *flawed, _ int, w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, "/data/k", http.StatusTemporaryRedirect)
		return true
	}, open: objstore.ErrUnavailable, read: objstore.ErrUnavailable},
	{name: "trickle", flaw: func(s *flawed, _ int, w http.ResponseWriter, r *http.Request) bool {
		a := httptest.NewRecorder()
		s.good(a, r)
		for key, v := range a.Header() {
			w.Header()[key] = v
		}
		w.WriteHeader(a.Code)
		for a.Body.Len() > 0 {
			w.Write(a.Body.Next(a.Body.Len()/8 + 1))
			w.(http.Flusher).Flush()
		}
		return true
	}},
}

// errEither: the right bytes or ErrChanged, depending on how many requests the
// read takes.
var errEither = errors.New("either")

// reads are the two ways of reading; each returns what it read and the place.
var reads = map[string]func(ctx context.Context, o *objstore.Object) (map[int64][]byte, error){
	"ReadAt": func(ctx context.Context, o *objstore.Object) (map[int64][]byte, error) {
		p := make([]byte, 9000)
		_, err := o.WithContext(ctx).ReadAt(p, 100_123)
		return map[int64][]byte{100_123: p}, err
	},
	"ReadRanges": func(ctx context.Context, o *objstore.Object) (map[int64][]byte, error) {
		out := map[int64][]byte{}
		var spans []rangeio.Span
		for off, n := range map[int64]int{50_000: 100, 120_000: 3000, 200_000: 70_000} {
			out[off] = make([]byte, n)
			spans = append(spans, rangeio.Span{Off: off, P: out[off]})
		}
		return out, o.ReadRanges(ctx, spans)
	},
}

func (s *flawed) bucket(t *testing.T) objstore.Bucket {
	t.Helper()
	b, err := httpstore.New(httpstore.Config{Base: s.url + "/data", MinWait: time.Microsecond, MaxWait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.CloseIdleConnections)
	return b
}

// wantRead reads and holds the bytes against data.
func wantRead(t *testing.T, what string, o *objstore.Object, read func(context.Context, *objstore.Object) (map[int64][]byte, error), data []byte) {
	t.Helper()
	got, err := read(t.Context(), o)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	for off, p := range got {
		if !bytes.Equal(p, data[off:off+int64(len(p))]) {
			t.Errorf("%s: wrong bytes at %d", what, off)
		}
	}
}

// wantOne checks that err is of one kind and of no other.
func wantOne(t *testing.T, err, want error) {
	t.Helper()
	n := 0
	for _, s := range []error{objstore.ErrNotFound, objstore.ErrChanged, objstore.ErrExists, objstore.ErrDenied, objstore.ErrThrottled,
		objstore.ErrUnavailable, objstore.ErrBadRange, objstore.ErrInvalid, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, s) {
			n++
		}
	}
	var e *objstore.Error
	placed := errors.As(err, &e) && e.Key == "k" || errors.Is(err, context.Canceled)
	if !errors.Is(err, want) || n != 1 || !placed {
		t.Errorf("want one %q with its place, got %v", want, err)
	}
}

// TestFaultMatrix: whatever the server does, a read returns the right bytes or
// an error that can be classified; and when the server is well again, the same
// read of the same object is right, so that nothing wrong was kept.
func TestFaultMatrix(t *testing.T) {
	for _, c := range matrix {
		options := objstore.OpenOptions{Head: 1000, Tail: 500, Stall: c.stall, Resumes: 3}
		if c.stall > 0 && c.read != nil {
			options.Resumes = 1
		}
		start := func(t *testing.T) (*flawed, objstore.Bucket, objstore.OpenOptions) {
			t.Helper()
			s := newFlawed(t)
			if c.set != nil {
				c.set(s)
			}
			o := options
			o.Cache = objstore.NewCache(1<<20, 4096)
			return s, s.bucket(t), o
		}
		spoil := func(s *flawed) {
			if c.replaced {
				s.replace(1)
			}
			s.set(c.flaw)
		}
		mend := func(s *flawed) {
			s.set(nil)
			s.replace(0)
		}
		for name, read := range reads {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s, b, o := start(t)
				obj, err := objstore.Open(t.Context(), b, "k", o)
				if err != nil {
					t.Fatal(err)
				}
				data := s.current()
				spoil(s)
				switch got, err := read(t.Context(), obj); {
				case err == nil && (c.read == nil || c.read == errEither):
					for off, p := range got {
						if !bytes.Equal(p, data[off:off+int64(len(p))]) {
							t.Errorf("wrong bytes at %d", off)
						}
					}
				case c.read == errEither:
					wantOne(t, err, objstore.ErrChanged)
				case err == nil || c.read == nil:
					t.Errorf("got %v, want %v", err, c.read)
				default:
					wantOne(t, err, c.read)
				}
				mend(s)
				for n, again := range reads {
					wantRead(t, "the server is well again, "+n, obj, again, data)
				}
			})
		}
		t.Run(c.name+"/Open", func(t *testing.T) {
			t.Parallel()
			s, b, o := start(t)
			spoil(s)
			obj, err := objstore.Open(t.Context(), b, "k", o)
			if c.open != nil {
				if err == nil {
					t.Fatalf("opened, want %v", c.open)
				}
				wantOne(t, err, c.open)
				mend(s)
				if obj, err = objstore.Open(t.Context(), b, "k", o); err != nil {
					t.Fatalf("the server is well again: %v", err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			data := s.current()
			s.set(nil)
			if obj.Size() != int64(len(data)) {
				t.Errorf("%d bytes, want %d", obj.Size(), len(data))
			}
			p := make([]byte, 1000) // kept by Open
			for _, off := range []int64{0, obj.Size() - 400} {
				if n, err := obj.ReadAt(p, off); err != nil && err != io.EOF || !bytes.Equal(p[:n], data[off:off+int64(n)]) {
					t.Errorf("wrong bytes at %d, %v", off, err)
				}
			}
			if c.name == "the ETag goes away" {
				return // the object is pinned to having none
			}
			for n, read := range reads {
				wantRead(t, n, obj, read, data)
			}
		})
	}
}

// TestResetWhileIdle: connections that the server closed between two reads cost
// nothing but a new one.
func TestResetWhileIdle(t *testing.T) {
	s := newFlawed(t)
	obj, err := objstore.Open(t.Context(), s.bucket(t), "k", objstore.OpenOptions{Head: 1000, Tail: 500})
	if err != nil {
		t.Fatal(err)
	}
	for n, read := range reads {
		s.srv.CloseClientConnections()
		wantRead(t, n, obj, read, s.current())
	}
}

// TestEmptyOverHTTP: 416 is how a server says that an object is empty.
func TestEmptyOverHTTP(t *testing.T) {
	s := newFlawed(t)
	s.set(page(416, "Content-Range", "bytes */0", "ETag", `"e"`))
	obj, err := objstore.Open(t.Context(), s.bucket(t), "k", objstore.OpenOptions{Tail: 500})
	if err != nil || obj.Size() != 0 || obj.Info().ETag != `"e"` {
		t.Fatalf("%v", err)
	}
	if n, err := obj.ReadAt(make([]byte, 10), 0); n != 0 || err != io.EOF {
		t.Errorf("%d, %v", n, err)
	}
}

// TestCancelEverywhere: a caller who leaves is told so at every point where a
// read waits, and spoils nothing for the next one.
func TestCancelEverywhere(t *testing.T) {
	points := map[string]func(leave func()) flaw{
		"before the answer": func(leave func()) flaw {
			return func(s *flawed, n int, w http.ResponseWriter, r *http.Request) bool { leave(); return hang(s, n, w, r) }
		},
		"in the body": func(leave func()) flaw {
			return func(s *flawed, n int, w http.ResponseWriter, r *http.Request) bool {
				time.AfterFunc(20*time.Millisecond, leave)
				return hangInBody(s, n, w, r)
			}
		},
		"between retries": func(leave func()) flaw {
			return func(s *flawed, n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 3 {
					leave()
				}
				return page(503)(s, n, w, r)
			}
		},
		"between break and resume": func(leave func()) flaw {
			return func(s *flawed, n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 2 {
					leave()
				}
				s.cut(w, r, 1)
				return true
			}
		},
	}
	for where, point := range points {
		t.Run(where+"/Open", func(t *testing.T) {
			t.Parallel()
			s := newFlawed(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			s.set(point(cancel))
			_, err := objstore.Open(ctx, s.bucket(t), "k", objstore.OpenOptions{Head: 1000, Tail: 500, Resumes: 1000})
			wantOne(t, err, context.Canceled)
		})
		for name, read := range reads {
			t.Run(where+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newFlawed(t)
				obj, err := objstore.Open(t.Context(), s.bucket(t), "k", objstore.OpenOptions{Head: 1000, Tail: 500, Resumes: 1000})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s.set(point(cancel))
				_, err = read(ctx, obj)
				wantOne(t, err, context.Canceled)
				if _, err = read(ctx, obj); !errors.Is(err, context.Canceled) {
					t.Errorf("a read under an ended context: %v", err)
				}
				s.set(nil)
				wantRead(t, "the next reader", obj, read, s.current())
			})
		}
	}
}

// TestFirstReaderLeaves: of two readers of one block the first starts the
// request and leaves; the second takes over.
func TestFirstReaderLeaves(t *testing.T) {
	s := newFlawed(t)
	obj, err := objstore.Open(t.Context(), s.bucket(t), "k", objstore.OpenOptions{Head: 1000})
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan struct{})
	s.set(first(1, func(s *flawed, n int, w http.ResponseWriter, r *http.Request) bool {
		close(came)
		return hang(s, n, w, r)
	}))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	gone := make(chan error, 1)
	go func() {
		_, err := reads["ReadAt"](ctx, obj)
		gone <- err
	}()
	<-came
	started := make(chan struct{})
	go func() {
		<-started
		leave()
	}()
	close(started)
	wantRead(t, "the second reader", obj, reads["ReadAt"], s.current())
	wantOne(t, <-gone, context.Canceled)
}
