package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/internal/racetest"
)

// TestHugeSlices: of an array that takes few bytes and has far more items than an answer
// may have, a part is answered and all else is refused before anything is read for it;
// numbers of 10^18 and more are cut to the array.
func TestHugeSlices(t *testing.T) {
	g := newGround(t, Config{MaxResponse: 1 << 20})
	p, err := os.ReadFile(filepath.Join("..", "formats", "b2nd", "testdata", "make_huge_zeros.b2nd"))
	must(err)
	g.put(t, "huge.b2nd", p)
	g.get(t, "/info/d/huge.b2nd")
	g.took()
	a, ok := must2(g.dataset(t.Context(), &call{target: target{verb: "slice", root: "d", key: "huge.b2nd"}, place: "d/huge.b2nd"})).d.(farread.Slicer)
	if !ok {
		t.Fatal("no array")
	}
	n, err := b2nd.Whole(a.Shape()).Items()
	if err != nil || n < 5<<20 {
		t.Fatalf("%d items, %v", n, err)
	}
	for _, s := range []string{"", ":", "...", "::1", "::-1", ":1000000000000000000", "0:99999999999999999999", "-1000000000000000000:", "1000:5:-1000000000000000000"} {
		for _, format := range []string{"npy", "raw", "json", "csv", "png", "b2nd", "arrow"} {
			w := g.ask("GET", "/slice/d/huge.b2nd?s="+s+"&format="+format)
			if w.Code != 413 && w.Code != 400 && (w.Code != 200 || w.Body.Len() >= 1<<20) {
				t.Errorf("%q as %s: %d, %d bytes", s, format, w.Code, w.Body.Len())
			}
		}
	}
	if got := g.took(); strings.Count(got, "get") > 2 {
		t.Errorf("requests %s", got)
	}
	for _, path := range []string{"/zarr/d/huge.b2nd/zarr.json", "/slice/d/huge.b2nd?s=" + strings.TrimSuffix(strings.Repeat("0,", len(a.Shape())), ",") + "&format=json"} {
		g.get(t, path)
	}
	for path, want := range map[string]int{"/view/d/day.zoom?track=1&from=20&to=10": 400, "/get/d/items.blp?items=9223372036854775807:9223372036854775807": 200, "/get/d/v.b2nd?chunk=9223372036854775807": 404} {
		if w := g.ask("GET", path); w.Code != want {
			t.Errorf("%s: %d %.200s", path, w.Code, w.Body)
		}
	}
}

func must2[T any](v T, err error) T {
	must(err)
	return v
}

