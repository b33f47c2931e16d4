package zarrface_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/formats/dtype"
	"github.com/farread/farread/internal/zarrface"
)

// typed is an array of three items of a type, the bytes of which count up.
func typed(t tester, text string) *b2nd.Array {
	t.Helper()
	d, err := dtype.Parse(text)
	if err != nil {
		t.Fatal(text, err)
	}
	p := make([]byte, 3*d.ItemSize())
	for i := range p {
		p[i] = byte(i + 1)
	}
	return newArray(t, b2nd.Meta{Shape: []int64{3}, ChunkShape: []int{3}, BlockShape: []int{3}, DType: text}, p, b2nd.WriteOptions{})
}

type doc struct {
	Type    json.RawMessage `json:"data_type"`
	Fill    json.RawMessage `json:"fill_value"`
	Codecs  []json.RawMessage
	Names   []string `json:"dimension_names"`
	Shape   []int64
	Members map[string]json.RawMessage `json:"attributes"`
}

func parse(t tester, text []byte) doc {
	t.Helper()
	var d doc
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func compact(t tester, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTypes: types as documents tell them, or why they cannot.
func TestTypes(t *testing.T) {
	const little, big, none = `{"name":"bytes","configuration":{"endian":"little"}}`, `{"name":"bytes","configuration":{"endian":"big"}}`, `{"name":"bytes"}`
	for _, c := range []struct{ dtype, data, fill, bytes string }{
		{"|b1", `"bool"`, "false", none},
		{"|i1", `"int8"`, "0", none},
		{"|u1", `"uint8"`, "0", none},
		{"<i2", `"int16"`, "0", little},
		{">u8", `"uint64"`, "0", big},
		{">f2", `"float16"`, "0", big},
		{"<f8", `"float64"`, "0", little},
		{"<c8", `"complex64"`, "[0,0]", little},
		{">c16", `"complex128"`, "[0,0]", big},
		{"<f16", `{"name":"raw_bytes","configuration":{"length_bytes":16}}`, `"AAAAAAAAAAAAAAAAAAAAAA=="`, none},
		{"<c32", `{"name":"raw_bytes","configuration":{"length_bytes":32}}`, `"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="`, none},
		{"|V3", `{"name":"raw_bytes","configuration":{"length_bytes":3}}`, `"AAAA"`, none},
		{"|S1", `{"name":"null_terminated_bytes","configuration":{"length_bytes":1}}`, `""`, none},
		{"<U2", `{"name":"fixed_length_utf32","configuration":{"length_bytes":8}}`, `""`, little},
		{">U2", `{"name":"fixed_length_utf32","configuration":{"length_bytes":8}}`, `""`, big},
		{"<M8[25s]", `{"name":"numpy.datetime64","configuration":{"scale_factor":25,"unit":"s"}}`, "0", little},
		{"<M8", `{"name":"numpy.datetime64","configuration":{"scale_factor":1,"unit":"generic"}}`, "0", little},
		{">m8[us]", `{"name":"numpy.timedelta64","configuration":{"scale_factor":1,"unit":"us"}}`, "0", big},
		{"[('a', '<i2'), ('b', '|S1')]", `{"name":"structured","configuration":{"fields":[["a","int16"],["b",{"name":"null_terminated_bytes","configuration":{"length_bytes":1}}]]}}`, `"AAAA"`, little},
		{"[('a', [('x', '<f4')])]", `{"name":"structured","configuration":{"fields":[["a",{"name":"structured","configuration":{"fields":[["x","float32"]]}}]]}}`, `"AAAAAA=="`, little},
		{
			"{'names': ['a', 'b'], 'formats': ['|u1', '<u2'], 'offsets': [0, 2], 'itemsize': 4}",
			`{"name":"structured","configuration":{"fields":[["a","uint8"],["f1",{"name":"raw_bytes","configuration":{"length_bytes":1}}],["b","uint16"]]}}`, `"AAAAAA=="`, little,
		},
		{"[('a', '<i2', (2,))]", "", `member "a" is an array`, ""},
		{"[('a', [('b', '<i2', (2,))])]", "", `member "b" is an array`, ""},
		{"[('a', '>i2')]", "", `member "a" is big-endian`, ""},
		{"{'names': ['a', 'b'], 'formats': ['<u2', '<u2'], 'offsets': [0, 1], 'itemsize': 3}", "", "overlap or are out of order", ""},
		{"|V2000000", "", "items of 2000000 bytes", ""},
		{"[('a', '|V2000000')]", "", "items of 2000000 bytes", ""},
	} {
		v, err := zarrface.New(t.Context(), typed(t, c.dtype), nil, zarrface.Options{})
		if c.data == "" {
			if !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), c.fill) {
				t.Errorf("%s: %v, want %s", c.dtype, err, c.fill)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.dtype, err)
			continue
		}
		d := parse(t, v.Doc())
		if d := cmp.Diff([]string{c.data, c.fill, c.bytes}, []string{compact(t, d.Type), compact(t, d.Fill), compact(t, d.Codecs[0])}); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.dtype, d)
		}
	}
}

