package zarr_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/formats/zarr"
)

// boxes reads boxes of items in row-major order.
func boxes(items []byte, shape []int64, size int) func(context.Context, nd.Box, []byte) error {
	return func(_ context.Context, box nd.Box, dst []byte) error {
		n := box.Counts()
		nd.CopyBox(dst, n, make([]int64, len(n)), items, shape, box.Start, n, size)
		return nil
	}
}

func mustType(t interface{ Fatal(...any) }, name string) dtype.DType {
	d, err := dtype.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestWriteRead: what is written is read again, whatever the shapes, in any number of
// goroutines; chunks of the fill value are not there.
func TestWriteRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		axes := rapid.IntRange(0, 4).Draw(t, "axes")
		draw := func(name string, lo, hi int64) []int64 {
			return rapid.SliceOfN(rapid.Int64Range(lo, hi), axes, axes).Draw(t, name)
		}
		d := mustType(t, rapid.SampledFrom([]string{"|b1", "<i2", ">i4", "<f8", "<c16", "|S5", ">U2", "<M8[25s]", "|V3", "[('a', '<i4'), ('é', 'S3'), ('c', [('d', '<f8'), ('e', 'V2')])]"}).Draw(t, "type"))
		m := zarr.NewArray{Shape: draw("shape", 0, 7), ChunkShape: draw("chunk", 1, 5), DType: d, Attrs: map[string]json.RawMessage{"a": json.RawMessage(`[1]`)}}
		if rapid.Bool().Draw(t, "shards") && axes > 0 && zarr.Shardable(d) {
			for i, n := range draw("shard", 1, 3) {
				m.ShardShape = append(m.ShardShape, n*m.ChunkShape[i])
			}
		}
		n, _ := nd.Prod(m.Shape)
		items := make([]byte, n*int64(d.ItemSize()))
		if rapid.Bool().Draw(t, "items") {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			for i := range items {
				items[i] = byte(r.Uint32() & 1)
			}
		}
		s := memStore{}
		put := func(key string, p []byte) error { s[key] = slices.Clone(p); return nil }
		if err := zarr.Write(t.Context(), m, zarr.WriteOptions{Parallel: rapid.IntRange(0, 4).Draw(t, "parallel")}, boxes(items, m.Shape, d.ItemSize()), put); err != nil {
			t.Fatal(err)
		}
		node, err := zarr.Open(t.Context(), s, zarr.Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := whole(t.Context(), node.Array)
		if err != nil || !d.BigEndian() && !node.Array.DType().Equal(d) {
			t.Fatal(node.Array.DType(), err)
		}
		want := items
		if d.BigEndian() { // types of version 3 have no byte order
			little := mustType(t, "<"+d.String()[1:])
			want = make([]byte, len(items))
			if err := d.Convert(want, little, items); err != nil {
				t.Fatal(err)
			}
		}
		if string(got) != string(want) || string(node.Array.Meta().Attrs["a"]) != "[1]" {
			t.Fatalf("%x\n%x", got, want)
		}
		if !strings.ContainsFunc(string(items), func(r rune) bool { return r != 0 }) && len(s) != 1 {
			t.Fatalf("%d objects of an array of the fill value", len(s))
		}
	})
}

