package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/objstore"
)

// TestFolderChanges: no client keeps the description of a folder for longer than the time
// to live, and no path pins one.
func TestFolderChanges(t *testing.T) {
	g := newGround(t, Config{})
	for _, path := range []string{"/info/d/sub/", "/info/d/sub"} {
		w := g.get(t, path)
		if v := object(t, w); v["version"] != "" || v["pinned"] != nil {
			t.Errorf("%s: %v", path, v)
		}
		if tag := w.Header().Get("ETag"); tag != "" {
			t.Errorf("%s: ETag %s of what changes without a sign", path, tag)
		}
		g.put(t, "sub/new"+fmt.Sprint(len(path)), []byte("new"))
		g.pass(time.Hour)
		for _, match := range []string{"*", `""`, ","} {
			if w2 := g.ask("GET", path, "If-None-Match: "+match); w2.Code != 200 || w2.Body.String() == w.Body.String() {
				t.Errorf("%s: %d %s", path, w2.Code, w2.Body)
			}
		}
	}
	for _, verb := range []string{"ls", "info", "group"} {
		for _, key := range []string{"", "/d", "/d/", "/d/sub", "/d/sub/"} {
			if verb == "group" {
				key = strings.TrimSuffix(key, "/") + "/zarr.json"
			}
			path := "/" + verb + "~v-0123456789abcdef" + key
			if w := g.ask("GET", path); w.Code != 400 && w.Code != 404 || strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
				t.Errorf("%s: %d %s", path, w.Code, w.Header().Get("Cache-Control"))
			}
		}
	}
}

// sparseKey is a folder that has a sparse frame.
const sparseKey = "s.b2nd/"

