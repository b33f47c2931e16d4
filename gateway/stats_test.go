package gateway

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
)

// indexed is an array of 10 chunks of 100 items with an index: item i is i, but every
// tenth is 0.
func indexed() []byte {
	var b buffer
	w, err := b2nd.NewWriter(&b, b2nd.Meta{Shape: []int64{1000}, ChunkShape: []int{100}, BlockShape: []int{50}, DType: "<i4"}, b2nd.WriteOptions{Index: cframe.WithIndex})
	must(err)
	var p []byte
	for i := range 1000 {
		if i%10 == 0 {
			i = 0
		}
		p = binary.LittleEndian.AppendUint32(p, uint32(i))
	}
	_, err = w.Write(p)
	must(err)
	must(w.Close())
	return b.Bytes()
}

// TestStatistics: what an index knows of the values of chunks, page by page, and of the
// whole array.
func TestStatistics(t *testing.T) {
	g := newGround(t, Config{})
	g.put(t, "ranges.b2nd", indexed())
	after, seen := "", 0
	for pages := 0; ; pages++ {
		v := object(t, g.get(t, "/stats/d/ranges.b2nd?limit=4&after="+after))
		entries, _ := v["entries"].([]any)
		for _, e := range entries {
			o, _ := e.(map[string]any)
			cols, _ := o["columns"].([]any)
			if got, want := fmt.Sprint(o["chunk"], cols), fmt.Sprintf("%d [map[items:100 max:%d min:0 nan:0 zeros:10]]", seen, seen*100+99); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			seen++
		}
		if after, _ = v["next"].(string); after == "" {
			if pages != 2 || seen != 10 || fmt.Sprint(v["columns"]) != "[map[dtype:<i4 name:]]" {
				t.Errorf("%d pages, %d chunks, %v", pages, seen, v["columns"])
			}
			break
		}
	}
	g.took()
	g.get(t, "/stats/d/ranges.b2nd")
	if n := g.took(); n != "" { // it came with the index
		t.Errorf("requests %q", n)
	}
	if s := fmt.Sprint(object(t, g.get(t, "/info/d/ranges.b2nd"))["statistics"]); !strings.Contains(s, "max:999 min:0") {
		t.Error(s)
	}
	for path, want := range map[string]string{"/stats/d/v.npy": "422 unsupported", "/stats/d/v.b2nd": "404 no-entry", "/stats/d/ranges.b2nd?column=x": "404 no-entry", "/stats/d/ranges.b2nd?after=x": "400 bad-after",
		"/stats/d/ranges.b2nd?limit=-1": "400 bad-limit", "/stats/d/day.zoom": "422 unsupported", "/stats/d/ranges.b2nd?page=1": "400 bad-query"} {
		w := g.ask("GET", path)
		if got := fmt.Sprintf("%d %s", w.Code, code(t, w)); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if w := g.ask("GET", "/stats/d/ranges.b2nd?after=9223372036854775807"); w.Code != 200 || !strings.Contains(w.Body.String(), `"entries":[]`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
