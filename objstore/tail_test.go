package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// TestTailAlone: if only the end is wanted, one request opens and pins the object. If
// the server knows no ranges from the end, the first byte is fetched, and then the end.
func TestTailAlone(t *testing.T) {
	var log tracetest.Log
	data := randomBytes(1 << 20)
	obj, b := open(t, data, objstore.OpenOptions{Head: -1, Tail: 1000}, log.Middleware())
	log.Step("open by the last 1000 bytes")
	read := func(title string, off, n int64) {
		t.Helper()
		p := make([]byte, n)
		if err := obj.ReadRanges(t.Context(), []rangeio.Span{{Off: off, P: p}}); err != nil || !bytes.Equal(p, data[off:off+n]) {
			t.Fatalf("%s: %v", title, err)
		}
		log.Step(title)
	}
	read("the end: nothing", 1<<20-1000, 1000)
	read("the beginning", 0, 100)
	put(t, b, "k", randomBytes(1 << 20)[1:])
	if err := obj.ReadRanges(t.Context(), []rangeio.Span{{Off: 0, P: make([]byte, 10)}}); !errors.Is(err, objstore.ErrChanged) {
		t.Errorf("replaced: %v", err)
	}
	log.Step("the beginning of another version")
	log.Golden(t, "testdata/tail.trace")

	for _, size := range []int{0, 1, 999, 1000, 1001} {
		data := randomBytes(size)
		obj, _ := open(t, data, objstore.OpenOptions{Head: -1, Tail: 1000})
		p := make([]byte, size)
		if err := obj.ReadRanges(t.Context(), []rangeio.Span{{P: p}}); err != nil || obj.Size() != int64(size) || !bytes.Equal(p, data) {
			t.Errorf("%d bytes: size %d, %v", size, obj.Size(), err)
		}
	}
	if _, err := objstore.Open(t.Context(), memstore.New(memstore.Config{}), "none", objstore.OpenOptions{Head: -1, Tail: 1000}); !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("no object: %v", err)
	}
}

// TestTailAloneFaults: the fault matrix for objects that are opened by their end.
func TestTailAloneFaults(t *testing.T) {
	t.Parallel()
	want := flawedtest.Content("k", 0)
	for _, c := range flawedtest.Sampled() {
		if c.Stall > 0 {
			continue // as in the other matrix
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := newFlawed(t)
			c.Start(s)
			b := s.Bucket(t)
			open := func(ctx context.Context) (*objstore.Object, error) {
				return objstore.Open(ctx, b, "k", objstore.OpenOptions{Head: -1, Tail: 500, Resumes: 3})
			}
			c.Spoil(s)
			obj, err := open(t.Context())
			current := s.Current("k")
			s.Set(nil)
			if err == nil {
				p := make([]byte, 500)
				err = obj.ReadRanges(t.Context(), []rangeio.Span{{Off: obj.Size() - 500, P: p}})
				if err == nil && !c.Pinned && !bytes.Equal(p, current[len(current)-500:]) && !bytes.Equal(p, want[len(want)-500:]) {
					t.Error("wrong bytes")
				}
			}
			if err != nil {
				if c.Open == nil && c.Read == nil {
					t.Error(err)
				}
				wantClassified(t, err)
			}
			c.Mend(s)
			if obj, err = open(t.Context()); err != nil {
				t.Fatalf("the server is well again: %v", err)
			}
			wantRead(t, "the server is well again", obj, reads["ReadRanges"], want)
		})
	}
}

// wantClassified checks that err is of one kind.
func wantClassified(t *testing.T, err error) {
	t.Helper()
	for _, s := range []error{objstore.ErrNotFound, objstore.ErrChanged, objstore.ErrDenied, objstore.ErrThrottled,
		objstore.ErrUnavailable, objstore.ErrBadRange, objstore.ErrInvalid} {
		if errors.Is(err, s) {
			wantOne(t, err, s)
			return
		}
	}
	t.Error(fmt.Errorf("of no kind: %w", err))
}
