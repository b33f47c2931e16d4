package fields_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/analyze/internal/fields"
	"github.com/farread/farread/formats/predicate"
)

// paths are those that the tests look for: names within names, and odd ones.
var paths = []string{".a", ".b.c", ".b.d", `."é"."x.y"`, `.b.c.e`, `.""`, ".\ufffd"}

// scanner makes a Scanner for the paths.
func scanner(tb testing.TB) *fields.Scanner {
	tb.Helper()
	s := fields.NewScanner()
	for i, text := range paths {
		p, err := fields.Parse(text)
		if err != nil {
			tb.Fatal(err)
		}
		if k := s.Slot(p); k != i || s.Slot(p) != i {
			tb.Fatalf("slot %d of %s", k, text)
		}
	}
	return s
}

// spelt tells a value.
func spelt(v predicate.Value) string {
	switch v.Kind {
	case predicate.Null:
		return "null"
	case predicate.Bool:
		return fmt.Sprint(v.Whole == 1)
	case predicate.Whole:
		return fmt.Sprint("w", v.Whole)
	case predicate.Float:
		return fmt.Sprint("f", v.Float)
	case predicate.Text:
		return fmt.Sprintf("%q", v.Text)
	case predicate.List:
		return "[]"
	default:
		return "{}"
	}
}

// simple finds the fields by encoding/json.
func simple(t *testing.T, p []byte) ([]string, bool) {
	t.Helper()
	if !json.Valid(p) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(p))
	d.UseNumber()
	var item any
	if err := d.Decode(&item); err != nil {
		t.Fatalf("%q is valid, but %v", p, err)
	}
	var out []string
	for _, text := range paths {
		path, err := fields.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		v := item
		for _, name := range path {
			m, _ := v.(map[string]any)
			v = m[name]
		}
		out = append(out, known(v))
	}
	return out, true
}

func known(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	case json.Number:
		if i, err := v.Int64(); err == nil && !strings.ContainsAny(string(v), ".eE") {
			return fmt.Sprint("w", i)
		}
		f, err := v.Float64()
		if err != nil && !math.IsInf(f, 0) {
			return "?"
		}
		return fmt.Sprint("f", f)
	case string:
		return fmt.Sprintf("%q", v)
	case []any:
		return "[]"
	default:
		return "{}"
	}
}

var seeds = []string{
	`{}`, `[]`, `""`, `1`, ``, ` `, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[1 2]`, `{"a":1 "b":2}`, `{"a" : 1 } x`, `{,}`,
	`{"a":1}`, ` {"a" : -1.5e3 , "b": {"c":"x","d":[1,{"a":2}]}}` + "\r\n", `{"a":01}`, `{"a":1.}`, `{"a":.5}`, `{"a":-}`, `{"a":1e}`, `{"a":1e+}`, `{"a":-0}`, `{"a":+1}`,
	`{"a":9223372036854775807,"b":{"c":-9223372036854775808,"d":9223372036854775808}}`, `{"a":1e999,"b":{"d":1e-999}}`, `{"a":123456789012345678901234567890}`,
	`{"a":true,"b":{"c":false,"d":null}}`, `{"a":tru}`, `{"a":nul`, `{"a":"\u00e9\n\/\ud83d\ude00","b":{"c":"\ud800"}}`, `{"a":"\u00g9"}`, `{"a":"\u00"}`, `{"a":"\x"}`, `{"a":"\`,
	"{\"a\":\"\x1f\"}", "{\"a\":\"\t\"}", "{\"a\":\"\x7f\"}", "{\"a\":\"\xff\xfe\"}", "{\"\xff\":1}", `{"é":{"x.y":"ü"},"":5}`, `{"\u00e9":{"x\u002ey":1}}`, `{"\u0061":1}`,
	`{"a":1,"a":2}`, `{"b":{"c":1},"b":{"d":2}}`, `{"b":{"c":1},"b":3}`, `{"a":1,"\u0061":null}`, `{"b":{"c":{"e":1},"c":"x"}}`, `{"a":{"a":1},"b":[{"c":1}]}`,
	`{"a":"twelve characters and a \" quote, then more","b":{"c":"12345678\\"}}`, `{"a":"1234567"}`, "\ufeff{}", `{"a":[[[[]]],{"b":{}}]}`, strings.Repeat("[", 10001) + strings.Repeat("]", 10001), strings.Repeat("[", 10000) + strings.Repeat("]", 10000),
	strings.Repeat(`{"a":`, 10001) + "1" + strings.Repeat("}", 10001),
}

// FuzzScan: what is JSON, and the fields of it, are as encoding/json says.
func FuzzScan(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	s := scanner(f)
	f.Fuzz(func(t *testing.T, p []byte) {
		if bytes.Contains(p, []byte("NaN")) || bytes.Contains(p, []byte("Infinity")) {
			t.Skip("Python's words")
		}
		kept := bytes.Clone(p)
		want, valid := simple(t, p)
		values, ok := s.Scan(p)
		if ok != valid {
			t.Fatalf("%q: JSON %t, want %t", p, ok, valid)
		}
		if !bytes.Equal(p, kept) {
			t.Fatal("the text has changed")
		}
		if !ok {
			return
		}
		for i, v := range values {
			if got := spelt(v); got != want[i] {
				t.Fatalf("%q: %s is %s, want %s", p, paths[i], got, want[i])
			}
		}
	})
}

// TestPython: the words that Python's json writes are numbers, and other words are not.
func TestPython(t *testing.T) {
	t.Parallel()
	s := scanner(t)
	values, ok := s.Scan([]byte(`{"a":NaN,"b":{"c":-Infinity,"d":Infinity}}`))
	if !ok || spelt(values[0]) != "fNaN" || spelt(values[1]) != "f-Inf" || spelt(values[2]) != "f+Inf" {
		t.Errorf("%v %t", values, ok)
	}
	for _, bad := range []string{`{"a":-NaN}`, `{"a":nan}`, `{"a":Inf}`, `{"a":-Inf}`, `{"a":Infinityx}`, `{"a":-I`} {
		if _, ok := s.Scan([]byte(bad)); ok {
			t.Errorf("%s is taken for JSON", bad)
		}
	}
}

// TestParse: paths are read and written, and what is none is refused.
func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		".a": {"a"}, "a": {"a"}, ".a.b": {"a", "b"}, `."a.b".c`: {"a.b", "c"}, `.@time`: {"@time"}, `.""`: {""}, `."\"".é`: {`"`, "é"},
	} {
		got, err := fields.Parse(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", text, got, err)
			continue
		}
		if again, err := fields.Parse(fields.Spelt(got)); err != nil || !slices.Equal(again, want) {
			t.Errorf("%s: %q, %v", fields.Spelt(got), again, err)
		}
	}
	for _, bad := range []string{"", ".", ".a.", "..a", `."a`, `."a"b`, `.a"b`, strings.Repeat(".a", 65)} {
		if got, err := fields.Parse(bad); err == nil {
			t.Errorf("%s is %q", bad, got)
		}
	}
}

// BenchmarkScan scans lines as programs log them.
func BenchmarkScan(b *testing.B) {
	line := []byte(`{"id":123456,"time":"2026-11-03T07:08:09.123Z","user":"user-04711","event":"purchase","ms":123.456,"ok":true}`)
	s := fields.NewScanner()
	s.Slot([]string{"event"})
	s.Slot([]string{"ms"})
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, ok := s.Scan(line); !ok {
			b.Fatal("no JSON")
		}
	}
}
