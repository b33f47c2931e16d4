//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/formats/index"
)

// TestWriter: what a Writer makes of random shapes, GulpIO reads back: every
// byte, every meta_data value, in the same order.
func TestWriter(t *testing.T) {
	var dirs []string
	var want []folder
	for seed := range uint64(12) {
		r := seeded(seed)
		ids := []int{0, 1, 7, 40, 3000}[min(int(seed), 4)]
		if seed > 4 {
			ids = 1 + r.IntN(60)
		}
		dir := t.TempDir()
		want = append(want, writeRandom(t, r, dir, ids))
		dirs = append(dirs, dir)
	}
	same(t, want, read(t, false, dirs...))
	sharedReader(t, false, dirs[3], want[3])
}

// writeRandom writes data_0 of a folder.
func writeRandom(t *testing.T, r random, dir string, ids int) folder {
	t.Helper()
	var data, meta bytes.Buffer
	w := gulp.NewWriter(&data, gulp.WriteOptions{})
	c := chunk{Name: "data_0.gulp"}
	var names []string
	for n := range ids {
		it := item{ID: r.id(n)}
		for range r.IntN(3) {
			m := r.meta()
			it.MetaData = append(it.MetaData, m)
			text, err := json.Marshal(m)
			if err == nil {
				err = w.AddMeta(it.ID, text)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		frames := r.IntN(9)
		if len(it.MetaData) == 0 {
			frames++                              // something must mention the id
			it.MetaData = []any{map[string]any{}} // what the writer puts where there is none
		}
		it.First = it.MetaData[0]
		for k := range frames {
			p := r.payload()
			var err error
			if k%2 == 0 {
				err = w.WriteFrame(it.ID, p)
			} else {
				_, err = w.CopyFrame(it.ID, io.MultiReader(bytes.NewReader(p[:len(p)/2]), bytes.NewReader(p[len(p)/2:])))
			}
			if err != nil {
				t.Fatal(err)
			}
			it.Frames = append(it.Frames, frameOf(p))
		}
		c.Items = append(c.Items, it)
		names = append(names, it.ID)
	}
	// Frames of an id may come late, behind those of others.
	if ids > 1 {
		p := r.payload()
		if err := w.WriteFrame(names[0], p); err != nil {
			t.Fatal(err)
		}
		c.Items[0].Frames = append(c.Items[0].Frames, frameOf(p))
	}
	if err := w.WriteMeta(&meta); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]*bytes.Buffer{"data_0.gulp": &data, "meta_0.gmeta": &meta} {
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder{Chunks: []chunk{c}, IDs: names}
}

// TestDatasetWriter: chunks that roll over by size or by count, and chunks that
// were appended later, are one folder to GulpIO.
func TestDatasetWriter(t *testing.T) {
	for name, o := range map[string]gulp.DatasetOptions{
		"bytes": {MaxBytes: 4000},
		"ids":   {MaxIDs: 3},
		"both":  {MaxBytes: 6000, MaxIDs: 5},
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := seeded(uint64(len(name))), t.TempDir()
			var want folder
			c := farread.New(farread.Config{NoHedge: true})
			out, err := c.Output(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			w := gulp.NewDatasetWriter(t.Context(), out, o)
			writeItems(t, w, r, o, &want, 0, 30)
			first := len(want.Chunks)

			d, err := c.OpenGulpDataset(t.Context(), dir, farread.GulpOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if w, err = d.Extend(t.Context(), out, o); err != nil {
				t.Fatal(err)
			}
			writeItems(t, w, r, o, &want, 30, 40)
			if first < 2 || len(want.Chunks) <= first || len(want.Chunks) > 100 {
				t.Fatalf("%d chunks, then %d: the test does not roll over", first, len(want.Chunks))
			}
			got := read(t, false, dir)[0]
			same(t, byName(want), byName(got))
			sharedReader(t, false, dir, got)
			indexBeside(t, c, dir)
			same(t, got, read(t, false, dir)[0]) // GulpIO does not see the indexes
		})
	}
}

// indexBeside writes the index beside each chunk of a folder, and finds an id by it.
func indexBeside(t *testing.T, c *farread.Client, dir string) {
	t.Helper()
	d, err := c.OpenGulpDataset(t.Context(), dir, farread.GulpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for k := range d.Len() {
		data := filepath.Join(dir, d.Pair(k).Data)
		g, err := c.OpenGulp(t.Context(), data, farread.GulpOptions{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := g.BuildIndex()
		if err == nil {
			err = os.WriteFile(data+index.Suffix, p, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		x, err := c.OpenGulpByID(t.Context(), data, farread.GulpOptions{Beside: true})
		if err != nil || x.Index == nil {
			t.Fatalf("%s is not opened by its index: %v", data, err)
		}
		if n, err := x.Index.Frames(t.Context(), g.ID(0)); err != nil || n != len(slices.Collect(g.Places(0))) {
			t.Errorf("%s: %d frames of the first id, %v", data, n, err)
		}
	}
}

// byName puts chunks into a map: GulpIO lists a folder as text, 10 before 2.
func byName(f folder) map[string][]item {
	m := map[string][]item{}
	for _, c := range f.Chunks {
		m[c.Name] = c.Items
	}
	return m
}

// writeItems writes ids and works out on its own which chunk each belongs to.
func writeItems(t *testing.T, w *gulp.DatasetWriter, r random, o gulp.DatasetOptions, want *folder, from, to int) {
	t.Helper()
	at, size := len(want.Chunks), int64(0)
	for n := from; n < to; n++ {
		k := len(want.Chunks) - 1
		if n == from || o.MaxBytes > 0 && size >= o.MaxBytes || o.MaxIDs > 0 && int64(len(want.Chunks[k].Items)) >= o.MaxIDs {
			k, size = k+1, 0
			want.Chunks = append(want.Chunks, chunk{Name: fmt.Sprintf("data_%d.gulp", k)})
		}
		m := r.meta()
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		it := item{ID: r.id(n), MetaData: []any{m}, First: m}
		if err := w.Begin(it.ID, text); err != nil {
			t.Fatal(err)
		}
		for range r.IntN(12) {
			p := r.payload()
			if err := w.WriteFrame(p); err != nil {
				t.Fatal(err)
			}
			it.Frames = append(it.Frames, frameOf(p))
			size += int64(len(p)+3) &^ 3
		}
		want.Chunks[k].Items = append(want.Chunks[k].Items, it)
	}
	pairs, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if len(pairs) != len(want.Chunks)-at {
		t.Errorf("%d chunks published, %d expected", len(pairs), len(want.Chunks)-at)
	}
}