func layer(t tester, name string, value any) cframe.Metalayer {
	t.Helper()
	l, err := cframe.NewMetalayer(name, value)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestAttributes: whole documents with options.
func TestAttributes(t *testing.T) {
	a := ramp(t, []int64{5, 7, 7}, []int{2, 7, 7}, []int{1, 7, 7})
	var all []byte
	for _, o := range []zarrface.Options{
		{Version: "5723c65c75e6eb3b", Pinned: "/zarr~v-5723c65c75e6eb3b/d/x.b2nd"},
		{Codec: zarrface.Raw, Blocks: true, Cast: "float32", Folder: true},
		{Codec: zarrface.Zstd, Cast: "int64"},
		{Codec: zarrface.Gzip, Cast: "uint8"},
	} {
		v, err := zarrface.New(t.Context(), a, []cframe.Metalayer{
			layer(t, "units", "m/s"), layer(t, "<html>", map[string]any{"b": 1.5, "a": []any{nil, true}}), layer(t, "farread", 1), {Name: "broken", Data: []byte{0x92, 1}},
		}, o)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v.Doc()...)
	}
	golden(t, "options.txt", all)
}

func TestDimensionNames(t *testing.T) {
	a := ramp(t, []int64{5, 7, 7}, []int{2, 7, 7}, []int{1, 7, 7})
	names := []string{"time", "lat", "lon"}
	for _, c := range []struct {
		layers []cframe.Metalayer
		folder bool
		want   []string
		left   []string // attributes
	}{
		{nil, false, []string{"dim_0", "dim_1", "dim_2"}, nil},
		{nil, true, []string{"n5", "n7", "n7_"}, nil},
		{[]cframe.Metalayer{layer(t, "dimension_names", names)}, true, names, nil},
		{[]cframe.Metalayer{layer(t, "_ARRAY_DIMENSIONS", names)}, false, names, nil},
		{[]cframe.Metalayer{layer(t, "_ARRAY_DIMENSIONS", []string{"x", "y", "z"}), layer(t, "dimension_names", names)}, false, names, []string{"_ARRAY_DIMENSIONS"}},
		{[]cframe.Metalayer{layer(t, "dimension_names", []string{"a", "b"})}, false, []string{"dim_0", "dim_1", "dim_2"}, []string{"dimension_names"}},
		{[]cframe.Metalayer{layer(t, "dimension_names", []string{"a", "b", "a"})}, false, []string{"dim_0", "dim_1", "dim_2"}, []string{"dimension_names"}},
		{[]cframe.Metalayer{layer(t, "dimension_names", []any{"a", "b", nil})}, false, []string{"dim_0", "dim_1", "dim_2"}, []string{"dimension_names"}},
		{[]cframe.Metalayer{layer(t, "dimension_names", "abc")}, false, []string{"dim_0", "dim_1", "dim_2"}, []string{"dimension_names"}},
	} {
		v, err := zarrface.New(t.Context(), a, c.layers, zarrface.Options{Folder: c.folder})
		if err != nil {
			t.Fatal(err)
		}
		d := parse(t, v.Doc())
		delete(d.Members, "farread")
		left := make([]string, 0, 1)
		for name := range d.Members {
			left = append(left, name)
		}
		if !slices.Equal(d.Names, c.want) || !slices.Equal(left, c.left) {
			t.Errorf("%v: names %v, attributes %v; want %v, %v", c.layers, d.Names, left, c.want, c.left)
		}
	}
}

