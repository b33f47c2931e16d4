package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread"
	"github.com/farread/farread/objstore"
)

// TestRefusals: what is refused, with its status and its code. Nothing of it reaches the
// source, unless it has to be asked.
func TestRefusals(t *testing.T) {
	g := newGround(t, Config{MaxResponse: 100_000})
	g.get(t, "/info/d/v.b2nd")
	g.get(t, "/info/d/day.zoom")
	g.get(t, "/info/d/items.blp")
	g.get(t, "/info/d/clips")
	long := strings.Repeat("k", 64<<10)
	for path, want := range map[string]string{
		"/":                                            "404 no-route",
		"/nothing/d/v.b2nd":                            "404 no-route",
		"/healthz/":                                    "404 no-route",
		"//raw/d/v.npy":                                "404 no-route",
		"/raw":                                         "404 no-root",
		"/raw/other/v.npy":                             "404 no-root",
		"/raw/d/../v.npy":                              "400 bad-path",
		"/raw/d/%2e%2e/v.npy":                          "400 bad-path",
		"/raw/d/%2E%2e%2fv.npy":                        "400 bad-path",
		"/raw/d/sub/./x":                               "400 bad-path",
		"/raw/d/sub%2f..%2f..%2fx":                     "400 bad-path",
		"/raw/d/x%00y":                                 "400 bad-path",
		"/raw/d/x%0ay":                                 "400 bad-path",
		"/raw/d/x%c2%85y":                              "400 bad-path",
		"/raw/d/x%ffy":                                 "400 bad-path",
		"/raw/d/" + long:                               "413 too-large",
		"/raw/d/" + long[:1025]:                        "413 too-large",
		"/raw/d/" + long[:1000]:                        "404 not-found",
		"/zarr/d/" + long[:1025] + "/c/0":              "413 too-large",
		"/group/d/" + long + "/c/0":                    "413 too-large",
		"/raw~x/d/v.npy":                               "400 bad-option",
		"/raw~v-a~v-b/d/v.npy":                         "400 bad-option",
		"/raw~v-0123456789abcdef/d/v.npy":              "409 changed",
		"/slice/d/v.b2nd?s=0&x=1":                      "400 bad-query",
		"/slice/d/v.b2nd?s=0&s=1":                      "400 bad-query",
		"/slice/d/v.b2nd?s=0;x":                        "400 bad-query",
		"/slice/d/v.b2nd?s=%ff":                        "400 bad-query",
		"/slice/d/v.b2nd?s=" + long[:9000]:             "413 too-large",
		"/slice/d/v.b2nd?s=a":                          "400 bad-slice",
		"/slice/d/v.b2nd?s=64":                         "400 bad-slice",
		"/slice/d/v.b2nd?s=0,0,0,0":                    "400 bad-slice",
		"/slice/d/v.b2nd?s=::0":                        "400 bad-slice",
		"/slice/d/v.b2nd?s=0&format=xml":               "400 bad-format",
		"/slice/d/v.b2nd?s=0,0,0&field=x":              "404 no-entry",
		"/slice/d/v.b2nd?s=0,0,0&as=S3":                "400 bad-type",
		"/slice/d/v.b2nd?s=0,0,:&format=png&range=2:1": "400 bad-query",
		"/slice/d/v.b2nd?s=0,0,:&colors=gray":          "400 bad-query",
		"/slice/d/v.b2nd":                              "413 too-large",
		"/slice/d/v.b2nd?s=:10":                        "413 too-large",
		"/slice/d/v.b2nd?s=0&format=json":              "413 too-large",
		"/slice/d/day.zoom?s=0":                        "422 unsupported",
		"/slice/d/zfp.b2nd?s=0,0":                      "422 unsupported",
		"/slice/d/sub?s=0":                             "422 unsupported",
		"/info/d/sub/deep/x.b2nd":                      "422 corrupt",
		"/info/d/notes.txt":                            "422 unsupported",
		"/info/d/none.b2nd":                            "404 not-found",
		"/raw/d/sub":                                   "404 not-found",
		"/raw/d/":                                      "422 unsupported",
		"/ls/d/none/":                                  "200 ",
		"/ls/d/?limit=x":                               "400 bad-limit",
		"/ls/d/v.b2nd?after=x":                         "400 invalid",
		"/get/d/v.b2nd":                                "400 bad-query",
		"/get/d/v.b2nd?chunk=1&item=1":                 "400 bad-query",
		"/get/d/v.b2nd?chunk=1&frame=1":                "400 bad-query",
		"/get/d/v.b2nd?chunk=12":                       "404 no-entry",
		"/get/d/v.b2nd?chunk=99999999999999999":        "404 no-entry",
		"/get/d/v.b2nd?chunk=-1":                       "400 bad-chunk",
		"/get/d/v.b2nd?item=1":                         "422 unsupported",
		"/get/d/items.blp?item=201":                    "404 no-entry",
		"/get/d/items.blp?item=x":                      "404 no-entry",
		"/get/d/items.blp?items=5":                     "400 bad-items",
		"/get/d/items.blp?items=5:2":                   "400 bad-items",
		"/get/d/items.blp?items=0:99999999999":         "413 too-large",
		"/get/d/items.blp?items=0:200":                 "413 too-large",
		"/get/d/clips?id=702766":                       "400 bad-frame",
		"/get/d/clips?id=702766&frame=99":              "404 no-entry",
		"/get/d/clips?id=nobody&frame=0":               "404 no-entry",
		"/view/d/day.zoom?width=5":                     "400 bad-track",
		"/view/d/day.zoom?track=7":                     "404 no-entry",
		"/view/d/day.zoom?track=1&width=0":             "400 bad-width",
		"/view/d/day.zoom?track=1&width=65537":         "413 too-large",
		"/view/d/day.zoom?track=1&width=9999999999999999999999":  "413 too-large",
		"/view/d/day.zoom?track=1&width=-9999999999999999999999": "400 bad-width",
		"/view/d/day.zoom?track=1&width=1e3":                     "400 bad-width",
		"/view/d/day.zoom?track=1&from=soon":                     "400 bad-time",
		"/view/d/day.zoom?track=1&format=text":                   "400 bad-format",
		"/view/d/day.zoom?track=1&bits=7":                        "400 bad-bits",
		"/view/d/v.b2nd?track=1":                                 "422 unsupported",
	} {
		r := &http.Request{Method: "GET", Host: "localhost", Header: http.Header{}, URL: parsed(t, path)}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r.WithContext(t.Context()))
		got := fmt.Sprintf("%d ", w.Code)
		if w.Code != 200 {
			got += code(t, w)
		}
		if got != want {
			t.Errorf("%.80s: %s, want %s: %.300s", path, got, want, w.Body)
		}
		if text := w.Body.String() + fmt.Sprint(w.Header()); strings.Contains(text, "secret") || strings.Contains(text, "data/") || strings.Contains(text, "goroutine") {
			t.Errorf("%.80s tells of the source: %.300s", path, text)
		}
		h := g.ask("HEAD", "/")
		if h.Body.Len() > 0 || h.Code != 404 {
			t.Errorf("HEAD of an error: %d %s", h.Code, h.Body)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "TRACE", "X"} {
		if w := g.ask(method, "/raw/d/v.npy"); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD, OPTIONS" {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
	}
}

