package farread

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// payload is frame i of id: n bytes that no other frame has.
func payload(id string, i, n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%s/%d ", id, i), n/3+1)[:n]
}

// chunk makes the two objects of a gulp chunk with frames frames of every id.
func chunk(t *testing.T, frames, size int, ids ...string) (data, meta []byte) {
	t.Helper()
	var d, m bytes.Buffer
	w := gulp.NewWriter(&d, gulp.WriteOptions{})
	for _, id := range ids {
		for i := range frames {
			if err := w.WriteFrame(id, payload(id, i, size)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.WriteMeta(&m); err != nil {
		t.Fatal(err)
	}
	return d.Bytes(), m.Bytes()
}

// remote is a client whose s3://b is in memory, counted where S3 would count.
func remote(c Config) (*Client, *memstore.Bucket) {
	c.Counter = &objstore.Counter{}
	b := memstore.New(memstore.Config{Name: "s3://b"})
	client := New(c)
	client.buckets["s3://b"] = store{b, objstore.Chain(b, client.limit, objstore.Count(c.Counter))}
	return client, b
}

func put(t *testing.T, b objstore.Bucket, key string, p []byte, meta map[string]string) objstore.Info {
	t.Helper()
	in, err := objstore.Put(t.Context(), b, key, bytes.NewReader(p), objstore.PutOptions{Meta: meta})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func TestMetaNamesAreTheJobs(t *testing.T) {
	t.Parallel()
	got := []string{metaDataETag, metaSource, metaKey, metaKey64, metaETag, metaVersion, metaSequencer, metaLayout}
	want := []string{functions.MetaDataETag, functions.MetaSource, functions.MetaKey, functions.MetaKey64, functions.MetaETag,
		functions.MetaVersion, functions.MetaSequencer, functions.MetaLayout}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestOneFrameFromAfar: one frame by its id takes two phases, and one request once the
// chunk is open.
func TestOneFrameFromAfar(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]rangeio.Policy{"fast": rangeio.Fast(), "few": rangeio.Few(), "lean": rangeio.Lean()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, b := remote(Config{NoHedge: true, Policy: policy})
			data, meta := chunk(t, 50, 12_000, "a", "b", "c")
			put(t, b, "x.gulp", data, nil)
			put(t, b, "x.gmeta", meta, nil)
			for _, uri := range []string{"s3://b/x.gulp", "s3://b/x.gmeta"} {
				before := c.Stats()
				g, err := c.OpenGulp(t.Context(), uri, GulpOptions{})
				if err != nil {
					t.Fatal(err)
				}
				opened := c.Stats()
				if r, p := opened.Requests-before.Requests, opened.Phases-before.Phases; r != 2 || p != 1 {
					t.Errorf("open %s: %d requests in %d phases, want 2 in 1", uri, r, p)
				}
				got, err := g.AppendFrame(t.Context(), nil, "c", 49)
				if err != nil || !bytes.Equal(got, payload("c", 49, 12_000)) {
					t.Errorf("frame: %v, %d bytes", err, len(got))
				}
				read := c.Stats()
				want := rangeio.Stats{Requests: 1, Bytes: 12_000, Phases: 1}
				if d := cmp.Diff(want, minus(read, opened)); d != "" {
					t.Errorf("cost of the frame (-want +got):\n%s", d)
				}
			}
		})
	}
}

func minus(a, b rangeio.Stats) rangeio.Stats {
	return rangeio.Stats{Requests: a.Requests - b.Requests, Bytes: a.Bytes - b.Bytes, Phases: a.Phases - b.Phases,
		Retries: a.Retries - b.Retries, CacheHits: a.CacheHits - b.CacheHits}
}

// TestSmallMetaIsFetchedWhole: an index of just under 256 KiB costs no request
// of its own, a longer one does.
func TestSmallMetaIsFetchedWhole(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ frames, more int64 }{{9_000, 0}, {20_000, 1}} {
		c, b := remote(Config{NoHedge: true})
		data, meta := chunk(t, int(tc.frames), 1, "only")
		if big := int64(len(meta)) > metaHead; big != (tc.more > 0) {
			t.Fatalf("%d frames make %d bytes of index", tc.frames, len(meta))
		}
		put(t, b, "x.gulp", data, nil)
		put(t, b, "x.gmeta", meta, nil)
		if _, err := c.OpenGulp(t.Context(), "s3://b/x.gulp", GulpOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := c.Stats(); got.Requests != 2+tc.more || got.Phases != 1+tc.more {
			t.Errorf("%d bytes of index: %d requests in %d phases", len(meta), got.Requests, got.Phases)
		}
	}
}

func TestPairThatIsBeingReplaced(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	data, meta := chunk(t, 2, 100, "old")
	old := put(t, b, "x.gulp", data, nil)
	put(t, b, "x.gmeta", meta, map[string]string{metaDataETag: old.ETag})
	if _, err := c.OpenGulp(t.Context(), "s3://b/x.gulp", GulpOptions{}); err != nil {
		t.Fatalf("a whole pair: %v", err)
	}
	newData, newMeta := chunk(t, 2, 100, "new")
	in := put(t, b, "x.gulp", newData, nil)
	before := c.Stats().Requests
	_, err := c.OpenGulp(t.Context(), "s3://b/x.gulp", GulpOptions{})
	if !errors.Is(err, objstore.ErrChanged) || !strings.Contains(err.Error(), "x.gmeta was written for") {
		t.Errorf("half a pair: %v", err)
	}
	if n := c.Stats().Requests - before; n != 4 {
		t.Errorf("%d requests: it should be opened twice", n)
	}
	put(t, b, "x.gmeta", newMeta, map[string]string{metaDataETag: in.ETag})
	g, err := c.OpenGulp(t.Context(), "s3://b/x.gmeta", GulpOptions{})
	if err != nil || !g.Has("new") {
		t.Errorf("the new pair: %v", err)
	}
}

// TestPairIsOpenedAgain: the second try meets the finished pair.
func TestPairIsOpenedAgain(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	data, meta := chunk(t, 1, 10, "a")
	in := put(t, b, "x.gulp", data, nil)
	put(t, b, "x.gmeta", meta, map[string]string{metaDataETag: `"another"`})
	finish := objstore.Trace(func(e objstore.Event) {
		if e.Seq == 2 { // the first try is over but for its verdict
			put(t, b, "x.gmeta", meta, map[string]string{metaDataETag: in.ETag})
		}
	})
	c.buckets["s3://b"] = store{b, finish(b)}
	if g, err := c.OpenGulp(t.Context(), "s3://b/x.gulp", GulpOptions{}); err != nil || !g.Has("a") {
		t.Error(err)
	}
}

func TestOtherReadingOfAName(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	data, meta := chunk(t, 1, 10, "a")
	put(t, b, "dataset.gulp", data, nil) // by GulpIO's pattern its index would be metaset.gmeta
	put(t, b, "dataset.gmeta", meta, nil)
	if _, err := c.OpenGulp(t.Context(), "s3://b/dataset.gulp", GulpOptions{}); err != nil {
		t.Error(err)
	}
	_, err := c.OpenGulp(t.Context(), "s3://b/data_0.gulp", GulpOptions{})
	if !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("absent: %v", err)
	}
	_, err = c.OpenGulp(t.Context(), "s3://b/x.zip", GulpOptions{})
	if !errors.Is(err, formats.ErrUnsupported) {
		t.Errorf("no gulp: %v", err)
	}
}

func TestDataset(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{NoHedge: true})
	for k := range 12 {
		data, meta := chunk(t, 3, 5_000, fmt.Sprintf("id%d", k))
		in := put(t, b, fmt.Sprintf("set/data_%d.gulp", k), data, nil)
		put(t, b, fmt.Sprintf("set/meta_%d.gmeta", k), meta, map[string]string{metaDataETag: in.ETag})
	}
	put(t, b, "set/deeper/data_0.gulp", nil, nil)
	d, err := c.OpenGulpDataset(t.Context(), "s3://b/set", GulpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ch, k, err := d.Find(t.Context(), "id11")
	if err != nil || k != 11 {
		t.Fatal(k, err)
	}
	if s := c.Stats(); s.Requests != 2+24 || s.Phases != 2 {
		t.Errorf("list and open: %d requests in %d phases, want 26 in 2", s.Requests, s.Phases)
	}
	got, err := ch.AppendFrame(t.Context(), nil, "id11", 2)
	if err != nil || !bytes.Equal(got, payload("id11", 2, 5_000)) {
		t.Error(err)
	}
	put(t, b, "set/data_3.gulp", []byte("another one"), nil)
	again, err := c.OpenGulpDataset(t.Context(), "s3://b/set/", GulpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Load(t.Context()); err == nil {
		t.Error("a chunk with another's data was opened")
	}
}

func TestLocalAndHTTP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, meta := chunk(t, 4, 1_000, "a", "b c")
	write(t, filepath.Join(dir, "set", "data_0.gulp"), data)
	write(t, filepath.Join(dir, "set", "meta_0.gmeta"), meta)
	if err := os.Symlink(filepath.Join(dir, "set", "data_0.gulp"), filepath.Join(dir, "link.gulp")); err != nil {
		t.Skip(err)
	}
	srv := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer srv.Close()
	c := New(Config{NoHedge: true})
	defer c.CloseIdleConnections()
	for _, uri := range []string{
		filepath.Join(dir, "set", "data_0.gulp"), "file://" + filepath.ToSlash(dir) + "/set/meta_0.gmeta",
		filepath.Join(dir, "link.gulp"), srv.URL + "/set/data_0.gulp",
	} {
		g, err := c.OpenGulp(t.Context(), uri, GulpOptions{})
		if err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		got, err := g.AppendFrame(t.Context(), nil, "b c", 3)
		if err != nil || !bytes.Equal(got, payload("b c", 3, 1_000)) {
			t.Errorf("%s: %v", uri, err)
		}
	}
}

func write(t *testing.T, name string, p []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, p, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestBadURIs(t *testing.T) {
	t.Parallel()
	c := New(Config{NoHedge: true})
	for _, uri := range []string{"", "ftp://host/x", "s3://", "http://", "file://host/x", "https://host"} {
		if _, err := c.Open(t.Context(), uri); !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("%q: %v", uri, err)
		}
	}
	if _, err := c.Open(t.Context(), t.TempDir()); !errors.Is(err, objstore.ErrInvalid) {
		t.Errorf("a folder: %v", err)
	}
	_, err := Open(t.Context(), filepath.Join(t.TempDir(), "nothing"))
	if !errors.Is(err, objstore.ErrNotFound) {
		t.Errorf("absent: %v", err)
	}
}

// TestOneBucketForAPlace: the limit, and connections, are shared.
func TestOneBucketForAPlace(t *testing.T) {
	t.Parallel()
	c := New(Config{NoHedge: true})
	dir := t.TempDir()
	a, ka, err := c.Bucket(t.Context(), filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	b, kb, err := c.Bucket(t.Context(), filepath.Join(dir, ".", "b"))
	if err != nil {
		t.Fatal(err)
	}
	if a != b || ka != "a" || kb != "b" {
		t.Errorf("%q in %p, %q in %p", ka, a, kb, b)
	}
	if _, key, err := c.Bucket(t.Context(), dir); key != "" || err != nil {
		t.Errorf("folder: key %q, %v", key, err)
	}
}

// TestPlacesAreBounded: a client that is given signed URLs, or ever new folders,
// does not grow, and one server's connections serve all of its URLs.
func TestPlacesAreBounded(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	conns := 0
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(r.URL.Path+r.URL.RawQuery))
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if s == http.StateNew {
			conns++
		}
	}
	srv.Start()
	defer srv.Close()
	c := New(Config{NoHedge: true})
	defer c.CloseIdleConnections()
	c.buckets["s3://b"] = store{}
	for k := range 40 {
		for _, path := range []string{fmt.Sprintf("/x?signature=%d", k), fmt.Sprintf("/%d/x", k)} {
			o, err := c.Open(t.Context(), srv.URL+path)
			if err != nil {
				t.Fatal(err)
			}
			p := make([]byte, o.Size())
			if _, err := o.ReadAt(p, 0); err != nil || string(p) != strings.Replace(path, "?", "", 1) {
				t.Fatalf("%s: %q, %v", path, p, err)
			}
		}
	}
	if conns != 1 {
		t.Errorf("%d connections for one server", conns)
	}
	if len(c.buckets) != 41 {
		t.Errorf("%d places for 40 folders without a query, and one bucket", len(c.buckets))
	}
	for k := range 2 * maxPlaces {
		if _, _, err := c.Bucket(t.Context(), fmt.Sprintf("%s/more/%d/x", srv.URL, k)); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := c.buckets["s3://b"]; !ok || len(c.buckets) > maxPlaces {
		t.Errorf("%d places, the bucket among them: %v", len(c.buckets), ok)
	}
	delete(c.buckets, "s3://b")
}

// TestTrace pins the requests themselves.
func TestTrace(t *testing.T) {
	t.Parallel()
	var log tracetest.Log
	c, b := remote(Config{NoHedge: true})
	c.buckets["s3://b"] = store{b, log.Middleware()(b)}
	data, meta := chunk(t, 40, 9_000, "a", "b")
	in := put(t, b, "x.gulp", data, nil)
	put(t, b, "x.gmeta", meta, map[string]string{metaDataETag: in.ETag})
	g, err := c.OpenGulp(t.Context(), "s3://b/x.gulp", GulpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	log.Step("open x.gulp")
	for _, r := range [][3]int{{39, 40, 1}, {0, 40, 5}, {0, 40, 1}, {0, 0, 1}} {
		if _, err := g.AppendFrames(t.Context(), nil, "b", r[0], r[1], r[2]); err != nil {
			t.Fatal(err)
		}
		log.Step(fmt.Sprintf("frames %v of b", r))
	}
	if _, err := g.AppendFrame(t.Context(), nil, "a", 0); err != nil {
		t.Fatal(err)
	}
	log.Step("frame 0 of a, which opening brought along")
	log.Golden(t, "testdata/gulp.trace")
}

// TestNoDataset: a folder of nothing, or of other things, is no dataset.
func TestNoDataset(t *testing.T) {
	c, b := remote(Config{NoHedge: true})
	put(t, b, "other/readme.txt", []byte("text"), nil)
	for _, uri := range []string{"s3://b/nothing", "s3://b/other/"} {
		if _, err := c.OpenGulpDataset(t.Context(), uri, GulpOptions{}); !errors.Is(err, objstore.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", uri, err)
		}
	}
}