// TestMask: xarray opens no array of a group if one has a _FillValue in another spelling.
func TestMask(t *testing.T) {
	const five, nan = `"AAAAAAAAFEA="`, `"AAAAAAAA+H8="`
	for _, c := range []struct{ dtype, value, want string }{
		{"<f4", "5", five}, {">f8", "5.0", five}, {"<f8", `"NaN"`, nan}, {"<f8", nan, nan},
		{"<f4", `"none"`, ""}, {"<f4", "[5]", ""}, {"<i2", "-99", "-99"}, {"<i2", `"x"`, ""}, {"|b1", "true", "true"},
		{"<c8", "5", "[" + five + `,"AAAAAAAAAAA="]`}, {"<c16", "[" + nan + "," + five + "]", "[" + nan + "," + five + "]"}, {"<c16", "[1]", ""},
		{"<M8[s]", "0", ""}, {"|S3", `"x"`, ""},
	} {
		var value any
		if err := json.Unmarshal([]byte(c.value), &value); err != nil {
			t.Fatal(err)
		}
		v, err := zarrface.New(t.Context(), typed(t, c.dtype), []cframe.Metalayer{layer(t, "_FillValue", value)}, zarrface.Options{})
		if err != nil {
			t.Fatal(c, err)
		}
		d := parse(t, v.Doc())
		got := ""
		if d.Members["_FillValue"] != nil {
			got = compact(t, d.Members["_FillValue"])
		}
		if got != c.want {
			t.Errorf("%s %s: %s, want %s", c.dtype, c.value, got, c.want)
		}
		if skipped := strings.Contains(string(d.Members["farread"]), "_FillValue"); skipped != (c.want == "") {
			t.Errorf("%s %s: skipped %t", c.dtype, c.value, skipped)
		}
	}
}

// TestManyAttributes: strangers' metalayers take bounded room.
func TestManyAttributes(t *testing.T) {
	a := ramp(t, []int64{5}, []int{5}, []int{5})
	var list []cframe.Metalayer
	for i := range 30 {
		list = append(list, layer(t, fmt.Sprintf("l%02d", i), strings.Repeat("x", 100_000)))
	}
	v, err := zarrface.New(t.Context(), a, list, zarrface.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := parse(t, v.Doc())
	if len(v.Doc()) > 1100_000 || len(d.Members) != 11 || !strings.Contains(string(d.Members["farread"]), `"l29"`) {
		t.Errorf("%d bytes, %d attributes", len(v.Doc()), len(d.Members))
	}
}

func TestGroup(t *testing.T) {
	a := view(t, ramp(t, []int64{5, 7}, []int{2, 7}, []int{1, 7}), zarrface.Options{Folder: true})
	b := view(t, ramp(t, []int64{7}, []int{7}, []int{7}), zarrface.Options{Folder: true})
	text, err := zarrface.Group{Arrays: map[string][]byte{"wind": a.Doc(), "lat": b.Doc()}, Skipped: []string{"x.b2nd: no array"}}.Doc()
	if err != nil {
		t.Fatal(err)
	}
	one, err := zarrface.Group{Arrays: map[string][]byte{"data": a.Doc()}}.Doc()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "groups.txt", slices.Concat(text, one))
}

func TestOptions(t *testing.T) {
	set := func(words ...string) (o zarrface.Options, err error) {
		for _, w := range words {
			if err = o.Set(w); err != nil {
				return o, err
			}
		}
		return o, nil
	}
	if o, err := set("blocks", "zstd", "zstd", "float32", "float32"); err != nil || o != (zarrface.Options{Blocks: true, Codec: zarrface.Zstd, Cast: "float32"}) {
		t.Errorf("%+v, %v", o, err)
	}
	for _, words := range [][]string{{""}, {"x"}, {"raw", "gzip"}, {"int32", "int64"}, {"float64"}, {"RAW"}, {"v-1"}} {
		if _, err := set(words...); !errors.Is(err, zarrface.ErrOption) {
			t.Errorf("%v: %v", words, err)
		}
	}
	if _, err := zarrface.New(t.Context(), typed(t, "<i4"), nil, zarrface.Options{Cast: "int16"}); !errors.Is(err, zarrface.ErrOption) {
		t.Error(err)
	}
}

