package zarr_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/rangeio"
)

func clone(s memStore) memStore {
	out := memStore{}
	for k, v := range s {
		out[k] = slices.Clone(v)
	}
	return out
}

// TestLyingChunks: a chunk that is shorter, longer or other than the metadata promise is
// ErrCorrupt with its key; never other items.
func TestLyingChunks(t *testing.T) {
	for i, x := range fixtures(t) {
		if racetest.On && i%7 != 0 {
			continue
		}
		checked := strings.Contains(x.Name, "crc32c") || strings.Contains(x.Name, "gzip") || strings.Contains(x.Name, "bz2") || strings.Contains(x.Name, "zlib v") || strings.Contains(x.Name, "zstd checksum")
		if x.SHA256 == "" || len(x.Objects) > 14 {
			continue
		}
		tried := 0
		for _, key := range slices.Sorted(maps.Keys(x.Objects)) {
			p := x.Objects[key]
			if strings.HasPrefix(key, ".z") || strings.HasSuffix(key, ".json") || tried == 2 {
				continue
			}
			tried++
			for what, lie := range map[string][]byte{
				"empty": {}, "short": p[:len(p)-1], "half": p[:len(p)/2], "long": append(slices.Clone(p), 0), "twice": append(slices.Clone(p), p...),
				"huge": append(slices.Clone(p), make([]byte, 100<<10)...), "ones": bytes.Repeat([]byte{0xff}, len(p)), "zeros": make([]byte, len(p)),
			} {
				s := clone(x.Objects)
				s[key] = lie
				n, err := zarr.Open(t.Context(), s, zarr.Options{})
				if err != nil {
					t.Fatal(x.Name, err)
				}
				got, err := whole(t.Context(), n.Array)
				if err != nil && (!formattest.Allowed(err) || !strings.Contains(err.Error(), key)) {
					t.Errorf("%s, %s %s: %v", x.Name, key, what, err)
				}
				mustFail := what == "empty" || what == "huge" || what == "long" && strings.Contains(x.Name, "blosc") || checked && what != "long" && what != "twice"
				if err == nil && mustFail && len(got) > 0 && sum(got) != x.SHA256 {
					t.Errorf("%s, %s %s: %d other bytes without an error", x.Name, key, what, len(got))
				}
			}
		}
	}
}

