package gateway

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/objstore"
)

// TestWordsAreNotCounted: words of clients that are no verb add no counters, whether or
// not the rest of the path can be read.
func TestWordsAreNotCounted(t *testing.T) {
	g := newGround(t, Config{Token: "secret"})
	for i := range 100 {
		word := fmt.Sprintf("/%s%d", strings.Repeat("x", 100), i)
		for path, code := range map[string]int{word + "~v-/d/x": 400, word + "/" + strings.Repeat("k", 1<<14): 413, word + "/d/x": 404} {
			if r := g.ask("GET", path); r.Code != code {
				t.Fatalf("%.200s: %d", path, r.Code)
			}
		}
	}
	g.meter.mu.Lock()
	defer g.meter.mu.Unlock()
	for verb := range g.meter.times {
		if verb != otherVerb {
			t.Errorf("%.20s is counted", verb)
		}
	}
	if len(g.meter.calls) != 3 { // a status each
		t.Errorf("%d counters", len(g.meter.calls))
	}
}

// TestRawAnew: no header of a version that is gone comes with the bytes of another one.
func TestRawAnew(t *testing.T) {
	g := newGround(t, Config{})
	put := func(n int, coding string) {
		if _, err := objstore.Put(t.Context(), g.mem, "data/big.bin", bytes.NewReader(make([]byte, n)), objstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	put(1<<20, "")
	w := g.ask("HEAD", "/raw/d/big.bin")
	put(1<<20+5, "")
	w = g.ask("GET", "/raw/d/big.bin", "Range: bytes=500000-600000", "If-Range: "+w.Header().Get("ETag"))
	h := w.Header()
	if w.Code != 200 || w.Body.Len() != 1<<20+5 || h.Get("Content-Range") != "" || h.Get("Content-Encoding") != "" || h.Get("Content-Length") != fmt.Sprint(1<<20+5) {
		t.Errorf("%d, %d bytes: %v", w.Code, w.Body.Len(), h)
	}
}

// patched is a file in memory.
type patched struct{ bytes.Buffer }

func (o *patched) Patch(off int64, p []byte) error {
	copy(o.Bytes()[off:], p)
	return nil
}

// TestShortChunks: the bytes of a slice count headers, offsets and full blocks of chunks,
// which may be more than the items.
func TestShortChunks(t *testing.T) {
	const n, most = 120_000, 1 << 20
	g := newGround(t, Config{MaxRead: most, Cache: -1})
	for _, shape := range [][2]int{{2, 2}, {3, 2}, {65, 64}} {
		var o patched
		w, err := b2nd.NewWriter(&o, b2nd.Meta{Shape: []int64{n}, ChunkShape: shape[:1], BlockShape: shape[1:], DType: "|u1"}, b2nd.WriteOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(i*31 + 1)
		}
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		key := fmt.Sprintf("short%d.b2nd", shape[0])
		g.put(t, key, o.Bytes())
		want := 200
		if o.Len() > most {
			want = 413
		}
		c := &call{query: map[string][]string{}}
		c.root, c.key, c.verb = "d", key, "slice"
		if c.at, err = g.place(t.Context(), c.target); err != nil {
			t.Fatal(err)
		}
		d, err := g.c.Client.OpenPlace(t.Context(), c.at, g.options())
		if err != nil {
			t.Fatal(err)
		}
		j, err := planSlice(t.Context(), g.Server, c, &handle{d: d})
		if err != nil || j.read < int64(o.Len())*9/10 {
			t.Errorf("%v: at most %d bytes of a file of %d, %v", shape, j.read, o.Len(), err)
		}
		if r := g.ask("GET", "/slice/d/"+key+"?format=raw"); r.Code != want {
			t.Errorf("%v, %d bytes: %d", shape, o.Len(), r.Code)
		}
	}
}

// TestLittleMemory: listings and stored bytes of any length come with 16 MiB of memory,
// half of which is for answers.
func TestLittleMemory(t *testing.T) {
	g := newGround(t, Config{Memory: 8 << 20})
	long := bytes.Repeat([]byte("0123456789abcdef"), 10<<20/16)
	g.put(t, "long", long)
	if w := g.get(t, "/raw/d/long"); !bytes.Equal(w.Body.Bytes(), long) {
		t.Errorf("%d bytes", w.Body.Len())
	}
	for _, path := range []string{"/ls/", "/ls/d/", "/ls/d/sub", "/ls/d/v.b2nd", "/ls/d/clips", "/group/d/zarr.json"} {
		g.get(t, path)
	}
	if n := g.memory.used.Load(); n != 0 {
		t.Errorf("%d bytes are lent", n)
	}
	if n := g.listMemory(); n > g.memory.all/2 {
		t.Errorf("a page takes %d bytes", n)
	}
}

// TestSmallAnswers: with the least memory that the command takes, what is small is
// answered.
func TestSmallAnswers(t *testing.T) {
	for _, most := range []int64{4 << 20, 8 << 20} {
		g := newGround(t, Config{Memory: most, Cache: most / 2})
		for _, path := range []string{"/get/d/items.blp?items=0:20", "/get/d/items.blp?item=7", "/view/d/day.zoom?track=1", "/view/d/day.zoom?track=1&width=500&format=svg",
			"/view/d/day.zoom?track=1&samples_per_pixel=1024&format=dat", "/view/d/day.zoom?track=1&format=csv", "/info/d/v.b2nd", "/slice/d/v.b2nd?s=0", "/get/d/clips?id=702766&frame=0"} {
			for _, coding := range []string{"identity", "gzip", "zstd"} {
				if w := g.ask("GET", path, "Accept-Encoding: "+coding); w.Code != 200 {
					t.Errorf("%d MiB, %s, %s: %d %s", most>>20, path, coding, w.Code, w.Body)
				}
			}
		}
		g.ask("GET", "/view/d/day.zoom?track=1&width=500&format=png")
		if n := g.memory.used.Load(); n != 0 {
			t.Errorf("%d bytes are lent", n)
		}
	}
	g := newGround(t, Config{Memory: 16 << 20})
	g.get(t, "/view/d/day.zoom?track=1&width=1000&format=png")
	if w := newGround(t, Config{Memory: 1 << 16}).ask("GET", "/get/d/items.blp?items=100:200"); w.Code != 413 {
		t.Errorf("%d, %d bytes", w.Code, w.Body.Len())
	}
}

// TestGaps: bytes between chunks that are read to save requests count for the limit.
func TestGaps(t *testing.T) {
	const rows, row, most = 1 << 15, 64, 1 << 20
	var o patched
	w, err := b2nd.NewWriter(&o, b2nd.Meta{Shape: []int64{rows, row}, ChunkShape: []int{1, row}, BlockShape: []int{1, row}, DType: "|u1"}, b2nd.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, rows*row)
	for i := range p {
		p[i] = byte(i * i * 31 >> 3)
	}
	if _, err := w.Write(p); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var read int64
	g := newGround(t, Config{MaxRead: most, Cache: -1}, objstore.Trace(func(e objstore.Event) { atomic.AddInt64(&read, e.Bytes) }))
	g.put(t, "rows.b2nd", o.Bytes())
	g.get(t, "/slice/d/rows.b2nd?s=0")
	for path, want := range map[string]int{"s=::32": 413, "s=:8192:32": 200, "s=:64": 200, "s=::8192": 200} {
		atomic.StoreInt64(&read, 0)
		if w := g.ask("GET", "/slice/d/rows.b2nd?format=raw&"+path); w.Code != want || atomic.LoadInt64(&read) > most {
			t.Errorf("%s: %d, %d bytes read: %.100s", path, w.Code, read, w.Body)
		}
	}
}

// TestPartsOfTooMuch: what is got alone is bounded, too.
func TestPartsOfTooMuch(t *testing.T) {
	var long buffer
	w, err := bloscpack.NewWriter(&long, bloscpack.WriteOptions{Variable: true})
	must(err)
	p := make([]byte, 2<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(p) // never fails
	must(w.WriteItem(p))
	must(w.Close())
	for limit, want := range map[int64]int{1 << 20: 413, 4 << 20: 200} {
		g := newGround(t, Config{MaxRead: limit})
		g.put(t, "long.blp", long.Bytes())
		if w := g.ask("GET", "/get/d/long.blp?item=0"); w.Code != want {
			t.Errorf("item, %d: %d %.100s", limit, w.Code, w.Body)
		}
	}
	g := newGround(t, Config{MaxRead: 100})
	if w := g.ask("GET", "/get/d/v.b2nd?chunk=2"); w.Code != 413 {
		t.Errorf("chunk: %d", w.Code)
	}
}

// TestHeadOfTooMuch: HEAD says what GET would.
func TestHeadOfTooMuch(t *testing.T) {
	g := newGround(t, Config{MaxRead: 1 << 10})
	for _, method := range []string{"GET", "HEAD"} {
		if w := g.ask(method, "/slice/d/v.b2nd?s=:,:100,:100"); w.Code != 413 {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
}

// TestRootThatIsASet: a root without a slash behind it is asked as a dataset if it is one.
func TestRootThatIsASet(t *testing.T) {
	g := newGround(t, Config{})
	s, err := New(Config{Client: g.client, Roots: []Root{{"clips", g.mem, "data/clips/"}, {"all", g.mem, "data/"}}})
	must(err)
	defer s.Close()
	g.Server = s
	for path, want := range map[string]string{"/ls/clips": `"name":"702766"`, "/ls/clips/": `"data_0.gulp"`, "/ls/all": `"v.npy"`, "/ls/all/": `"v.npy"`} {
		if w := g.get(t, path); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
}

// TestNumbersAsText: text of numbers gets shorter in both encodings.
func TestNumbersAsText(t *testing.T) {
	g := newGround(t, Config{})
	const path = "/slice/d/v.b2nd?s=0,:20,:&format=json"
	whole := g.get(t, path).Body.Len()
	for _, coding := range []string{"gzip", "zstd"} {
		w := g.get(t, path, "Accept-Encoding: "+coding)
		if w.Header().Get("Content-Encoding") != coding || w.Body.Len() > whole*3/4 {
			t.Errorf("%s: %d bytes of %d as %q", coding, w.Body.Len(), whole, w.Header().Get("Content-Encoding"))
		}
	}
}
