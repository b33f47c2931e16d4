package viewer

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strings"
	"testing"
)

// ask is the answer to a request.
func ask(t *testing.T, method, target string, head ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, target, nil)
	for i := 0; i < len(head); i += 2 {
		r.Header.Set(head[i], head[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w
}

// TestWeight: what a view weighs on the wire, with the shell and the libraries that it
// loads; and all that is our own.
func TestWeight(t *testing.T) {
	const most, mostOwn = 60_000, 60_000
	p := built()
	weight := func(name string) int {
		f := p.files[name]
		if f.gzip != nil {
			return len(f.gzip)
		}
		return len(f.plain)
	}
	uses := regexp.MustCompile(`(?:from |import\()"\./([a-z-]+\.js)"|\b(vendor/[\w.-]+)`)
	var load func(name string, seen map[string]bool) int
	load = func(name string, seen map[string]bool) int {
		f, ok := p.files[name]
		if seen[name] || !ok {
			return 0
		}
		seen[name] = true
		n := weight(name)
		if !strings.HasPrefix(name, "vendor/") {
			for _, m := range uses.FindAllSubmatch(f.plain, -1) {
				n += load(string(m[1])+string(m[2]), seen)
			}
		}
		return n
	}
	for _, view := range []string{"browse", "array", "series", "frames", "items", "other"} {
		seen := map[string]bool{}
		n := 0
		for _, name := range []string{"index.html", "style.css", "app.js", "elsewhere.js", view + ".js"} {
			n += load(name, seen)
		}
		t.Logf("%7d %s, in %d files", n, view, len(seen))
		if n > most {
			t.Errorf("%s weighs %d bytes, want %d at most", view, n, most)
		}
	}
	own := 0
	for name, f := range p.files {
		if strings.HasPrefix(name, "vendor/") {
			continue
		}
		t.Logf("%7d of %7d %s", weight(name), len(f.plain), name)
		own += weight(name)
	}
	t.Logf("%7d of our own", own)
	if own > mostOwn {
		t.Errorf("%d bytes of our own, want %d at most", own, mostOwn)
	}
}

func TestDocument(t *testing.T) {
	for _, target := range []string{"/", "/ui/index.html"} {
		r := ask(t, http.MethodGet, target)
		text := r.Body.String()
		if r.Code != http.StatusOK || r.Header().Get("Content-Type") != "text/html; charset=utf-8" || r.Header().Get("Cache-Control") != "no-cache" {
			t.Fatalf("%s: %d %v", target, r.Code, r.Header())
		}
		links := regexp.MustCompile(`(?:href|src)="(ui/[^"]+)"`).FindAllStringSubmatch(text, -1)
		if len(links) < 4 {
			t.Fatalf("%d files in the document", len(links))
		}
		for _, l := range links {
			r := ask(t, http.MethodGet, "/"+l[1])
			if r.Code != http.StatusOK || !strings.HasSuffix(r.Header().Get("Cache-Control"), "immutable") {
				t.Errorf("%s: %d %s", l[1], r.Code, r.Header().Get("Cache-Control"))
			}
		}
	}
}

// TestPolicy: the headers that keep scripts out are on every answer.
func TestPolicy(t *testing.T) {
	for _, target := range []string{"/", "/ui/app.js", "/ui/none.js", "/ui/../viewer.go", "/ui/"} {
		r := ask(t, http.MethodGet, target)
		if got := r.Header().Get("Content-Security-Policy"); got != policy || strings.Contains(got, "unsafe") {
			t.Errorf("%s: policy %q", target, got)
		}
		if r.Header().Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: no nosniff", target)
		}
		if target != "/" && target != "/ui/app.js" && r.Code != http.StatusNotFound {
			t.Errorf("%s: %d", target, r.Code)
		}
	}
}

// TestNothingElse: no file asks for anything from elsewhere, has a script or a style in
// itself, or makes elements of text.
func TestNothingElse(t *testing.T) {
	for name, f := range built().files {
		if strings.HasPrefix(name, "vendor/") {
			continue
		}
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "<script>", "style=\"", "//cdn"} {
			if bytes.Contains(f.plain, []byte(bad)) {
				t.Errorf("%s has %q", name, bad)
			}
		}
	}
}

// TestLean: what lean may assume of the sources, and what it leaves.
func TestLean(t *testing.T) {
	err := fs.WalkDir(files, "ui", func(name string, d fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".js" || strings.Contains(name, "/vendor/") {
			return err
		}
		source, err := files.ReadFile(name)
		for i, line := range strings.Split(string(source), "\n") {
			if strings.Count(line, "`")%2 != 0 || strings.Contains(line, "/*") || strings.HasSuffix(line, "\\") || strings.Contains(line, "\t") {
				t.Errorf("%s:%d: a text or comment that goes on over a line, or a tab", name, i+1)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	const in, want = "// a\n\nlet x = \"// b\"; // c\n  // d\n    f(`  y`);\n", "\n\nlet x = \"// b\"; // c\n\nf(`  y`);\n"
	if got := string(lean([]byte(in))); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestConditions(t *testing.T) {
	plain := ask(t, http.MethodGet, "/ui/app.js")
	tag := plain.Header().Get("Etag")
	want := plain.Body.Bytes()
	if tag == "" || plain.Header().Get("Content-Encoding") != "" || plain.Header().Get("Cache-Control") != "no-cache" {
		t.Fatalf("%v", plain.Header())
	}
	zipped := ask(t, http.MethodGet, "/ui/app.js", "Accept-Encoding", "br, gzip;q=0.5")
	if zipped.Header().Get("Content-Encoding") != "gzip" || zipped.Header().Get("Etag") == tag || zipped.Header().Get("Vary") != "Accept-Encoding" {
		t.Fatalf("%v", zipped.Header())
	}
	z, err := gzip.NewReader(zipped.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, want) {
		t.Errorf("gzip gives other bytes: %v", err)
	}
	for _, c := range []struct {
		head   []string
		status int
	}{
		{[]string{"If-None-Match", tag}, http.StatusNotModified},
		{[]string{"If-None-Match", `"x", W/` + tag}, http.StatusNotModified},
		{[]string{"If-None-Match", zipped.Header().Get("Etag"), "Accept-Encoding", "gzip"}, http.StatusNotModified},
		{[]string{"If-None-Match", `"x"`}, http.StatusOK},
		{[]string{"Accept-Encoding", "gzip;q=0"}, http.StatusOK},
	} {
		r := ask(t, http.MethodGet, "/ui/app.js", c.head...)
		if r.Code != c.status || r.Header().Get("Content-Encoding") != "" {
			t.Errorf("%v: %d %v", c.head, r.Code, r.Header())
		}
		if r.Code == http.StatusNotModified && len(r.Body.Bytes()) > 0 {
			t.Errorf("%v: a body", c.head)
		}
	}
	if r := ask(t, http.MethodHead, "/ui/app.js"); r.Header().Get("Content-Length") == "" || len(r.Body.Bytes()) > 0 {
		t.Errorf("HEAD: %v", r.Header())
	}
}
