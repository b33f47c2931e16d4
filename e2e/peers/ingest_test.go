//go:build peers

package peers

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/gulp"
)

// TestIngestor: what GulpIO's ingestor writes, with its own encoder, we read as
// GulpIO does.
func TestIngestor(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made")
	var want []folder
	run(t.Context(), t, &want, "read_gulp.py", "--write", dir)
	d, err := farread.New(farread.Config{NoHedge: true}).OpenGulpDataset(t.Context(), dir, farread.GulpOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got folder
	pads := map[int]bool{}
	for k := range d.Len() {
		g, err := d.Chunk(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		c := chunk{Name: d.Pair(k).Data}
		for id := range g.IDs() {
			got.IDs = append(got.IDs, id)
			c.Items = append(c.Items, ours(t, g, id, pads))
		}
		got.Chunks = append(got.Chunks, c)
	}
	same(t, want, []folder{got})
	if len(pads) != 4 || len(got.Chunks) != 3 {
		t.Errorf("pads %v and %d chunks: the test lacks variety", pads, len(got.Chunks))
	}
}

// ours reads one id with our reader.
func ours(t *testing.T, g *gulp.Chunk, id string, pads map[int]bool) item {
	t.Helper()
	it := item{ID: id}
	raw, err := g.MetaData(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(gulp.PlainJSON(raw), &it.MetaData); err != nil {
		t.Fatal(err)
	}
	if len(it.MetaData) > 0 {
		it.First = it.MetaData[0]
	}
	n, err := g.Frames(id)
	if err != nil {
		t.Fatal(err)
	}
	frames, err := g.AppendFrames(t.Context(), nil, id, 0, n, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range frames {
		it.Frames = append(it.Frames, frameOf(p))
		f, err := g.Frame(id, i)
		if err != nil {
			t.Fatal(err)
		}
		pads[f.Pad] = true
	}
	return it
}
