package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/objstore"
)

// A vague bucket does not tell versions apart for certain: its ETags are weak.
type vague struct{ objstore.Bucket }

func (b vague) Unwrap() objstore.Bucket { return b.Bucket }

func (b vague) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	r, in, err := b.Bucket.Get(ctx, key, o)
	return r, weaken(in), err
}

func (b vague) Head(ctx context.Context, key string) (objstore.Info, error) {
	in, err := b.Bucket.Head(ctx, key)
	return weaken(in), err
}

func weaken(in objstore.Info) objstore.Info {
	if in.ETag != "" {
		in.ETag = "W/" + in.ETag
	}
	return in
}

// TestWeak: of a source whose versions are not certain nothing is kept, ETags are weak,
// and nothing is pinned.
func TestWeak(t *testing.T) {
	g := newGround(t, Config{TTL: time.Minute}, func(b objstore.Bucket) objstore.Bucket { return vague{b} })
	for _, path := range []string{"/slice/d/v.npy?s=:5", "/raw/d/v.npy", "/info/d/v.npy"} {
		w := g.get(t, path)
		tag := w.Header().Get("ETag")
		if !strings.HasPrefix(tag, "W/") {
			t.Errorf("%s: %v", path, w.Header())
		}
		if n := g.ask("GET", path, "If-None-Match: "+tag); n.Code != 304 {
			t.Errorf("%s: %d", path, n.Code)
		}
		if n := g.ask("GET", path, "If-Match: "+tag); n.Code != 412 {
			t.Errorf("%s: If-Match of a weak ETag: %d", path, n.Code)
		}
		if n := g.ask("GET", path, "If-Range: "+tag, "Range: bytes=1-2"); n.Code != 200 {
			t.Errorf("%s: If-Range of a weak ETag: %d", path, n.Code)
		}
	}
	if v := object(t, g.get(t, "/info/d/v.npy")); v["pinned"] != nil {
		t.Errorf("%v", v)
	}
	if n := g.cache.Size(); n != 0 {
		t.Errorf("%d bytes are kept", n)
	}
}

// nowhere takes answers as fast as a client can.
type nowhere struct{ h http.Header }

func (w nowhere) Header() http.Header         { return w.h }
func (w nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (w nowhere) WriteHeader(int)             {}

// BenchmarkAnswers is the time of the handler alone, of answers that are kept.
func BenchmarkAnswers(b *testing.B) {
	g := newGround(b, Config{})
	for name, x := range map[string]struct {
		path    string
		headers []string
	}{
		"slice": {"/slice/d/v.b2nd?s=5:8,:85&format=raw", nil}, "slice304": {"/slice/d/v.b2nd?s=5:8,:85&format=raw", []string{"If-None-Match: *"}},
		"chunk": {"/zarr/d/v.b2nd/c/1/1/0", nil}, "chunk304": {"/zarr/d/v.b2nd/c/1/1/0", []string{"If-None-Match: *"}},
	} {
		b.Run(name, func(b *testing.B) {
			r, err := http.NewRequestWithContext(b.Context(), "GET", "http://localhost"+x.path, nil)
			if err != nil {
				b.Fatal(err)
			}
			for _, h := range x.headers {
				name, value, _ := strings.Cut(h, ": ")
				r.Header.Set(name, value)
			}
			b.ReportAllocs()
			for b.Loop() {
				g.ServeHTTP(nowhere{http.Header{}}, r)
			}
		})
	}
}
