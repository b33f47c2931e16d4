package s3store_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/internal/teststack"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
)

// TestChecksumOfStore: a real server sends the checksum of a whole object, without
// another request, and a bit that flips on the way is noticed.
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

// TestChecksumOfRange: a store may answer a range with the checksum of the whole
// object. It is no checksum of what is read, and nobody takes it for one.
func TestChecksumOfRange(t *testing.T) {
	sum := sha256.Sum256([]byte(text))
	h := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Amz-Checksum-Type", "FULL_OBJECT")
		w.Header().Set("X-Amz-Checksum-Sha256", base64.StdEncoding.EncodeToString(sum[:]))
		good(w, r)
	}
	for name, c := range map[string]struct {
		r     objstore.Range
		whole bool
	}{
		"all":         {objstore.Range{}, true},
		"all of it":   {objstore.Range{Len: 36}, true},
		"more":        {objstore.Range{Len: 1000}, true},
		"the start":   {objstore.Range{Len: 5}, false},
		"the end":     {objstore.Range{Off: 10}, false},
		"a suffix":    {objstore.Range{Off: -5}, false},
		"the middle":  {objstore.Range{Off: 10, Len: 5}, false},
		"but a byte":  {objstore.Range{Len: 35}, false},
		"but another": {objstore.Range{Off: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			body, info, err := fake(t, http.HandlerFunc(h), s3store.Config{}).Get(t.Context(), "k", objstore.GetOptions{Range: c.r})
			if err != nil {
				t.Fatal(err)
			}
			defer body.Close()
			from, to := c.r.Resolve(36)
			if p, err := io.ReadAll(body); err != nil || string(p) != text[from:to] || (info.Checksum.Name != "") != c.whole {
				t.Errorf("%q, %v; checksum %+v", p, err, info.Checksum)
			}
		})
	}
}

// TestChecksumModes: only mode Always sends checksums, in headers. In neither mode does
// the SDK look for checksums in answers, so it logs nothing if there is none.
func TestChecksumModes(t *testing.T) {
	var mu sync.Mutex
	sent := map[string]string{}
	h := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		for name := range r.Header {
			if strings.Contains(name, "Checksum") && name != "X-Amz-Checksum-Mode" || name == "X-Amz-Trailer" {
				sent[r.Method+" "+name] = r.Header.Get(name)
			}
		}
		if r.Method == http.MethodGet {
			good(w, r)
			return
		}
		w.Header().Set("ETag", `"e"`)
	}
	for mode, want := range map[s3store.Checksum]map[string]string{
		s3store.WhenRequired: {},
		s3store.Always:       {http.MethodPut + " X-Amz-Checksum-Crc32": "/bVTfQ=="},
	} {
		clear(sent)
		var log bytes.Buffer
		b := fake(t, http.HandlerFunc(h), s3store.Config{Checksum: mode, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
		if _, err := objstore.Put(t.Context(), b, "k", strings.NewReader(text), objstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
		body, _, err := b.Get(t.Context(), "k", objstore.GetOptions{Range: objstore.Range{Off: 10, Len: 5}})
		if err != nil {
			t.Fatal(err)
		}
		if p, err := io.ReadAll(body); err != nil || string(p) != text[10:15] {
			t.Errorf("%s: %q, %v", mode, p, err)
		}
		body.Close()
		if diff := cmp.Diff(want, sent); diff != "" || log.Len() > 0 {
			t.Errorf("%s: %s\nsaid %s", mode, diff, &log)
		}
	}
}