// TestHostileMetadata: what metadata claim is checked before memory is allocated for it.
func TestHostileMetadata(t *testing.T) {
	v3, v2 := string(named(t, "shards index end").Objects["zarr.json"]), string(named(t, "F order v2").Objects[".zarray"])
	tidy := func(text string) string {
		var b bytes.Buffer
		if err := json.Compact(&b, []byte(text)); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	v3, v2 = tidy(v3), tidy(v2)
	change := func(doc, old, now string) string {
		if !strings.Contains(doc, old) {
			t.Fatalf("no %s in %s", old, doc)
		}
		return strings.Replace(doc, old, now, 1)
	}
	for name, doc := range map[string]struct {
		key, text string
		want      error
	}{
		"no JSON":                {"zarr.json", "{", formats.ErrCorrupt},
		"a list":                 {"zarr.json", "[]", formats.ErrCorrupt},
		"deep":                   {"zarr.json", `{"zarr_format":3,"node_type":"array","attributes":` + strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20001), formats.ErrCorrupt},
		"version":                {"zarr.json", change(v3, `"zarr_format":3`, `"zarr_format":4`), formats.ErrUnsupported},
		"unknown key":            {"zarr.json", change(v3, `{`, `{"later":{},`), formats.ErrUnsupported},
		"shape negative":         {"zarr.json", change(v3, `"shape":[13,20]`, `"shape":[-13,20]`), formats.ErrCorrupt},
		"shape overflows":        {"zarr.json", change(v3, `"shape":[13,20]`, `"shape":[4611686018427387904,4]`), formats.ErrCorrupt},
		"shape hides":            {"zarr.json", change(v3, `"shape":[13,20]`, `"shape":[9223372036854775807,9223372036854775807]`), formats.ErrCorrupt},
		"axes":                   {"zarr.json", change(v3, `"shape":[13,20]`, `"shape":[13,20,1]`), formats.ErrCorrupt},
		"many axes":              {"zarr.json", change(v3, `"shape":[13,20]`, `"shape":[`+strings.Repeat("1,", 99)+`1]`), formats.ErrTooLarge},
		"chunks of none":         {"zarr.json", change(v3, `"chunk_shape":[6,12]`, `"chunk_shape":[0,12]`), formats.ErrCorrupt},
		"chunks too large":       {"zarr.json", change(v3, `"chunk_shape":[6,12]`, `"chunk_shape":[600000,1200000]`), formats.ErrTooLarge},
		"chunks overflow":        {"zarr.json", change(v3, `"chunk_shape":[6,12]`, `"chunk_shape":[4611686018427387904,4611686018427387904]`), formats.ErrTooLarge},
		"inner chunks":           {"zarr.json", change(v3, `"chunk_shape":[3,4]`, `"chunk_shape":[4,4]`), formats.ErrCorrupt},
		"inner chunks of none":   {"zarr.json", change(v3, `"chunk_shape":[3,4]`, `"chunk_shape":[0,4]`), formats.ErrCorrupt},
		"index compressed":       {"zarr.json", change(v3, `{"name":"crc32c"}`, `{"name":"gzip"}`), formats.ErrUnsupported},
		"grid":                   {"zarr.json", change(v3, `"name":"regular"`, `"name":"rectilinear"`), formats.ErrUnsupported},
		"codec":                  {"zarr.json", change(v3, `"name":"zstd"`, `"name":"pcodec"`), formats.ErrUnsupported},
		"no codecs":              {"zarr.json", `{"zarr_format":3,"node_type":"array","shape":[1],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},"chunk_key_encoding":"default","fill_value":0,"codecs":[]}`, formats.ErrCorrupt},
		"many codecs":            {"zarr.json", `{"zarr_format":3,"node_type":"array","shape":[1],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[1]}},"chunk_key_encoding":"default","fill_value":0,"codecs":["bytes"` + strings.Repeat(`,"zstd"`, 1000) + `]}`, formats.ErrTooLarge},
		"type":                   {"zarr.json", change(v3, `"int32"`, `"bfloat16"`), formats.ErrUnsupported},
		"type long":              {"zarr.json", change(v3, `"int32"`, `{"name":"fixed_length_utf32","configuration":{"length_bytes":9223372036854775807}}`), formats.ErrCorrupt},
		"fill value":             {"zarr.json", change(v3, `"fill_value":0`, `"fill_value":4294967296`), formats.ErrCorrupt},
		"fill value of no type":  {"zarr.json", change(v3, `"fill_value":0`, `"fill_value":{"a":1}`), formats.ErrCorrupt},
		"separator":              {"zarr.json", change(v3, `"separator":"/"`, `"separator":"/../"`), formats.ErrUnsupported},
		"v2 separator":           {".zarray", change(v2, `"dimension_separator":"."`, `"dimension_separator":"../"`), formats.ErrUnsupported},
		"v2 chunks of none":      {".zarray", change(v2, `"chunks":[2,3,4]`, `"chunks":[2,3,0]`), formats.ErrCorrupt},
		"v2 order":               {".zarray", change(v2, `"order":"F"`, `"order":"A"`), formats.ErrCorrupt},
		"v2 object":              {".zarray", change(v2, `"<f4"`, `"|O"`), formats.ErrUnsupported},
		"v2 long double":         {".zarray", change(v2, `"<f4"`, `"<f16"`), formats.ErrUnsupported},
		"v2 raw, other fill":     {".zarray", change(v2, `"<f4"`, `"|V8"`), formats.ErrCorrupt},
		"v2 members of arrays":   {".zarray", change(v2, `"<f4"`, `[["a","<f4",[2]]]`), formats.ErrUnsupported},
		"v2 members big-endian":  {".zarray", change(v2, `"<f4"`, `[["a","|u1"],["b",">i2"]]`), formats.ErrUnsupported},
		"v2 members of objects":  {".zarray", change(v2, `"<f4"`, `[["a","|O"]]`), formats.ErrUnsupported},
		"v2 members twice":       {".zarray", change(v2, `"<f4"`, `[["a","|u1"],["a","|u1"]]`), formats.ErrCorrupt},
		"v2 no members":          {".zarray", change(v2, `"<f4"`, `[]`), formats.ErrCorrupt},
		"v2 members deep":        {".zarray", change(v2, `"<f4"`, strings.Repeat(`[["a",`, 9000)+`"|u1"`+strings.Repeat(`]]`, 9000)), formats.ErrCorrupt},
		"v2 a text of members":   {".zarray", change(v2, `"<f4"`, `"[('a', '<i4')]"`), formats.ErrCorrupt},
		"members twice":          {"zarr.json", change(v3, `"int32"`, `{"name":"structured","configuration":{"fields":[["a","int8"],["a","int8"]]}}`), formats.ErrCorrupt},
		"members without names":  {"zarr.json", change(v3, `"int32"`, `{"name":"struct","configuration":{"fields":[{"data_type":"int8"}]}}`), formats.ErrCorrupt},
		"members of any length":  {"zarr.json", change(v3, `"int32"`, `{"name":"structured","configuration":{"fields":[["a","string"]]}}`), formats.ErrUnsupported},
		"members deep":           {"zarr.json", change(v3, `"int32"`, strings.Repeat(`{"name":"structured","configuration":{"fields":[["a",`, 2000)+`"int8"`+strings.Repeat(`]]}}`, 2000)), formats.ErrCorrupt},
		"no members":             {"zarr.json", change(v3, `"int32"`, `{"name":"structured","configuration":{"fields":[]}}`), formats.ErrCorrupt},
		"members too long":       {"zarr.json", change(v3, `"int32"`, `{"name":"structured","configuration":{"fields":[["a",{"name":"raw_bytes","configuration":{"length_bytes":2000000000}}],["b",{"name":"raw_bytes","configuration":{"length_bytes":2000000000}}]]}}`), formats.ErrTooLarge},
		"raw bits":               {"zarr.json", change(v3, `"int32"`, `"r7"`), formats.ErrUnsupported},
		"raw bits too many":      {"zarr.json", change(v3, `"int32"`, `"r99999999999999"`), formats.ErrUnsupported},
		"v2 shuffle":             {".zarray", change(v2, `"filters":null`, `"filters":[{"id":"shuffle","elementsize":0}]`), formats.ErrCorrupt},
		"group out of the store": {"zarr.json", `{"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline","must_understand":false,"metadata":{"../x":` + v3 + `}}}`, formats.ErrUnsupported},
		"group absolute":         {".zmetadata", `{"zarr_consolidated_format":1,"metadata":{"/etc/.zarray":` + v2 + `}}`, formats.ErrUnsupported},
		"group with a backslash": {".zmetadata", `{"zarr_consolidated_format":1,"metadata":{"a\\b/.zarray":` + v2 + `}}`, formats.ErrUnsupported},
		"nothing":                {"other", "", formats.ErrNoEntry},
	} {
		if n, err := zarr.Open(t.Context(), memStore{doc.key: []byte(doc.text)}, zarr.Options{}); !errors.Is(err, doc.want) {
			t.Errorf("%s: %+v, %v, want %v", name, n, err, doc.want)
		}
	}
	long := memStore{"zarr.json": bytes.Repeat([]byte(" "), 1<<17)}
	if _, err := zarr.Open(t.Context(), long, zarr.Options{Limits: formats.Limits{MaxMeta: 1 << 16}}); !errors.Is(err, formats.ErrTooLarge) {
		t.Error(err)
	}
}

