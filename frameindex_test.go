package farread

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// cubeOf is an array of n x 256 x 256 in chunks of 256 x 256 and square blocks.
func cubeOf(t *testing.T, n int64, side int, ix cframe.IndexChoice) []byte {
	t.Helper()
	r := rand.New(rand.NewPCG(5, 6))
	p := make([]byte, n*256*256*2)
	for i := 0; i < len(p); i += 2 { // half of each item
		if p[i] = byte(r.Uint32()); i>>13%3 == 0 {
			p[i] &= 1
		}
	}
	var out bloscpackOutput
	m := b2nd.Meta{Shape: []int64{n, 256, 256}, ChunkShape: []int{1, 256, 256}, BlockShape: []int{1, side, side}, DType: "<u2"}
	w, err := b2nd.NewWriter(&out, m, b2nd.WriteOptions{Index: ix, Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(p); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// besideOf is an index to lie beside a frame.
func besideOf(t *testing.T, p []byte, etag string) []byte {
	t.Helper()
	f, err := cframe.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), cframe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	side, err := f.BuildIndex(t.Context(), etag, nil)
	if err != nil {
		t.Fatal(err)
	}
	return side
}

// TestArrayTraces: what a column of an array takes with an index inside, with one beside,
// which is looked for or believed to be there, with one of another version, and with none.
// The dataset that OpenAny returns takes the same.
func TestArrayTraces(t *testing.T) {
	t.Parallel()
	plain, inside := cubeOf(t, 24, 64, cframe.NoIndex), cubeOf(t, 24, 64, cframe.CheapIndex)
	for name, c := range map[string]struct {
		file             []byte
		etag             string // of the index beside; "": there is none
		requests, phases int64
		used             bool
	}{
		"inside": {inside, "", 24, 1, true}, "beside": {plain, "same", 25, 2, true}, "believed-beside": {plain, "same", 24, 1, true},
		"believed-inside": {inside, "", 24, 1, true}, "none": {plain, "", 49, 3, false}, "stale": {plain, "other", 49, 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := New(Config{Counter: &objstore.Counter{}, Policy: rangeio.Lean()})
			b := memstore.New(memstore.Config{Name: "s3://b"})
			in := put(t, b, "x.b2nd", c.file, nil)
			if c.etag != "" {
				put(t, b, "x.b2nd"+index.Suffix, besideOf(t, c.file, map[string]string{"same": in.ETag, "other": "other"}[c.etag]), nil)
			}
			var log tracetest.Log
			client.buckets["s3://b"] = store{b, objstore.Chain(b, log.Middleware(), objstore.Count(client.c.Counter))}
			a, err := client.OpenArray(t.Context(), "s3://b/x.b2nd", FrameOptions{Beside: strings.HasPrefix(name, "believed")})
			if err != nil {
				t.Fatal(err)
			}
			log.Step("open")
			before := client.Stats()
			if before.Phases != 1 {
				t.Errorf("%d phases to open", before.Phases)
			}
			box := b2nd.Sub([]int64{0, 100, 100}, []int64{24, 101, 101})
			column := make([]byte, 48)
			if err := a.ReadSlice(t.Context(), column, box); err != nil {
				t.Fatal(err)
			}
			log.Step("a column")
			d := minus(client.Stats(), before)
			log.Note(fmt.Sprintf("%x; %d requests, %d phases, %d bytes", sha256.Sum256(column), d.Requests, d.Phases, d.Bytes))
			if d.Requests > c.requests || d.Phases > c.phases {
				t.Errorf("%d requests, %d phases; want %d, %d", d.Requests, d.Phases, c.requests, c.phases)
			}
			x, err := a.Source.UsedIndex(t.Context())
			if err != nil || x.Bytes > 0 != c.used || x.Unused != "" == (c.etag != "other") {
				t.Errorf("%+v, %v", x, err)
			}
			log.Step("what is known of the index")
			if a.HeldBytes() < a.Source.Object.HeldBytes() {
				t.Error("too few bytes held")
			}
			log.Golden(t, "testdata/array-"+name+".trace")

			before = client.Stats()
			again := make([]byte, 48)
			s := opened[Slicer](t, client, "x.b2nd", AnyOptions{})
			if err := s.ReadSlice(t.Context(), again, box); err != nil || !bytes.Equal(again, column) {
				t.Errorf("%x, want %x, %v", again, column, err)
			}
			if d := minus(client.Stats(), before); d.Requests > c.requests+3 || d.Phases > c.phases+1 {
				t.Errorf("by OpenAny: %d requests, %d phases", d.Requests, d.Phases)
			}
		})
	}
}

// TestFrameIndexReplaced: an index beside a frame that goes away while the frame is open is
// no fault of the frame.
func TestFrameIndexReplaced(t *testing.T) {
	t.Parallel()
	c, b := remote(Config{Policy: rangeio.Lean()})
	p := cubeOf(t, 64, 8, cframe.NoIndex) // so many blocks that the pages do not come with the directory
	in := put(t, b, "x.b2nd", p, nil)
	put(t, b, "x.b2nd"+index.Suffix, besideOf(t, p, in.ETag), nil)
	a, err := c.OpenArray(t.Context(), "s3://b/x.b2nd", FrameOptions{Beside: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(t.Context(), "x.b2nd"+index.Suffix); err != nil {
		t.Fatal(err)
	}
	if err := a.ReadSlice(t.Context(), make([]byte, 48), b2nd.Sub([]int64{0, 100, 100}, []int64{24, 101, 101})); err != nil {
		t.Error(err)
	}
	if x, err := a.Source.UsedIndex(t.Context()); err != nil || x.Bytes != 0 || !strings.Contains(x.Unused, "not found") {
		t.Errorf("%+v, %v", x, err)
	}
}

// manyOf is an array of n rows of 128 items, each a chunk of its own length.
func manyOf(t *testing.T, n int64, ix cframe.IndexChoice) []byte {
	t.Helper()
	var out bloscpackOutput
	m := b2nd.Meta{Shape: []int64{n, 128}, ChunkShape: []int{1, 128}, BlockShape: []int{1, 128}, DType: "<u4"}
	w, err := b2nd.NewWriter(&out, m, b2nd.WriteOptions{Index: ix, Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1, Filters: []blosc.Filter{}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		if _, err := w.Write(manyRow(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func manyRow(i int64) []byte {
	r := rand.New(rand.NewPCG(uint64(i), 7))
	p := make([]byte, 512)
	for k := range 16 + 4*r.IntN(12) {
		binary.LittleEndian.PutUint32(p[4*k:], r.Uint32())
	}
	return p
}

// TestManyTraces: what a row of an array of many chunks takes. With an index, inside or
// beside, that is two phases, and the offsets are not read.
func TestManyTraces(t *testing.T) {
	t.Parallel()
	const n, at = 40_000, 31_234
	plain, inside := manyOf(t, n, cframe.NoIndex), manyOf(t, n, cframe.CheapIndex)
	for name, c := range map[string]struct {
		file   []byte
		etag   string // of the index beside; "": there is none
		phases int64
		bytes  int64
	}{
		"inside": {inside, "", 2, 48_000}, "beside": {plain, "same", 2, 74_000},
		"none": {plain, "", 3, 160_000}, "stale": {plain, "other", 3, 180_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := New(Config{Counter: &objstore.Counter{}, Policy: rangeio.Lean()})
			b := memstore.New(memstore.Config{Name: "s3://b"})
			in := put(t, b, "x.b2nd", c.file, nil)
			if c.etag != "" {
				put(t, b, "x.b2nd"+index.Suffix, besideOf(t, c.file, map[string]string{"same": in.ETag, "other": "other"}[c.etag]), nil)
			}
			var log tracetest.Log
			client.buckets["s3://b"] = store{b, objstore.Chain(b, log.Middleware(), objstore.Count(client.c.Counter))}
			a, err := client.OpenArray(t.Context(), "s3://b/x.b2nd", FrameOptions{Beside: c.etag != ""})
			if err != nil {
				t.Fatal(err)
			}
			log.Step("open")
			row := make([]byte, 512)
			if err := a.ReadSlice(t.Context(), row, b2nd.Sub([]int64{at, 0}, []int64{at + 1, 128})); err != nil || !bytes.Equal(row, manyRow(at)) {
				t.Fatalf("%x, %v", row, err)
			}
			log.Step("a row")
			s := client.Stats()
			log.Note(fmt.Sprintf("%d requests, %d phases, %d bytes", s.Requests, s.Phases, s.Bytes))
			if s.Phases > c.phases || s.Bytes > c.bytes {
				t.Errorf("%+v", s)
			}
			log.Golden(t, "testdata/many-"+name+".trace")
			k := 0
			for e, err := range opened[interface {
				Entries(ctx context.Context, o EntriesOptions) iter.Seq2[Entry, error]
			}](t, client, "x.b2nd", AnyOptions{}).Entries(t.Context(), EntriesOptions{}) {
				if err != nil || e.N != int64(k) || e.Off <= 0 || e.Size != 512 {
					t.Fatalf("%+v, %v", e, err)
				}
				k++
			}
			if k != n {
				t.Errorf("%d entries", k)
			}
		})
	}
}
