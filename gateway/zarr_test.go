package gateway

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/nd"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/rangeio"
)

// document is what the tests need of a zarr.json.
type document struct {
	Node      string `json:"node_type"`
	Shape     []int64
	DataType  any `json:"data_type"`
	ChunkGrid struct {
		Configuration struct {
			Chunks []int64 `json:"chunk_shape"`
		}
	} `json:"chunk_grid"`
	Fill       any      `json:"fill_value"`
	Dimensions []string `json:"dimension_names"`
	Attributes struct {
		Farread struct {
			Version, Pinned string
			Skipped         []string
		}
	}
	Consolidated struct{ Metadata map[string]document } `json:"consolidated_metadata"`
}

func documentOf(t *testing.T, w *httptest.ResponseRecorder) (d document) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil {
		t.Fatalf("%v: %.200s", err, w.Body)
	}
	return d
}

// zarrKeys yields the keys of a grid, at most so many.
func zarrKeys(d document, most int) (keys []string, at [][]int64) {
	index := make([]int64, len(d.Shape))
	for !slices.Contains(d.Shape, 0) && len(keys) < most {
		key := "c"
		for _, n := range index {
			key += fmt.Sprintf("/%d", n)
		}
		keys, at = append(keys, key), append(at, slices.Clone(index))
		i := len(index) - 1
		for ; i >= 0; i-- {
			if index[i]++; index[i]*d.ChunkGrid.Configuration.Chunks[i] < d.Shape[i] {
				break
			}
			index[i] = 0
		}
		if i < 0 {
			break
		}
	}
	return keys, at
}

// checkZarr holds every chunk of an array, up to so many, against ReadSlice.
func checkZarr(t *testing.T, g *ground, path string, raw bool, stored []byte, most int) (fill int) {
	t.Helper()
	a, err := b2nd.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(stored), int64(len(stored))), b2nd.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := documentOf(t, g.get(t, path+"/zarr.json"))
	if d.Node != "array" || !slices.Equal(d.Shape, a.Shape()) {
		t.Fatalf("%s: %+v", path, d)
	}
	cell := d.ChunkGrid.Configuration.Chunks
	keys, at := zarrKeys(d, most)
	for i, key := range keys {
		start, stop, size := make([]int64, len(cell)), make([]int64, len(cell)), make([]int64, len(cell))
		for k := range cell {
			start[k] = at[i][k] * cell[k]
			stop[k] = min(start[k]+cell[k], d.Shape[k])
			size[k] = stop[k] - start[k]
		}
		box := b2nd.Sub(start, stop)
		n, err := a.SizeOf(box)
		must(err)
		want, got := make([]byte, n), make([]byte, n)
		must(a.ReadSlice(t.Context(), want, box))
		w := g.ask("GET", path+"/"+key)
		switch {
		case w.Code == 404 && w.Header().Get("X-Fill") == "1" && w.Body.Len() == 0:
			fill++
			if d.Fill == "NaN" {
				for p := got; len(p) > 0; p = p[a.ItemSize():] {
					if a.ItemSize() == 4 {
						binary.LittleEndian.PutUint32(p, math.Float32bits(float32(math.NaN())))
					} else {
						binary.LittleEndian.PutUint64(p, 0x7ff8000000000000)
					}
				}
			}
		case w.Code == 200:
			p := w.Body.Bytes()
			if !raw {
				if p, err = blosc.AppendDecoded(nil, p); err != nil {
					t.Errorf("%s/%s: %v", path, key, err)
					continue
				}
			}
			zero := make([]int64, len(cell))
			nd.CopyBox(got, size, zero, p, cell, zero, size, a.ItemSize())
		default:
			t.Errorf("%s/%s: %d %s", path, key, w.Code, w.Body)
			continue
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s/%s: not the items of the array", path, key)
		}
	}
	return fill
}

func fixture(name string) []byte {
	p, err := os.ReadFile(filepath.Join("..", "formats", "b2nd", "testdata", name))
	must(err)
	return p
}