// TestFillValue: NaN only where chunks of NaN are told by offsets, and none of zeros.
func TestFillValue(t *testing.T) {
	nans := func(typesize int) []byte {
		p := make([]byte, 64)
		for i := 0; i < len(p); i += typesize {
			if typesize == 4 {
				p[i+2], p[i+3] = 0xc0, 0x7f
			} else {
				p[i+6], p[i+7] = 0xf8, 0x7f
			}
		}
		return p
	}
	zero, some := make([]byte, 64), make([]byte, 64)
	for i := range some {
		some[i] = byte(i)
	}
	for _, c := range []struct {
		dtype  string
		size   int
		chunks [][]byte
		cast   string
		fill   string
		absent []bool
	}{
		{"<f8", 8, [][]byte{nans(8), some}, "", `"NaN"`, []bool{true, false}},
		{"<f4", 4, [][]byte{nans(4), some}, "", `"NaN"`, []bool{true, false}},
		{"<f8", 8, [][]byte{nans(8), zero}, "", "0", []bool{false, true}},
		{"<f8", 8, [][]byte{some, zero}, "", "0", []bool{false, true}},
		{">f8", 8, [][]byte{nans(8), some}, "", "0", []bool{false, false}}, // no NaN in this order
		{"<i8", 8, [][]byte{nans(8), some}, "", "0", []bool{false, false}},
		{"<f8", 8, [][]byte{nans(8), some}, "float32", `"NaN"`, []bool{true, false}},
		{"<f8", 8, [][]byte{nans(8), some}, "int32", "0", []bool{false, false}},
	} {
		n := 64 / c.size
		a := newArray(t, b2nd.Meta{Shape: []int64{int64(2 * n)}, ChunkShape: []int{n}, BlockShape: []int{n}, DType: c.dtype}, slices.Concat(c.chunks...), b2nd.WriteOptions{})
		v := view(t, a, zarrface.Options{Cast: c.cast})
		if got := string(parse(t, v.Doc()).Fill); got != c.fill {
			t.Errorf("%s %s: fill value %s, want %s", c.dtype, c.cast, got, c.fill)
		}
		for i, want := range c.absent {
			ch, err := v.Key(fmt.Sprintf("c/%d", i))
			if errors.Is(err, zarrface.ErrAbsent) != want {
				t.Errorf("%s %s: chunk %d: %v", c.dtype, c.cast, i, err)
			}
			if err == nil && c.cast == "" {
				stored, err := a.Frame().AppendStored(t.Context(), nil, i)
				if err != nil {
					t.Fatal(err)
				}
				checkChunk(t, c.dtype, a, v, zarrface.Pass, ch, stored)
			}
		}
	}
}

