package gateway

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/simstore"
)

// days and lats are coordinates in the layer of an array.
var (
	days = arraymeta.Coord{Dim: "time", DType: "<i8", Start: "0", Step: "1", Attrs: map[string]json.RawMessage{"units": json.RawMessage(`"days since 2025-01-01"`)}}
	lats = arraymeta.Coord{Dim: "lat", DType: "<f4", Start: "60", Step: "-0.5"}
)

// meaningful is an array of 10 days and 6 latitudes, item i of which is i, with the coordinates.
func meaningful(t *testing.T, coords ...arraymeta.Coord) []byte {
	t.Helper()
	layer, err := arraymeta.Meta{Dims: []string{"time", "lat"}, Coords: coords}.Append(nil)
	must(err)
	var b buffer
	w, err := b2nd.NewWriter(&b, b2nd.Meta{Shape: []int64{10, 6}, ChunkShape: []int{4, 6}, BlockShape: []int{2, 3}, DType: "<i2"},
		b2nd.WriteOptions{VLMetalayers: []cframe.Metalayer{{Name: arraymeta.Layer, Data: layer}}})
	must(err)
	for i := range 60 {
		_, err := w.Write(binary.LittleEndian.AppendUint16(nil, uint16(i)))
		must(err)
	}
	must(w.Close())
	return b.Bytes()
}

// leftOut is what the document of a group says of coordinates that are left out.
func leftOut(t *testing.T, body []byte) map[string]string {
	t.Helper()
	var d struct {
		Attributes struct {
			Farread struct{ Coordinates map[string]string }
		}
	}
	must(json.Unmarshal(body, &d))
	return d.Attributes.Farread.Coordinates
}

// TestGroupCoordinates: the group of a folder has the coordinates that are in its arrays only, where those
// agree; with an index of the group and without it, in the document of the group and alone.
func TestGroupCoordinates(t *testing.T) {
	g := newGround(t, Config{TTL: 10 * time.Second})

	var spelled []byte // the same latitudes as a list
	for i := range 6 {
		spelled = binary.LittleEndian.AppendUint32(spelled, math.Float32bits(60-float32(i)/2))
	}
	other := arraymeta.Coord{Dim: "lat", DType: "<f4", Start: "50", Step: "-0.5"}
	g.put(t, "w/a.b2nd", meaningful(t, days, lats))
	g.put(t, "w/b.b2nd", meaningful(t, days, arraymeta.Coord{Dim: "lat", DType: "<f4", Values: spelled}))
	g.put(t, "w/c.b2nd", meaningful(t)) // no coordinates at all
	names := func() []string {
		return slices.Sorted(maps.Keys(documentOf(t, g.get(t, "/group/d/w/zarr.json")).Consolidated.Metadata))
	}
	if got := names(); !slices.Equal(got, []string{"a", "b", "c", "lat", "time"}) {
		t.Fatalf("members %q", got)
	}
	g.took()
	chunk := g.get(t, "/group/d/w/lat/c/0")
	if got := chunk.Body.Bytes(); !slices.Equal(got, spelled) || g.took() != "" {
		t.Errorf("lat: %v", got)
	}
	if w := g.get(t, "/group/d/w/time/c/0"); w.Body.Len() != 80 || binary.LittleEndian.Uint64(w.Body.Bytes()[72:]) != 9 {
		t.Errorf("time: %x", w.Body)
	}
	alone := g.get(t, "/group/d/w/lat/zarr.json")
	if one := g.get(t, "/group/d/w/a.b2nd/lat/zarr.json").Body.String(); alone.Body.String() != one {
		t.Errorf("documents %s\nand %s", alone.Body, one)
	}
	if diff := cmp.Diff(documentOf(t, alone), documentOf(t, g.get(t, "/group/d/w/zarr.json")).Consolidated.Metadata["lat"]); diff != "" {
		t.Error(diff)
	}
	for path, want := range map[string]int{"/group/d/w/lat/c/1": 404, "/group/d/w/lon/c/0": 410, "/group/d/w/lon/zarr.json": 404, "/group/d/w/lat/.zarray": 404} {
		if w := g.ask("GET", path); w.Code != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := g.ask("GET", "/group/d/w/lat/c/0", "If-None-Match: "+chunk.Header().Get("ETag")); w.Code != 304 {
		t.Errorf("again: %d", w.Code)
	}
	plain := arraysOf(t, g, "/group/d/w/zarr.json")
	g.index(t, "data/w/")
	g.pass(time.Minute)
	g.took()
	if got := arraysOf(t, g, "/group/d/w/zarr.json"); got != plain || g.took() != "list get" {
		t.Errorf("by the index: %s\nwant %s", got, plain)
	}
	if got := g.get(t, "/group/d/w/lat/c/0").Body.Bytes(); !slices.Equal(got, spelled) {
		t.Errorf("lat by the index: %v", got)
	}
	if got := g.took(); got != "head" { // the array that has it is open, and looked at
		t.Errorf("lat by the index: requests %q", got)
	}

	// An array that has others: its latitudes are those of no other one.
	g.put(t, "w/c.b2nd", meaningful(t, days, other))
	g.pass(time.Minute)
	if w := g.ask("GET", "/group/d/w/lat/c/0"); w.Code != 410 { // nobody has asked for the group since
		t.Errorf("lat of two kinds: %d %s", w.Code, w.Body)
	}
	w := g.get(t, "/group/d/w/zarr.json")
	if got := leftOut(t, w.Body.Bytes()); len(got) != 1 || got["lat"] != "left out: a and c have other values of it" || slices.Contains(names(), "lat") {
		t.Errorf("left out: %v", got)
	}
	// An array of the name is what the name means.
	g.put(t, "w/lat.b2nd", fixture("nd1.b2nd"))
	g.pass(time.Minute)
	w = g.get(t, "/group/d/w/zarr.json")
	if got := leftOut(t, w.Body.Bytes()); len(got) > 0 || !slices.Contains(names(), "lat") {
		t.Errorf("left out: %v", got)
	}
	checkZarr(t, g, "/group/d/w/lat", false, fixture("nd1.b2nd"), 10)
}

// TestGroupCoordinateFaults: a coordinate whose array the source does not give now is not absent, and one
// whose array is gone is.
func TestGroupCoordinateFaults(t *testing.T) {
	fault := error(nil)
	g := newGround(t, Config{TTL: time.Second}, simstore.Replace(func(_ context.Context, c simstore.Call) error {
		if strings.HasSuffix(c.Key, "a.b2nd") {
			return fault
		}
		return nil
	}))
	g.put(t, "w/a.b2nd", meaningful(t, days, lats))
	g.get(t, "/group/d/w/lat/c/0") // without the document of the group
	for _, x := range []struct {
		fault  error
		status int
	}{{objstore.ErrDenied, 424}, {objstore.ErrThrottled, 503}, {errors.New("secret"), 500}} {
		fault = &objstore.Error{Op: "get", Bucket: "s3://secret", Key: "secret", Status: 418, Err: x.fault}
		g.pass(time.Minute)
		if w := g.ask("GET", "/group/d/w/lat/c/0"); w.Code != x.status || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%v: %d %s", x.fault, w.Code, w.Body)
		}
	}
	fault = nil
	must(g.mem.Delete(t.Context(), "data/w/a.b2nd"))
	g.pass(time.Minute)
	if w := g.ask("GET", "/group/d/w/lat/c/0"); w.Code != 410 {
		t.Errorf("gone: %d %s", w.Code, w.Body)
	}
	if n := g.memory.used.Load(); n != 0 {
		t.Errorf("%d bytes are still lent", n)
	}
}
