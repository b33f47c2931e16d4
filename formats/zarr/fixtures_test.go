package zarr_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/formats/zarr"
	"github.com/farread/farread/rangeio"
)

// A fixture is a line of testdata/zarr.jsonl; zarrs.py says what is in it.
type fixture struct {
	Name    string
	Objects memStore
	DType   string
	Shape   []int64
	SHA256  string
	Arrays  map[string]string
	Refused bool
}

func fixtures(tb testing.TB) []fixture {
	tb.Helper()
	f, err := os.Open("testdata/zarr.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var out []fixture
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var x fixture
		if err := json.Unmarshal(lines.Bytes(), &x); err != nil {
			tb.Fatal(err)
		}
		out = append(out, x)
	}
	if err := lines.Err(); err != nil || len(out) < 150 {
		tb.Fatal(len(out), err)
	}
	return out
}

func named(tb testing.TB, name string) fixture {
	tb.Helper()
	all := fixtures(tb)
	i := slices.IndexFunc(all, func(f fixture) bool { return f.Name == name })
	if i < 0 {
		tb.Fatalf("no fixture %q", name)
	}
	return all[i]
}

// A memStore is a Store in memory.
type memStore map[string][]byte

func (s memStore) Open(_ context.Context, key string, _, _ int64) (rangeio.Reader, error) {
	p, ok := s[key]
	if !ok {
		return nil, formats.ErrNoEntry
	}
	return rangeio.FromReaderAt(strings.NewReader(string(p)), int64(len(p))), nil
}

func (s memStore) Folders(_ context.Context, folder string) ([]zarr.Folder, error) {
	var out []zarr.Folder
	for key := range s {
		if rest, ok := strings.CutPrefix(key, folder); ok {
			if name, _, ok := strings.Cut(rest, "/"); ok && !slices.Contains(out, zarr.Folder{Name: name}) {
				out = append(out, zarr.Folder{Name: name})
			}
		}
	}
	slices.SortFunc(out, func(x, y zarr.Folder) int { return strings.Compare(x.Name, y.Name) })
	return out, nil
}

// whole reads all items of an array, chunk by chunk.
func whole(ctx context.Context, a *zarr.Array) ([]byte, error) {
	p := make([]byte, a.Meta().NBytes())
	return p, a.ReadBox(ctx, p, nd.Whole(a.Shape()))
}

func sum(p []byte) string {
	h := sha256.Sum256(p)
	return hex.EncodeToString(h[:])
}