// TestRootGone: a folder that is not there any more has nothing, and has it again when it
// is back.
func TestRootGone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "root")
	must(os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	for _, name := range []string{"v.npy", "sub/v.npy"} {
		must(os.WriteFile(filepath.Join(dir, name), samples()["v.npy"], 0o600))
	}
	c := farread.New(farread.Config{})
	p, err := c.Place(t.Context(), dir)
	must(err)
	s, err := New(Config{Client: c, Roots: []Root{{Name: "f", Bucket: p.Bucket, Key: p.Key}}, TTL: -1})
	must(err)
	defer s.Close()
	g := &ground{Server: s}
	paths := []string{"/slice/f/v.npy?s=0", "/raw/f/v.npy", "/info/f/sub/v.npy", "/ls/f/v.npy", "/zarr/f/v.npy/zarr.json", "/get/f/v.npy?chunk=0", "/ls/f/", "/group/f/zarr.json"}
	before := map[string]int{}
	for _, path := range paths {
		before[path] = g.ask("GET", path).Code
	}
	must(os.Rename(dir, dir+".away"))
	for _, path := range paths {
		w := g.ask("GET", path)
		if w.Code >= 500 || w.Code < 400 && !strings.HasPrefix(path, "/ls/f/") && !strings.HasPrefix(path, "/group/") || strings.Contains(w.Body.String(), dir) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	must(os.Rename(dir+".away", dir))
	for _, path := range paths {
		if w := g.ask("GET", path); w.Code != before[path] {
			t.Errorf("%s, again: %d %s, first %d", path, w.Code, w.Body, before[path])
		}
	}
}

// TestStorm: 1,000 clients that each open another dataset at once get right answers or are
// told to come again; few are kept open, and all memory comes back.
func TestStorm(t *testing.T) {
	clients := racetest.Share(1000, 200)
	g := newGround(t, Config{Memory: 32 << 20, Cache: 8 << 20})
	small := bytes.Replace(samples()["v.npy"][:npyHead+200*50], []byte("(1000, 50), }"), []byte("(50, 50), }  "), 1)
	for i := range clients {
		p := bytes.Clone(small)
		p[npyHead], p[npyHead+1] = byte(i), byte(i>>8)
		g.put(t, fmt.Sprintf("many/%d.npy", i), p)
	}
	var busy atomic.Int64
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			w := httptest.NewRecorder()
			g.ServeHTTP(w, httptest.NewRequest("GET", fmt.Sprintf("http://localhost/slice/d/many/%d.npy?s=0,0&format=json", i), nil))
			switch {
			case w.Code == http.StatusServiceUnavailable && w.Header().Get("Retry-After") != "":
				busy.Add(1)
			case w.Code != 200 || w.Body.String() != fmt.Sprintf("%d\n", i):
				t.Errorf("%d: %d %s", i, w.Code, w.Body)
			}
		})
	}
	wg.Wait()
	if n, held := g.open.size(); n > maxOpen || held > g.open.most {
		t.Errorf("%d datasets are open, %d bytes", n, held)
	}
	if n := g.memory.used.Load(); n != 0 || g.waiting() != 0 {
		t.Errorf("%d bytes are lent, %d wait", n, g.waiting())
	}
	if n := busy.Load(); n > int64(clients)/2 {
		t.Errorf("%d of %d were told to come again", n, clients)
	}
}

// FuzzHeaders: whatever the headers of a request are, the answer has a status that the page
// names, and its bytes are those that its headers tell.
func FuzzHeaders(f *testing.F) {
	for _, s := range [][4]string{{"bytes=0-9", "", "", ""}, {"bytes=-5", `"x"`, "*", "gzip"}, {"bytes=5-", "", `W/"a", "b"`, "zstd;q=0.5, gzip;q=0"}, {"bytes=9-1", "W/", ",", "br"}, {"bytes=0-0,2-3", "", "", "gzip;q=x"}} {
		f.Add(s[0], s[1], s[2], s[3])
	}
	g := newGround(f, Config{})
	paths := []string{"/slice/d/v.npy?s=:5&format=raw", "/raw/d/v.npy", "/slice/d/v.npy?s=:300&format=json"}
	var whole [][]byte
	for _, path := range paths {
		whole = append(whole, bytes.Clone(g.ask("GET", path).Body.Bytes()))
	}
	f.Fuzz(func(t *testing.T, span, since, match, accept string) {
		for i, path := range paths {
			r := httptest.NewRequest("GET", "http://localhost"+path, nil)
			for name, value := range map[string]string{"Range": span, "If-Range": since, "If-None-Match": match, "Accept-Encoding": accept} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			p := w.Body.Bytes()
			switch w.Code {
			case 200:
				if w.Header().Get("Content-Encoding") == "" && !bytes.Equal(p, whole[i]) {
					t.Errorf("%s: %d bytes", path, len(p))
				}
			case 206:
				var from, to, n int
				if _, err := fmt.Sscanf(w.Header().Get("Content-Range"), "bytes %d-%d/%d", &from, &to, &n); err != nil || n != len(whole[i]) || !bytes.Equal(p, whole[i][from:to+1]) {
					t.Errorf("%s: %q, %d bytes, %v", path, w.Header().Get("Content-Range"), len(p), err)
				}
			case 304, 416:
			default:
				t.Errorf("%s: %d %s", path, w.Code, p)
			}
			if w.Code != 304 && w.Header().Get("Content-Length") != fmt.Sprint(len(p)) {
				t.Errorf("%s: %d bytes, %v", path, len(p), w.Header())
			}
		}
	})
}