// parsed is a URL as net/http reads it from a request line.
func parsed(t *testing.T, path string) *url.URL {
	t.Helper()
	u, err := url.ParseRequestURI("http://localhost" + path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestFolderOfThisMachine: nothing outside of a folder is reached, by dots, links or
// characters that a URL or a file system reads in another way; a key with ? and # is a
// key.
func TestFolderOfThisMachine(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"secret": "s", "root/a.txt": "a", "root/x?y=1": "query", "root/x#y": "fragment", "root/100%25": "percent", "root/data_0.gulp": "no", "root/sub/b.txt": "b"} {
		must(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	must(os.Symlink("../secret", filepath.Join(dir, "root", "link")))
	must(os.Symlink(dir, filepath.Join(dir, "root", "up")))
	must(os.Symlink("a.txt", filepath.Join(dir, "root", "inside")))
	c := farread.New(farread.Config{})
	p, err := c.Place(t.Context(), filepath.Join(dir, "root"))
	must(err)
	s, err := New(Config{Client: c, Roots: []Root{{Name: "f", Bucket: p.Bucket, Key: p.Key}}})
	must(err)
	defer s.Close()
	g := &ground{Server: s}
	for path, want := range map[string]string{"a.txt": "a", "x%3fy=1": "query", "x%3Fy=1": "query", "x%23y": "fragment", "100%2525": "percent", "sub/b.txt": "b", "inside": "a"} {
		if w := g.ask("GET", "/raw/f/"+path); w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for _, path := range []string{"link", "up/secret", "up/root/a.txt", "../secret", "..%2fsecret", "%2e%2e/secret", "/etc/passwd", "%2fetc%2fpasswd", "..%5csecret", `C:%5cx`, "sub//b.txt", "sub/../a.txt", "a.txt/", "a.txt/x", "x?y=1", ".", "sub/.", "a.txt%00.b"} {
		for _, verb := range []string{"raw", "info", "slice", "get", "view"} {
			w := g.ask("GET", "/"+verb+"/f/"+path)
			if w.Code < 400 || w.Code >= 500 || strings.Contains(w.Body.String(), dir) {
				t.Errorf("%s %s: %d %s", verb, path, w.Code, w.Body)
			}
		}
	}
	for _, path := range []string{"link", "up/secret", "../secret", "..%2fsecret", "%2e%2e/secret", "/etc/passwd", "..%5csecret", "sub//b.txt", "sub/../a.txt", "a.txt/", ".", "a.txt%00.b", "none", "a.txt", "c/c", "..", "sub"} {
		for _, begin := range []string{"/zarr/f/", "/zarr~raw~blocks/f/", "/group/f/", "/zarr/none/"} {
			w := g.ask("GET", begin+path+"/c/0/0")
			if w.Code < 400 || w.Code >= 500 || w.Code == 403 || w.Code == 404 || strings.Contains(w.Body.String(), dir) {
				t.Errorf("%s%s: %d %s", begin, path, w.Code, w.Body)
			}
		}
	}
	if w := g.ask("GET", "/ls/f/up/"); w.Code == 200 && strings.Contains(w.Body.String(), "secret") {
		t.Errorf("a listing beyond a link: %s", w.Body)
	}
}

// TestOrigins: pages of other origins see answers, errors too, only if they may.
func TestOrigins(t *testing.T) {
	const own, other = "https://viewer.example", "https://other.example"
	for _, x := range []struct {
		cors   []string
		origin string
		want   string
	}{{nil, own, ""}, {[]string{"*"}, own, "*"}, {[]string{"*"}, "", "*"}, {[]string{own}, own, own}, {[]string{own}, other, ""}} {
		g := newGround(t, Config{CORS: x.cors})
		for _, path := range []string{"/slice/d/v.npy?s=0", "/raw/d/none", "/nothing", "/raw/d/../x", "/healthz", "/metrics"} {
			for _, method := range []string{"GET", "HEAD", "POST", "OPTIONS"} {
				h := g.ask(method, path, "Origin: "+x.origin).Header()
				if got := h.Get("Access-Control-Allow-Origin"); got != x.want || (x.want != "") != (h.Get("Access-Control-Expose-Headers") != "") {
					t.Errorf("%q: %s %s: %v", x.cors, method, path, h)
				}
				if embed := map[bool]string{true: "cross-origin", false: "same-origin"}[x.want != ""]; h.Get("Cross-Origin-Resource-Policy") != embed {
					t.Errorf("%q: %s %s: %v", x.cors, method, path, h)
				}
				if h.Get("Access-Control-Allow-Credentials") != "" || h.Get("X-Content-Type-Options") != "nosniff" || (x.cors != nil && x.cors[0] != "*") != strings.Contains(strings.Join(h.Values("Vary"), ","), "Origin") {
					t.Errorf("%q: %s %s: %v", x.cors, method, path, h)
				}
				if got := h.Get("Access-Control-Max-Age"); (got == "86400") != (method == "OPTIONS" && x.want != "") {
					t.Errorf("%q: %s %s: %v", x.cors, method, path, h)
				}
			}
		}
	}
}

// TestHosts: a name that somebody lets point to this machine is not answered.
func TestHosts(t *testing.T) {
	g := newGround(t, Config{Hosts: []string{"data.example"}})
	for host, want := range map[string]int{"localhost": 200, "localhost:8080": 200, "127.0.0.1:8080": 200, "[::1]:8080": 200, "::1": 200, "data.example": 200, "DATA.example:1": 200, "evil.example": 421, "evil.example:8080": 421, "localhost.evil.example": 421, "127.0.0.1.evil.example": 421, "": 421} {
		r := httptest.NewRequest("GET", "/raw/d/notes.txt", nil)
		r.Host = host
		w := httptest.NewRecorder()
		if g.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%q: %d", host, w.Code)
		}
	}
}

// TestToken: without the token, or a link that was signed with it, nothing is told.
func TestToken(t *testing.T) {
	g := newGround(t, Config{Token: "correct horse"})
	path := "/slice/d/v.npy?s=0&format=json"
	for header, want := range map[string]int{"Bearer correct horse": 200, "bearer  correct horse": 200, "": 401, "Bearer": 401, "Bearer correct": 401, "Basic correct horse": 401, "correct horse": 401} {
		w := g.ask("GET", path, "Authorization: "+header)
		if w.Code != want || (want == 401) != (w.Header().Get("WWW-Authenticate") != "") {
			t.Errorf("%q: %d", header, w.Code)
		}
		if want == 200 && !strings.HasPrefix(w.Header().Get("Cache-Control"), "private") {
			t.Errorf("%v", w.Header())
		}
	}
	if w := g.ask("GET", "/healthz"); w.Code != 200 {
		t.Error(w.Code)
	}
	if w := g.ask("GET", "/metrics"); w.Code != 401 {
		t.Error(w.Code)
	}
	link := must2(Sign(parsed(t, path), "correct horse", g.now().Add(time.Hour)))
	good := link.RequestURI()
	plain := g.get(t, path, "Authorization: Bearer correct horse")
	if w := g.get(t, good); w.Body.String() != plain.Body.String() || w.Header().Get("ETag") != plain.Header().Get("ETag") {
		t.Errorf("%s: %s", good, w.Body)
	}
	for _, bad := range []string{strings.Replace(good, "s=0", "s=1", 1), strings.Replace(good, "v.npy", "v.b2nd", 1), strings.Replace(good, "slice", "raw", 1), good + "0",
		strings.Replace(good, "expires=1", "expires=2", 1), must2(Sign(parsed(t, path), "another", g.now().Add(time.Hour))).RequestURI(), strings.Split(good, "&signature")[0]} {
		if w := g.ask("GET", bad); w.Code != 401 {
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
	g.pass(2 * time.Hour)
	if w := g.ask("GET", good); w.Code != 401 {
		t.Errorf("late: %d", w.Code)
	}
}

// TestSignedWhole: a query of which a signature would lose a part gets an error.
func TestSignedWhole(t *testing.T) {
	g := newGround(t, Config{Token: "correct horse"})
	for _, query := range []string{"s=0;format=json", "s=0%zz", "s=0:2;x&format=json"} {
		u := parsed(t, "/slice/d/v.npy")
		u.RawQuery = query
		if link, err := Sign(u, "correct horse", g.now().Add(time.Hour)); err == nil || !errors.Is(err, objstore.ErrInvalid) {
			t.Errorf("%s: %v, %v", query, link, err)
		}
	}
	if link, err := Sign(parsed(t, "/slice/d/v.npy"), "", g.now().Add(time.Hour)); err == nil {
		t.Errorf("no token: %v", link)
	}
}

// TestBadOrigins: what no browser sends as an Origin is refused.
func TestBadOrigins(t *testing.T) {
	g := newGround(t, Config{})
	for o, good := range map[string]bool{"*": true, "null": true, "https://a.example": true, "http://localhost:3000": true, "http://[::1]:80": true,
		"https://a.example/": false, "a.example": false, " https://a.example": false, "https://A.example": false, "": false, "https://": false, "https://u@a.example": false} {
		s, err := New(Config{Client: g.client, Roots: []Root{{"a", g.mem, ""}}, CORS: []string{o}})
		if (err == nil) != good {
			t.Errorf("%q: %v", o, err)
		}
		if err == nil {
			must(s.Close())
		}
	}
}

// TestBadRoots: roots that no path could name, or two of one name.
func TestBadRoots(t *testing.T) {
	g := newGround(t, Config{})
	b := g.mem
	for _, roots := range [][]Root{{{"", b, ""}}, {{"a/b", b, ""}}, {{"..", b, ""}}, {{"a", b, ""}, {"a", b, "x"}}, {{"a", nil, ""}}} {
		if _, err := New(Config{Client: g.client, Roots: roots}); err == nil {
			t.Errorf("%v", roots)
		}
	}
	if _, err := New(Config{}); err == nil {
		t.Error("no client")
	}
}

// TestOneObject: a root that is one dataset, and a root that is a prefix without a slash.
func TestOneObject(t *testing.T) {
	g := newGround(t, Config{Roots: []Root{}})
	s, err := New(Config{Client: g.client, Roots: []Root{{"one", g.mem, "data/v.npy"}, {"all", g.mem, "data"}}})
	must(err)
	defer s.Close()
	g.Server = s
	for path, want := range map[string]int{"/slice/one?s=0": 200, "/raw/one": 200, "/ls/one": 200, "/info/all/v.npy": 200, "/ls/all": 200, "/ls/all/": 200, "/raw/one/x": 404, "/raw/all": 404} {
		if w := g.ask("GET", path); w.Code != want {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

// FuzzPath: whatever a path and a query are, the answer is one of the statuses that the
// page names, tells nothing of the source, and what is reached has a key of the root.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"/raw/d/v.npy", "/slice~v-1/d/v.npy?s=0", "/raw/d/%2e%2e/x", "/ls/d/?after=a&limit=3", "/get/d/items.blp?items=0:3", "/view/d/day.zoom?track=1&width=3&format=csv",
		"/raw/d/a%00b", "//d//x", "/slice/d/v.b2nd?s=1,...,::-2&format=json&as=f8", "/%72aw/d/v.npy", "/raw~/d/x", "/info/d/clips/", "/raw/d/%ff", "/healthz?x", "/metrics/",
		"/zarr/d/v.b2nd/c/0/0/0", "/zarr~blocks~float32/d/v.b2nd/zarr.json", "/group/d/zarr.json", "/group/d/v/c/9/9/9", "/group~raw/d/v.b2nd/data/c/0/1/0", "/zarr/d/c/c/.zarray",
		"/stats/d/v.b2nd?after=3&limit=2&column=", "/view/d/day.zoom?track=1&samples_per_pixel=100&format=dat", "/slice/d/v.b2nd?s=0&format=arrow", "/slice/d/v.b2nd?s=0&format=b2nd"} {
		f.Add(s)
	}
	keys := make(chan string, 1<<10)
	g := fuzzGround(f, keys)
	f.Fuzz(func(t *testing.T, text string) {
		u, err := url.ParseRequestURI(text)
		if err != nil || len(text) > 4096 {
			return
		}
		r := &http.Request{Method: "GET", Host: "localhost", Header: http.Header{}, URL: u}
		w := httptest.NewRecorder()
		g.ServeHTTP(w, r.WithContext(t.Context()))
		switch w.Code {
		case 200, 400, 404, 409, 410, 413, 422:
		default:
			t.Errorf("%q: %d %s", text, w.Code, w.Body)
		}
		if w.Code >= 400 && strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%q: %s", text, w.Body)
		}
		for len(keys) > 0 {
			key := <-keys
			if !strings.HasPrefix(key, "data/") {
				t.Errorf("%q asked for %q", text, key)
			}
			for seg := range strings.SplitSeq(key, "/") {
				if seg == "." || seg == ".." || strings.ContainsAny(seg, "\x00\n") {
					t.Errorf("%q asked for %q", text, key)
				}
			}
		}
	})
}

func fuzzGround(f *testing.F, keys chan string) *ground {
	f.Helper()
	g := newGround(f, Config{MaxResponse: 1 << 20}, objstore.Trace(func(e objstore.Event) {
		select {
		case keys <- e.Key:
		default:
		}
	}))
	return g
}

// TestNoBytes: items without bytes, however many, are answered at once or refused.
func TestNoBytes(t *testing.T) {
	g := newGround(t, Config{})
	for i, shape := range []string{"(1000000000000,)", "(3, 1000000000, 0)", "(0,)", "()"} {
		for k, d := range []string{"|S0", "|V0", "<U0", "<i4"} {
			if d == "<i4" && i != 1 && i != 2 {
				continue
			}
			head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", d, shape)
			head += strings.Repeat(" ", 117-len(head)) + "\n"
			key := fmt.Sprintf("none%d%d.npy", i, k)
			g.put(t, key, append(append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0), head...))
			for _, format := range []string{"npy", "raw", "json", "csv", "png"} {
				w := g.ask("GET", "/slice/d/"+key+"?format="+format)
				if w.Code != 200 && w.Code != 400 && w.Code != 413 && w.Code != 422 || w.Body.Len() > 1000 {
					t.Errorf("%s %s %s: %d %.200s", d, shape, format, w.Code, w.Body)
				}
			}
		}
	}
}
