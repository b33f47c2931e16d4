package gateway

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/formats/arraymeta"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/cframe"
)

// TestSliceByCoordinates: a slice by coordinates is the one by positions, and says which positions
// these are; errors name the dimension and what its axis has.
func TestSliceByCoordinates(t *testing.T) {
	g := newGround(t, Config{TTL: 10 * time.Second})
	g.put(t, "a.b2nd", meaningful(t, days, lats))
	for labels, want := range map[string][2]string{
		"s=time=2025-01-03:2025-01-05,lat=59:58.5":           {"2:5,2:4", "2:5,2:4"},
		"s=lat=58.5:59,time=2025-01-03:2025-01-05":           {"2:5,2:4", "2:5,2:4"},
		"s=time%3D2025-01-03%2C+lat%3D59.5":                  {"2,1", "2:3,1:2"},
		"s=lat=60,::3":                                       {"::3,0", "0:10:3,0:1"},
		"s=lat=60,::-3":                                      {"::-3,0", "9::-3,0:1"},
		"s=...,lat=57.5":                                     {":,-1", "0:10,5:6"},
		"s=time=2025-01":                                     {":", "0:10,0:6"},
		"s=time=2025-01-02T11:00,lat=58.2&nearest=1":         {"1,4", "1:2,4:5"},
		"s=lat=59,-1&nearest=0":                              {"-1,2", "9:10,2:3"},
		"s=lat=59,4&as=f8":                                   {"4,2&as=f8", "4:5,2:3"},
		"s=lat=59&where=v%3E40&format=json":                  {":,2&where=v%3E40&format=json", "0:10,2:3"},
		"s=time=2025-01-03:&format=png&axes=1&title=x&as=f4": {"2:&format=png&axes=1&title=x&as=f4", "2:10,0:6"},
	} {
		w := g.get(t, "/slice/d/a.b2nd?"+labels)
		if x := g.get(t, "/slice/d/a.b2nd?s="+want[0]); x.Body.String() != w.Body.String() || w.Header().Get("X-Slice") != want[1] || x.Header().Get("X-Slice") != "" {
			t.Errorf("%s: %q, %d bytes, by positions %d", labels, w.Header().Get("X-Slice"), w.Body.Len(), x.Body.Len())
		}
		if h := g.ask("HEAD", "/slice/d/a.b2nd?"+labels); h.Code != 200 || h.Header().Get("X-Slice") != want[1] || h.Header().Get("ETag") != w.Header().Get("ETag") {
			t.Errorf("HEAD %s: %d %v", labels, h.Code, h.Header())
		}
		if x := g.get2(t, "/slice/d/a.b2nd?"+labels, "If-None-Match: "+w.Header().Get("ETag")); x.Code != 304 {
			t.Errorf("%s: %d", labels, x.Code)
		}
	}
	for query, want := range map[string]string{
		"s=time=2026":           "400 bad-slice time=2026: no such item: the axis has 2025-01-01 … 2025-01-10",
		"s=lat=58.2":            "400 bad-slice lat=58.2: no such item: it lies between 58.5 and 58",
		"s=lat=north":           `400 bad-slice lat=north: "north" is no number`,
		"s=time=soon":           `400 bad-slice time=soon: "soon" is no time`,
		"s=lon=4":               "400 bad-slice lon: dimensions are time, lat",
		"s=lat=59,1,2":          "400 bad-slice ",
		"s=lat=59,lat=58":       "400 bad-slice ",
		"s=lat=":                "400 bad-slice ",
		"s=lat=59&nearest=yes!": "400 bad-nearest ",
		"s=0,0&nearest=1":       "400 bad-nearest ",
		"lat=59":                "400 bad-query ",
	} {
		w := g.ask("GET", "/slice/d/a.b2nd?"+query)
		message, _ := object(t, w)["message"].(string)
		if got := fmt.Sprintf("%d %s %s", w.Code, code(t, w), message); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	for path, want := range map[string]string{"v.npy?s=x=1": "400 bad-slice", "v.b2nd?s=z=1": "400 bad-slice", "none.b2nd?s=z=1": "404 not-found"} {
		if w := g.ask("GET", "/slice/d/"+path); fmt.Sprint(w.Code, " ", code(t, w)) != want {
			t.Errorf("%s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
	g.took()
	if g.get(t, "/slice/d/a.b2nd?s=lat=59"); g.took() != "" {
		t.Errorf("coordinates that came with the array are read again")
	}
}

// axisFile is an array of latitudes.
func axisFile(t *testing.T, from float32, n int64) []byte {
	t.Helper()
	var b buffer
	w, err := b2nd.NewWriter(&b, b2nd.Meta{Shape: []int64{n}, ChunkShape: []int{8}, BlockShape: []int{8}, DType: "<f4"}, b2nd.WriteOptions{})
	must(err)
	for i := range n {
		_, err := w.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(from-float32(i)/2)))
		must(err)
	}
	must(w.Close())
	return b.Bytes()
}

// zerosOf is an array of n zeros, which are one chunk, with the coordinate.
func zerosOf(t *testing.T, n int64, coords ...arraymeta.Coord) []byte {
	t.Helper()
	layer, err := arraymeta.Meta{Dims: []string{"x"}, Coords: coords}.Append(nil)
	must(err)
	var b buffer
	w, err := b2nd.NewWriter(&b, b2nd.Meta{Shape: []int64{n}, ChunkShape: []int{int(n)}, BlockShape: []int{1 << 15}, DType: "<f4"},
		b2nd.WriteOptions{VLMetalayers: []cframe.Metalayer{{Name: arraymeta.Layer, Data: layer}}})
	must(err)
	_, err = w.Write(make([]byte, 4*n))
	must(err)
	must(w.Close())
	return b.Bytes()
}

// TestCoordinateBeside: a coordinate that is an array beside is read once in the time to live; if it
// is another one by then, so are slice and ETag. What cannot be used is told.
func TestCoordinateBeside(t *testing.T) {
	g := newGround(t, Config{TTL: 10 * time.Second})
	beside := arraymeta.Coord{Dim: "lat", DType: "<f4", Array: "axes/lat.b2nd"}
	g.put(t, "b/a.b2nd", meaningful(t, days, beside))
	ask := func(want, says string) {
		t.Helper()
		g.pass(11 * time.Second)
		if w := g.ask("GET", "/slice/d/b/a.b2nd?s=lat=59"); fmt.Sprint(w.Code, " ", code(t, w)) != want || !strings.Contains(w.Body.String(), says) || strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%d %s, want %s", w.Code, w.Body, want)
		}
	}
	ask("400 bad-slice", "which is not there")
	g.put(t, "b/axes/lat.b2nd", axisFile(t, 60, 7))
	ask("400 bad-slice", "does not fit the axis")
	g.put(t, "b/axes/lat.b2nd", []byte("no frame"))
	ask("422 corrupt", "")
	g.put(t, "b/axes/lat.b2nd", axisFile(t, 60, 6))
	g.pass(11 * time.Second)
	g.get(t, "/slice/d/b/a.b2nd?s=0") // opened
	g.took()
	first := g.get(t, "/slice/d/b/a.b2nd?s=lat=59&format=json")
	if got := g.took(); strings.Count(got, "get") > 3 || first.Header().Get("X-Slice") != "0:10,2:3" {
		t.Errorf("requests %q, %v", got, first.Header())
	}
	g.get(t, "/slice/d/b/a.b2nd?s=lat=59&format=json")
	if got := g.took(); got != "" {
		t.Errorf("again: requests %q", got)
	}
	g.put(t, "b/axes/lat.b2nd", axisFile(t, 61, 6))
	g.pass(11 * time.Second)
	if w := g.get(t, "/slice/d/b/a.b2nd?s=lat=59&format=json", "If-None-Match: "+first.Header().Get("ETag")); w.Header().Get("X-Slice") != "0:10,4:5" || w.Body.String() == first.Body.String() {
		t.Errorf("of another axis: %v", w.Header())
	}
	version, _ := object(t, g.get(t, "/info/d/b/a.b2nd"))["version"].(string)
	if w := g.ask("GET", "/slice~v-"+version+"/d/b/a.b2nd?s=lat=59"); w.Code != 400 || !strings.Contains(w.Body.String(), "not of this version") {
		t.Errorf("pinned: %d %s", w.Code, w.Body)
	}
	if w := g.ask("GET", "/slice~v-"+version+"/d/b/a.b2nd?s=time=2025-01-02"); w.Code != 200 {
		t.Errorf("pinned, inline: %d %s", w.Code, w.Body)
	}
	must(g.mem.Delete(t.Context(), "data/b/axes/lat.b2nd"))
	ask("400 bad-slice", "which is not there")
	if n := g.memory.used.Load(); n != 0 {
		t.Errorf("%d bytes are still lent", n)
	}
	// One that is too long is not read.
	const long = maxBeside/4 + 8
	g.put(t, "b/long.b2nd", zerosOf(t, long, arraymeta.Coord{Dim: "x", DType: "<f4", Array: "axes/long.b2nd"}))
	g.put(t, "b/axes/long.b2nd", zerosOf(t, long))
	if w := g.ask("GET", "/slice/d/b/long.b2nd?s=x=1"); w.Code != 413 || !strings.Contains(w.Body.String(), "4194336 bytes, 4194304 allowed") {
		t.Errorf("a long one: %d %s", w.Code, w.Body)
	}
	// A root that is this one array has nothing beside it.
	s, err := New(Config{Client: g.client, Roots: []Root{{"one", g.mem, "data/b/a.b2nd"}}})
	must(err)
	defer s.Close()
	g.Server = s
	if w := g.ask("GET", "/slice/one?s=lat=59"); w.Code != 400 || !strings.Contains(w.Body.String(), "which is not served") {
		t.Errorf("a root of one: %d %s", w.Code, w.Body)
	}
}
