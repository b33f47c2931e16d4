package viewer

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
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

// TestWeight: what comes over the wire for the first picture of each view.
func TestWeight(t *testing.T) {
	files := built().files
	weigh := func(names map[string]bool) (n int) {
		for name := range names {
			f, ok := files[name]
			if !ok {
				t.Fatalf("there is no %s", name)
			}
			if f.gzip != nil {
				n += len(f.gzip)
			} else {
				n += len(f.plain)
			}
		}
		return n
	}
	for _, view := range views {
		list := []string{"index.html", "style.css"}
		for _, name := range []string{"app.js", view + ".js", "elsewhere.js"} {
			if view != "browse" || name != "elsewhere.js" {
				list = built().closure(list, name)
			}
		}
		names := map[string]bool{}
		for _, name := range list {
			names[name] = true
		}
		n := weigh(names)
		t.Logf("%7d %s, in %d files", n, view, len(names))
		if n > 60_000 {
			t.Errorf("%s is %d bytes, want 60,000 at most", view, n)
		}
	}
}

// TestNeeds: the document asks for all scripts of the shell itself, and lists what each
// view needs, of files that are there.
func TestNeeds(t *testing.T) {
	p, text := built(), ask(t, http.MethodGet, "/").Body.String()
	for _, name := range p.closure(nil, "app.js") {
		if !strings.Contains(text, `="ui/`+p.version+"/"+name+`"`) {
			t.Errorf("%s is not asked for by the document", name)
		}
	}
	m := regexp.MustCompile(`<meta name="needs" content="([^"]*)">`).FindStringSubmatch(text)
	if m == nil {
		t.Fatal("no list of files")
	}
	lists := strings.Split(m[1], ";")
	for i, v := range views {
		files := strings.Split(lists[i], " ")
		if files[0] != v || files[1] != v+".js" {
			t.Errorf("%q, want those of %s", lists[i], v)
		}
		for _, f := range files[1:] {
			if _, ok := p.files[f]; !ok {
				t.Errorf("%s: there is no %s", v, f)
			}
		}
	}
	if !strings.Contains(lists[0], " chart.js") || !strings.Contains(lists[5], " vendor/uPlot/uPlot.iife.min.js") || strings.Contains(m[1], " dom.js") {
		t.Errorf("%q", lists)
	}
}

// TestVendored: what is not ours is as its makers published it.
func TestVendored(t *testing.T) {
	sums, err := files.ReadFile("ui/vendor/SHA256SUMS.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := 0
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		p, err := files.ReadFile("ui/vendor/" + name)
		if got := sha256.Sum256(p); err != nil || hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s is %x, want %s; %v", name, got, sum, err)
		}
		listed++
	}
	there := 0
	err = fs.WalkDir(files, "ui/vendor", func(name string, d fs.DirEntry, err error) error {
		if !d.IsDir() && path.Base(name) != "SHA256SUMS.txt" {
			there++
		}
		return err
	})
	if err != nil || there != listed {
		t.Errorf("%d files, %d with a sum; %v", there, listed, err)
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
