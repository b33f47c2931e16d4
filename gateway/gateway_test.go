package gateway

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image/png"
	"io"

	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/farread/farread/formats/zoomcache"
)

// npyHead is the length of the header of a .npy with few axes.
const npyHead = 128

// TestAnswers: every verb, of each kind of dataset, with its media type and values.
func TestAnswers(t *testing.T) {
	g := newGround(t, Config{})
	chunk := g.get(t, "/get/d/v.b2nd?chunk=2").Body.Bytes()
	if at := bytes.Index(samples()["v.b2nd"], chunk); at < 0 || len(chunk) < 1000 {
		t.Errorf("a stored chunk: %d bytes, at %d", len(chunk), at)
	}
	for path, want := range map[string]struct{ media, text string }{
		"/ls/":                                  {"application/json", `{"entries":[{"name":"d","dir":true}],"next":""}`},
		"/slice/d/v.b2nd?s=1,2,3:9&format=json": {"application/json", "[22293,22300,22307,22314,22321,22328]\n"},
		"/slice/d/v.b2nd?s=0,0,:3&as=%3Cf8&format=json":   {"application/json", "[0,7,14]\n"},
		"/slice/d/v.npy?s=1:3,2:4&format=csv":             {"text/csv; charset=utf-8", "52,53\n102,103\n"},
		"/slice/d/v.npy?s=5,7&format=json":                {"application/json", "257\n"},
		"/slice/d/v.npy?s=:0&format=json":                 {"application/json", "[]\n"},
		"/slice/d/members.b2nd?s=3,4&field=id&format=csv": {"text/csv; charset=utf-8", "268435456\n"},
		"/get/d/items.blp?item=3":                         {"application/octet-stream", "item 3;item 3;item 3;"},
		"/get/d/items.blp?items=1:3":                      {"application/x-ndjson", "{\"n\":1,\"text\":\"item 1;\"}\n{\"n\":2,\"text\":\"item 2;item 2;\"}\n"},
		"/get/d/items.blp?items=1:3&format=binary":        {"application/octet-stream", "\x07\x00\x00\x00\x00\x00\x00\x00item 1;\x0e\x00\x00\x00\x00\x00\x00\x00item 2;item 2;"},
		"/get/d/items.blp?items=200:300":                  {"application/x-ndjson", "{\"n\":200,\"base64\":\"//4A\"}\n"},
		"/raw/d/notes.txt":                                {"application/octet-stream", "plain text\n"},
		"/raw/d/gr%C3%B6%C3%9Fe%20%C3%A9.txt":             {"application/octet-stream", "ü"},
		"/raw/d/sub%2Fdeep/x.b2nd":                        {"application/octet-stream", "no frame"},
		"/healthz":                                        {"text/plain; charset=utf-8", "ok\n"},
	} {
		w := g.get(t, path)
		if w.Body.String() != want.text || w.Header().Get("Content-Type") != want.media {
			t.Errorf("%s: %q %q", path, w.Header().Get("Content-Type"), w.Body)
		}
		if h := g.ask("HEAD", path); h.Code != 200 || h.Body.Len() != 0 || h.Header().Get("Content-Length") != fmt.Sprint(len(want.text)) || h.Header().Get("ETag") != w.Header().Get("ETag") {
			t.Errorf("HEAD %s: %d %v", path, h.Code, h.Header())
		}
	}
	w := g.get(t, "/slice/d/v.b2nd?s=5,::-1,::64")
	if h := w.Header(); h.Get("X-Shape") != "96,2" || h.Get("X-Dtype") != "<u2" || w.Body.Len() != npyHead+96*2*2 {
		t.Errorf("npy: %v, %d bytes", w.Header(), w.Body.Len())
	}
	if v := binary.LittleEndian.Uint16(w.Body.Bytes()[npyHead+2:]); v != values()[(5*96+95)*128+64] {
		t.Errorf("npy: item 1 is %d", v)
	}
	p, err := png.Decode(g.get(t, "/slice/d/v.b2nd?s=1&format=png&colors=gray&robust=1").Body)
	if err != nil || p.Bounds().Dx() != 256 {
		t.Errorf("png: %v", err)
	}
	f := g.get(t, "/get/d/clips?id=702766&frame=1")
	if f.Header().Get("Content-Type") != "image/jpeg" || !bytes.Contains(samples()["clips/data_0.gulp"], f.Body.Bytes()) || f.Body.Len() == 0 {
		t.Errorf("frame: %v, %d bytes", f.Header(), f.Body.Len())
	}
}