// putSparse stores a sparse frame.
func putSparse(t *testing.T, g *ground) (chunk func(n int) []byte) {
	t.Helper()
	read := func(name string) []byte {
		p, err := os.ReadFile(filepath.Join("..", "formats", "b2nd", "testdata", "sparse_dir.b2nddir", name))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	files, err := filepath.Glob(filepath.Join("..", "formats", "b2nd", "testdata", "sparse_dir.b2nddir", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		g.put(t, sparseKey+filepath.Base(f), read(filepath.Base(f)))
	}
	return func(n int) []byte { return read(fmt.Sprintf("%08X.chunk", n)) }
}

// TestSparseChanges: chunks of a sparse frame are replaced one by one, so that nothing of
// its answers is kept, by the gateway or by clients.
func TestSparseChanges(t *testing.T) {
	g := newGround(t, Config{})
	chunk := putSparse(t, g)
	fresh := newGround(t, Config{})
	putSparse(t, fresh)
	fresh.put(t, sparseKey+"00000001.chunk", chunk(2))
	paths := []string{"/slice/d/s.b2nd?s=&format=raw", "/get/d/s.b2nd?chunk=1", "/zarr~raw/d/s.b2nd/c/1/0", "/zarr/d/s.b2nd/zarr.json", "/group/d/s.b2nd/zarr.json",
		"/group~raw/d/s.b2nd/data/c/0/1", "/info/d/s.b2nd"}
	before := map[string]string{}
	for _, path := range paths {
		w := g.ask("GET", path)
		if w.Code != 200 && w.Header().Get("X-Fill") == "" || w.Header().Get("ETag") != "" {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
		before[path] = w.Body.String()
	}
	if n := g.cache.Size(); n != 0 {
		t.Errorf("%d bytes are kept", n)
	}
	g.put(t, sparseKey+"00000001.chunk", chunk(2))
	g.pass(time.Hour)
	for _, path := range paths {
		w := g.ask("GET", path, "If-None-Match: *")
		if want := fresh.ask("GET", path).Body.String(); w.Code == 304 || w.Body.String() != want && !strings.HasPrefix(path, "/info") {
			t.Errorf("%s: %d, of the old chunk: %v", path, w.Code, w.Body.String() == before[path])
		}
	}
	if before[paths[0]] == fresh.get(t, paths[0]).Body.String() {
		t.Error("both chunks are the same")
	}
	for _, path := range []string{"/slice~v-0123456789abcdef/d/s.b2nd", "/zarr~v-0123456789abcdef/d/s.b2nd/zarr.json", "/info~v-0123456789abcdef/d/s.b2nd", "/ls~v-0123456789abcdef/d/s.b2nd"} {
		if w := g.ask("GET", path); w.Code != 400 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// A weakMeta is a server that gives the .gmeta a weak ETag and the data a strong one, as
// one does that compresses text.
type weakMeta struct{ objstore.Bucket }

func (b weakMeta) weak(key string, in objstore.Info) objstore.Info {
	if strings.HasSuffix(key, gulp.MetaSuffix) {
		return weaken(in)
	}
	return in
}

func (b weakMeta) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	r, in, err := b.Bucket.Get(ctx, key, o)
	return r, b.weak(key, in), err
}

func (b weakMeta) Head(ctx context.Context, key string) (objstore.Info, error) {
	in, err := b.Bucket.Head(ctx, key)
	return b.weak(key, in), err
}

// TestWeakMeta: a pair has a certain version only if both of its objects have one.
func TestWeakMeta(t *testing.T) {
	g := newGround(t, Config{}, func(b objstore.Bucket) objstore.Bucket { return weakMeta{b} })
	pair, _ := gulp.PairOf("p.gulp")
	put := func(ids ...string) {
		var data, meta bytes.Buffer
		w := gulp.NewWriter(&data, gulp.WriteOptions{})
		for i, id := range ids {
			if err := w.WriteFrame(id, bytes.Repeat([]byte{byte('1' + i)}, 100)); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.WriteMeta(&meta); err != nil {
			t.Fatal(err)
		}
		if ids[0] == "aa" {
			g.put(t, "p.gulp", data.Bytes())
		}
		g.put(t, pair.Meta, meta.Bytes())
	}
	put("aa", "bb")
	path := "/get/d/p.gulp?id=aa&frame=0"
	a := g.get(t, path)
	tag := a.Header().Get("ETag")
	put("bb", "aa") // labels that are corrected; the data stays
	g.pass(time.Hour)
	c := g.ask("GET", path, "If-None-Match: "+tag)
	b := g.get(t, path)
	if !strings.HasPrefix(tag, "W/") || c.Code != 200 || a.Body.String() == b.Body.String() || b.Header().Get("ETag") == tag {
		t.Errorf("%s %.3q; then %d, %s %.3q", tag, a.Body, c.Code, b.Header().Get("ETag"), b.Body)
	}
	if w := g.ask("GET", "/get~v-0123456789abcdef/d/p.gulp?id=aa&frame=0"); w.Code != 400 {
		t.Errorf("a version of it: %d", w.Code)
	}
}

// TestInfoOfRoots: a description tells the root and the key that were asked for, also if
// another path to the same bytes was answered before.
func TestInfoOfRoots(t *testing.T) {
	g := newGround(t, Config{})
	s, err := New(Config{Client: g.client, Roots: []Root{{Name: "all", Bucket: g.mem}, {Name: "part", Bucket: g.mem, Key: "data/"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	g.Server = s
	tags := map[string]string{}
	for _, at := range [][2]string{{"all", "data/v.b2nd"}, {"part", "v.b2nd"}, {"part", "clips/data_0.gulp"}, {"part", "clips/meta_0.gmeta"}, {"all", "data/clips/data_0.gulp"}} {
		path := at[0] + "/" + at[1]
		w := g.get(t, "/info/"+path)
		v := object(t, w)
		place, _ := v["place"].(map[string]any)
		pinned, _ := v["pinned"].(string)
		if place["root"] != at[0] || place["key"] != at[1] || !strings.HasSuffix(pinned, "/"+path) {
			t.Errorf("%s: %v, %v", path, place, pinned)
		}
		tag := w.Header().Get("ETag")
		if other := tags[tag]; other != "" {
			t.Errorf("%s and %s have one ETag", path, other)
		}
		tags[tag] = path
	}
}

// TestLooksOfTheirOwn: without a time to live no request believes a look, or a listing,
// that another one began before it.
func TestLooksOfTheirOwn(t *testing.T) {
	for _, path := range []string{"/raw/d/v.npy", "/ls/d/sub/"} {
		hold := &holding{}
		g := newGround(t, Config{TTL: -1}, func(b objstore.Bucket) objstore.Bucket { hold.Bucket = b; return hold })
		if g.get(t, path); path == "/raw/d/v.npy" {
			g.get(t, path) // looks
		}
		reached, let := make(chan struct{}), make(chan struct{})
		hold.set(func() { close(reached); <-let })
		done := make(chan string)
		go func() { done <- g.ask("GET", path).Body.String() }()
		<-reached // the look has its answer, which it is told later
		g.put(t, "v.npy", []byte("another one"))
		g.put(t, "sub/another", nil)
		if text := g.get(t, path).Body.String(); !strings.Contains(text, "another") {
			t.Errorf("%s: %.80q", path, text)
		}
		close(let)
		<-done
	}
}

// A holding bucket tells once what it found some time after it looked.
type holding struct {
	objstore.Bucket

	once chan func()
}

func (b *holding) set(fn func()) {
	b.once = make(chan func(), 1)
	b.once <- fn
}

func (b *holding) wait() {
	select {
	case fn := <-b.once:
		fn()
	default:
	}
}

func (b *holding) Head(ctx context.Context, key string) (objstore.Info, error) {
	in, err := b.Bucket.Head(ctx, key)
	b.wait()
	return in, err
}

func (b *holding) List(ctx context.Context, prefix string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		var all []objstore.Info
		for in, err := range b.Bucket.List(ctx, prefix) {
			if err != nil {
				yield(in, err)
				return
			}
			all = append(all, in)
		}
		b.wait()
		for _, in := range all {
			if !yield(in, nil) {
				return
			}
		}
	}
}
