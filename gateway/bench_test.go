package gateway

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A ground is a gateway over a store in memory, whose requests can be watched, and a
// clock that the test turns.
type ground struct {
	*Server
	mem    *memstore.Bucket
	client *farread.Client

	mu  sync.Mutex
	at  time.Time
	log []string
}

// newGround serves the objects of a store in memory below /d/. Middlewares stand in front
// of the store, behind what watches it.
func newGround(tb testing.TB, c Config, m ...objstore.Middleware) *ground {
	tb.Helper()
	g := &ground{mem: memstore.New(memstore.Config{Name: "mem://secret-bucket"}), at: time.Unix(1_700_000_000, 0)}
	for key, p := range samples() {
		g.put(tb, key, p)
	}
	watch := objstore.Trace(func(e objstore.Event) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.log = append(g.log, e.Op)
	})
	g.client = farread.New(farread.Config{Policy: rangeio.Lean(), NoHedge: true, Timeout: 5 * time.Second})
	c.Client = g.client
	c.Roots = append(c.Roots, Root{Name: "d", Bucket: objstore.Chain(g.mem, append([]objstore.Middleware{watch}, m...)...), Key: "data/"})
	var err error
	if g.Server, err = New(c); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = g.Close() })
	g.now = func() time.Time {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.at
	}
	return g
}

func (g *ground) put(tb testing.TB, key string, p []byte) {
	tb.Helper()
	if _, err := objstore.Put(tb.Context(), g.mem, "data/"+key, bytes.NewReader(p), objstore.PutOptions{}); err != nil {
		tb.Fatal(err)
	}
}

// pass lets time go by.
func (g *ground) pass(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at = g.at.Add(d)
}

// took returns the requests to the source since the last call.
func (g *ground) took() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := strings.Join(g.log, " ")
	g.log = nil
	return out
}

// ask makes a request. Headers are "Name: value".
func (g *ground) ask(method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost"+path, nil)
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	return w
}

// get makes a GET that has to succeed.
func (g *ground) get(t *testing.T, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	w := g.ask("GET", path, headers...)
	if w.Code >= 300 {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w
}

// an object is JSON that was answered.
func object(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return v
}

// code is the code of an error that was answered.
func code(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	c, _ := object(t, w)["code"].(string)
	return c
}

// fullArray is the shape of v.b2nd, whose item i is i.
var fullArray = []int64{64, 96, 128}

type buffer struct{ bytes.Buffer }

func (b *buffer) Patch(off int64, p []byte) error {
	copy(b.Bytes()[off:], p)
	return nil
}

func (b *buffer) Rehead(n int64, p []byte) error {
	rest := bytes.Clone(b.Bytes()[n:])
	b.Reset()
	b.Write(p)
	b.Write(rest)
	return nil
}

// samples are the objects that are served: an array of 12 chunks, one whose items have
// members, a .npy, images, items, a series, and what is none of these.
var samples = sync.OnceValue(makeSamples)

func makeSamples() map[string][]byte {
	out := map[string][]byte{"notes.txt": []byte("plain text\n"), "sub/deep/x.b2nd": []byte("no frame"), "größe é.txt": []byte("ü")}
	read := func(key string, path ...string) {
		p, err := os.ReadFile(filepath.Join(append([]string{"..", "formats"}, path...)...))
		if err != nil {
			panic(err)
		}
		out[key] = p
	}
	read("members.b2nd", "b2nd", "testdata", "dtype_struct.b2nd")
	read("zfp.b2nd", "b2nd", "testdata", "codec_zfp_acc.b2nd")
	read("clips/data_0.gulp", "gulp", "testdata", "chunks", "ingest_gulpio2_gray5", "data_0.gulp")
	read("clips/meta_0.gmeta", "gulp", "testdata", "chunks", "ingest_gulpio2_gray5", "meta_0.gmeta")
	out["v.b2nd"], out["items.blp"], out["day.zoom"] = arrayFile(), itemsFile(), seriesFile()
	out["v.npy"] = npyFile()
	return out
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func values() []uint16 {
	v := make([]uint16, fullArray[0]*fullArray[1]*fullArray[2])
	for i := range v {
		v[i] = uint16(i * 7)
	}
	return v
}

func arrayFile() []byte {
	var b buffer
	w, err := b2nd.NewWriter(&b, b2nd.Meta{Shape: fullArray, ChunkShape: []int{16, 32, 128}, BlockShape: []int{4, 16, 128}, DType: "<u2"},
		b2nd.WriteOptions{VLMetalayers: []cframe.Metalayer{{Name: "dimension_names", Data: []byte("\x93\xa1z\xa1y\xa1x")}}})
	must(err)
	p := make([]byte, 0, 2*len(values()))
	for _, v := range values() {
		p = binary.LittleEndian.AppendUint16(p, v)
	}
	_, err = w.Write(p)
	must(err)
	must(w.Close())
	return b.Bytes()
}

func npyFile() []byte {
	head := "{'descr': '<i4', 'fortran_order': False, 'shape': (1000, 50), }"
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
	out = append(out, head...)
	for i := range 50_000 {
		out = binary.LittleEndian.AppendUint32(out, uint32(i))
	}
	return out
}

func itemsFile() []byte {
	var b buffer
	w, err := bloscpack.NewWriter(&b, bloscpack.WriteOptions{Variable: true})
	must(err)
	for i := range 200 {
		must(w.WriteItem([]byte(strings.Repeat(fmt.Sprintf("item %d;", i), i))))
	}
	must(w.WriteItem([]byte{0xff, 0xfe, 0}))
	must(w.Close())
	return b.Bytes()
}

func seriesFile() []byte {
	rate := zoomcache.Rate{Num: 1000, Den: 1}
	o := zoomcache.WriteOptions{Watermark: -1, Tracks: []zoomcache.Track{
		{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: rate, Name: "left"},
		{Number: 2, Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: rate, Name: "right"},
	}}
	o.Sink = zoomindex.NewBuilder(o.Tracks, zoomindex.WriteOptions{})
	var b bytes.Buffer
	w, err := zoomcache.NewWriter(&b, o)
	must(err)
	ints, floats := make([]int16, 1024), make([]float64, 1024)
	for at := range 200 {
		for i := range ints {
			ints[i], floats[i] = int16(at*i), float64(at)+float64(i)/1024
		}
		must(zoomcache.WriteSamples(w.Track(1), ints))
		must(zoomcache.WriteSamples(w.Track(2), floats))
		must(w.Flush())
	}
	must(w.Close())
	return b.Bytes()
}
