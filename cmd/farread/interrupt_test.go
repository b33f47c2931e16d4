package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// A tripwire stands between a process and S3. When the n-th PUT has arrived there,
// before it is answered, it calls pull. With mute that PUT is never answered.
type tripwire struct {
	to   *url.URL
	mu   sync.Mutex
	left int
	mute bool
	last bool // no other PUT follows
	pull func()
}

func (p *tripwire) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = p.to.Scheme, p.to.Host
		r.Out.Host = r.In.Host // the signature covers the host
	}}
	out := httptest.NewRecorder()
	// The request arrives even if the process ends meanwhile.
	proxy.ServeHTTP(out, r.WithContext(context.WithoutCancel(r.Context())))
	if r.Method == http.MethodPut {
		p.mu.Lock()
		p.left--
		now := p.left == 0
		p.mu.Unlock()
		if now {
			p.pull()
		}
		if now && p.mute {
			<-r.Context().Done()
			return
		}
	}
	for k, v := range out.Header() {
		w.Header()[k] = v
	}
	w.WriteHeader(out.Code)
	_, _ = w.Write(out.Body.Bytes()) // the process may be gone
}

// TestPackInterrupted: a dataset that is appended to stays whole, whenever an
// interrupt comes.
func TestPackInterrupted(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"sets"}})
	for k, v := range map[string]string{"AWS_ACCESS_KEY_ID": s.AccessKey, "AWS_SECRET_ACCESS_KEY": s.SecretKey, "AWS_REGION": s.Region,
		"AWS_ENDPOINT_URL": s.Endpoint, "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull} {
		t.Setenv(k, v)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, "old", "was", "0.jpg"), photo(t, 99))
	const chunks = 30
	for i := range chunks {
		write(t, filepath.Join(dir, "new", fmt.Sprintf("id%03d", i), "0.jpg"), photo(t, i))
	}
	to, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	for _, put := range []int{1, 15, chunks, chunks + 1, chunks + 2, chunks + 17, 2 * chunks} {
		for _, mute := range []bool{false, true} {
			t.Run(fmt.Sprintf("put %d of %d, mute %v", put, 2*chunks, mute), func(t *testing.T) {
				t.Parallel() // the tests mostly wait
				set := fmt.Sprintf("s3://sets/%d-%v/", put, mute)
				run(t, "pack", filepath.Join(dir, "old"), set, "--format", "gulp")
				want := contents(t, set)
				packInterrupted(t, &tripwire{to: to, left: put, mute: mute, last: put == 2*chunks}, filepath.Join(dir, "new"), set)
				var v verifyReport
				if err := json.Unmarshal([]byte(run(t, "verify", set, "--json")), &v); err != nil || !v.OK {
					t.Errorf("%v %+v", err, v)
				}
				if put < chunks && v.Chunks != 1 || put == 2*chunks && !mute && v.Chunks != 1+chunks {
					t.Errorf("%d chunks", v.Chunks)
				}
				got := contents(t, set)
				for name, p := range want {
					if got[name] != p {
						t.Errorf("%s was there before and is not the same any more", name)
					}
				}
			})
		}
	}
}

// packInterrupted packs in a process of its own that is interrupted by p.
func packInterrupted(t *testing.T, p *tripwire, src, set string) {
	t.Helper()
	c := newProcess(t, "pack", src, set, "--format", "gulp", "--chunk", "1")
	p.pull = func() { c.signal(os.Interrupt) }
	srv := httptest.NewServer(p)
	defer srv.Close()
	c.start(t, "--endpoint-url", srv.URL)
	if c.wait() == exitOK && p.last {
		return // the last answer of all won the race against the signal
	}
	c.interrupted(t, set)
}

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
		o := &output{b: &flawed{b, tc.key, tc.lands, tc.err}}
		w, err := o.begin(t.Context(), gulp.ChunkPair(0))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.WriteFrame("a", photo(t, 1)); err != nil {
			t.Fatal(err)
		}
		err = o.finish(t.Context())
		o.abort(t.Context())
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
			o := &output{b: b}
			if flaw != nil {
				o.b = &flawed{b, key, false, flaw}
			}
			w, err := o.begin(t.Context(), gulp.ChunkPair(0))
			if err != nil {
				t.Fatal(err)
			}
			if err := w.WriteFrame("a", photo(t, 1)); err != nil {
				t.Fatal(err)
			}
			if err := o.finish(t.Context()); err == nil {
				t.Errorf("%s: no error", key)
			}
			o.abort(t.Context())
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
