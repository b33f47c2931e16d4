package gateway

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"

	"github.com/farread/farread/formats/blosc"
)

// TestZarrPieces: a chunk that is passed through is sent in two pieces, of which any range
// is a part, cold and kept, and is asked for once.
func TestZarrPieces(t *testing.T) {
	g := newGround(t, Config{})
	const path = "/zarr/d/v.b2nd/c/1/1/0"
	whole := bytes.Clone(g.get(t, path).Body.Bytes())
	h, err := blosc.ParseHeader(whole)
	if err != nil || h.CBytes != len(whole) || h.NBytes != 16*32*128*2 {
		t.Fatalf("%d bytes: %+v, %v", len(whole), h, err)
	}
	g.took()
	lead := 16 + 4*h.Blocks()
	for _, r := range [][2]int{{0, 0}, {0, lead - 1}, {0, lead}, {lead - 1, lead}, {lead, lead}, {lead, len(whole) - 1}, {3, len(whole) - 1}, {len(whole) - 1, len(whole) - 1}} {
		w := g.get(t, path, fmt.Sprintf("Range: bytes=%d-%d", r[0], r[1]))
		if w.Code != 206 || !bytes.Equal(w.Body.Bytes(), whole[r[0]:r[1]+1]) {
			t.Errorf("%v: %d, %d bytes", r, w.Code, w.Body.Len())
		}
	}
	w := g.ask("HEAD", path)
	if w.Code != 200 || w.Header().Get("Content-Length") != strconv.Itoa(len(whole)) || w.Body.Len() != 0 {
		t.Errorf("HEAD: %d %v", w.Code, w.Header())
	}
	if got := g.took(); got != "" {
		t.Errorf("requests %q", got)
	}
	if n := g.memory.used.Load(); n != 0 {
		t.Errorf("%d bytes are still lent", n)
	}
}