// TestFixtures: what zarr-python wrote is what NumPy has, and what is refused is refused by
// name.
func TestFixtures(t *testing.T) {
	for _, x := range fixtures(t) {
		t.Run(x.Name, func(t *testing.T) {
			n, err := zarr.Open(t.Context(), x.Objects, zarr.Options{})
			if x.Refused {
				if !errors.Is(err, formats.ErrUnsupported) {
					t.Fatalf("%v %v, want ErrUnsupported", n, err)
				}
				t.Log(err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if x.Arrays != nil {
				readGroup(t, &x, n.Group)
				return
			}
			a := n.Array
			if a.DType().String() != x.DType || !slices.Equal(a.Shape(), x.Shape) {
				t.Errorf("%s %v, want %s %v", a.DType(), a.Shape(), x.DType, x.Shape)
			}
			p, err := whole(t.Context(), a)
			if err != nil || sum(p) != x.SHA256 {
				t.Errorf("%.200x, %v", p, err)
			}
			if text := a.Meta().FillValue; text != nil {
				if fill, err := zarr.ParseFill(a.DType(), text); err != nil || string(fill) != string(a.Meta().Fill) {
					t.Errorf("fill value %s is read as %x (%v), was %x", text, fill, err, a.Meta().Fill)
				}
			}
		})
	}
}

func readGroup(t *testing.T, x *fixture, g *zarr.Group) {
	t.Helper()
	if g.Consolidated != strings.Contains(x.Name, "consolidated") || string(g.Attrs["title"]) != `"two"` {
		t.Errorf("consolidated %v, attributes %s", g.Consolidated, g.Attrs)
	}
	arrays, refused, err := g.Arrays(t.Context())
	if err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	got := map[string]string{}
	for p, a := range arrays {
		items, err := whole(t.Context(), a)
		if err != nil {
			t.Fatal(p, err)
		}
		got[p] = sum(items)
	}
	if d := cmp.Diff(x.Arrays, got); d != "" {
		t.Error(d)
	}
}

// TestMeaning: names of axes and attributes come along, and the names are no attribute.
func TestMeaning(t *testing.T) {
	for name, want := range map[string][]string{"names": {"time", "x"}, "names v2": {"time", "x"}, "a name missing": {"time", "dim_1"},
		"names odd": {"a=b, c", "p/q", "dim_2", "wind speed"}, "names twice v2": {"x", "x_1"}, "names null v2": {"dim_1", "dim_1_"}} {
		n, err := zarr.Open(t.Context(), named(t, name).Objects, zarr.Options{})
		if err != nil {
			t.Fatal(err)
		}
		m := n.Array.Meta()
		if !slices.Equal(m.Dims, want) {
			t.Errorf("%s: %q", name, m.Dims)
		}
		if _, ok := m.Attrs["_ARRAY_DIMENSIONS"]; ok || m.Attrs["units"] != nil && string(m.Attrs["units"]) != `"K"` {
			t.Errorf("%s: attributes %s", name, m.Attrs)
		}
		if told := len(m.Renamed) > 0; told == (name == "names" || name == "names v2") {
			t.Errorf("%s: %q", name, m.Renamed)
		}
	}
}

// TestWords: Python's words for numbers that JSON does not have are read, and not within text.
func TestWords(t *testing.T) {
	s := clone(named(t, "names v2").Objects)
	s[".zattrs"] = []byte(`{"missing_value": NaN, "range": [-Infinity, Infinity,-1], "NaN": "a \"NaN, -Infinity"}`)
	n, err := zarr.Open(t.Context(), s, zarr.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"missing_value": `"NaN"`, "range": `["-Infinity","Infinity",-1]`, "NaN": `"a \"NaN, -Infinity"`} {
		if got := string(n.Array.Meta().Attrs[name]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// counting counts the objects that are opened.
type counting struct {
	zarr.Store

	n atomic.Int64
}

func (c *counting) Open(ctx context.Context, key string, head, tail int64) (rangeio.Reader, error) {
	c.n.Add(1)
	return c.Store.Open(ctx, key, head, tail)
}

// TestAxisNames: names that are no names, or are there twice, are replaced by others, and that is told.
func TestAxisNames(t *testing.T) {
	text := string(named(t, "names").Objects["zarr.json"])
	at := strings.Index(text, `"dimension_names"`)
	end := at + strings.Index(text[at:], "]") + 1
	for names, want := range map[string]string{
		`[null,null]`:      "",
		`["",null]`:        "",
		`[]`:               "",
		`["a","b","c"]`:    ": 3 names for 2 axes are passed over",
		`["a\u0001b","y"]`: `dim_0 y: axis 0 has a name that cannot be shown, "a\x01b", and becomes "dim_0"`,
		`["x","x"]`:        `x x_1: axis 1 is called "x", as another one is, and becomes "x_1"`,
		`["dim_1",null]`:   `dim_1 dim_1_: axis 1 has no name and becomes "dim_1_"`,
		`["..","` + strings.Repeat("n", 2000) + `"]`:                                `.. dim_1: axis 1 has a name that cannot be shown, "` + strings.Repeat("n", 80) + `", and becomes "dim_1"`,
		`["` + strings.Repeat("n", 1024) + `","` + strings.Repeat("n", 1024) + `"]`: strings.Repeat("n", 1024) + ` dim_1: axis 1 is called "` + strings.Repeat("n", 80) + `", as another one is, and becomes "dim_1"`,
	} {
		n, err := zarr.Open(t.Context(), memStore{"zarr.json": []byte(text[:at] + `"dimension_names":` + names + text[end:])}, zarr.Options{})
		if err != nil {
			t.Errorf("%.40s: %v", names, err)
			continue
		}
		m := n.Array.Meta()
		got := strings.Join(m.Dims, " ")
		if m.Renamed != nil {
			got += ": " + strings.Join(m.Renamed, "; ")
		}
		if got != want {
			t.Errorf("%.40s: %s, want %s", names, got, want)
		}
	}
}

// TestMembersAndBits: items with members as "struct" has them, with a fill value for each member, and raw bytes by their bits.
func TestMembersAndBits(t *testing.T) {
	doc := func(typ, fill string) memStore {
		return memStore{"zarr.json": []byte(`{"zarr_format":3,"node_type":"array","shape":[2],"data_type":` + typ + `,"chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},` +
			`"chunk_key_encoding":"default","fill_value":` + fill + `,"codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}`)}
	}
	pair := `{"name":"struct","configuration":{"fields":[{"name":"a","data_type":"int16"},{"name":"b","data_type":"r16"}]}}`
	for _, c := range []struct{ typ, fill, want, item string }{
		{pair, `{"a":-2,"b":[1,255]}`, "[('a', '<i2'), ('b', 'V2')]", "\xfe\xff\x01\xff"},
		{pair, `{"b":"AQI="}`, "[('a', '<i2'), ('b', 'V2')]", "\x00\x00\x01\x02"},
		{pair, `"AQIDBA=="`, "[('a', '<i2'), ('b', 'V2')]", "\x01\x02\x03\x04"},
		{`"r24"`, `[1,2,3]`, "|V3", "\x01\x02\x03"},
	} {
		n, err := zarr.Open(t.Context(), doc(c.typ, c.fill), zarr.Options{})
		if err != nil {
			t.Errorf("%s %s: %v", c.typ, c.fill, err)
			continue
		}
		p, err := whole(t.Context(), n.Array)
		if n.Array.DType().String() != c.want || string(p) != c.item+c.item || err != nil {
			t.Errorf("%s %s: %s %x, %v", c.typ, c.fill, n.Array.DType(), p, err)
		}
	}
	for _, fill := range []string{`{"a":70000}`, `{"c":1}`, `{"b":[1,256]}`, `{"b":[1]}`, `[1,2,3,4]`, `"AQIDBAUG"`, `1`} {
		if n, err := zarr.Open(t.Context(), doc(pair, fill), zarr.Options{}); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s: %v %v", fill, n, err)
		}
	}
	big := doc(pair, `"AQIDBA=="`)
	big["zarr.json"] = []byte(strings.Replace(string(big["zarr.json"]), `"little"`, `"big"`, 1))
	if n, err := zarr.Open(t.Context(), big, zarr.Options{}); !errors.Is(err, formats.ErrUnsupported) {
		t.Errorf("big-endian: %v %v", n, err)
	}
}
