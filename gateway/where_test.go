package gateway

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// TestWhere: the items that match, with their indexes, as slice --where of the command
// gives them; what cannot match by the statistics is not read.
func TestWhere(t *testing.T) {
	g := newGround(t, Config{})
	g.put(t, "ranges.b2nd", indexed())
	for path, want := range map[string]string{
		"ranges.b2nd?where=v+%3E+997&format=json":              `{"at":[998],"v":998}`,
		"ranges.b2nd?s=500:510:3&where=v+%3C+507&format=csv":   "500,0",
		"v.b2nd?s=1,2,3:90&where=v+%3D%3D+22293&format=json":   `"v":22293`,
		"members.b2nd?where=id+%3E+0&field=id&format=csv":      ",",
		"v.b2nd?where=not+v+%3C+65535+and+v+%3E+0&format=json": `"at"`,
		"ranges.b2nd?where=v+%3E+5000&format=json":             "",
	} {
		if w := g.get(t, "/slice/d/"+path); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %.200s", path, w.Body)
		}
	}
	w := g.get(t, "/slice/d/ranges.b2nd?where=v+%3E+997")
	if p := w.Body.Bytes(); len(p) != npyHead+2*12 || binary.LittleEndian.Uint64(p[npyHead:]) != 998 || binary.LittleEndian.Uint32(p[npyHead+8:]) != 998 || !strings.Contains(w.Header().Get("X-Dtype"), "'at'") {
		t.Errorf("npy: %d bytes, %v", len(p), w.Header())
	}
	tag := w.Header().Get("ETag")
	if w := g.ask("GET", "/slice/d/ranges.b2nd?where=v+%3E+997", "If-None-Match: "+tag); w.Code != 304 {
		t.Errorf("%d", w.Code)
	}
	if w := g.ask("GET", "/slice/d/ranges.b2nd?where=v+%3E+996", "If-None-Match: "+tag); w.Code != 200 {
		t.Errorf("another comparison: %d", w.Code)
	}
	for path, want := range map[string]string{
		"v.b2nd?where=": "400 bad-where", "v.b2nd?where=v+%3E": "400 bad-where", "v.b2nd?where=x+%3E+3": "400 bad-where", "v.b2nd?where=v>1&as=f8": "400 bad-query", "v.b2nd?where=v>1&format=png": "400 bad-format",
		"v.npy?where=v>1": "422 unsupported", "day.zoom?where=v>1": "422 unsupported", "v.b2nd?where=v>1&s=900": "400 bad-slice", "v.b2nd?where=v>1&field=x": "404 no-entry", "v.b2nd?where=v>1&where=v>2": "400 bad-query",
		"v.b2nd?where=" + strings.Repeat("(", 4000): "400 bad-where",
	} {
		if w := g.ask("GET", "/slice/d/"+path); fmt.Sprint(w.Code, " ", code(t, w)) != want {
			t.Errorf("%.80s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
	small := newGround(t, Config{MaxResponse: 1000, MaxRead: 20_000})
	small.put(t, "ranges.b2nd", indexed())
	small.get(t, "/slice/d/ranges.b2nd?where=v+%3E+997")
	small.took()
	for path, want := range map[string]string{"v.b2nd?where=v>=0": "413 too-much", "ranges.b2nd?where=v>=0": "413 too-large"} {
		if w := small.ask("GET", "/slice/d/"+path); fmt.Sprint(w.Code, " ", code(t, w)) != want {
			t.Errorf("%s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
}

// TestStatisticsArray: statistics as an array of records.
func TestStatisticsArray(t *testing.T) {
	g := newGround(t, Config{})
	g.put(t, "ranges.b2nd", indexed())
	w := g.get(t, "/stats/d/ranges.b2nd?format=npy&after=3")
	p := w.Body.Bytes()
	const record = 8 + 3*8 + 2*4
	head := len(p) - 6*record
	if head <= 0 || w.Header().Get("X-Shape") != "6" || !strings.Contains(string(p[:head]), "('min', '<i4'), ('max', '<i4')") {
		t.Fatalf("%v %.300q", w.Header(), p)
	}
	at := func(off int) uint64 { return binary.LittleEndian.Uint64(p[head+off:]) }
	if at(0) != 4 || at(8) != 100 || at(16) != 0 || at(24) != 10 || at(32) != 499<<32 || at(record) != 5 {
		t.Errorf("%v", p[head:])
	}
	if w := g.ask("GET", "/stats/d/ranges.b2nd?format=csv"); w.Code != 400 {
		t.Errorf("csv: %d", w.Code)
	}
	if h := g.ask("HEAD", "/stats/d/ranges.b2nd?format=npy&after=3"); h.Header().Get("Content-Length") != fmt.Sprint(len(p)) {
		t.Errorf("HEAD: %v", h.Header())
	}
}
