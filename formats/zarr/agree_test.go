package zarr_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zarr"
)

// TestAgree: consolidated metadata that say something else than an array itself are an error with its path and what
// differs, in both versions; an array without its own is named. A group without them costs nothing.
func TestAgree(t *testing.T) {
	var paths []string
	for _, v := range []struct{ fixture, doc string }{{"group consolidated v2", ".zarray"}, {"group consolidated v3", "zarr.json"}} {
		x := named(t, v.fixture)
		agree := func(s memStore) ([]string, error) {
			n, err := zarr.Open(t.Context(), s, zarr.Options{})
			if err != nil {
				t.Fatal(err)
			}
			arrays, _, err := n.Group.Arrays(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			paths = paths[:0]
			for p := range arrays {
				paths = append(paths, p)
			}
			slices.Sort(paths)
			return n.Group.Agree(t.Context(), paths)
		}
		if alone, err := agree(x.Objects); err != nil || len(alone) > 0 {
			t.Errorf("%s: %v, %v", v.fixture, alone, err)
		}
		p := paths[0]
		key := p + "/" + v.doc
		for what, change := range map[string]func(m map[string]any){
			"shape": func(m map[string]any) {
				shape, _ := m["shape"].([]any)
				shape[0] = 1000
			},
			"fill value": func(m map[string]any) { m["fill_value"] = 1 },
			"codecs": func(m map[string]any) {
				if _, ok := m["codecs"]; ok {
					m["codecs"] = []any{map[string]any{"name": "bytes", "configuration": map[string]any{"endian": "little"}}, "crc32c"}
				} else {
					m["compressor"] = map[string]any{"id": "crc32c"}
				}
			},
		} {
			s := clone(x.Objects)
			s[key] = changed(t, s[key], change)
			if _, err := agree(s); !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), p+": "+v.doc) || !strings.Contains(err.Error(), what) {
				t.Errorf("%s, %s: %v", v.fixture, what, err)
			}
		}
		s := clone(x.Objects)
		delete(s, key)
		if alone, err := agree(s); err != nil || !slices.Equal(alone, []string{p}) {
			t.Errorf("%s: %v, %v", v.fixture, alone, err)
		}
		s[key] = []byte("{")
		if _, err := agree(s); !errors.Is(err, formats.ErrCorrupt) || !strings.Contains(err.Error(), p+": "+v.doc) {
			t.Errorf("%s: %v", v.fixture, err)
		}
	}
	n, err := zarr.Open(t.Context(), named(t, "group v3").Objects, zarr.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if alone, err := n.Group.Agree(t.Context(), []string{"none"}); err != nil || alone != nil {
		t.Error(alone, err)
	}
}

// changed is a document with a change.
func changed(t *testing.T, text []byte, change func(m map[string]any)) []byte {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	change(m)
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
