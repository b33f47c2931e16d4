package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// reads are the ways of reading; each returns what it read and the place.
var reads = map[string]func(ctx context.Context, o *objstore.Object) (map[int64][]byte, error){
	"ReadAt": func(ctx context.Context, o *objstore.Object) (map[int64][]byte, error) {
		p := make([]byte, 9000)
		_, err := o.WithContext(ctx).ReadAt(p, 100_123)
		return map[int64][]byte{100_123: p}, err
	},
	"ReadAt, front to end": func(ctx context.Context, o *objstore.Object) (map[int64][]byte, error) {
		out := map[int64][]byte{}
		r := o.WithContext(ctx)
		for off := int64(60_000); off < 200_000; off += 7000 {
			p := make([]byte, 7000)
			if _, err := r.ReadAt(p, off); err != nil {
				return nil, err
			}
			out[off] = p
		}
		return out, nil
	},
	"Prefetch": func(ctx context.Context, o *objstore.Object) (map[int64][]byte, error) {
		if err := o.Prefetch(ctx, []objstore.Range{{Off: 100_000, Len: 20_000}, {Off: 150_000, Len: 3000}}); err != nil {
			return nil, err
		}
		p, q := make([]byte, 9000), make([]byte, 30_000)
		_, err := o.WithContext(ctx).ReadAt(p, 100_123)
		if err == nil {
			_, err = o.WithContext(ctx).ReadAt(q, 110_000)
		}
		return map[int64][]byte{100_123: p, 110_000: q}, err
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

func newFlawed(t *testing.T) *flawedtest.Server {
	t.Helper()
	return flawedtest.New(t, flawedtest.Content, nil)
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
		objstore.ErrUnavailable, objstore.ErrBadRange, objstore.ErrCorrupt, objstore.ErrInvalid, context.Canceled, context.DeadlineExceeded} {
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
	t.Run("http", func(t *testing.T) { faultMatrix(t, false) })
	t.Run("s3", func(t *testing.T) { faultMatrix(t, true) })
}

func faultMatrix(t *testing.T, overS3 bool) {
	t.Helper()
	for _, c := range flawedtest.Cases() {
		if overS3 && c.HTTP {
			continue
		}
		options := objstore.OpenOptions{Head: 1000, Tail: 500, Stall: c.Stall, Resumes: 3}
		if c.Stall > 0 && c.Read != nil {
			options.Resumes = 1
		}
		start := func(t *testing.T) (*flawedtest.Server, objstore.Bucket, objstore.OpenOptions) {
			t.Helper()
			s := newFlawed(t)
			c.Start(s)
			o := options
			o.Cache = objstore.NewCache(1<<20, 4096)
			return s, objstore.Hedge(&objstore.Pace{})(s.Open(t, overS3)), o
		}
		for name, read := range reads {
			t.Run(c.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s, b, o := start(t)
				obj, err := objstore.Open(t.Context(), b, "k", o)
				if err != nil {
					t.Fatal(err)
				}
				data := s.Current("k")
				c.Spoil(s)
				start := time.Now()
				got, err := read(t.Context(), obj)
				c.Quick(t, start)
				switch {
				case err == nil && (c.Read == nil || c.Read == flawedtest.ErrEither):
					for off, p := range got {
						if !bytes.Equal(p, data[off:off+int64(len(p))]) {
							t.Errorf("wrong bytes at %d", off)
						}
					}
				case c.Read == flawedtest.ErrEither:
					wantOne(t, err, objstore.ErrChanged)
				case err == nil || c.Read == nil:
					t.Errorf("got %v, want %v", err, c.Read)
				default:
					wantOne(t, err, c.Read)
				}
				c.Mend(s)
				for n, again := range reads {
					wantRead(t, "the server is well again, "+n, obj, again, data)
				}
			})
		}
		t.Run(c.Name+"/Open", func(t *testing.T) {
			t.Parallel()
			s, b, o := start(t)
			c.Spoil(s)
			began := time.Now()
			obj, err := objstore.Open(t.Context(), b, "k", o)
			c.Quick(t, began)
			if c.Open != nil {
				if err == nil {
					t.Fatalf("opened, want %v", c.Open)
				}
				wantOne(t, err, c.Open)
				c.Mend(s)
				if obj, err = objstore.Open(t.Context(), b, "k", o); err != nil {
					t.Fatalf("the server is well again: %v", err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			data := s.Current("k")
			s.Set(nil)
			if obj.Size() != int64(len(data)) {
				t.Errorf("%d bytes, want %d", obj.Size(), len(data))
			}
			p := make([]byte, 1000) // kept by Open
			for _, off := range []int64{0, obj.Size() - 400} {
				if n, err := obj.ReadAt(p, off); err != nil && err != io.EOF || !bytes.Equal(p[:n], data[off:off+int64(n)]) {
					t.Errorf("wrong bytes at %d, %v", off, err)
				}
			}
			if c.Pinned {
				return
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
	obj, err := objstore.Open(t.Context(), s.Bucket(t), "k", objstore.OpenOptions{Head: 1000, Tail: 500})
	if err != nil {
		t.Fatal(err)
	}
	for n, read := range reads {
		s.CloseClientConnections()
		wantRead(t, n, obj, read, s.Current("k"))
	}
}

// TestEmptyOverHTTP: 416 is how a server says that an object is empty.
func TestEmptyOverHTTP(t *testing.T) {
	s := newFlawed(t)
	s.Set(flawedtest.Page(416, "Content-Range", "bytes */0", "ETag", `"e"`))
	obj, err := objstore.Open(t.Context(), s.Bucket(t), "k", objstore.OpenOptions{Tail: 500})
	if err != nil || obj.Size() != 0 || obj.Info().ETag != `"e"` {
		t.Fatalf("%v", err)
	}
	if n, err := obj.ReadAt(make([]byte, 10), 0); n != 0 || err != io.EOF {
		t.Errorf("%d, %v", n, err)
	}
}

// TestCancelEverywhere: a caller who leaves gets the error of the context, at whatever
// point the read waits, and the next caller is not affected.
func TestCancelEverywhere(t *testing.T) {
	points := map[string]func(leave func()) flawedtest.Flaw{
		"before the answer": func(leave func()) flawedtest.Flaw {
			return func(s *flawedtest.Server, n int, w http.ResponseWriter, r *http.Request) bool {
				leave()
				return flawedtest.Hang(s, n, w, r)
			}
		},
		"in the body": func(leave func()) flawedtest.Flaw {
			return func(s *flawedtest.Server, n int, w http.ResponseWriter, r *http.Request) bool {
				time.AfterFunc(20*time.Millisecond, leave)
				return flawedtest.HangInBody(s, n, w, r)
			}
		},
		"between retries": func(leave func()) flawedtest.Flaw {
			return func(s *flawedtest.Server, n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 3 {
					leave()
				}
				return flawedtest.Page(503)(s, n, w, r)
			}
		},
		"between break and resume": func(leave func()) flawedtest.Flaw {
			return func(s *flawedtest.Server, n int, w http.ResponseWriter, r *http.Request) bool {
				if n == 2 {
					leave()
				}
				s.Cut(w, r, 1)
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
			s.Set(point(cancel))
			_, err := objstore.Open(ctx, s.Bucket(t), "k", objstore.OpenOptions{Head: 1000, Tail: 500, Resumes: 1000})
			wantOne(t, err, context.Canceled)
		})
		for name, read := range reads {
			t.Run(where+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := newFlawed(t)
				obj, err := objstore.Open(t.Context(), s.Bucket(t), "k", objstore.OpenOptions{Head: 1000, Tail: 500, Resumes: 1000})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				s.Set(point(cancel))
				_, err = read(ctx, obj)
				wantOne(t, err, context.Canceled)
				if _, err = read(ctx, obj); !errors.Is(err, context.Canceled) {
					t.Errorf("a read under an ended context: %v", err)
				}
				s.Set(nil)
				wantRead(t, "the next reader", obj, read, s.Current("k"))
			})
		}
	}
}

// TestFirstReaderLeaves: of two readers of one block the first starts the
// request and leaves; the second takes over.
func TestFirstReaderLeaves(t *testing.T) {
	s := newFlawed(t)
	obj, err := objstore.Open(t.Context(), s.Bucket(t), "k", objstore.OpenOptions{Head: 1000})
	if err != nil {
		t.Fatal(err)
	}
	came := make(chan struct{})
	s.Set(flawedtest.First(1, func(s *flawedtest.Server, n int, w http.ResponseWriter, r *http.Request) bool {
		close(came)
		return flawedtest.Hang(s, n, w, r)
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
	wantRead(t, "the second reader", obj, reads["ReadAt"], s.Current("k"))
	wantOne(t, <-gone, context.Canceled)
}
