package viewer

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

//go:embed ui
var files embed.FS

// policy lets the page use nothing but this server, and no script or style in the
// document itself.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// medias are the types of the page's files.
var medias = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".txt": "text/plain; charset=utf-8", ".svg": "image/svg+xml",
}

// A file is one of the page's, as it is and with gzip.
type file struct {
	media       string
	plain, gzip []byte
	tag         string // hash for the ETag
}

// A page is all files by their path, and the hash of all.
type page struct {
	files   map[string]file
	version string
}

// These stand in the document where the version goes, and what the views need.
const (
	placeholder = "ui/VERSION/"
	needsHere   = "NEEDS"
)

// views are the scripts of which the page fetches one for a dataset.
var views = []string{"array", "browse", "frames", "items", "other", "series"}

// fetched is what a script fetches by itself, or surely imports once it runs.
var fetched = map[string][]string{
	"array.js":      {"line.js"},
	"sheet.js":      {"views.css"},
	"seriesplot.js": {"vendor/uPlot/uPlot.iife.min.js", "vendor/uPlot/uPlot.min.css"},
}

var imported = regexp.MustCompile(`(?m)^import .*from "\./(.*)";$`)

// closure lists a script and all that it needs, each once, without what is in the list
// already.
func (p *page) closure(list []string, name string) []string {
	if slices.Contains(list, name) {
		return list
	}
	list = append(list, name)
	for _, m := range imported.FindAllSubmatch(p.files[name].plain, -1) {
		list = p.closure(list, string(m[1]))
	}
	for _, f := range fetched[name] {
		list = p.closure(list, f)
	}
	return list
}

// needs lists for each view the files that come with it: "array model.js tiles.js;series …".
// A browser that asks for them at once needs one round trip, and not one for each script
// that imports another.
func (p *page) needs() string {
	shell := p.closure(nil, "app.js")
	list := make([]string, len(views))
	for i, v := range views {
		list[i] = strings.Join(append([]string{v}, p.closure(shell, v+".js")[len(shell):]...), " ")
	}
	return strings.Join(list, ";")
}

// built makes the page when it is first asked for: gzip takes some milliseconds.
var built = sync.OnceValue(build)

func build() *page {
	p := &page{files: map[string]file{}}
	all := sha256.New()
	// Both below cannot fail on files that are embedded.
	_ = fs.WalkDir(files, "ui", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := files.ReadFile(name)
		_, _ = all.Write([]byte(name + "\x00" + strconv.Itoa(len(body)) + "\x00"))
		_, _ = all.Write(body)
		p.files[strings.TrimPrefix(name, "ui/")] = file{plain: body}
		return err
	})
	p.version = hex.EncodeToString(all.Sum(nil)[:8])
	needs := p.needs()
	for name, f := range p.files {
		if name == "index.html" {
			f.plain = bytes.ReplaceAll(f.plain, []byte(placeholder), []byte("ui/"+p.version+"/"))
			f.plain = bytes.Replace(f.plain, []byte(needsHere), []byte(needs), 1)
		}
		if path.Ext(name) == ".js" && !strings.HasPrefix(name, "vendor/") {
			f.plain = lean(f.plain)
		}
		sum := sha256.Sum256(f.plain)
		f.tag, f.media = hex.EncodeToString(sum[:8]), medias[path.Ext(name)]
		if f.media == "" {
			f.media = "text/plain; charset=utf-8" // a licence
		}
		if short := zip(f.plain); len(short) < len(f.plain)-len(f.plain)/8 {
			f.gzip = short
		}
		p.files[name] = f
	}
	return p
}

// lean leaves out indents and lines that are comments, a fifth of the bytes on the wire.
// Lines stay where they are, so that a browser's messages name those of the source. No
// text or comment of ours goes on over a line; a test holds that.
func lean(source []byte) []byte {
	out := make([]byte, 0, len(source))
	for line := range bytes.Lines(source) {
		line = bytes.TrimLeft(line, " ")
		if bytes.HasPrefix(line, []byte("//")) {
			line = []byte("\n")
		}
		out = append(out, line...)
	}
	return out
}

func zip(body []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level exists
	_, _ = z.Write(body)                                  // a Buffer takes all
	_ = z.Close()
	return b.Bytes()
}

// Handler answers / with the document and paths below /ui/ with its files, at no cost in
// requests to a source. It is safe for concurrent use. Files have an ETag; those that are
// asked for with the page's version may be kept for ever.
func Handler() http.Handler { return http.HandlerFunc(serve) }

func serve(w http.ResponseWriter, r *http.Request) {
	p := built()
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "no-referrer")
	name, caching := "index.html", "no-cache"
	if rest, ok := strings.CutPrefix(r.URL.Path, "/ui/"); ok {
		name = rest
		if versioned, ok := strings.CutPrefix(rest, p.version+"/"); ok {
			name, caching = versioned, "public, max-age=31536000, immutable"
		}
	}
	f, ok := p.files[name]
	if !ok {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusNotFound)
		if r.Method != http.MethodHead {
			_, _ = w.Write([]byte("the page has no such file\n"))
		}
		return
	}
	f.send(w, r, caching)
}

// send answers with a file.
func (f *file) send(w http.ResponseWriter, r *http.Request, caching string) {
	h := w.Header()
	body, tag := f.plain, `"`+f.tag+`"`
	if f.gzip != nil {
		h.Add("Vary", "Accept-Encoding")
	}
	if f.gzip != nil && takesGzip(r.Header.Get("Accept-Encoding")) {
		body, tag = f.gzip, `"`+f.tag+`-g"`
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", tag)
	h.Set("Cache-Control", caching)
	if f.named(r.Header.Get("If-None-Match")) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", f.media)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // the client may be gone
	}
}

// named reports whether a list of ETags has the file, in whatever encoding.
func (f *file) named(list string) bool {
	for t := range strings.SplitSeq(list, ",") {
		t = strings.TrimPrefix(strings.TrimSpace(t), "W/")
		if t == "*" || t == `"`+f.tag+`"` || t == `"`+f.tag+`-g"` {
			return true
		}
	}
	return false
}

// takesGzip reads an Accept-Encoding.
func takesGzip(header string) bool {
	for item := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(item, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(params), "q="), 64)
			return err != nil || q > 0
		}
	}
	return false
}
