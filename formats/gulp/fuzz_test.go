package gulp_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/farread/farread/formats/formattest"
	"github.com/farread/farread/formats/gulp"
)

// FuzzOpen takes any text as an index. No text makes it panic or return an error
// without a class, and encoding/json accepts what it accepts, once number words are
// gone.
func FuzzOpen(f *testing.F) {
	names, _ := filepath.Glob(filepath.Join("testdata", "*", "*.gmeta"))
	more, _ := filepath.Glob(filepath.Join("testdata", "chunks", "*", "*.gmeta"))
	for _, n := range append(names, more...) {
		rel, _ := filepath.Rel("testdata", n)
		if p := load(f, filepath.ToSlash(rel)); len(p) < 2000 {
			f.Add(p, uint16(20000), uint8(0))
			f.Add(p, uint16(12244), uint8(9))
		}
	}
	f.Fuzz(func(t *testing.T, meta []byte, size uint16, window uint8) {
		data := make([]byte, size)
		c, err := gulp.Open(t.Context(), bytesReader(meta), bytesReader(data), gulp.Options{Window: int64(window)})
		if err != nil {
			if !formattest.Allowed(err) {
				t.Fatalf("error of no known class: %v", err)
			}
			return
		}
		plain := gulp.PlainJSON(meta)
		if !json.Valid(plain) {
			t.Fatalf("accepted what is no JSON: %q", meta)
		}
		total := 0
		err = c.Each(t.Context(), func(_ string, _ int, p []byte) error { total += len(p); return nil })
		if err != nil || int64(total) != c.Totals().Bytes || total > len(data) {
			t.Fatalf("%d bytes of %d, %v", total, len(data), err)
		}
		var top map[string]json.RawMessage
		if err := json.Unmarshal(plain, &top); err != nil || len(top) != c.Len() {
			t.Fatalf("%d ids, encoding/json has %d, %v", c.Len(), len(top), err)
		}
		for it := range c.All() {
			if top[it.ID] == nil {
				t.Fatalf("id %q is not what encoding/json has", it.ID)
			}
			if it.MetaData != nil && !json.Valid(gulp.PlainJSON(it.MetaData)) {
				t.Fatalf("meta_data %q", it.MetaData)
			}
		}
	})
}

// FuzzWriteRead writes its input, if the writer accepts it, and reads the same back.
func FuzzWriteRead(f *testing.F) {
	f.Add("a", "b", []byte("one"), []byte("three"), []byte(`{"label": "é"}`))
	f.Add("", "\u2028\U0010ffff", []byte{0}, []byte{0, 0, 0, 0}, []byte(`{}`))
	f.Add("a", "a", []byte{}, []byte{1}, []byte(`[]`))
	f.Fuzz(func(t *testing.T, a, b string, x, y, extra []byte) {
		var data, meta bytes.Buffer
		w := gulp.NewWriter(&data, gulp.WriteOptions{})
		want := map[string][][]byte{}
		for _, in := range []struct {
			id string
			p  []byte
		}{{a, x}, {b, y}, {a, y}} {
			if w.WriteFrame(in.id, in.p) == nil {
				want[in.id] = append(want[in.id], in.p)
			}
		}
		metaErr := w.AddMeta(a, extra)
		if err := w.WriteMeta(&meta); err != nil {
			t.Fatal(err)
		}
		c, err := gulp.Open(t.Context(), bytesReader(meta.Bytes()), bytesReader(data.Bytes()), gulp.Options{})
		if err != nil {
			t.Fatalf("our own index: %v\n%s", err, meta.Bytes())
		}
		if _, err := c.Verify(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		for id, frames := range want {
			got, err := c.AppendFrames(t.Context(), nil, id, 0, len(frames), 1)
			if err != nil || len(got) != len(frames) {
				t.Fatal(id, len(got), err)
			}
			for i := range got {
				if !bytes.Equal(got[i], frames[i]) {
					t.Fatalf("%q frame %d: %q, want %q", id, i, got[i], frames[i])
				}
			}
		}
		if metaErr == nil {
			raw, err := c.MetaData(a)
			var got, in any
			if err != nil || json.Unmarshal(raw, &got) != nil || json.Unmarshal(extra, &in) != nil {
				t.Fatalf("meta_data %q of %q: %v", raw, extra, err)
			}
			again, _ := json.Marshal(got)
			given, _ := json.Marshal([]any{in})
			if !bytes.Equal(again, given) {
				t.Fatalf("meta_data %s, want %s", again, given)
			}
		}
	})
}