// TestViews: a view in each format, by number and name of a track.
func TestViews(t *testing.T) {
	g := newGround(t, Config{})
	v := object(t, g.get(t, "/view/d/day.zoom?track=left&width=50"))
	points, _ := v["points"].([]any)
	if n := len(points); n < 25 || n > 100 {
		t.Errorf("%d points", n)
	}
	if w := g.get(t, "/view/d/day.zoom?track=1&width=50&format=npy"); !strings.Contains(w.Body.String()[:128], ", 1, 9)") {
		t.Errorf("%q", w.Body.String()[:128])
	}
	for format, begin := range map[string]string{"csv": "t0,t1,", "npy": "\x93NUMPY", "dat": "\x02\x00\x00\x00", "peaks": `{"version":2`, "png": "\x89PNG", "svg": "<?xml"} {
		w := g.get(t, "/view/d/day.zoom?track=1&width=50&from=10&to=1m30s&format="+format)
		if !strings.HasPrefix(w.Body.String(), begin) || w.Header().Get("Content-Type") != medias[format] {
			t.Errorf("%s: %v %.40q", format, w.Header(), w.Body)
		}
	}
}

// TestViewOrigin: a header tells from which time the seconds of a view count.
func TestViewOrigin(t *testing.T) {
	g := newGround(t, Config{})
	var b bytes.Buffer
	w, err := zoomcache.NewWriter(&b, zoomcache.WriteOptions{Watermark: -1, Origin: zoomcache.OriginOf(time.Date(2026, 3, 1, 12, 0, 0, 5e8, time.UTC)),
		Tracks: []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: zoomcache.Rate{Num: 1, Den: 1}}}})
	must(err)
	must(zoomcache.WriteSamples(w.Track(1), []float64{1, 2}))
	must(w.Close())
	g.put(t, "dated.zoom", b.Bytes())
	for path, want := range map[string]string{"dated.zoom": "2026-03-01T12:00:00.5Z", "day.zoom": ""} {
		for _, format := range []string{"npy", "csv", "json", "npy"} {
			if got := g.get(t, "/view/d/"+path+"?track=1&format="+format).Header().Get("X-Utc-Origin"); got != want {
				t.Errorf("%s as %s: origin %q, not %q", path, format, got, want)
			}
		}
	}
}

// TestInfo: a description names the version, the axes and a path that pins both, and no
// source.
func TestInfo(t *testing.T) {
	g := newGround(t, Config{})
	v := object(t, g.get(t, "/info/d/v.b2nd"))
	version, _ := v["version"].(string)
	if len(version) != 16 || fmt.Sprint(v["dims"]) != "[z y x]" || v["pinned"] != "/info~v-"+version+"/d/v.b2nd" || fmt.Sprint(v["shape"]) != "[64 96 128]" {
		t.Errorf("%v", v)
	}
	z := object(t, g.get(t, "/info/d/day.zoom"))
	text := fmt.Sprint(z["tracks"])
	if !strings.Contains(text, "samples:204800") || !strings.Contains(text, "name:right") {
		t.Errorf("%v", z)
	}
	for _, key := range []string{"v.b2nd", "clips", "items.blp", "day.zoom", "v.npy", "members.b2nd", "sub/"} {
		if w := g.get(t, "/info/d/"+key); strings.Contains(w.Body.String(), "secret") || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %s", key, w.Body)
		}
	}
}

// TestList: pages of folders and of datasets, each once and in order.
func TestList(t *testing.T) {
	g := newGround(t, Config{})
	walk := func(path string) (names []string, pages int) {
		after := ""
		for {
			w := g.get(t, path+"limit=2&after="+after)
			l := object(t, w)
			entries, _ := l["entries"].([]any)
			for _, e := range entries {
				o, _ := e.(map[string]any)
				names = append(names, fmt.Sprint(o["name"]))
			}
			pages++
			if after, _ = l["next"].(string); after == "" {
				return names, pages
			}
			after = strings.ReplaceAll(strings.ReplaceAll(after, " ", "+"), "é", "%C3%A9")
		}
	}
	want := []string{"clips/", "day.zoom", "größe é.txt", "items.blp", "members.b2nd", "notes.txt", "sub/", "v.b2nd", "v.npy", "zfp.b2nd"}
	if got, pages := walk("/ls/d/?"); !slices.Equal(got, want) || pages != 5 {
		t.Errorf("%q in %d pages", got, pages)
	}
	if got, _ := walk("/ls/d/clips?"); len(got) != 2 || got[0] != "702766" {
		t.Errorf("ids: %q", got)
	}
	if got, pages := walk("/ls/d/v.b2nd?"); len(got) != 12 || pages != 6 {
		t.Errorf("chunks: %d in %d pages", len(got), pages)
	}
}

