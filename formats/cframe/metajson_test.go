package cframe

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/rangeio"
)

// TestMetalayersOfPython: what python-blosc2 stored is what the library of msgpack, which
// may allocate what it likes here, makes of it.
func TestMetalayersOfPython(t *testing.T) {
	t.Parallel()
	n, names := 0, map[string]bool{}
	for _, pattern := range []string{"testdata/fixtures/cframe/*.b2frame", "../b2nd/testdata/*.b2nd"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, name := range files {
			p, err := os.ReadFile(name)
			if err != nil {
				continue // a folder
			}
			f, err := Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), Options{})
			if err != nil {
				t.Fatal(err)
			}
			vl, err := f.VLMetalayers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range append(f.Metalayers(), vl...) {
				var value any
				if err := msgpack.Unmarshal(m.Data, &value); err != nil {
					continue
				}
				want, err := json.Marshal(value)
				if err != nil || m.Name == "b2nd" {
					continue // keys that are no strings, or the layer that breaks msgpack's rules
				}
				got, err := m.JSON(JSONLimits{})
				if errors.Is(err, formats.ErrCorrupt) && !json.Valid(m.Data) { // text, of which msgpack takes the first byte
					var d = msgpack.NewDecoder(bytes.NewReader(m.Data))
					if _, derr := d.DecodeInterface(); derr == nil && d.Buffered().(*bytes.Reader).Len() > 0 {
						continue
					}
				}
				if err != nil || !same(got, want) {
					t.Errorf("%s: %q: %s, %v, want %s", name, m.Name, got, err, want)
				}
				n++
				names[m.Name] = true
			}
		}
	}
	if n < 20 || len(names) < 5 {
		t.Errorf("%d metalayers of %d names compared", n, len(names))
	}
}

// same compares JSON by value.
func same(x, y []byte) bool {
	var a, b any
	return json.Unmarshal(x, &a) == nil && json.Unmarshal(y, &b) == nil && cmp.Equal(a, b)
}

func TestAppendJSON(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in, out string
		want    error
	}{
		{in: "\xc0", out: "null"},
		{in: "\xc3", out: "true"},
		{in: "\xff", out: "-1"},
		{in: "\xd1\xff\x00", out: "-256"},
		{in: "\xcf\xff\xff\xff\xff\xff\xff\xff\xff", out: "18446744073709551615"},
		{in: "\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00", out: "null"},
		{in: "\xca\x3f\x80\x00\x00", out: "1"},
		{in: "\xa3a\"\n", out: `"a\"\n"`},
		{in: "\xc4\x02\x00\xff", out: `"AP8="`},
		{in: "\x93\x01\x02\x03", out: "[1,2,3]"},
		{in: "\x82\xa1a\x01\x05\x90", out: `{"a":1,"5":[]}`},
		{in: "\xdf\x00\x00\x00\x00", out: "{}"},
		{in: "", want: formats.ErrCorrupt},
		{in: "\x01\x01", want: formats.ErrCorrupt},
		{in: "\xa3ab", want: formats.ErrCorrupt},
		{in: "\xa1\xff", want: formats.ErrCorrupt},
		{in: "\x82\xa1a\x01\xa1a\x01", want: formats.ErrCorrupt},
		{in: "\xdd\xff\xff\xff\xff", want: formats.ErrCorrupt},
		{in: "\xdb\xff\xff\xff\xff", want: formats.ErrCorrupt},
		{in: "\xc1", want: formats.ErrUnsupported},
		{in: "\xd4\x01\x01", want: formats.ErrUnsupported},
		{in: "\x81\x90\x01", want: formats.ErrUnsupported},
		{in: strings.Repeat("\x91", 33) + "\x01", want: formats.ErrTooLarge},
		{in: "\xdd\x00\x01\x00\x01" + strings.Repeat("\x01", 1<<16+1), want: formats.ErrTooLarge},
		{in: "\xdb\x00\x20\x00\x00" + strings.Repeat("a", 1<<21), want: formats.ErrTooLarge},
	} {
		got, err := AppendJSON([]byte("before"), []byte(tc.in), JSONLimits{})
		if want := "before" + tc.out; string(got) != want || !errors.Is(err, tc.want) {
			t.Errorf("%.20q: %.40q, %v, want %q, %v", tc.in, got, err, want, tc.want)
		}
	}
	deep := []byte(strings.Repeat("\x91", 32) + "\x01")
	if _, err := AppendJSON(nil, deep, JSONLimits{}); err != nil {
		t.Errorf("32 levels: %v", err)
	}
	for _, l := range []JSONLimits{{Depth: 31}, {Values: 32}, {Bytes: 64}} {
		if _, err := AppendJSON(nil, deep, l); !errors.Is(err, formats.ErrTooLarge) {
			t.Errorf("%+v: %v", l, err)
		}
	}
}

// FuzzAppendJSON: no bytes make it panic, or give what is no JSON, or more of it than
// allowed; and a value that NewMetalayer writes comes back.
func FuzzAppendJSON(f *testing.F) {
	for _, s := range []string{"\x82\xa1a\x01\xa1b\x92\xc0\xc3", "\xdd\xff\xff\xff\xff", "\xcb\x40\x09\x21\xfb\x54\x44\x2d\x18", "\xc4\x02\x00\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		l := JSONLimits{Bytes: 1 << 12, Values: 1 << 10, Depth: 8}
		got, err := AppendJSON(nil, p, l)
		if err != nil {
			if len(got) > 0 {
				t.Errorf("%q beside %v", got, err)
			}
			return
		}
		if !json.Valid(got) || len(got) > l.Bytes {
			t.Fatalf("%d bytes, %.100q", len(got), got)
		}
		var value any
		if err := json.Unmarshal(got, &value); err != nil {
			return // a number that float64 does not hold
		}
		m, err := NewMetalayer("x", value)
		if err != nil {
			t.Fatal(err)
		}
		back, err := m.JSON(JSONLimits{})
		if err != nil || !same(back, got) && !huge(value) {
			t.Errorf("%s became %s, %v", got, back, err)
		}
	})
}

// huge says that a value has numbers that no float64 holds exactly.
func huge(v any) bool {
	switch v := v.(type) {
	case float64:
		return math.Abs(v) > 1<<53
	case []any:
		for _, e := range v {
			if huge(e) {
				return true
			}
		}
	case map[string]any:
		for _, e := range v {
			if huge(e) {
				return true
			}
		}
	}
	return false
}
