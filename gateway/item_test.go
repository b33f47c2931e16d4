package gateway

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/bloscpack"
	"github.com/farread/farread/formats/cframe"
)

// TestItemMemory: an item whose length no index tells takes the memory that its header tells, not as
// much as an item may have; and what nobody needs is not read for a 304.
func TestItemMemory(t *testing.T) {
	long := make([]byte, 300_000)
	_, _ = rand.NewChaCha8([32]byte{}).Read(long) // never fails
	items := [][]byte{[]byte("short"), long, make([]byte, 900_000), []byte("last")}
	var blp, chunks, blocks buffer
	w, err := bloscpack.NewWriter(&blp, bloscpack.WriteOptions{Variable: true})
	must(err)
	c, err := cframe.NewWriter(&chunks, cframe.WriteOptions{ChunkSize: cframe.VaryingSizes, Encode: blosc.EncodeOptions{Codec: blosc.LZ4}})
	must(err)
	b, err := cframe.NewWriter(&blocks, cframe.WriteOptions{ChunkSize: cframe.VaryingSizes, Encode: blosc.EncodeOptions{Codec: blosc.LZ4}})
	must(err)
	for _, p := range items {
		must(w.WriteItem(p))
		must(c.WriteChunk(p))
	}
	must(b.WriteBlocks(items[:2]))
	must(b.WriteBlocks(items[2:]))
	must(w.Close())
	must(c.Close())
	must(b.Close())

	g := newGround(t, Config{MaxResponse: 1_000_000, Memory: 64 << 20})
	for key, want := range map[string]struct {
		file  []byte
		trace [4]string // requests of each item, once the dataset is open
		need  [4]int64  // memory that is enough
	}{
		"x.blp":          {blp.Bytes(), [4]string{"", "get get", "get", "get"}, [4]int64{5_000, 700_000, 1_000_000, 5_000}},
		"items.b2frame":  {chunks.Bytes(), [4]string{}, [4]int64{200_000, 1_000_000, 1_900_000, 200_000}},
		"blocks.b2frame": {blocks.Bytes(), [4]string{}, [4]int64{1_000_000, 1_000_000, 1_900_000, 1_900_000}},
	} {
		g.put(t, key, want.file)
		g.get(t, "/info/d/"+key)
		for i, p := range items {
			path := fmt.Sprintf("/get/d/%s?item=%d", key, i)
			lent, err := g.memory.take(t.Context(), g.memory.all-want.need[i], 0)
			must(err)
			g.took()
			w := g.get(t, path)
			got := g.took()
			lent.release()
			if !bytes.Equal(w.Body.Bytes(), p) {
				t.Errorf("%s: %d bytes", path, w.Body.Len())
			}
			if want.trace[1] != "" && got != want.trace[i] {
				t.Errorf("%s: requests %q, want %q", path, got, want.trace[i])
			}
			g.get2(t, path, "If-None-Match: "+w.Header().Get("ETag"))
			if got := g.took(); got != "" {
				t.Errorf("%s, again: requests %q", path, got)
			}
		}
	}
	if n := g.memory.used.Load(); n != 0 {
		t.Errorf("%d bytes are still lent", n)
	}

	// What is longer than an answer may be is refused before it is decoded.
	small := newGround(t, Config{MaxResponse: 800_000})
	small.put(t, "items.b2frame", chunks.Bytes())
	small.put(t, "x.blp", blp.Bytes())
	for _, key := range []string{"items.b2frame", "x.blp"} {
		if w := small.ask("GET", "/get/d/"+key+"?item=2"); w.Code != 413 {
			t.Errorf("%s: %d %s", key, w.Code, w.Body)
		}
		if w := small.ask("GET", "/get/d/"+key+"?item=4"); w.Code != 404 {
			t.Errorf("%s: %d %s", key, w.Code, w.Body)
		}
	}
}