// TestRequests: what an answer costs at the source: cold, kept, within the time to live
// and after it.
func TestRequests(t *testing.T) {
	g := newGround(t, Config{TTL: 10 * time.Second})
	step := func(path, want string, headers ...string) *httptest.ResponseRecorder {
		t.Helper()
		w := g.get2(t, path, headers...)
		if got := g.took(); got != want {
			t.Errorf("%s %q: requests %q, want %q", path, headers, got, want)
		}
		return w
	}
	a := step("/slice/d/v.b2nd?s=40", "get get get") // head and tail to open, then the chunks
	step("/slice/d/v.b2nd?s=40", "")
	step("/info/d/v.b2nd", "get") // is there an index beside it?
	step("/info/d/v.b2nd", "")
	step("/get/d/v.b2nd?chunk=3", "get")
	step("/get/d/v.b2nd?chunk=3", "")
	tag := "If-None-Match: " + a.Header().Get("ETag")
	if w := step("/slice/d/v.b2nd?s=40", "", tag); w.Code != 304 {
		t.Errorf("%d", w.Code)
	}
	g.pass(11 * time.Second)
	if w := step("/slice/d/v.b2nd?s=40", "head", tag); w.Code != 304 {
		t.Errorf("%d", w.Code)
	}
	step("/slice/d/v.b2nd?s=40", "")
	g.pass(11 * time.Second)
	step("/slice/d/v.b2nd?s=40", "head")
	step("/view/d/day.zoom?track=1&width=100", "get get")
	step("/view/d/day.zoom?track=1&width=100", "")
	step("/get/d/items.blp?item=100", "get")
	step("/get/d/items.blp?item=101", "")
	step("/raw/d/v.npy", "get get", "Range: bytes=190000-190099")
	step("/raw/d/v.npy", "get", "Range: bytes=150000-150099")
	if w := g.ask("HEAD", "/slice/d/v.b2nd?s=3"); w.Header().Get("Content-Length") != fmt.Sprint(npyHead+96*128*2) || g.took() != "" {
		t.Errorf("HEAD: %v", w.Header())
	}
}

