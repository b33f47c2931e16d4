package arraymeta_test

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/dtype"
)

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// documented is the example of docs/formats/b2nd.md.
var documented = arraymeta.Meta{
	Dims:  []string{"time", "lat"},
	Attrs: map[string]json.RawMessage{"units": raw(`"K"`), "offset": raw(`1.0`)},
	Fill:  raw(`"NaN"`),
	Coords: []arraymeta.Coord{
		{Dim: "time", DType: "<i8", Start: "0", Step: "1", Attrs: map[string]json.RawMessage{"units": raw(`"days since 2025-01-01"`)}},
		{Dim: "lat", DType: "<f4", Start: "90", Step: "-0.5"},
	},
}

func TestDocumentedBytes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/formats/b2nd.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "<!-- text: bytes of the layer -->\n```\n")
	text, _, ok := strings.Cut(text, "```")
	if !ok {
		t.Fatal("the page has no bytes")
	}
	digits := ""
	for line := range strings.Lines(text) {
		bytes, _, _ := strings.Cut(line, "  ")
		digits += strings.ReplaceAll(strings.TrimSpace(bytes), " ", "")
	}
	want, err := hex.DecodeString(digits)
	if err != nil {
		t.Fatal(err)
	}
	got, err := documented.Append(nil)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%x, %v, the page has\n%x", got, err, want)
	}
	m, err := arraymeta.Decode(want, []int64{365, 361}, formats.Limits{})
	if diff := cmp.Diff(documented, m); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]arraymeta.Meta{
		"empty":   {},
		"seal":    {Source: strings.Repeat("0f", 32)},
		"scalar":  {Dims: []string{}, Fill: raw(`0`)},
		"numbers": {Attrs: map[string]json.RawMessage{"a": raw(`[0,-1,127,128,-33,18446744073709551615,-9223372036854775808,1.5,1e+300,2.0,-0.0]`), "b": raw(`{"x":null,"y":[true,false,"ü"]}`), "": raw(`""`)}},
		"coords": {Dims: []string{"a", "b", "c", "d"}, Coords: []arraymeta.Coord{
			{Dim: "a", DType: "<M8[ns]", Start: "1735689600000000001", Step: "3600000000000"},
			{Dim: "b", DType: "<U2", Values: make([]byte, 16)},
			{Dim: "c", DType: "<f8", Array: "coords/c.b2nd"},
			{Dim: "d", DType: "|u1", Start: "3", Step: "-1"},
		}},
	} {
		p, err := m.Append([]byte("x"))
		if err != nil || p[0] != 'x' {
			t.Errorf("%s: %v", name, err)
			continue
		}
		back, err := arraymeta.Decode(p[1:], nil, formats.Limits{})
		if diff := cmp.Diff(m, back); err != nil || diff != "" {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	ab := []string{"a", "b"}
	for name, m := range map[string]arraymeta.Meta{
		"twice":         {Dims: []string{"a", "a"}},
		"no name":       {Dims: []string{""}},
		"control":       {Dims: []string{"a\x1b"}},
		"no dimension":  {Dims: ab, Coords: []arraymeta.Coord{{Dim: "c", DType: "<i4", Start: "0", Step: "1"}}},
		"two":           {Dims: ab, Coords: []arraymeta.Coord{{Dim: "a", DType: "<i4", Start: "0", Step: "1"}, {Dim: "a", DType: "<i4", Start: "0", Step: "1"}}},
		"no form":       {Dims: ab, Coords: []arraymeta.Coord{{Dim: "a", DType: "<i4"}}},
		"two forms":     {Dims: ab, Coords: []arraymeta.Coord{{Dim: "a", DType: "<i4", Start: "0", Step: "1", Array: "x"}}},
		"step 0":        {Dims: ab, Coords: []arraymeta.Coord{{Dim: "a", DType: "<i4", Start: "0", Step: "0"}}},
		"beyond":        {Dims: ab, Coords: []arraymeta.Coord{{Dim: "a", DType: "|i1", Start: "200", Step: "1"}}},
		"no number":     {Dims: ab, Coords: []arraymeta.Coord{{Dim: "a", DType: "<f4", Start: "NaN", Step: "1"}}},
		"fraction":      {Dims: ab, Coords: []arraymeta.Coord{{Dim: "a", DType: "<i4", Start: "0.5", Step: "1"}}},
		"big endian":    {Dims: ab, Coords: []arraymeta.Coord{{Dim: "a", DType: ">i4", Start: "0", Step: "1"}}},
		"opaque":        {Dims: ab, Coords: []arraymeta.Coord{{Dim: "a", DType: "|V4", Values: make([]byte, 8)}}},
		"odd length":    {Dims: ab, Coords: []arraymeta.Coord{{Dim: "a", DType: "<i4", Values: make([]byte, 7)}}},
		"long":          {Dims: ab, Coords: []arraymeta.Coord{{Dim: "a", DType: "<i4", Values: make([]byte, arraymeta.MaxValues+4)}}},
		"up":            {Dims: ab, Coords: []arraymeta.Coord{{Dim: "a", DType: "<i4", Array: "../x"}}},
		"root":          {Dims: ab, Coords: []arraymeta.Coord{{Dim: "a", DType: "<i4", Array: "/x"}}},
		"elsewhere":     {Dims: ab, Coords: []arraymeta.Coord{{Dim: "a", DType: "<i4", Array: "s3://b/x"}}},
		"no JSON":       {Attrs: map[string]json.RawMessage{"a": raw(`NaN`)}},
		"two values":    {Attrs: map[string]json.RawMessage{"a": raw(`1 2`)}},
		"deep":          {Attrs: map[string]json.RawMessage{"a": raw(strings.Repeat("[", 40) + strings.Repeat("]", 40))}},
		"no UTF-8":      {Attrs: map[string]json.RawMessage{"a\xff": raw(`1`)}},
		"beyond floats": {Attrs: map[string]json.RawMessage{"a": raw(`1e999`)}},
		"source":        {Source: "xyz"},
	} {
		if p, err := m.Append(nil); err == nil || p != nil {
			t.Errorf("%s: written as %x", name, p)
		}
	}
	for name, p := range map[string]string{
		"empty": "", "number": "\x01", "behind": "\x80\x01", "cut": "\x81\xa4dims", "dims": "\x81\xa4dims\x91\x01", "lying map": "\xdf\xff\xff\xff\xff",
		"lying list": "\x81\xa4dims\xdd\xff\xff\xff\xff", "lying text": "\x81\xdb\xff\xff\xff\xff", "twice": "\x82\xa4fill\x01\xa4fill\x01", "extension": "\x81\xa4fill\xd4\x01\x01",
		"three axes": "\x81\xa4dims\x93\xa1a\xa1b\xa1c",
	} {
		if m, err := arraymeta.Decode([]byte(p), []int64{1, 2}, formats.Limits{}); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s: %+v, %v", name, m, err)
		}
	}
	if _, err := arraymeta.Decode(make([]byte, 100), nil, formats.Limits{MaxMeta: 99}); !errors.Is(err, formats.ErrTooLarge) {
		t.Error(err)
	}
	far := arraymeta.Meta{Dims: []string{"a"}, Coords: []arraymeta.Coord{{Dim: "a", DType: "|i1", Start: "100", Step: "1"}}}
	p, err := far.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := arraymeta.Decode(p, []int64{28}, formats.Limits{}); err != nil {
		t.Error(err)
	}
	if _, err := arraymeta.Decode(p, []int64{29}, formats.Limits{}); !errors.Is(err, formats.ErrCorrupt) {
		t.Errorf("values beyond the type: %v", err)
	}
}

