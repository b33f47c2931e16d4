package bloscpack

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/farread/farread/internal/racetest"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// TestLongHead: metadata and tables longer than the part that an Output can change,
// known from the start or only at the end.
func TestLongHead(t *testing.T) {
	t.Parallel()
	const items = MaxHead/entryLen + 1000
	long := map[string]string{"text": strings.Repeat("long ", MaxHead/5+1)}
	for name, c := range map[string]struct {
		o    WriteOptions
		n    int
		late any
	}{
		"table":              {o: WriteOptions{Variable: true}, n: items},
		"table, known":       {o: WriteOptions{Variable: true, Chunks: items}, n: items},
		"metadata":           {o: WriteOptions{Variable: true, Metadata: long}, n: 3},
		"metadata, known":    {o: WriteOptions{Variable: true, Metadata: long, Chunks: 3}, n: 3},
		"late metadata":      {o: WriteOptions{Variable: true, Metadata: "short", Chunks: 3}, n: 3, late: long},
		"shorter metadata":   {o: WriteOptions{Variable: true, Metadata: long}, n: 3, late: "short"},
		"chunks, metadata":   {o: WriteOptions{ChunkSize: 2, Metadata: long, Meta: MetaOptions{Plain: true, Room: 1}}, n: 5},
		"less and no room":   {o: WriteOptions{ChunkSize: 2, Metadata: strings.Repeat("short ", 99), MaxAppend: NoAppend, Meta: MetaOptions{Plain: true, Room: 1}}, n: 1, late: "no"},
		"less in version 4":  {o: WriteOptions{Variable: true, Metadata: strings.Repeat("short ", 99)}, n: 2, late: "no"},
		"no table, metadata": {o: WriteOptions{NoOffsets: true, ChunkSize: 2, Metadata: "a"}, n: 4, late: long},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.n == items {
				racetest.Skip(t, racetest.Large)
			}
			all := make([][]byte, c.n)
			for i := range all {
				all[i] = []byte{byte(i), byte(i >> 8), byte(i >> 16)}
			}
			meta := c.o.Metadata
			if c.late != nil {
				meta = c.late
			}
			var s sink
			pack(t, &s, c.o, all, c.late)
			checkFile(t, s.b, c.o, all, meta)
		})
	}
}

// TestStores: real writers of objects do all that is asked of an Output.
func TestStores(t *testing.T) {
	t.Parallel()
	b := memstore.New(memstore.Config{})
	items := drawn(100, 9000)
	for len(items) < 4000 { // more than one part
		items = append(items, items...)
	}
	w, err := b.Create(t.Context(), "k", objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var s sink
	o := WriteOptions{Variable: true, Encode: blosc.EncodeOptions{Level: blosc.LevelStore}, Parallel: 2}
	pack(t, &s, o, items, nil)
	bw, err := NewWriter(w, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := put(bw, true, items); err != nil {
		t.Fatal(err)
	}
	if err := bw.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{}); err == nil {
		t.Error("there is something before Commit")
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, _, err := b.Get(t.Context(), "k", objstore.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got bytes.Buffer
	if _, err := got.ReadFrom(r); err != nil || !bytes.Equal(got.Bytes(), s.b) {
		t.Errorf("%d bytes of %d, %v", got.Len(), len(s.b), err)
	}
}

// TestWriterMemory: an item takes a byte or two of memory while items are written, and
// eight more while Close runs: 100 MB for ten million. The test runs alone, since it
// looks at the heap.
func TestWriterMemory(t *testing.T) { //nolint:paralleltest // see above
	n := racetest.Share[int64](400_000, 10)
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	w, err := NewWriter(discarded{}, WriteOptions{Variable: true, Encode: blosc.EncodeOptions{Codec: blosc.LZ4}})
	if err != nil {
		t.Fatal(err)
	}
	item := text(rand.New(rand.NewPCG(1, 1)), 250)
	for range n {
		if err := w.WriteItem(item); err != nil {
			t.Fatal(err)
		}
	}
	// Two bytes a length, and the buffers of one goroutine.
	if more := heap() - before; more > 2*n+2<<20 {
		t.Errorf("%d bytes are held for %d items", more, n)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if more := heap() - before; more > 2<<20 {
		t.Errorf("%d bytes are held after Close", more)
	}
}

// TestPythonCounts: JSON of version 3 is ASCII, so that it has as many bytes as
// letters; any text comes back.
func TestPythonCounts(t *testing.T) {
	t.Parallel()
	const text = "Grüße, 世界, 🌍, <&>, \u007f, \\u00e9, \"quoted\""
	for _, o := range []WriteOptions{{}, {Variable: true}} {
		for _, v := range []any{text, json.RawMessage(asText(t, text))} {
			o.Metadata, o.Meta.Plain = v, true
			var s sink
			pack(t, &s, o, nil, nil)
			f := openBytes(t, s.b)
			if got := jsonOf(t, f.Metadata()); got != text {
				t.Errorf("%s comes back as %q", v, got)
			}
			for _, c := range f.Metadata() {
				if c > 0x7f && !o.Variable {
					t.Errorf("version 3 holds %s", f.Metadata())
					break
				}
			}
		}
	}
}