// get2 is get for answers that may be 304.
func (g *ground) get2(t *testing.T, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	w := g.ask("GET", path, headers...)
	if w.Code != 304 && w.Code >= 300 {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return w
}

// TestConditions: ranges and conditions, of answers that are made and of stored bytes.
func TestConditions(t *testing.T) {
	g := newGround(t, Config{})
	for _, path := range []string{"/slice/d/v.npy?s=:5&format=raw", "/raw/d/v.npy"} {
		whole := g.get(t, path)
		all, tag := whole.Body.Bytes(), whole.Header().Get("ETag")
		n := len(all)
		for _, x := range []struct {
			headers  []string
			status   int
			from, to int
		}{
			{[]string{"Range: bytes=10-19"}, 206, 10, 20},
			{[]string{"Range: bytes=10-"}, 206, 10, n},
			{[]string{"Range: bytes=-7"}, 206, n - 7, n},
			{[]string{fmt.Sprintf("Range: bytes=10-%d", n+5)}, 206, 10, n},
			{[]string{"Range: bytes=10-99999999999999999999"}, 206, 10, n},
			{[]string{"Range: bytes=-99999999999999999999"}, 206, 0, n},
			{[]string{fmt.Sprintf("Range: bytes=%d-", n)}, 416, 0, 0},
			{[]string{"Range: bytes=-0"}, 416, 0, 0},
			{[]string{"Range: bytes=20-10"}, 200, 0, n},
			{[]string{"Range: bytes=1-2,4-5"}, 200, 0, n},
			{[]string{"Range: lines=1-2"}, 200, 0, n},
			{[]string{"Range: bytes=+1-2"}, 200, 0, n},
			{[]string{"Range: bytes=10-19", "If-Range: " + tag}, 206, 10, 20},
			{[]string{"Range: bytes=10-19", `If-Range: "other"`}, 200, 0, n},
			{[]string{"Range: bytes=10-19", "If-Match: " + tag}, 206, 10, 20},
			{[]string{`If-Match: "other"`}, 412, 0, 0},
			{[]string{`If-Match: "other", ` + tag}, 200, 0, n},
			{[]string{"If-Match: *"}, 200, 0, n},
			{[]string{"If-None-Match: " + tag}, 304, 0, 0},
			{[]string{"If-None-Match: W/" + tag}, 304, 0, 0},
			{[]string{`If-None-Match: "a", W/"b", ` + tag}, 304, 0, 0},
			{[]string{`If-None-Match: "a"`, "If-None-Match: " + tag}, 304, 0, 0},
			{[]string{"If-None-Match: *"}, 304, 0, 0},
			{[]string{`If-None-Match: "other"`}, 200, 0, n},
		} {
			for _, method := range []string{"GET", "HEAD"} {
				w := g.ask(method, path, x.headers...)
				what := fmt.Sprintf("%s %s %q", method, path, x.headers)
				if w.Code != x.status {
					t.Errorf("%s: %d, want %d", what, w.Code, x.status)
					continue
				}
				if x.status == 304 && (w.Body.Len() > 0 || w.Header().Get("ETag") != tag || w.Header().Get("Cache-Control") == "") {
					t.Errorf("%s: %v", what, w.Header())
				}
				if x.status == 416 && w.Header().Get("Content-Range") != fmt.Sprintf("bytes */%d", n) {
					t.Errorf("%s: %v", what, w.Header())
				}
				if x.status == 206 && w.Header().Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d", x.from, x.to-1, n) {
					t.Errorf("%s: %v", what, w.Header())
				}
				if x.status < 300 && w.Header().Get("Content-Length") != fmt.Sprint(x.to-x.from) {
					t.Errorf("%s: %v", what, w.Header())
				}
				if method == "HEAD" && w.Body.Len() > 0 || method == "GET" && x.status < 300 && !bytes.Equal(w.Body.Bytes(), all[x.from:x.to]) {
					t.Errorf("%s: %d bytes", what, w.Body.Len())
				}
			}
		}
	}
}

// TestEncodings: text is shorter for who can read that, under an ETag of its own, and
// what gets no shorter is as it is.
func TestEncodings(t *testing.T) {
	g := newGround(t, Config{})
	path := "/slice/d/v.npy?s=:200&format=json"
	plain := g.get(t, path)
	tags := map[string]bool{plain.Header().Get("ETag"): true}
	for accept, want := range map[string]string{"gzip": "gzip", "gzip, zstd": "zstd", "zstd;q=0.5, gzip": "gzip", "br, zstd;q=0": "", "identity": "", "gzip;q=0": ""} {
		w := g.get(t, path, "Accept-Encoding: "+accept)
		if got := w.Header().Get("Content-Encoding"); got != want || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %q %v", accept, got, w.Header())
			continue
		}
		var r io.Reader = w.Body
		switch want {
		case "gzip":
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			r = z
		case "zstd":
			z, err := zstd.NewReader(w.Body, zstd.WithDecoderConcurrency(1))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(z.Close)
			r = z
		}
		if p, err := io.ReadAll(r); err != nil || !bytes.Equal(p, plain.Body.Bytes()) {
			t.Errorf("%q: %d bytes, %v", accept, len(p), err)
		}
		tags[w.Header().Get("ETag")] = true
		if n := g.ask("GET", path, "Accept-Encoding: "+accept, "If-None-Match: "+w.Header().Get("ETag")); n.Code != 304 {
			t.Errorf("%q: %d", accept, n.Code)
		}
		if p := g.get(t, path, "Accept-Encoding: "+accept, "Range: bytes=0-9"); p.Header().Get("Content-Encoding") != "" || p.Body.String() != plain.Body.String()[:10] {
			t.Errorf("%q, a range: %v", accept, p.Header())
		}
	}
	if len(tags) != 3 {
		t.Errorf("ETags %v", tags)
	}
	if w := g.get(t, "/get/d/clips?id=702766&frame=1", "Accept-Encoding: gzip"); w.Header().Get("Content-Encoding") != "" {
		t.Errorf("a JPEG: %v", w.Header())
	}
	if w := g.get(t, "/get/d/items.blp?items=0:3", "Accept-Encoding: gzip"); w.Header().Get("Content-Encoding") != "" {
		t.Errorf("few bytes: %v", w.Header())
	}
	if w := g.get(t, "/ls/d/v.b2nd", "Accept-Encoding: zstd"); w.Header().Get("Content-Encoding") != "" || w.Header().Get("Vary") == "" {
		t.Errorf("a short listing: %v", w.Header())
	}
}