// TestLyingIndex: places in a shard's index are held against the shard.
func TestLyingIndex(t *testing.T) {
	x := named(t, "shards index without checksum")
	for _, lie := range [][2]uint64{{0, math.MaxUint64}, {math.MaxUint64, 0}, {math.MaxInt64, math.MaxInt64}, {1 << 40, 10}, {0, 1 << 40}, {0, 0}, {3, 20}} {
		s := clone(x.Objects)
		shard := s["c/0/0"]
		at := len(shard) - 6*16
		binary.LittleEndian.PutUint64(shard[at:], lie[0])
		binary.LittleEndian.PutUint64(shard[at+8:], lie[1])
		n, err := zarr.Open(t.Context(), s, zarr.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p := make([]byte, n.Array.ChunkBytes())
		if found, err := n.Array.ReadChunk(t.Context(), p, []int64{0, 0}); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%x: %v, %v", lie, found, err)
		}
		if _, err := n.Array.ReadChunk(t.Context(), p, []int64{0, 1}); err != nil { // its neighbour is as it was
			t.Errorf("%x: %v", lie, err)
		}
	}
	s := clone(named(t, "shards index end").Objects)
	s["c/0/0"][len(s["c/0/0"])-1] ^= 1
	n, err := zarr.Open(t.Context(), s, zarr.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := whole(t.Context(), n.Array); !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), "index of the shard") {
		t.Error(err)
	}
}

