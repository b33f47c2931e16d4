package gateway

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"encoding/xml"
	"hash/fnv"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
	"github.com/farread/farread/objstore/s3store"
	"github.com/farread/farread/rangeio"
)

// A farHost serves objects below /b/ over TLS and HTTP/2, as a web server does, and as S3 does: GET and HEAD
// with ranges and conditions, and ListObjectsV2.
type farHost struct {
	*httptest.Server

	mu    sync.Mutex
	files map[string][]byte
	log   []string
	// cut makes so many answers with more than 1000 bytes end in the middle: over HTTP/2 the stream
	// is reset, and the connection stays.
	cut   atomic.Int64
	older atomic.Int64 // requests that came by HTTP/1
	conns atomic.Int64
}

func newFarHost(t *testing.T) *farHost {
	t.Helper()
	h := &farHost{files: maps.Clone(samples())}
	h.Server = httptest.NewUnstartedServer(h)
	h.EnableHTTP2 = true
	h.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			h.conns.Add(1)
		}
	}
	h.StartTLS()
	t.Cleanup(h.Close)
	return h
}

func (h *farHost) put(key string, p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.files[key] = p
}

// took are the requests since the last call.
func (h *farHost) took() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := strings.Join(h.log, " ")
	h.log = nil
	return out
}

func (h *farHost) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 2 {
		h.older.Add(1)
	}
	key, in := strings.CutPrefix(r.URL.Path+"/", "/b/")
	key = strings.TrimSuffix(key, "/")
	h.mu.Lock()
	p, ok := h.files[strings.TrimPrefix(key, "data/")]
	op := strings.ToLower(r.Method)
	if key == "" {
		op = "list"
	}
	h.log = append(h.log, op)
	h.mu.Unlock()
	switch {
	case op == "list" && in && r.URL.Query().Get("list-type") == "2":
		h.list(w, r.URL.Query().Get("prefix"), r.URL.Query().Get("delimiter"))
		return
	case !ok:
		http.Error(w, "", http.StatusNotFound)
		return
	}
	w.Header().Set("ETag", tagOf(p))
	if h.cut.Load() > 0 && len(p) > 1000 && r.Method == http.MethodGet && h.cut.Add(-1) >= 0 {
		w = &cutting{w, 1000}
	}
	http.ServeContent(w, r, "x.bin", time.Unix(1_700_000_000, 0), bytes.NewReader(p))
}

func tagOf(p []byte) string {
	sum := fnv.New128a()
	_, _ = sum.Write(p) // never fails
	return `"` + hex.EncodeToString(sum.Sum(nil)) + `"`
}

// list answers as ListObjectsV2 does.
func (h *farHost) list(w http.ResponseWriter, prefix, delimiter string) {
	type object struct {
		Key          string
		Size         int
		ETag         string
		LastModified string
	}
	type common struct{ Prefix string }
	var out struct {
		XMLName        xml.Name `xml:"ListBucketResult"`
		Contents       []object
		CommonPrefixes []common
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(h.files)) {
		key := "data/" + name
		rest, ok := strings.CutPrefix(key, prefix)
		if !ok {
			continue
		}
		if dir, _, below := strings.Cut(rest, "/"); below && delimiter == "/" {
			if c := (common{prefix + dir + "/"}); !slices.Contains(out.CommonPrefixes, c) {
				out.CommonPrefixes = append(out.CommonPrefixes, c)
			}
			continue
		}
		out.Contents = append(out.Contents, object{key, len(h.files[name]), tagOf(h.files[name]), "2025-03-01T00:00:00.000Z"})
	}
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).Encode(out)
}

// A cutting writer ends the stream after so many bytes.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		_, _ = c.ResponseWriter.Write(p[:len(p)/2])
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(p)
}

// source is the host as a place of the scheme https, or as S3.
func (h *farHost) source(t *testing.T, name string) objstore.Bucket {
	t.Helper()
	if name == "https" {
		pool := x509.NewCertPool()
		pool.AddCert(h.Certificate())
		tr := httpstore.NewTransport(0)
		tr.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
		b, err := httpstore.New(httpstore.Config{Base: h.URL + "/b/", Transport: tr, MinWait: time.Millisecond})
		must(err)
		t.Cleanup(b.CloseIdleConnections)
		return b
	}
	bundle := filepath.Join(t.TempDir(), "ca.pem")
	must(os.WriteFile(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}), 0o600))
	t.Setenv("AWS_CA_BUNDLE", bundle)
	b, err := s3store.New(t.Context(), s3store.Config{Bucket: "b", Endpoint: h.URL, AccessKey: "AK", SecretKey: "SK", Region: "us-east-1"})
	must(err)
	t.Cleanup(b.CloseIdleConnections)
	return b
}

