package gateway

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAny: with Any the segment of a root may be a URI, and errors tell all of the source.
// Without, it is no root.
func TestAny(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"v.b2nd", "v.npy"} {
		must(os.WriteFile(filepath.Join(dir, name), samples()[name], 0o600))
	}
	root := func(uri string) string { return "~" + base64.RawURLEncoding.EncodeToString([]byte(uri)) }
	g := newGround(t, Config{Any: true})
	want := g.get(t, "/slice/d/v.b2nd?s=5,::-1,::64&format=raw").Body.String()
	for _, path := range []string{"/slice/" + root(dir+"/v.b2nd"), "/slice/" + root(dir) + "/v.b2nd", "/slice/" + root("file://"+dir+"/v.b2nd")} {
		if got := g.get(t, path+"?s=5,::-1,::64&format=raw").Body.String(); got != want {
			t.Errorf("%s: %d bytes, want %d", path, len(got), len(want))
		}
	}
	for path, want := range map[string]string{
		"/zarr/" + root(dir+"/v.b2nd") + "/zarr.json": `"shape":[64,96,128]`, "/group/" + root(dir) + "/zarr.json": `"v":{`, "/group/" + root(dir+"/v.b2nd") + "/zarr.json": `"data":{`,
	} {
		if got := g.get(t, path).Body.String(); !strings.Contains(strings.Join(strings.Fields(got), ""), want) {
			t.Errorf("%s: %.300s", path, got)
		}
	}
	for path, want := range map[string]int{"/info/" + root(dir+"/none"): 404, "/info/" + root(dir) + "/../x": 400, "/info/~": 400, "/info/~!": 400, "/info/~AA": 400, "/info/" + root("x://y"): 400} {
		w := g.ask("GET", path)
		if w.Code != want || want == 404 && !strings.Contains(w.Body.String(), filepath.Base(dir)) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := newGround(t, Config{}).ask("GET", "/info/"+root(dir+"/v.b2nd")); w.Code != 404 || strings.Contains(w.Body.String(), dir) {
		t.Errorf("without Any: %d %s", w.Code, w.Body)
	}
}

// TestPinnedLooksNot: a request for the version that is open costs no look, however old that
// is; what has to be read tells whether it is still the one.
func TestPinnedLooksNot(t *testing.T) {
	g := newGround(t, Config{TTL: -1, Cache: -1})
	pinned, _ := object(t, g.get(t, "/info/d/v.b2nd"))["pinned"].(string)
	path := strings.Replace(pinned, "/info", "/slice", 1)
	g.took()
	g.get(t, path+"?s=0")
	if got := g.took(); strings.Contains(strings.ToLower(got), "head") || got == "" {
		t.Errorf("a pinned slice asked %q", got)
	}
	g.put(t, "v.b2nd", samples()["v.b2nd"])
	if w := g.ask("GET", path+"?s=60"); w.Code != 409 {
		t.Errorf("of a version that is replaced: %d %s", w.Code, w.Body)
	}
}