// TestEndlessGroups: a group that is in itself, as links make it, ends.
func TestEndlessGroups(t *testing.T) {
	s := memStore{}
	group := `{"zarr_format":3,"node_type":"group"}`
	for i := range 50 {
		s[strings.Repeat("a/", i)+"zarr.json"] = []byte(group)
	}
	n, err := zarr.Open(t.Context(), s, zarr.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if arrays, _, err := n.Group.Arrays(t.Context()); !errors.Is(err, formats.ErrTooLarge) {
		t.Error(len(arrays), err)
	}
}

// A treeStore has two groups in each group, without an end but a depth of 30.
type treeStore struct{ opened *atomic.Int64 }

func (s treeStore) Open(_ context.Context, key string, _, _ int64) (rangeio.Reader, error) {
	const group = `{"zarr_format":3,"node_type":"group"}`
	if s.opened.Add(1); path.Base(key) != "zarr.json" {
		return nil, formats.ErrNoEntry
	}
	return rangeio.FromReaderAt(strings.NewReader(group), int64(len(group))), nil
}

func (treeStore) Folders(_ context.Context, folder string) ([]zarr.Folder, error) {
	if strings.Count(folder, "/") == 30 {
		return nil, nil
	}
	return []zarr.Folder{{Name: "a"}, {Name: "b"}}, nil
}

// TestManyGroups: groups that are in each other, and so would be very many, end, too.
func TestManyGroups(t *testing.T) {
	s := treeStore{new(atomic.Int64)}
	n, err := zarr.Open(t.Context(), s, zarr.Options{Limits: formats.Limits{MaxEntries: 1000}})
	if err != nil {
		t.Fatal(err)
	}
	if arrays, _, err := n.Group.Arrays(t.Context()); !errors.Is(err, formats.ErrTooLarge) || s.opened.Load() > 1001 {
		t.Errorf("%d arrays, %d objects, %v", len(arrays), s.opened.Load(), err)
	}
}

// TestBombs: chunks that claim to be longer than they are allowed do not take the memory.
func TestBombs(t *testing.T) {
	doc := `{"zarr_format":3,"node_type":"array","shape":[8],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[8]}},` +
		`"chunk_key_encoding":"default","fill_value":0,"codecs":["bytes",%s]}`
	zeros := gzipped(t, make([]byte, 8<<20))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	defer func() {
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 4<<20 && !racetest.On {
			t.Errorf("%d bytes allocated", after.TotalAlloc-before.TotalAlloc)
		}
	}()
	for name, chunk := range map[string][]byte{
		`"gzip"`:                             zeros,
		`"gzip","gzip"`:                      gzipped(t, zeros),
		`"gzip",{"name":"numcodecs.lz4"}`:    {0xff, 0xff, 0xff, 0x7f, 0},
		`{"name":"numcodecs.lz4"},"crc32c"`:  {0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0},
		`"gzip",{"name":"blosc"}`:            append([]byte{2, 1, 0x33, 1, 0xff, 0xff, 0xff, 0x7f, 0, 0, 16, 0, 40, 0, 0, 0}, make([]byte, 24)...),
		`{"name":"shuffle"},"zstd","crc32c"`: {1, 2, 3},
	} {
		s := memStore{"zarr.json": fmt.Appendf(nil, doc, name), "c/0": chunk}
		n, err := zarr.Open(t.Context(), s, zarr.Options{})
		if err != nil {
			t.Fatal(name, err)
		}
		p := make([]byte, 8)
		if _, err := n.Array.ReadChunk(t.Context(), p, []int64{0}); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func gzipped(t *testing.T, p []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(p); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func FuzzMetadata(f *testing.F) {
	for _, x := range fixtures(f) {
		for _, key := range []string{"zarr.json", ".zarray", ".zmetadata"} {
			if p, ok := x.Objects[key]; ok {
				f.Add(key, p)
			}
		}
	}
	f.Fuzz(func(t *testing.T, key string, text []byte) {
		n, err := zarr.Open(t.Context(), memStore{key: text}, zarr.Options{Limits: formats.Limits{MaxDecoded: 1 << 20}})
		if err != nil {
			if !formattest.Allowed(err) {
				t.Fatal(err)
			}
			return
		}
		arrays := map[string]*zarr.Array{"": n.Array}
		if n.Group != nil {
			if arrays, _, err = n.Group.Arrays(t.Context()); err != nil && !formattest.Allowed(err) {
				t.Fatal(err)
			}
		}
		for _, a := range arrays {
			if a.ChunkBytes() > 1<<20 {
				t.Fatal(a.ChunkBytes())
			}
			p := make([]byte, a.ChunkBytes())
			if found, err := a.ReadChunk(t.Context(), p, make([]int64, len(a.Shape()))); found || err != nil && !formattest.Allowed(err) {
				t.Fatal(found, err)
			}
		}
	})
}

func FuzzChunk(f *testing.F) {
	all := fixtures(f)
	for i, x := range all {
		for _, key := range slices.Sorted(maps.Keys(x.Objects)) {
			if !strings.HasPrefix(key, ".z") && !strings.HasSuffix(key, ".json") && x.SHA256 != "" {
				f.Add(uint16(i), x.Objects[key])
				break
			}
		}
	}
	f.Fuzz(func(t *testing.T, i uint16, chunk []byte) {
		x := all[int(i)%len(all)]
		if x.SHA256 == "" {
			return
		}
		s := memStore{}
		for key, p := range x.Objects {
			s[key] = chunk
			if strings.HasPrefix(key, ".z") || strings.HasSuffix(key, ".json") {
				s[key] = p
			}
		}
		n, err := zarr.Open(t.Context(), s, zarr.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := whole(t.Context(), n.Array); err != nil && !formattest.Allowed(err) {
			t.Fatal(err)
		}
	})
}