// TestSourceOverHTTP2: behind a source with TLS and HTTP/2 answers and requests are those of one in
// memory, on few connections; of streams that are reset the rest is read anew, and an object that is replaced is
// never mixed with the one before.
func TestSourceOverHTTP2(t *testing.T) { //nolint:paralleltest // the environment names the certificate
	paths := []string{"/info/d/v.b2nd", "/slice/d/v.b2nd?s=40", "/slice/d/v.b2nd?s=5,::-1,::64", "/zarr/d/v.b2nd/c/3/1/0", "/get/d/items.blp?item=100", "/view/d/day.zoom?track=1&width=100&format=npy", "/raw/d/v.npy"}
	plain := newGround(t, Config{TTL: 10 * time.Second})
	want, trace := map[string]string{}, map[string]string{}
	for _, path := range paths {
		want[path], trace[path] = plain.get(t, path).Body.String(), plain.took()
	}
	for _, name := range []string{"https", "s3"} {
		t.Run(name, func(t *testing.T) {
			h := newFarHost(t) // of its own: requests that a gateway gave up may come late
			b := h.source(t, name)
			g := &ground{at: time.Unix(1_700_000_000, 0), client: farread.New(farread.Config{Policy: rangeio.Lean(), NoHedge: true, Timeout: 20 * time.Second})}
			renew := func() {
				var err error
				if g.Server != nil {
					must(g.Close())
				}
				g.Server, err = New(Config{Client: g.client, TTL: 10 * time.Second, Roots: []Root{{Name: "d", Bucket: b, Key: "data/"}}})
				must(err)
				g.now = func() time.Time {
					g.mu.Lock()
					defer g.mu.Unlock()
					return g.at
				}
			}
			renew()
			defer func() { must(g.Close()) }()
			for _, path := range paths {
				w := g.get(t, path)
				if got := h.took(); got != trace[path] {
					t.Errorf("%s: requests %q, of a source in memory %q", path, got, trace[path])
				}
				if !strings.HasPrefix(path, "/info/") && w.Body.String() != want[path] {
					t.Errorf("%s: %d bytes, not those of a source in memory", path, w.Body.Len())
				}
			}
			if name == "s3" {
				if got := g.get(t, "/ls/d/").Body.String(); strings.Count(got, `"name"`) != 10 || !strings.Contains(got, `"clips/","dir":true`) {
					t.Errorf("ls: %s", got)
				}
			}

			// Many clients at once, of a gateway that has nothing yet, while answers are cut.
			renew()
			h.cut.Store(4)
			var wg sync.WaitGroup
			for i := range 24 {
				wg.Go(func() {
					path := paths[1+i%(len(paths)-1)]
					if w := g.ask("GET", path); w.Code != 200 || w.Body.String() != want[path] {
						t.Errorf("%s: %d, %d bytes", path, w.Code, w.Body.Len())
					}
				})
			}
			wg.Wait()
			if n := h.cut.Load(); n > 0 {
				t.Errorf("%d answers were not cut", n)
			}
			h.cut.Store(0)

			// Another object, and one that is gone.
			h.put("v.npy", append(bytes.Clone(samples()["v.npy"][:100_000]), make([]byte, len(samples()["v.npy"])-100_000)...))
			if w := g.ask("GET", "/slice/d/v.npy?s=700:"); w.Code != 200 || !bytes.HasSuffix(w.Body.Bytes(), make([]byte, 4*50*300)) {
				t.Errorf("replaced: %d, %d bytes", w.Code, w.Body.Len())
			}
			h.put("v.npy", samples()["v.npy"])
			g.pass(time.Minute)
			if w := g.ask("GET", "/slice/d/none.b2nd?s=0"); w.Code != 404 || strings.Contains(w.Body.String(), "127.0.0.1") {
				t.Errorf("none: %d %s", w.Code, w.Body)
			}
			// The first requests may each begin a connection; all others share one of these.
			if n, older := h.conns.Load(), h.older.Load(); n > 8 || older > 0 {
				t.Errorf("%d connections, %d requests by HTTP/1", n, older)
			}
		})
	}
}