// TestWriteRefuses: what cannot be written is refused before anything is.
func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	i4 := mustType(t, "<i4")
	for name, c := range map[string]struct {
		m    zarr.NewArray
		o    zarr.WriteOptions
		want error
	}{
		"axes":             {zarr.NewArray{Shape: []int64{4}, ChunkShape: []int64{2, 2}, DType: i4}, zarr.WriteOptions{}, formats.ErrCorrupt},
		"shards":           {zarr.NewArray{Shape: []int64{4}, ChunkShape: []int64{2}, ShardShape: []int64{3}, DType: i4}, zarr.WriteOptions{}, formats.ErrCorrupt},
		"shards of none":   {zarr.NewArray{Shape: []int64{4}, ChunkShape: []int64{2}, ShardShape: []int64{}, DType: i4}, zarr.WriteOptions{}, formats.ErrCorrupt},
		"shards, members":  {zarr.NewArray{Shape: []int64{4}, ChunkShape: []int64{2}, ShardShape: []int64{4}, DType: mustType(t, "[('a', '<i4')]")}, zarr.WriteOptions{}, formats.ErrUnsupported},
		"shards, raw":      {zarr.NewArray{Shape: []int64{4}, ChunkShape: []int64{2}, ShardShape: []int64{4}, DType: mustType(t, "|V3")}, zarr.WriteOptions{}, formats.ErrUnsupported},
		"memory":           {zarr.NewArray{Shape: []int64{4000}, ChunkShape: []int64{2000}, DType: i4}, zarr.WriteOptions{MaxMemory: 1000}, formats.ErrTooLarge},
		"memory of shards": {zarr.NewArray{Shape: []int64{4000}, ChunkShape: []int64{2}, ShardShape: []int64{4000}, DType: i4}, zarr.WriteOptions{MaxMemory: 10000}, formats.ErrTooLarge},
		"fill value":       {zarr.NewArray{Shape: []int64{4}, ChunkShape: []int64{2}, DType: i4, Fill: json.RawMessage(`"x"`)}, zarr.WriteOptions{}, formats.ErrCorrupt},
		"type":             {zarr.NewArray{Shape: []int64{4}, ChunkShape: []int64{2}, DType: mustType(t, "[('a', '<i4', (2,))]")}, zarr.WriteOptions{}, formats.ErrUnsupported},
	} {
		err := zarr.Write(t.Context(), c.m, c.o, nil, func(string, []byte) error { t.Errorf("%s: written", name); return nil })
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestWriteFails: errors of what reads and of what puts end it, and there is no document.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	m := zarr.NewArray{Shape: []int64{100}, ChunkShape: []int64{3}, DType: mustType(t, "|u1")}
	items := make([]byte, 100)
	for i := range items {
		items[i] = 1
	}
	sick := errors.New("sick")
	keys := map[string]int{}
	for name, c := range map[string]struct {
		read func(context.Context, nd.Box, []byte) error
		put  func(string, []byte) error
	}{
		"read": {func(_ context.Context, box nd.Box, p []byte) error {
			if box.Start[0] > 50 {
				return sick
			}
			return boxes(items, m.Shape, 1)(t.Context(), box, p)
		}, func(key string, _ []byte) error { keys[key]++; return nil }},
		"put": {boxes(items, m.Shape, 1), func(key string, _ []byte) error {
			if keys[key]++; key == "c/7" {
				return sick
			}
			return nil
		}},
	} {
		if err := zarr.Write(t.Context(), m, zarr.WriteOptions{}, c.read, c.put); !errors.Is(err, sick) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if keys["zarr.json"] != 0 {
		t.Error("there is a document")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := zarr.Write(ctx, m, zarr.WriteOptions{}, boxes(items, m.Shape, 1), func(string, []byte) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestDocument: the document of shards with names and a fill value, word by word.
func TestDocument(t *testing.T) {
	t.Parallel()
	var doc []byte
	m := zarr.NewArray{Shape: []int64{0, 4}, ChunkShape: []int64{2, 2}, ShardShape: []int64{4, 4}, DType: mustType(t, ">f4"), Fill: json.RawMessage(`"NaN"`), Dims: []string{"y", "x"}}
	if err := zarr.Write(t.Context(), m, zarr.WriteOptions{}, nil, func(_ string, p []byte) error { doc = p; return nil }); err != nil {
		t.Fatal(err)
	}
	var got, want any
	const text = `{"zarr_format":3,"node_type":"array","shape":[0,4],"data_type":"float32","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[4,4]}},
		"chunk_key_encoding":{"name":"default","configuration":{"separator":"/"}},"fill_value":"NaN","codecs":[{"name":"sharding_indexed","configuration":{"chunk_shape":[2,2],
		"codecs":[{"name":"bytes","configuration":{"endian":"big"}},{"name":"zstd","configuration":{"level":3,"checksum":false}}],
		"index_codecs":[{"name":"bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],"index_location":"end"}}],"dimension_names":["y","x"],"attributes":{}}`
	if err := errors.Join(json.Unmarshal(doc, &got), json.Unmarshal([]byte(text), &want)); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestSharedShards: many goroutines read the chunks of few shards, and each index is read once.
func TestSharedShards(t *testing.T) {
	t.Parallel()
	x := named(t, "shards index end")
	c := &counting{Store: x.Objects}
	n, err := zarr.Open(t.Context(), c, zarr.Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	for range 8 {
		go func() {
			p, err := whole(t.Context(), n.Array)
			if err == nil && sum(p) != x.SHA256 {
				err = errors.New("other items")
			}
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if c.n.Load() != 7 { // the document, and six shards
		t.Errorf("%d objects were opened", c.n.Load())
	}
}

// TestChunkOutside: chunks outside of the grid, and memory of another length.
func TestChunkOutside(t *testing.T) {
	t.Parallel()
	n, err := zarr.Open(t.Context(), named(t, "little endian").Objects, zarr.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := make([]byte, n.Array.ChunkBytes())
	for _, at := range [][]int64{{3, 0}, {0, -1}} {
		if _, err := n.Array.ReadChunk(t.Context(), p, at); !errors.Is(err, formats.ErrNoEntry) {
			t.Errorf("%v: %v", at, err)
		}
	}
	if _, err := n.Array.ReadChunk(t.Context(), p[1:], []int64{0, 0}); err == nil {
		t.Error("a byte less is no error")
	}
	if _, err := n.Array.ReadChunk(t.Context(), p, []int64{0}); err == nil {
		t.Error("an axis less is no error")
	}
	if err := n.Array.ReadBox(t.Context(), p, nd.Whole(n.Array.Shape())); err == nil {
		t.Error("a box into other memory is no error")
	}
}