// TestVersions: an object that is replaced is another version: found by a look after the
// time to live, or at once by a read; never both versions in one answer; and who asked
// for a version is told.
func TestVersions(t *testing.T) {
	g := newGround(t, Config{TTL: time.Hour})
	path := "/slice/d/v.npy?s=999&format=json"
	one := g.get(t, path)
	version, _ := object(t, g.get(t, "/info/d/v.npy"))["version"].(string)
	pinned := strings.Replace(path, "/slice/", "/slice~v-"+version+"/", 1)
	if w := g.get(t, pinned); w.Header().Get("Cache-Control") != "public, max-age=31536000, immutable" {
		t.Errorf("%v", w.Header())
	}
	other := bytes.Clone(samples()["v.npy"])
	for i := npyHead; i < len(other); i++ {
		other[i] ^= 1
	}
	g.put(t, "v.npy", other)
	if w := g.get(t, path); w.Body.String() != one.Body.String() {
		t.Error("another answer within the time to live")
	}
	row := npyHead + 500*50*4
	if w := g.get(t, "/slice/d/v.npy?s=500&format=raw"); !bytes.Equal(w.Body.Bytes(), other[row:row+50*4]) {
		t.Error("a read did not find the other version")
	}
	two := g.get(t, path)
	if two.Body.String() == one.Body.String() || two.Header().Get("ETag") == one.Header().Get("ETag") {
		t.Error("the first version again")
	}
	if w := g.ask("GET", pinned); w.Code != 409 || code(t, w) != "changed" || w.Header().Get("Cache-Control") != "no-store" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	g.put(t, "v.npy", samples()["v.npy"])
	g.pass(2 * time.Hour)
	if w := g.get(t, path); w.Body.String() != one.Body.String() {
		t.Error("the old version again")
	}
	if err := g.mem.Delete(t.Context(), "data/v.npy"); err != nil {
		t.Fatal(err)
	}
	g.pass(2 * time.Hour)
	if w := g.ask("GET", path); w.Code != 404 || code(t, w) != "not-found" {
		t.Errorf("gone: %d %s", w.Code, w.Body)
	}
}

// TestNames: no key is taken for the raw form of another one.
func TestNames(t *testing.T) {
	g := newGround(t, Config{})
	g.put(t, "v.npy raw", samples()["v.npy"])
	g.get(t, "/info/d/v.npy%20raw")
	if w := g.get(t, "/raw/d/v.npy"); !bytes.Equal(w.Body.Bytes(), samples()["v.npy"]) {
		t.Errorf("%d bytes", w.Body.Len())
	}
	g.get(t, "/info/d/v.npy%20raw")
}

// TestServerTiming: what an answer took at the source.
func TestServerTiming(t *testing.T) {
	g := newGround(t, Config{})
	if h := g.get(t, "/raw/d/notes.txt").Header().Get("Server-Timing"); !strings.HasPrefix(h, `src;desc="1 req, 11 B, 1 phases";dur=`) {
		t.Error(h)
	}
	if h := g.get(t, "/slice/d/v.b2nd?s=0").Header().Get("Server-Timing"); !strings.HasPrefix(h, `src;desc="3 req, `) || !strings.Contains(h, ` B, 2 phases";dur=`) || !strings.Contains(h, ", decode;dur=") {
		t.Error(h)
	}
	if h := g.get(t, "/slice/d/v.b2nd?s=0").Header().Get("Server-Timing"); !strings.HasPrefix(h, `src;desc="0 req, 0 B, 0 phases";dur=0.0, make;desc="kept";dur=`) {
		t.Error(h)
	}
	m := g.get(t, "/metrics").Body.String()
	for _, want := range []string{`farread_requests_total{verb="slice",status="200"} 2`, "farread_answer_hits_total 1", `farread_request_seconds_count{verb="raw"} 1`, "farread_buffer_bytes 0", "farread_open_datasets 2"} {
		if !strings.Contains(m, want+"\n") {
			t.Errorf("no %q in\n%s", want, m)
		}
	}
}
