package s3store_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// TestChecksumOfStore: a real server says the checksum of what it sends whole, and a
// bit that flips between it and the reader is noticed, at no request more.
func TestChecksumOfStore(t *testing.T) {
	s := teststack.Run(t, teststack.Options{Buckets: []string{"one"}})
	data := bytes.Repeat([]byte("sixteen bytes..\n"), 1000)
	put := open(t, s, s3store.Config{})
	if _, err := objstore.Put(t.Context(), put, "sum/k", bytes.NewReader(data), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(s.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var flips atomic.Bool
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
			r.Out.Host = r.In.Host // it is signed
		},
		ModifyResponse: func(r *http.Response) error {
			p, err := io.ReadAll(r.Body)
			if flips.Load() && len(p) > 0 {
				p[len(p)/2] ^= 1
			}
			r.Body = io.NopCloser(bytes.NewReader(p))
			return err
		},
	}
	srv := httptest.NewServer(proxy)
	t.Cleanup(srv.Close)
	var n objstore.Counter
	b := open(t, s, s3store.Config{Endpoint: srv.URL, Counter: &n})
	o, err := objstore.Open(t.Context(), b, "sum/k", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c := o.Info().Checksum; c.Name == "" || n.Stats().Requests != 1 {
		t.Errorf("checksum %+v, %d requests", c, n.Stats().Requests)
	}
	if o, err = objstore.Open(t.Context(), b, "sum/k", objstore.OpenOptions{Head: 100}); err != nil || o.Info().Checksum.Name != "" {
		t.Errorf("of a range: %+v, %v", o.Info().Checksum, err)
	}
	flips.Store(true)
	if _, err := objstore.Open(t.Context(), b, "sum/k", objstore.OpenOptions{}); !errors.Is(err, objstore.ErrCorrupt) {
		t.Errorf("a bit flipped: %v", err)
	}
}
