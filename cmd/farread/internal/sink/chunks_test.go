package sink

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// A flawed bucket publishes an object and then reports that it did not, or really does
// not publish it.
type flawed struct {
	objstore.Bucket

	key   string
	lands bool
	err   error
}

func (b *flawed) Create(ctx context.Context, key string, o objstore.PutOptions) (objstore.Writer, error) {
	w, err := b.Bucket.Create(ctx, key, o)
	if err != nil || key != b.key {
		return w, err
	}
	return &flawedWriter{w, b}, nil
}

type flawedWriter struct {
	objstore.Writer

	b *flawed
}

func (w *flawedWriter) Commit(ctx context.Context) (objstore.Info, error) {
	if w.b.lands {
		if _, err := w.Writer.Commit(ctx); err != nil {
			return objstore.Info{}, err
		}
	}
	return objstore.Info{}, &objstore.Error{Op: "put", Key: w.b.key, Status: status(w.b.err), Err: w.b.err}
}

func status(err error) int {
	switch {
	case errors.Is(err, objstore.ErrDenied):
		return http.StatusForbidden
	case errors.Is(err, objstore.ErrThrottled):
		return http.StatusServiceUnavailable
	}
	return 0
}

// TestOutputInDoubt: the objects that stay if nobody knows whether a Commit worked.
func TestOutputInDoubt(t *testing.T) {
	t.Parallel()
	whole := []string{"data_0.gulp", "meta_0.gmeta"}
	for _, tc := range []struct {
		key   string
		lands bool
		err   error
		ok    bool
		want  []string
	}{
		{"data_0.gulp", true, objstore.ErrUnavailable, false, nil},
		{"data_0.gulp", false, objstore.ErrUnavailable, false, nil},
		{"meta_0.gmeta", true, objstore.ErrUnavailable, true, whole},
		{"meta_0.gmeta", true, context.Canceled, true, whole},
		{"meta_0.gmeta", false, objstore.ErrDenied, false, nil},
		{"meta_0.gmeta", false, objstore.ErrThrottled, false, nil},
		// The index may still arrive, so its data must be there.
		{"meta_0.gmeta", false, objstore.ErrUnavailable, false, whole[:1]},
		{"meta_0.gmeta", false, context.Canceled, false, whole[:1]},
	} {
		b := memstore.New(memstore.Config{})
		o := NewChunks(&flawed{b, tc.key, tc.lands, tc.err}, false)
		w, err := o.Begin(t.Context(), gulp.ChunkPair(0))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteFrame("a", []byte("frame")); err != nil {
			t.Fatal(err)
		}
		err = o.Finish(t.Context())
		o.Abort(t.Context())
		if (err == nil) != tc.ok || err != nil && !errors.Is(err, tc.err) {
			t.Errorf("%+v: %v", tc, err)
		}
		if d := cmp.Diff(tc.want, keys(t, b)); d != "" {
			t.Errorf("%+v left (-want +got):\n%s", tc, d)
		}
	}
}

// TestOutputLeavesOthers: another writer's objects under the same names stay.
func TestOutputLeavesOthers(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"data_0.gulp", "meta_0.gmeta"} {
		b := memstore.New(memstore.Config{})
		if _, err := objstore.Put(t.Context(), b, key, strings.NewReader("theirs"), objstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, flaw := range []error{nil, objstore.ErrUnavailable} {
			o := NewChunks(b, false)
			if flaw != nil {
				o = NewChunks(&flawed{b, key, false, flaw}, false)
			}
			w, err := o.Begin(t.Context(), gulp.ChunkPair(0))
			if err != nil {
				t.Fatal(err)
			}
			if err := w.WriteFrame("a", []byte("frame")); err != nil {
				t.Fatal(err)
			}
			if err := o.Finish(t.Context()); err == nil {
				t.Errorf("%s: no error", key)
			}
			o.Abort(t.Context())
			in, err := b.Head(t.Context(), key)
			if err != nil || in.Size != int64(len("theirs")) {
				t.Errorf("%s: %v %+v", key, err, in)
			}
		}
	}
}

func keys(t *testing.T, b objstore.Bucket) (out []string) {
	t.Helper()
	for in, err := range b.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, in.Key)
	}
	return out
}