// TestZarrValues: all chunks of arrays of python-blosc2 have the items that ReadSlice
// reads, and what is absent is the fill value.
func TestZarrValues(t *testing.T) {
	g := newGround(t, Config{})
	names, err := filepath.Glob(filepath.Join("..", "formats", "b2nd", "testdata", "*.b2nd"))
	must(err)
	arrays, fill, refused := 0, 0, 0
	for _, name := range names {
		name = filepath.Base(name)
		p := fixture(name)
		g.put(t, "f/"+name, p)
		if w := g.ask("GET", "/zarr/d/f/"+name+"/zarr.json"); w.Code == 422 {
			if k := g.ask("GET", "/zarr/d/f/"+name+"/c/0/0"); k.Code != 422 {
				t.Errorf("%s: %d for a chunk", name, k.Code)
			}
			refused++
			continue
		}
		arrays++
		fill += checkZarr(t, g, "/zarr/d/f/"+name, false, p, racetest.Share(40, 4))
		checkZarr(t, g, "/zarr~blocks~raw/d/f/"+name, true, p, racetest.Share(8, 2))
	}
	t.Logf("%d arrays, %d chunks of the fill value, %d refused", arrays, fill, refused)
	if arrays < 60 || fill < 5 || refused < 4 {
		t.Error("too few of a kind")
	}
}

// TestZarrOptions: casts and codecs, under ETags of their own, and not together.
func TestZarrOptions(t *testing.T) {
	g := newGround(t, Config{})
	tags := map[string]string{}
	for _, words := range []string{"", "~raw", "~zstd", "~gzip", "~blocks", "~float32", "~float32~raw", "~blocks~int64"} {
		w := g.get(t, "/zarr"+words+"/d/v.b2nd/c/0/1/0")
		tag := w.Header().Get("ETag")
		if was, twice := tags[tag]; twice || strings.HasPrefix(tag, "W/") {
			t.Errorf("%q has the ETag of %q", words, was)
		}
		tags[tag] = words
		d := documentOf(t, g.get(t, "/zarr"+words+"/d/v.b2nd/zarr.json"))
		if cast := strings.Contains(words, "float32"); cast != (d.DataType == "float32") || !slices.Equal(d.Dimensions, []string{"z", "y", "x"}) {
			t.Errorf("%q: %+v", words, d)
		}
		if pinned := "/zarr~v-" + d.Attributes.Farread.Version; !strings.HasPrefix(d.Attributes.Farread.Pinned, pinned) {
			t.Errorf("%q: %+v", words, d.Attributes)
		} else if w := g.get(t, d.Attributes.Farread.Pinned+"/c/0/1/0"); !strings.HasSuffix(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%v", w.Header())
		}
	}
	raw := g.get(t, "/zarr~float32~raw/d/v.b2nd/c/0/1/0").Body.Bytes()
	for i, n := 0, len(raw)/4; i < n; i += 1000 {
		v := values()[i/4096*96*128+(32+i/128%32)*128+i%128]
		if got := math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])); got != float32(v) {
			t.Fatalf("item %d is %v, want %d", i, got, v)
		}
	}
	if a, b := g.get(t, "/zarr~raw~blocks/d/v.b2nd/c/0/0/0"), g.get(t, "/zarr~blocks~raw/d/v.b2nd/c/0/0/0"); a.Header().Get("ETag") != b.Header().Get("ETag") {
		t.Error("the order of options makes another answer")
	}
}