// TestCast: numbers at the ends of ranges, and what cannot be cast.
func TestCast(t *testing.T) {
	f8 := []float64{0, -0.9, 1.9, -1.9, 255.5, 256, 65536, -1, 1e300, -1e300, math.NaN(), math.Inf(1), math.Inf(-1), 1 << 31, -1 << 31, 1 << 62}
	i8 := []int64{0, -1, 255, 256, 65535, 65536, math.MaxInt32, math.MaxInt32 + 1, math.MinInt32, math.MinInt32 - 1, math.MaxInt64, math.MinInt64, 1<<53 + 1, 1, 2, 3}
	u8 := []uint64{0, 255, 256, 65536, 1 << 31, 1<<63 - 1, 1 << 63, math.MaxUint64, 1<<53 + 1, 1, 2, 3, 4, 5, 6, 7}
	const mi4, ma4 = math.MinInt32, math.MaxInt32
	checkCast(t, f8, "uint8", []uint8{0, 0, 1, 0, 255, 255, 255, 0, 255, 0, 0, 255, 0, 255, 0, 255}, true)
	checkCast(t, f8, "uint16", []uint16{0, 0, 1, 0, 255, 256, 65535, 0, 65535, 0, 0, 65535, 0, 65535, 0, 65535}, true)
	checkCast(t, f8, "int32", []int32{0, 0, 1, -1, 255, 256, 65536, -1, ma4, mi4, 0, ma4, mi4, ma4, mi4, ma4}, true)
	checkCast(t, f8, "int64", []int64{0, 0, 1, -1, 255, 256, 65536, -1, math.MaxInt64, math.MinInt64, 0, math.MaxInt64, math.MinInt64, 1 << 31, -1 << 31, 1 << 62}, true)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	checkCast(t, f8, "float32", []float32{0, -0.9, 1.9, -1.9, 255.5, 256, 65536, -1, inf, -inf, nan, inf, -inf, 1 << 31, -1 << 31, 1 << 62}, true)
	checkCast(t, i8, "uint8", []uint8{0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 255, 0, 255, 1, 2, 3}, true)
	checkCast(t, i8, "int32", []int32{0, -1, 255, 256, 65535, 65536, ma4, ma4, mi4, mi4, ma4, mi4, ma4, 1, 2, 3}, true)
	checkCast(t, u8, "int64", []int64{0, 255, 256, 65536, 1 << 31, 1<<63 - 1, 1<<63 - 1, 1<<63 - 1, 1<<53 + 1, 1, 2, 3, 4, 5, 6, 7}, true)
	checkCast(t, []bool{true, false}, "uint8", []uint8{1, 0}, false)
	checkCast(t, []uint8{0, 255, 3, 4}, "int32", []int32{0, 255, 3, 4}, false)
	checkCast(t, []int16{-1, 300}, "float32", []float32{-1, 300}, false)
	checkCast(t, []int8{-1, 3}, "uint8", []uint8{0, 3}, true)

	for _, c := range []struct{ dtype, cast string }{
		{"<c8", "float32"}, {"|S3", "uint8"}, {"<U1", "int32"}, {"|V4", "float32"}, {"<f16", "float32"}, {"<M8[s]", "float32"}, {"<m8[s]", "int32"}, {"[('a', '<i4')]", "int32"},
	} {
		if _, err := zarrface.New(t.Context(), typed(t, c.dtype), nil, zarrface.Options{Cast: c.cast}); !errors.Is(err, formats.ErrUnsupported) {
			t.Errorf("%s to %s: %v", c.dtype, c.cast, err)
		}
	}
	for dtype, endian := range map[string]string{"<M8[s]": "little", ">m8[D]": "big", ">i8": "big"} { // bytes as stored
		a := typed(t, dtype)
		v := view(t, a, zarrface.Options{Cast: "int64"})
		d := parse(t, v.Doc())
		if string(d.Type) != `"int64"` || !strings.Contains(string(d.Codecs[0]), endian) {
			t.Errorf("%s", v.Doc())
		}
		c, stored, _ := storedChunk(t, a, v)
		checkChunk(t, dtype, a, v, zarrface.Pass, c, stored)
	}
}

func checkCast[S, D b2nd.Number](t *testing.T, src []S, cast string, want []D, lossy bool) {
	t.Helper()
	var b buffer
	if err := b2nd.WriteValues(&b, []int64{int64(len(src))}, src, b2nd.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	a := open(t, b.Bytes())
	v := view(t, a, zarrface.Options{Codec: zarrface.Raw, Cast: cast})
	c, stored, _ := storedChunk(t, a, v)
	got, err := v.Encode(nil, c, stored)
	if err != nil {
		t.Fatal(err)
	}
	var w buffer
	if err := b2nd.WriteValues(&w, []int64{int64(len(want))}, want, b2nd.WriteOptions{Encode: blosc.EncodeOptions{Level: blosc.LevelStore}}); err != nil {
		t.Fatal(err)
	}
	o := open(t, w.Bytes())
	if p := readBox(t, o, b2nd.Whole(o.Shape())); !slices.Equal(p, got) {
		t.Errorf("%T to %s: % x, want % x", src, cast, got, p)
	}
	if note := string(parse(t, v.Doc()).Members["farread"]); !strings.Contains(note, fmt.Sprintf(`"lossy": %v`, lossy)) {
		t.Errorf("%T to %s: %s", src, cast, note)
	}
}
