package dtype_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/dtype"
)

// golden is a line of testdata/dtypes.jsonl; dtypes.py says what is in it.
type golden struct {
	Text   string   `json:"text"`
	Descr  *string  `json:"descr"`
	Size   int      `json:"size"`
	Fields [][2]any `json:"fields"`
	Packed string   `json:"packed"`
	Items  []byte   `json:"items"`
	Values []any    `json:"values"`
}

func goldens(tb testing.TB) []golden {
	tb.Helper()
	f, err := os.Open("testdata/dtypes.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all []golden
	for s := bufio.NewScanner(f); s.Scan(); {
		d := json.NewDecoder(bytes.NewReader(s.Bytes()))
		d.UseNumber()
		var g golden
		if err := d.Decode(&g); err != nil {
			tb.Fatal(err)
		}
		all = append(all, g)
	}
	if len(all) < 100 {
		tb.Fatalf("%d types", len(all))
	}
	return all
}

func parse(tb testing.TB, text string) dtype.DType {
	tb.Helper()
	d, err := dtype.Parse(text)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return d
}

// Both texts of NumPy are read, and written again byte by byte.
func TestTextsAreNumPys(t *testing.T) {
	for _, g := range goldens(t) {
		d := parse(t, g.Text)
		if got := d.String(); got != g.Text {
			t.Errorf("text %s, want %s", got, g.Text)
		}
		if d.ItemSize() != g.Size {
			t.Errorf("%s: size %d, want %d", g.Text, d.ItemSize(), g.Size)
		}
		checkFields(t, d, g)
		descr, err := d.AppendDescr(nil)
		if g.Descr == nil {
			if !errors.Is(err, formats.ErrUnsupported) {
				t.Errorf("%s: descr %s, %v", g.Text, descr, err)
			}
			continue
		}
		if err != nil || string(descr) != *g.Descr {
			t.Errorf("%s: descr %s, %v, want %s", g.Text, descr, err, *g.Descr)
		}
		if again := parse(t, *g.Descr); !again.Equal(d) {
			t.Errorf("%s: descr read as %s", g.Text, again)
		}
		if g.Packed != "" {
			if got := d.Packed(); got.String() != g.Packed || got.ItemSize() != g.Size {
				t.Errorf("%s: packed %s of %d bytes, want %s", g.Text, got, got.ItemSize(), g.Packed)
			}
		}
	}
}

func checkFields(t *testing.T, d dtype.DType, g golden) {
	t.Helper()
	if len(d.Fields()) != len(g.Fields) {
		t.Fatalf("%s: %d members, want %d", g.Text, len(d.Fields()), len(g.Fields))
	}
	for i, f := range d.Fields() {
		off, err := strconv.Atoi(string(g.Fields[i][1].(json.Number)))
		if err != nil || f.Name != g.Fields[i][0] || f.Off != off {
			t.Errorf("%s: member %d is %q at %d, want %v", g.Text, i, f.Name, f.Off, g.Fields[i])
		}
		if got, ok := d.Field(f.Name); !ok || got.Off != f.Off {
			t.Errorf("%s: no member %q", g.Text, f.Name)
		}
	}
}

func TestValuesAreNumPys(t *testing.T) {
	for _, g := range goldens(t) {
		d := parse(t, g.Text)
		for i, want := range g.Values {
			item := g.Items[i*g.Size:][:g.Size]
			text := d.AppendJSON([]byte("x"), item)[1:]
			dec := json.NewDecoder(bytes.NewReader(text))
			dec.UseNumber()
			var got any
			if err := dec.Decode(&got); err != nil || dec.More() {
				t.Fatalf("%s item %d: %s: %v", g.Text, i, text, err)
			}
			if !same(got, want) {
				t.Errorf("%s item %d: %s, want %v", g.Text, i, text, want)
			}
			checkCSV(t, d, item)
		}
	}
}

// same compares a value with NumPy's, which spells float32 as the double it is.
func same(got, want any) bool {
	switch w := want.(type) {
	case json.Number:
		g, ok := got.(json.Number)
		if !ok || g == w {
			return ok
		}
		a, err1 := g.Float64()
		b, err2 := w.Float64()
		isInt := !strings.ContainsAny(string(g)+string(w), ".e")
		single := float64(float32(b)) == b && float32(a) == float32(b)
		return err1 == nil && err2 == nil && !isInt && (a == b || single) && math.Signbit(a) == math.Signbit(b)
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !same(g[i], w[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for k := range w {
			if !same(g[k], w[k]) {
				return false
			}
		}
		return true
	case string:
		return got == w || w == "opaque"
	default:
		return got == want
	}
}

// checkCSV reads a line back: as many cells as columns, and text as it is in JSON.
func checkCSV(t *testing.T, d dtype.DType, item []byte) {
	t.Helper()
	line := d.AppendCSV(nil, item)
	if len(line) == 0 {
		return // encoding/csv skips empty lines
	}
	file := append(d.AppendColumns(nil, "v"), '\n')
	lines, err := csv.NewReader(bytes.NewReader(append(append(file, line...), '\n'))).ReadAll()
	if err != nil || len(lines) != 2 {
		t.Errorf("%s: %q: %v", d, file, err)
		return
	}
	if s, ok := d.Text(item); ok && lines[1][0] != s {
		t.Errorf("%s: cell %q, want %q", d, lines[1][0], s)
	}
}

func TestValueTexts(t *testing.T) {
	le := func(s string) []byte {
		b, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, c := range []struct{ typ, item, json, csv string }{
		{"<f8", "AAAAAAAA+H8=", "null", "nan"},
		{"<f8", "AAAAAAAA8P8=", `"-inf"`, "-inf"},
		{"<f4", "zczMPQ==", "0.1", "0.1"},
		{">f4", "PczMzQ==", "0.1", "0.1"},
		{"<f2", "ZjU=", "0.33740234", "0.33740234"}, // as the float32 that it widens to
		{"<c8", "AACAPwAAAMA=", "[1,-2]", "1-2j"},
		{"<c8", "AACAPwAAwH8=", "[1,null]", "1+nanj"},
		{"<i8", "AAAAAAAAAIA=", "-9223372036854775808", "-9223372036854775808"},
		{"<u8", "//////////8=", "18446744073709551615", "18446744073709551615"},
		{"<M8[ns]", "AAAAAAAAAIA=", "null", "NaT"},
		{"<M8[ms]", "AQAAAAAAAAA=", `"1970-01-01T00:00:00.001"`, "1970-01-01T00:00:00.001"},
		{"<m8[s]", "AAAAAAAAAIA=", "null", "NaT"},
		{"|S4", "YSxiAA==", `"a,b"`, `"a,b"`},
		{"|S3", "6QAA", `"é"`, "é"},
		{"<U2", "AAAAAAAAAAA=", `""`, ""},
		{"<U1", "ANgAAA==", `"` + "\ufffd" + `"`, "\ufffd"},
		{"|V2", "AP8=", `"AP8="`, "AP8="},
		{"[('a', '?'), ('b', '<i2', (2,))]", "AQIAAwA=", `{"a":true,"b":[2,3]}`, "true,2,3"},
	} {
		d := parse(t, c.typ)
		if got := string(d.AppendJSON(nil, le(c.item))); got != c.json {
			t.Errorf("%s %s: JSON %s, want %s", c.typ, c.item, got, c.json)
		}
		if got := string(d.AppendCSV(nil, le(c.item))); got != c.csv {
			t.Errorf("%s %s: CSV %s, want %s", c.typ, c.item, got, c.csv)
		}
	}
}

func TestColumns(t *testing.T) {
	d := parse(t, "[('a', '<i4'), ('p', [('x', '<f4'), ('y, z', '<f4', (2,))])]")
	if got, want := string(d.AppendColumns(nil, "")), `a,p.x,"p.y, z[0]","p.y, z[1]"`; got != want {
		t.Errorf("columns %s, want %s", got, want)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"f4": "<f4", "=i8": "<i8", "|u1": "|u1", ">u1": "|u1", "<b1": "|b1", "?": "|b1", "bool": "|b1", "float32": "<f4",
		"uint16": "<u2", "complex64": "<c8", "a5": "|S5", "<M8[1s]": "<M8[s]", "M8[generic]": "<M8", "M8[μs]": "<M8[us]", "|S": "|S0",
		"double": "<f8", "float": "<f8", "half": "<f2", "single": "<f4", "int": "<i8", "uint": "<u8", "complex": "<c16", "byte": "|i1", "ushort": "<u2",
		"intc": "<i4", "longlong": "<i8", "csingle": "<c8", "f": "<f4", ">d": ">f8", "=e": "<f2", "b": "|i1", ">B": "|u1", "<h": "<i2", ">I": ">u4", "q": "<i8", ">D": ">c16", "|c": "|S1",
		"datetime64": "<M8", "datetime64[ns]": "<M8[ns]", "timedelta64[25s]": "<m8[25s]", "datetime64[generic]": "<M8", "[('a', 'datetime64[D]')]": "[('a', '<M8[D]')]",
		" <f4 ": "<f4", "'<f4'": "<f4", `[("a", 'i4')]`: "[('a', '<i4')]", "[('', '<i4'), ('', 'f8')]": "[('f0', '<i4'), ('f1', '<f8')]",
		"[('a', 'i4', 2), ('b', 'u1', ()),]":        "[('a', '<i4', (2,)), ('b', 'u1')]",
		"[('a', ('<i4', (2,)), (3,))]":              "[('a', '<i4', (3, 2))]",
		"[(u'a', b'i4', (2L,))]":                    "[('a', '<i4', (2,))]",
		`[('\x61\u00e9\U0001f600\101\'\\', 'u1')]`:  `[("aé😀A'\\", 'u1')]`,
		"{'names': ['a'], 'formats': ['i4']}":       "[('a', '<i4')]",
		"[('a', [('b', 'i2'), ('', 'V2')], (2,))]":  "[('a', {'names': ['b'], 'formats': ['<i2'], 'offsets': [0], 'itemsize': 4}, (2,))]",
		"[\n('a',\t'i4'), ('b', 'i4')  ]":           "[('a', '<i4'), ('b', '<i4')]",
		"[(('t', 'a'), 'i4'), (('u', 'b'), '>M8')]": "[(('t', 'a'), '<i4'), (('u', 'b'), '>M8')]",
	} {
		if got := parse(t, text).String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	deep := strings.Repeat("[('a', ", 40) + "'i4'" + strings.Repeat(")]", 40)
	for _, c := range []struct {
		text string
		want error
	}{
		{"", formats.ErrCorrupt}, {"<", formats.ErrCorrupt}, {"u", formats.ErrCorrupt}, {"<double", formats.ErrUnsupported}, {"datetime64[x]", formats.ErrUnsupported}, {"datetime64ns", formats.ErrCorrupt}, {"timedelta32[s]", formats.ErrUnsupported}, {"ff", formats.ErrCorrupt}, {"<f4x", formats.ErrCorrupt}, {"i4[s]", formats.ErrCorrupt},
		{"<i3", formats.ErrUnsupported}, {"f1", formats.ErrUnsupported}, {"|O", formats.ErrUnsupported}, {"O", formats.ErrUnsupported}, {"|O8", formats.ErrUnsupported},
		{"T16", formats.ErrUnsupported}, {"StringDType()", formats.ErrCorrupt}, {"M8[x]", formats.ErrUnsupported}, {"M8[]", formats.ErrCorrupt},
		{"M8[0s]", formats.ErrCorrupt}, {"M8[s", formats.ErrCorrupt}, {"S2147483648", formats.ErrTooLarge}, {"U536870912", formats.ErrTooLarge},
		{"S99999999999999999999", formats.ErrTooLarge}, {"S-1", formats.ErrCorrupt}, {"S2147483647", nil},
		{"[('a', 'O')]", formats.ErrUnsupported}, {"[('a',)]", formats.ErrCorrupt}, {"['i4']", formats.ErrCorrupt}, {"[('a', 'i4'), ('a', 'i4')]", formats.ErrCorrupt},
		{"[('a', 'i4'", formats.ErrCorrupt}, {"[('a', 'i4')] x", formats.ErrCorrupt}, {"[('a' 'i4')]", formats.ErrCorrupt}, {"[(1, 'i4')]", formats.ErrCorrupt},
		{"[('a', 'i4', (-1,))]", formats.ErrCorrupt}, {"[('a', 'i4', (1.5,))]", formats.ErrCorrupt}, {"[('a', 'i4', ('2',))]", formats.ErrCorrupt},
		{"[('a', 'i4', (65536, 65536))]", formats.ErrTooLarge}, {"[('a', 'i4', (0, 2147483647, 2147483647))]", formats.ErrTooLarge},
		{"[('a', 'S2147483647'), ('b', 'S1')]", formats.ErrTooLarge}, {"[('a', 'i4', (99999999999,))]", formats.ErrCorrupt},
		{"[('a', 'V0', (2147483647,))]", formats.ErrTooLarge}, {"[('a', 'i4', (100000, 0))]", formats.ErrTooLarge}, {"[('a', 'i4', (0, 0, 0))]", nil},
		{"[('a', [('b', [('c', 'V0', (60000,))], (60000,))], (60000,))]", formats.ErrTooLarge}, {"[('a', [('b', 'i1', (1000000,))], (2000,))]", nil},
		{"{'names': ['a', 'b'], 'formats': [('u1', (1000000,)), ('u1', (1000000,))], 'offsets': [0, 1]}", formats.ErrTooLarge},
		{"__import__('os')", formats.ErrUnsupported}, {"[__import__('os')]", formats.ErrCorrupt}, {"('<i4', (2,))", formats.ErrUnsupported},
		{"{'names': ['a'], 'formats': ['i4'], 'offsets': [-1], 'itemsize': 4}", formats.ErrCorrupt},
		{"{'names': ['a'], 'formats': ['i4'], 'offsets': [4], 'itemsize': 4}", formats.ErrCorrupt},
		{"{'names': ['a'], 'formats': ['i4'], 'offsets': [2147483647]}", formats.ErrTooLarge},
		{"{'names': ['a', 'b'], 'formats': ['i4']}", formats.ErrCorrupt}, {"{'names': ['a']}", formats.ErrCorrupt}, {"{'x': 1}", formats.ErrCorrupt}, {"{1: 2}", formats.ErrCorrupt},
		{`[('\ud800', 'i4')]`, formats.ErrCorrupt}, {`[('\N{BULLET}', 'i4')]`, formats.ErrCorrupt}, {"[('a\xff', 'i4')]", formats.ErrCorrupt}, {`[('a`, formats.ErrCorrupt}, {`[('\x4', 'i4')]`, formats.ErrCorrupt},
		{"[(((((('a', 'b'), 'c'), 'd'), 'e'), 'f'), 'i4')]", formats.ErrCorrupt},
		{deep, formats.ErrTooLarge}, {strings.Repeat("(", 1<<20), formats.ErrTooLarge}, {strings.Repeat(" ", 1<<20+1), formats.ErrTooLarge},
		{"[" + strings.Repeat("('','V0'),", 1<<16+1) + "]", formats.ErrTooLarge},
	} {
		d, err := dtype.Parse(c.text)
		name := c.text[:min(len(c.text), 60)]
		var e *formats.Error
		switch {
		case !errors.Is(err, c.want):
			t.Errorf("%s: %v, want %v", name, err, c.want)
		case err != nil && (!errors.As(err, &e) || e.Format != "dtype" || len(err.Error()) > 400):
			t.Errorf("%s: error %v", name, err)
		case err != nil && !d.IsZero():
			t.Errorf("%s: a type beside the error", name)
		}
	}
}

// What python-blosc2 4.14.1 put into the metalayers of the b2nd fixtures.
func TestTextsOfBlosc2(t *testing.T) {
	for _, text := range []string{
		"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", ">i4", "<f2", "<f4", "<f8", ">f8", "<c8", "<c16", "|S3", "|S7", "<U5", "<M8[D]", "<M8[ns]", "<m8[s]",
		"[('a', '<i4'), ('b', '<f8')]", "[('id', '<i4'), ('xy', '<f8', (2,)), ('tag', 'S3')]",
	} {
		if got := parse(t, text).String(); got != text {
			t.Errorf("%s written as %s", text, got)
		}
	}
	// A structured array made with gaps; NumPy says "aligned", which offsets tell.
	d := parse(t, "{'names': ['a', 'b'], 'formats': ['<i4', '<i8'], 'offsets': [0, 8], 'itemsize': 16, 'aligned': True}")
	if got, want := d.Packed().String(), "[('a', '<i4'), ('f1', 'V4'), ('b', '<i8')]"; d.ItemSize() != 16 || got != want {
		t.Errorf("%s of %d bytes, want %s", got, d.ItemSize(), want)
	}
}

func TestView(t *testing.T) {
	v, err := dtype.Opaque(4).View(parse(t, ">f4"))
	if err != nil || v.String() != ">f4" {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := dtype.Opaque(4).View(parse(t, "<f8")); err == nil {
		t.Error("4 bytes seen as 8")
	}
}

// Every half float survives; and rounding agrees with picking the nearest.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		f := dtype.HalfToFloat(uint16(h))
		back := dtype.FloatToHalf(f)
		if f == f && back != uint16(h) || f != f && back&0x7c00 != 0x7c00 {
			t.Fatalf("%#04x is %v, and back %#04x", h, f, back)
		}
		if h&0x7fff >= 0x7bff {
			continue
		}
		next := dtype.HalfToFloat(uint16(h + 1))
		mid := (f + next) / 2 // exact in float32
		even := uint16(h + h&1)
		if got := dtype.FloatToHalf(mid); got != even {
			t.Fatalf("%v between %#04x and the next: %#04x", mid, h, got)
		}
		if got := dtype.FloatToHalf(math.Nextafter32(mid, f)); got != uint16(h) {
			t.Fatalf("below the middle after %#04x: %#04x", h, got)
		}
		if got := dtype.FloatToHalf(math.Nextafter32(mid, next)); got != uint16(h+1) {
			t.Fatalf("above the middle after %#04x: %#04x", h, got)
		}
	}
	for f, want := range map[float32]uint16{65519: 0x7bff, 65520: 0x7c00, 1e10: 0x7c00, -1e10: 0xfc00, 2.9e-8: 0, 1e-40: 0} {
		if got := dtype.FloatToHalf(f); got != want {
			t.Errorf("%v: %#04x, want %#04x", f, got, want)
		}
	}
}

func FuzzParseDType(f *testing.F) {
	for _, g := range goldens(f) {
		f.Add(g.Text)
		if g.Descr != nil {
			f.Add(*g.Descr)
		}
	}
	f.Add("[('a', 'i4', (65536, 65536))]")
	f.Fuzz(func(t *testing.T, text string) {
		d, err := dtype.Parse(text)
		if err != nil {
			return
		}
		again := parse(t, d.String())
		if !again.Equal(d) {
			t.Fatalf("%q: read as %s, then as %s", text, d, again)
		}
		if p := d.Packed(); p.ItemSize() != d.ItemSize() {
			t.Fatalf("%q: packing changed the size to %d", text, p.ItemSize())
		}
		if descr, err := d.AppendDescr(nil); err == nil && !parse(t, string(descr)).Equal(d) {
			t.Fatalf("%q: descr %s reads differently", text, descr)
		}
		if d.ItemSize() > 1<<16 {
			return
		}
		item := bytes.Repeat([]byte{0x81}, d.ItemSize())
		if out := d.AppendJSON(nil, item); !json.Valid(out) {
			t.Fatalf("%q: JSON %q", text, out)
		}
		d.AppendCSV(nil, item)
	})
}

func BenchmarkAppendJSON(b *testing.B) {
	for _, typ := range []string{"<i4", "<f8", "<M8[ns]", "[('a', '<i4'), ('b', '<f8')]"} {
		b.Run(typ, func(b *testing.B) {
			d := parse(b, typ)
			item := bytes.Repeat([]byte{0x3f}, d.ItemSize())
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf = d.AppendJSON(buf[:0], item)
			}
		})
	}
}
