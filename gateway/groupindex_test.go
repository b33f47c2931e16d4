package gateway

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/formats/groupindex"
)

// index writes the index of a folder.
func (g *ground) index(t *testing.T, prefix string) {
	t.Helper()
	x, err := g.client.BuildGroupIndex(t.Context(), g.mem, prefix, map[string]json.RawMessage{"title": json.RawMessage(`"a set"`)})
	must(err)
	p, err := x.Encode()
	must(err)
	g.put(t, strings.TrimPrefix(prefix, "data/")+groupindex.Name, p)
	g.took()
}

// TestGroupIndex: by its index the document of a group takes one request besides the listing, and has
// the same arrays, byte for byte, under every option; of an array that was replaced the index says
// nothing, which is told, and so it is of an index that cannot be read.
func TestGroupIndex(t *testing.T) {
	paths := []string{"/group/d/g/zarr.json", "/group~blocks~raw/d/g/zarr.json", "/group~float32/d/g/zarr.json"}
	names := []string{"nd1", "nd2", "nd3", "nd4", "scalar_i4", "special_nan"}
	g := newGround(t, Config{TTL: time.Second})
	for _, n := range names {
		g.put(t, "g/"+n+".b2nd", fixture(map[bool]string{true: "nd1.b2nd", false: n + ".b2nd"}[n == "special_nan"]))
	}
	var want []string
	for _, path := range paths {
		want = append(want, arraysOf(t, g, path))
	}
	g.index(t, "data/g/")
	g.pass(time.Minute)
	for i, path := range paths {
		g.took()
		if got := arraysOf(t, g, path); got != want[i] {
			t.Errorf("%s: %s\nwant %s", path, got, want[i])
		}
		if got := g.took(); got != "list get" {
			t.Errorf("%s: requests %q", path, got)
		}
	}
	d := documentOf(t, g.get(t, paths[0]))
	if len(d.Consolidated.Metadata) != len(names) || len(d.Attributes.Farread.Skipped) > 0 || !strings.Contains(g.get(t, paths[0]).Body.String(), `"a set"`) {
		t.Errorf("%+v", d)
	}
	checkZarr(t, g, "/group/d/g/nd2", false, fixture("nd2.b2nd"), 10)

	g.put(t, "g/nd2.b2nd", fixture("nd3.b2nd"))
	g.pass(time.Minute)
	g.took()
	w := g.get(t, paths[0])
	if got := g.took(); strings.Count(got, "get") > 3 || !strings.HasPrefix(got, "list get") {
		t.Errorf("stale: requests %q", got)
	}
	d = documentOf(t, w)
	if !slices.Equal(d.Consolidated.Metadata["nd2"].Shape, d.Consolidated.Metadata["nd3"].Shape) || !strings.Contains(w.Body.String(), "not used of 1 arrays, which are others by now: nd2.b2nd") {
		t.Errorf("stale: %s", w.Body)
	}
	g.put(t, "g/"+groupindex.Name, []byte(`{"farread_group":2}`))
	g.pass(time.Minute)
	if w := g.get(t, paths[0]); len(documentOf(t, w).Consolidated.Metadata) != len(names) || !strings.Contains(w.Body.String(), "not used: ") {
		t.Errorf("%s", w.Body)
	}
}

// arraysOf are the consolidated documents of a group.
func arraysOf(t *testing.T, g *ground, path string) string {
	t.Helper()
	var d struct {
		C struct {
			Metadata json.RawMessage `json:"metadata"`
		} `json:"consolidated_metadata"`
	}
	must(json.Unmarshal(g.get(t, path).Body.Bytes(), &d))
	return string(d.C.Metadata)
}
