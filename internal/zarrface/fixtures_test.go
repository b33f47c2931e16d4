package zarrface_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/internal/zarrface"
)

var update = flag.Bool("update", false, "rewrite golden documents")

// golden compares text with a file below testdata.
func golden(t *testing.T, name string, text []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(text)); d != "" {
		t.Errorf("%s (-want +got):\n%s", name, d)
	}
}

// TestDocuments: the documents of all fixtures, and what no client reads.
func TestDocuments(t *testing.T) {
	docs := map[string]json.RawMessage{}
	for _, name := range fixtures(t) {
		a := openFixture(t, name)
		v, err := zarrface.New(t.Context(), a, layers(t, a), zarrface.Options{})
		if err != nil {
			if !errors.Is(err, formats.ErrUnsupported) {
				t.Errorf("%s: %v", name, err)
			}
			docs[name], _ = json.Marshal(err.Error())
			continue
		}
		var b bytes.Buffer // one line each: a change is seen at once
		if err := json.Compact(&b, v.Doc()); err != nil {
			t.Fatal(err)
		}
		docs[name] = b.Bytes()
	}
	var b strings.Builder
	for _, name := range slices.Sorted(slices.Values(fixtures(t))) {
		b.WriteString(name + " " + string(docs[name]) + "\n")
	}
	golden(t, "fixtures.txt", []byte(b.String()))
}

var ways = []zarrface.Options{{}, {Blocks: true}, {Codec: zarrface.Raw}, {Codec: zarrface.Zstd, Blocks: true}, {Codec: zarrface.Gzip}}

// TestFixtures: chunks hold what ReadSlice reads, passed through or not, from whole stored
// chunks, from parts of them, and from items.
func TestFixtures(t *testing.T) {
	passed, anew, absent, blocks := 0, 0, 0, 0
	for _, name := range fixtures(t) {
		a := openFixture(t, name)
		if _, err := zarrface.New(t.Context(), a, nil, zarrface.Options{}); errors.Is(err, formats.ErrUnsupported) {
			continue
		}
		for _, o := range ways {
			v := view(t, a, o)
			keys(zarrface.Count(v), racetest.Share(100, 10), func(key string) {
				c, err := v.Key(key)
				if errors.Is(err, zarrface.ErrAbsent) {
					absent++
					return
				}
				if err != nil {
					t.Fatal(name, key, err)
				}
				stored, err := a.Frame().AppendStored(t.Context(), nil, c.Number)
				if err != nil {
					t.Fatal(name, key, err)
				}
				checkChunk(t, name+" "+key, a, v, o.Codec, c, stored)
				switch {
				case zarrface.Passes(v, c, stored) && o.Blocks:
					blocks++
				case zarrface.Passes(v, c, stored):
					passed++
				case o.Codec == zarrface.Pass:
					anew++
				}
			})
		}
	}
	t.Logf("%d chunks and %d blocks passed through, %d made anew, %d absent", passed, blocks, anew, absent)
	if passed < 30 || blocks < 60 || anew < 10 || absent < 10 {
		t.Error("too few of a kind")
	}
}

// checkChunk holds one chunk in three ways against ReadSlice.
func checkChunk(t tester, what string, a *b2nd.Array, v *zarrface.View, codec zarrface.Codec, c zarrface.Chunk, stored []byte) {
	t.Helper()
	items := readBox(t, a, c.Box)
	check := func(way string, p []byte, err error) {
		t.Helper()
		if err == nil {
			p, err = decoded(codec, p)
		}
		if err != nil {
			t.Fatalf("%s, %s: %v", what, way, err)
		}
		if int64(len(p)) != c.Size {
			t.Fatalf("%s, %s: %d bytes, want %d", what, way, len(p), c.Size)
		}
		if !bytes.Equal(inside(v, c, p, a.ItemSize()), items) {
			t.Fatalf("%s, %s: not the items of the array", what, way)
		}
	}
	prefix := []byte("before")
	p, err := v.Encode(prefix, c, stored)
	if err == nil && !bytes.HasPrefix(p, prefix) {
		t.Fatalf("%s: what was there is gone", what)
	}
	check("whole", bytes.TrimPrefix(p, prefix), err)

	if lead, rest, ok := v.Lead(c, stored); ok {
		check("lead", slices.Concat(lead, rest), nil)
	}

	x, err := blosc.ParseIndex(stored)
	if err != nil {
		t.Fatal(what, err)
	}
	some := make([]byte, len(stored)) // nothing but the spans
	for _, s := range v.Spans(c, x) {
		copy(some[s.Off:], stored[s.Off:s.Off+s.Len])
	}
	p, err = v.EncodeParts(nil, c, x, func(off, n int) []byte { return some[off : off+n] })
	check("parts", p, err)

	p, err = v.EncodeItems(nil, c, items)
	check("items", p, err)
}