// A later version may have more keys.
func TestUnknownKeys(t *testing.T) {
	t.Parallel()
	m, err := arraymeta.Decode([]byte("\x82\xa3new\x92\x01\x81\xa1a\xc0\xa4dims\x91\xa1x"), []int64{4}, formats.Limits{})
	if err != nil || !slices.Equal(m.Dims, []string{"x"}) {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestNewCoord(t *testing.T) {
	t.Parallel()
	floats := func(size int, f func(i int) float64) (p []byte) {
		for i := range 400 {
			if size == 4 {
				p = binary.LittleEndian.AppendUint32(p, math.Float32bits(float32(f(i))))
			} else {
				p = binary.LittleEndian.AppendUint64(p, math.Float64bits(f(i)))
			}
		}
		return p
	}
	ints := func(f func(i int) int64) (p []byte) {
		for i := range 400 {
			p = binary.LittleEndian.AppendUint64(p, uint64(f(i)))
		}
		return p
	}
	for name, c := range map[string]struct {
		dtype   string
		values  []byte
		regular bool
	}{
		"halves":       {"<f4", floats(4, func(i int) float64 { return 90 - float64(i)/2 }), true},
		"tenths":       {"<f8", floats(8, func(i int) float64 { return float64(i) * 0.1 }), true},
		"small tenths": {"<f4", floats(4, func(i int) float64 { return 10 + float64(i)*0.1 }), true},
		"squares":      {"<f8", floats(8, func(i int) float64 { return float64(i * i) }), false},
		"constant":     {"<f8", floats(8, func(int) float64 { return 1 }), false},
		"nan":          {"<f8", floats(8, func(i int) float64 { return math.Log(float64(i - 3)) }), false},
		"nanoseconds":  {"<M8[ns]", ints(func(i int) int64 { return 1735689600000000001 + int64(i)*3600e9 }), true},
		"wraps":        {"<i8", ints(func(i int) int64 { return math.MinInt64 + int64(i)*math.MaxInt64 }), false},
		"not a time":   {"<M8[D]", ints(func(i int) int64 { return []int64{1, math.MinInt64}[i%2] }), false},
	} {
		d, err := dtype.Parse(c.dtype)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := arraymeta.NewCoord("x", d, c.values)
		if !ok || (got.Values == nil) != c.regular {
			t.Errorf("%s: %v %s %s", name, ok, got.Start, got.Step)
		}
		if back := got.AppendValues(nil, 400); !slices.Equal(back, c.values) || !got.Fits(400) || got.Fits(401) != c.regular {
			t.Errorf("%s: other values", name)
		}
		m := arraymeta.Meta{Dims: []string{"x"}, Coords: []arraymeta.Coord{got}}
		if p, err := m.Append(nil); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if back, err := arraymeta.Decode(p, []int64{400}, formats.Limits{}); err != nil || !cmp.Equal(m, back) {
			t.Errorf("%s: %+v, %v", name, back, err)
		}
	}
	big, err := dtype.Parse(">i2")
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := arraymeta.NewCoord("x", big, []byte{0, 1, 0, 3, 0, 5}); !ok || c.DType != "<i2" || c.Start != "1" || c.Step != "2" {
		t.Errorf("%+v", c)
	}
}

func FuzzDecode(f *testing.F) {
	p, err := documented.Append(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p, int64(365))
	f.Add([]byte("\x81\xa4dims\x91\xa1x"), int64(0))
	f.Add([]byte("\x81\xa6source\xa2ff"), int64(1))
	f.Fuzz(func(t *testing.T, p []byte, n int64) {
		shape := []int64{n & math.MaxInt32, 2}
		m, err := arraymeta.Decode(p, shape, formats.Limits{})
		if err != nil {
			var e *formats.Error
			if !errors.As(err, &e) || !errors.Is(err, formats.ErrCorrupt) && !errors.Is(err, formats.ErrTooLarge) {
				t.Fatalf("%v", err)
			}
			return
		}
		q, err := m.Append(nil)
		if err != nil {
			t.Fatalf("%+v is not written: %v", m, err)
		}
		back, err := arraymeta.Decode(q, shape, formats.Limits{})
		if diff := cmp.Diff(m, back); err != nil || diff != "" {
			t.Fatalf("%v %s", err, diff)
		}
		for i, c := range m.Coords {
			at := min(shape[slices.Index(m.Dims, c.Dim)], 10)
			if c.Inline() && (c.Values == nil || c.Len() >= at) && i < 4 {
				c.AppendValues(nil, at)
			}
		}
	})
}

// TestBeyondInt: whole numbers that a layer cannot hold as such are found, however deep, and no others.
func TestBeyondInt(t *testing.T) {
	attrs := map[string]json.RawMessage{
		"big":   json.RawMessage(`1180591620717411303424`),
		"deep":  json.RawMessage(`{"a":[1,{"b":-9223372036854775809}],"c":18446744073709551616}`),
		"float": json.RawMessage(`1e30`), "point": json.RawMessage(`1180591620717411303424.0`), "text": json.RawMessage(`"1180591620717411303424"`),
		"least": json.RawMessage(`-9223372036854775808`), "most": json.RawMessage(`[18446744073709551615]`), "null": json.RawMessage(`null`),
	}
	want := []string{"big: 1180591620717411303424", "deep: -9223372036854775809"}
	if got := arraymeta.BeyondInt(attrs); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