// TestZarrStatus: the status of every fault, for keys of chunks and elsewhere. Only what is
// of the fill value is 404 on a key of a chunk.
func TestZarrStatus(t *testing.T) {
	g := newGround(t, Config{MaxResponse: 100_000, CORS: []string{"*"}})
	g.put(t, "zeros.b2nd", fixture("make_zeros.b2nd"))
	for path, want := range map[string]string{
		"/zarr/d/zeros.b2nd/c/0/0":                      "404 fill",
		"/zarr/d/v.b2nd/c/4/0/0":                        "404 fill",
		"/zarr/d/v.b2nd/c/99999999999999999999/0/0":     "404 fill",
		"/zarr/d/v.b2nd/c/0/0":                          "404 fill",
		"/zarr/d/v.b2nd/c":                              "404 fill",
		"/zarr/d/v.b2nd/.zarray":                        "404 none",
		"/zarr/none/none/.zattrs":                       "404 none",
		"/group/d/v.b2nd/.zmetadata":                    "404 none",
		"/group/d/.zgroup":                              "404 none",
		"/zarr/none/v.b2nd/c/0/0/0":                     "410 no-root",
		"/zarr/d/none.b2nd/c/0/0/0":                     "410 not-found",
		"/group/d/none/c/0/0/0":                         "410 not-found",
		"/group/d/none.b2nd/data/c/0":                   "410 not-found",
		"/group/none/x/c/0":                             "410 no-root",
		"/zarr/none/v.b2nd/zarr.json":                   "404 no-root",
		"/zarr/d/none.b2nd/zarr.json":                   "404 not-found",
		"/group/d/none/zarr.json":                       "404 not-found",
		"/group/d/none.b2nd/zarr.json":                  "404 not-found",
		"/zarr/d/v.b2nd":                                "404 no-route",
		"/zarr/d/v.b2nd/0/0/0":                          "404 no-route",
		"/group/d/":                                     "404 no-route",
		"/zarr/d/v.b2nd/c/0/0/-1":                       "400 bad-path",
		"/zarr/d/v.b2nd/c/0/0/01":                       "400 bad-path",
		"/zarr/d/v.b2nd/c/0/0/x":                        "400 bad-path",
		"/zarr/d/v.b2nd/c/0/%2e%2e/0":                   "400 bad-path",
		"/zarr/d/v.b2nd/c/0//0":                         "400 bad-path",
		"/zarr/d/v.b2nd/c/0/0/0/":                       "400 bad-path",
		"/zarr/d/../c/0":                                "400 bad-path",
		"/zarr/d/x%00/c/0":                              "400 bad-path",
		"/zarr/d/v.b2nd/c/0/0/%00":                      "400 bad-path",
		"/zarr/d/v.b2nd/c/0/0/0?x=1":                    "400 bad-query",
		"/zarr~int16/d/v.b2nd/c/0/0/0":                  "400 bad-option",
		"/zarr~raw~zstd/d/v.b2nd/c/0/0/0":               "400 bad-option",
		"/zarr~float32~uint8/d/v.b2nd/c/0/0/0":          "400 bad-option",
		"/group~v-0123456789abcdef/d/zarr.json":         "400 bad-option",
		"/slice~raw/d/v.b2nd?s=0":                       "400 bad-option",
		"/zarr~v-0123456789abcdef/d/v.b2nd/c/0/0/0":     "409 changed",
		"/group~v-0123456789abcdef/d/v.b2nd/data/c/0":   "409 changed",
		"/zarr/d/v.b2nd/c/0/0/0":                        "413 too-large",
		"/zarr/d/sub/deep/x.b2nd/c/0":                   "422 corrupt",
		"/zarr/d/zfp.b2nd/c/0/0":                        "422 unsupported",
		"/zarr/d/members.b2nd/c/0/0":                    "422 unsupported",
		"/zarr/d/v.npy/c/0/0":                           "422 unsupported",
		"/zarr/d/sub/c/0":                               "422 unsupported",
		"/zarr/d/c/0":                                   "422 unsupported",
		"/zarr/d/day.zoom/zarr.json":                    "422 unsupported",
		"/zarr~float32/d/f/dtype_S7.b2nd/c/0/0":         "410 not-found",
		"/zarr/d/" + strings.Repeat("k/", 3000) + "c/0": "413 too-large",
		"/zarr/d/v.b2nd/c" + strings.Repeat("/0", 500):  "404 fill",
		"/zarr~blocks/d/v.b2nd/c/0/0/0":                 "200",
		"/group/d/v/c/0/0/0":                            "413 too-large",
	} {
		for _, method := range []string{"GET", "HEAD"} {
			w := g.ask(method, path, "Origin: https://viewer.example")
			h, got := w.Header(), fmt.Sprint(w.Code)
			switch {
			case w.Code == 404 && h.Get("X-Fill") == "1" && w.Body.Len() == 0 && h.Get("Cache-Control") == "public, max-age=10" && h.Get("ETag") != "" && h.Get("Content-Length") == "0":
				got += " fill"
			case w.Code == 404 && w.Body.Len() == 0 && h.Get("Cache-Control") == "public, max-age=10" && h.Get("Content-Length") == "0":
				got += " none"
			case w.Code != 200 && method == "GET":
				got += " " + code(t, w)
			case w.Code != 200:
				got += strings.TrimPrefix(want, want[:3])
			}
			if got != want {
				t.Errorf("%s %.80s: %s, want %s: %.300s %v", method, path, got, want, w.Body, h)
			}
			if method == "HEAD" && w.Body.Len() > 0 || h.Get("Access-Control-Allow-Origin") != "*" || strings.Contains(w.Body.String(), "secret") {
				t.Errorf("%s %.80s: %v %.200s", method, path, h, w.Body)
			}
		}
	}
	for _, header := range []string{"If-None-Match: *", "If-Match: \"x\"", "Range: bytes=5-"} {
		if w := g.ask("GET", "/zarr/d/v.b2nd/c/9/0/0", header); w.Code != 404 || w.Header().Get("X-Fill") != "1" {
			t.Errorf("%s: %d", header, w.Code)
		}
	}
	g.took()
	g.ask("GET", "/zarr/d/other.b2nd/.zarray")
	if got := g.took(); got != "" {
		t.Errorf("a key of Zarr v2 costs %q", got)
	}
	s := newGround(t, Config{Token: "secret"})
	for _, path := range []string{"/zarr/d/v.b2nd/c/9/0/0", "/zarr/d/v.b2nd/.zarray", "/group/d/zarr.json"} {
		if w := s.ask("GET", path); w.Code != 401 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestZarrRequests: what documents and chunks cost at the source.
func TestZarrRequests(t *testing.T) {
	g := newGround(t, Config{TTL: 10 * time.Second})
	g.put(t, "zeros.b2nd", fixture("make_zeros.b2nd"))
	g.put(t, "long.b2nd", longArray())
	step := func(path, want string, headers ...string) *httptest.ResponseRecorder {
		t.Helper()
		w := g.ask("GET", path, headers...)
		if got := g.took(); got != want {
			t.Errorf("%s: requests %q, want %q", path, got, want)
		}
		return w
	}
	step("/zarr/d/v.b2nd/zarr.json", "get get") // head and tail, side by side
	step("/zarr/d/v.b2nd/zarr.json", "")
	step("/zarr~blocks/d/v.b2nd/zarr.json", "")
	a := step("/zarr/d/v.b2nd/c/0/1/0", "get")
	step("/zarr/d/v.b2nd/c/0/1/0", "")
	step("/zarr~blocks/d/v.b2nd/c/0/2/0", "") // a block of the same stored chunk
	step("/zarr/d/v.b2nd/c/99/1/0", "")
	tag := "If-None-Match: " + a.Header().Get("ETag")
	g.pass(11 * time.Second)
	if w := step("/zarr/d/v.b2nd/c/0/1/0", "head", tag); w.Code != 304 {
		t.Error(w.Code)
	}
	step("/zarr/d/v.b2nd/zarr.json", "")
	g.pass(11 * time.Second)
	step("/zarr/d/v.b2nd/zarr.json", "head")
	step("/zarr/d/zeros.b2nd/c/0/0", "get get")
	step("/zarr/d/zeros.b2nd/c/0/0", "")

	// Of a long chunk: its start tells where blocks are, then the wanted ones alone.
	step("/zarr/d/long.b2nd/zarr.json", "get get")
	read := g.client.Stats().Bytes
	if w := step("/zarr/d/long.b2nd/c/3/0/0", "get get"); w.Code != 200 {
		t.Error(w.Code)
	}
	one := g.client.Stats().Bytes - read
	step("/zarr/d/long.b2nd/c/4/0/0", "get")
	step("/zarr/d/long.b2nd/c/4/0/0", "")
	if whole := int64(len(longArray())); one > whole/4 {
		t.Errorf("%d bytes for one of six cells of %d", one, whole)
	}
	checkZarr(t, g, "/zarr/d/long.b2nd", false, longArray(), racetest.Share(10, 10))
}

// longArray has two chunks of 5 MiB, which do not get much shorter.
var longArray = sync.OnceValue(func() []byte {
	var b buffer
	w, err := b2nd.NewWriter(&b, b2nd.Meta{Shape: []int64{18, 512, 512}, ChunkShape: []int{9, 512, 512}, BlockShape: []int{1, 256, 512}, DType: "<u2"}, b2nd.WriteOptions{})
	must(err)
	p := make([]byte, 18*512*512*2)
	for i := range len(p) / 2 {
		x := uint32(i) * 2654435761
		x = (x ^ x>>15) * 0x85ebca6b
		binary.LittleEndian.PutUint16(p[2*i:], uint16(x>>20))
	}
	_, err = w.Write(p)
	must(err)
	must(w.Close())
	return b.Bytes()
})

// TestZarrParts: ranges and conditions of a chunk.
func TestZarrParts(t *testing.T) {
	g := newGround(t, Config{})
	const path = "/zarr/d/v.b2nd/c/1/1/0"
	whole := g.get(t, path)
	all, tag := whole.Body.Bytes(), whole.Header().Get("ETag")
	if h := g.ask("HEAD", path); h.Code != 200 || h.Header().Get("Content-Length") != fmt.Sprint(len(all)) || h.Header().Get("ETag") != tag || h.Body.Len() > 0 {
		t.Errorf("%d %v", h.Code, h.Header())
	}
	if w := g.get(t, path, "Range: bytes=10-19"); w.Code != 206 || !bytes.Equal(w.Body.Bytes(), all[10:20]) || w.Header().Get("Content-Range") != fmt.Sprintf("bytes 10-19/%d", len(all)) {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if w := g.get(t, path, "Accept-Encoding: gzip, zstd"); w.Header().Get("Content-Encoding") != "" || w.Header().Get("Content-Type") != "application/octet-stream" {
		t.Errorf("%v", w.Header())
	}
	for _, method := range []string{"GET", "HEAD"} {
		if w := g.ask(method, path, "If-None-Match: "+tag); w.Code != 304 || w.Body.Len() > 0 {
			t.Errorf("%s: %d", method, w.Code)
		}
	}
	if w := g.get(t, "/zarr/d/v.b2nd/zarr.json", "Accept-Encoding: gzip"); w.Header().Get("Content-Encoding") != "gzip" {
		t.Errorf("%v", w.Header())
	}
}

// TestZarrVersions: a pinned chunk of an array that was replaced is refused, also if it is
// of the fill value, and one of an array that is gone is 410, never the fill value.
func TestZarrVersions(t *testing.T) {
	g := newGround(t, Config{TTL: time.Second})
	const chunk = "/zarr/d/v.b2nd/c/0/0/0"
	pinned := documentOf(t, g.get(t, "/zarr/d/v.b2nd/zarr.json")).Attributes.Farread.Pinned
	g.get(t, pinned+"/c/0/0/0")
	old := g.get(t, chunk).Header().Get("ETag")
	g.put(t, "v.b2nd", longArray())
	if w := g.ask("GET", pinned+"/c/3/1/0"); w.Code != 409 || code(t, w) != "changed" { // found by the read
		t.Errorf("%d %s", w.Code, w.Body)
	}
	g.pass(2 * time.Second)
	for _, key := range []string{"/c/0/0/0", "/c/99/0/0", "/zarr.json"} {
		if w := g.ask("GET", pinned+key); w.Code != 409 || code(t, w) != "changed" {
			t.Errorf("%s: %d %s", key, w.Code, w.Body)
		}
	}
	if w := g.get(t, chunk); w.Header().Get("ETag") == old {
		t.Error("the ETag of another version")
	}
	must(g.mem.Delete(t.Context(), "data/v.b2nd"))
	if w := g.ask("GET", "/zarr/d/v.b2nd/c/4/0/0"); w.Code != 410 { // within the time to live
		t.Errorf("%d %s", w.Code, w.Body)
	}
	g.pass(2 * time.Second)
	for _, path := range []string{chunk, "/zarr/d/v.b2nd/c/99/0/0", pinned + "/c/0/0/0", "/group/d/v/c/0/0/0"} {
		if w := g.ask("GET", path); w.Code != 410 || code(t, w) != "not-found" || w.Header().Get("X-Fill") != "" || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// TestZarrHeld: views are kept with their array, count as its memory, and are not many.
func TestZarrHeld(t *testing.T) {
	g := newGround(t, Config{})
	g.get(t, "/info/d/v.b2nd")
	_, before := g.open.size()
	for _, codec := range []string{"", "~raw", "~zstd", "~gzip"} {
		for _, cast := range []string{"", "~float32", "~uint8", "~int32", "~int64", "~uint16"} {
			g.get(t, "/zarr"+codec+cast+"/d/v.b2nd/zarr.json")
		}
	}
	h, _ := g.open.find("d/v.b2nd", g.now(), time.Hour)
	if n := len(h.views.all); n != maxViews {
		t.Errorf("%d views", n)
	}
	if _, after := g.open.size(); after < before+maxViews*1000 || after > before+maxViews*10_000 {
		t.Errorf("%d bytes, %d before", after, before)
	}
}

// TestZarrDamaged: whatever is damaged, an answer is whole, or an error that is no fill
// value and no fault of the gateway.
func TestZarrDamaged(t *testing.T) {
	g := newGround(t, Config{TTL: -1})
	check := func(name string, p []byte, paths ...string) (refused int) {
		g.put(t, name, p)
		for _, path := range paths {
			switch w := g.ask("GET", path); {
			case w.Code == 200, w.Code == 404 && w.Header().Get("X-Fill") == "1":
			case w.Code == 422, w.Code == 413:
				refused++
			default:
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
		return refused
	}
	refused, small := 0, fixture("nd3.b2nd")
	step := len(small) / racetest.Share(400, 20)
	for at := 0; at < len(small); at += step {
		p := bytes.Clone(small)
		p[at] ^= 0xff
		refused += check("x.b2nd", p, "/zarr/d/x.b2nd/c/0/0/0", "/zarr~raw~blocks/d/x.b2nd/c/1/1/1")
	}
	if refused == 0 {
		t.Error("nothing was found")
	}
	long := longArray()
	a, err := b2nd.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(long), int64(len(long))), b2nd.Options{})
	must(err)
	c, err := a.Frame().Chunk(t.Context(), 1)
	must(err)
	refused = 0
	for i, x := range []struct {
		off   int64
		value byte
	}{{2, 0xff}, {4, 7}, {8, 7}, {12, 1}, {15, 0x7f}, {31, 0x7f}, {35, 0x7f}, {32, 1}, {36, 40}} {
		if !racetest.Sampled(i) {
			continue
		}
		p := bytes.Clone(long)
		p[c.Off+x.off] = x.value
		refused += check("y.b2nd", p, "/zarr/d/y.b2nd/c/3/0/0", "/zarr~raw/d/y.b2nd/c/3/0/0")
	}
	if refused < racetest.Share(10, 5) {
		t.Errorf("%d of the starts of a long chunk were refused", refused)
	}
	if n := g.memory.used.Load(); n != 0 {
		t.Errorf("%d bytes are still lent", n)
	}
}

// TestZarrSparse: an array whose chunks are objects of their own.
func TestZarrSparse(t *testing.T) {
	g := newGround(t, Config{})
	dir := filepath.Join("..", "formats", "b2nd", "testdata", "sparse_dir.b2nddir")
	files, err := os.ReadDir(dir)
	must(err)
	for _, f := range files {
		p, err := os.ReadFile(filepath.Join(dir, f.Name()))
		must(err)
		g.put(t, "sparse/s.b2nd/"+f.Name(), p)
	}
	d := documentOf(t, g.get(t, "/group/d/sparse/zarr.json"))
	in, ok := d.Consolidated.Metadata["s"]
	if !ok || len(in.Shape) != 2 {
		t.Fatalf("%+v", d)
	}
	cell := in.ChunkGrid.Configuration.Chunks
	for _, path := range []string{"/zarr~raw/d/sparse/s.b2nd", "/group~raw/d/sparse/s", "/group~raw/d/sparse/s.b2nd/data"} {
		want := g.get(t, fmt.Sprintf("/slice/d/sparse/s.b2nd?s=:%d,:%d&format=raw", cell[0], cell[1])).Body.Bytes()
		if w := g.get(t, path+"/c/0/0"); !bytes.Equal(w.Body.Bytes(), want) {
			t.Errorf("%s: %d bytes, not the %d of the array", path, w.Body.Len(), len(want))
		}
	}
}
