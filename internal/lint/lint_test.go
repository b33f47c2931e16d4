//go:build lint

// Package lint_test proves that the rules in .golangci.yml bite. Each case is a
// small module of the project's name, with one file that imports what its layer
// must not import and what it may: the linter has to complain about exactly the
// first. `make lint-selftest` runs it; it needs the pinned linter of go.tool.mod.
package lint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/farread/farread"

// root is the checkout, seen from this package's folder.
const root = "../.."

// A layer is one file of the project, and the imports that its layer allows and
// denies.
type layer struct {
	file string
	// deny: import path -> rule that must complain. A path that begins with a
	// slash lies in this module.
	deny  map[string]string
	allow []string
}

func layers() []layer {
	const (
		aws   = "github.com/aws/aws-sdk-go-v2/service/s3"
		cobra = "github.com/spf13/cobra"
	)
	return []layer{
		{
			file:  "rangeio/x.go",
			deny:  map[string]string{"/objstore": "rangeio-leaf", "/formats": "rangeio-leaf", "/internal/par": "rangeio-leaf", "/rangeio/rangeiotest": "rangeio-leaf", "golang.org/x/sync/errgroup": "rangeio-leaf"},
			allow: []string{"context", "io", "os", "net/http"},
		},
		{
			file:  "rangeio/rangeiotest/x.go",
			deny:  map[string]string{"/objstore": "rangeio-test-kit", "github.com/google/go-cmp/cmp": "rangeio-test-kit", "github.com/stretchr/testify/require": "everywhere"},
			allow: []string{"/rangeio", "testing"},
		},
		{
			file:  "rangeio/x_test.go",
			deny:  map[string]string{"github.com/stretchr/testify/require": "everywhere", aws: "sdk-in-driver"},
			allow: []string{"/rangeio/rangeiotest", "github.com/google/go-cmp/cmp", "testing"},
		},
		{
			file:  "objstore/x.go",
			deny:  map[string]string{"/formats": "objstore-no-formats", "/formats/gulp": "objstore-no-formats", "/functions": "objstore-no-formats", "/internal/par": "objstore-core", aws: "sdk-in-driver", "github.com/klauspost/compress": "objstore-core", "/objstore/s3store": "objstore-core"},
			allow: []string{"/rangeio", "/internal/bufpool", "/internal/lru", "/internal/silence", "/objstore/internal/wire", "golang.org/x/sync/errgroup", "net/http"},
		},
		{
			file:  "objstore/x_test.go",
			deny:  map[string]string{"/formats/gulp": "objstore-no-formats"},
			allow: []string{"/objstore/memstore", "/objstore/objstoretest", "go.uber.org/goleak"},
		},
		{
			file:  "objstore/s3store/x.go",
			deny:  map[string]string{"/formats": "objstore-no-formats", "/cmd/farread": "objstore-no-formats", "": "objstore-no-formats", "log": "everywhere", "flag": "programs-own-flags"},
			allow: []string{aws, "github.com/aws/smithy-go", "/objstore", "log/slog"},
		},
		{
			file:  "objstore/httpstore/x.go",
			deny:  map[string]string{aws: "sdk-in-driver", "/formats/all": "objstore-no-formats", "/gateway": "objstore-no-formats", "testing": "test-kits-in-tests", "/objstore/objstoretest": "test-kits-in-tests"},
			allow: []string{"net/http", "/objstore", "/rangeio", "github.com/hashicorp/go-retryablehttp"},
		},
		{
			file:  "objstore/memstore/x.go",
			deny:  map[string]string{"/formats/gulp": "objstore-no-formats", "math/rand": "everywhere"},
			allow: []string{"/objstore", "math/rand/v2"},
		},
		{
			file:  "formats/x.go",
			deny:  map[string]string{"/formats/gulp": "formats-siblings", "/objstore": "formats-pure"},
			allow: []string{"errors", "fmt"},
		},
		{
			file: "formats/gulp/x.go",
			deny: map[string]string{
				"/objstore": "formats-pure", "/objstore/memstore": "formats-pure", "/functions": "formats-pure", "/rangeio/rangeiotest": "formats-pure",
				"net": "formats-pure", "net/http": "formats-pure", "net/http/httptest": "formats-pure", "os": "formats-pure", "os/exec": "formats-pure",
				"log/slog": "formats-pure", "syscall": "formats-pure", "/formats/blosc": "formats-siblings", "/formats/all": "formats-siblings", "/formats/index": "formats-gulp-alone",
				"/formats/gulpindex": "formats-siblings", "/formats/formattest": "test-kits-in-tests", aws: "formats-pure", cobra: "formats-pure",
			},
			allow: []string{"net/url", "io/fs", "path", "/rangeio", "/formats", "/internal/par", "/internal/bufpool", "/internal/codec/lz4"},
		},
		{
			file:  "formats/gulp/x_test.go",
			allow: []string{"os", "net/http/httptest", "/objstore", "/objstore/simstore", "/formats/formattest", "pgregory.net/rapid"},
		},
		{
			file:  "formats/gulpindex/x.go",
			deny:  map[string]string{"/formats/cframe": "formats-over-gulp", "/formats/zoomindex": "formats-over-gulp", "os": "formats-pure"},
			allow: []string{"/formats/gulp", "/formats/index", "/internal/lru"},
		},
		{
			file:  "formats/zoomcache/x.go",
			deny:  map[string]string{"/formats/cframe": "formats-siblings", "/formats/zoomindex": "formats-siblings", "/formats/index": "formats-zoomcache-alone", "os": "formats-pure"},
			allow: []string{"/formats", "/internal/par"},
		},
		{
			file:  "formats/zoomindex/x.go",
			deny:  map[string]string{"/formats/cframe": "formats-over-zoomcache", "/formats/all": "formats-over-zoomcache", "os": "formats-pure"},
			allow: []string{"/formats/zoomcache", "/formats/index", "github.com/klauspost/compress/flate"},
		},
		{
			file:  "formats/blosc/x.go",
			deny:  map[string]string{"/formats/cframe": "formats-siblings", "net/http": "formats-pure"},
			allow: []string{"/internal/codec", "/internal/filter"},
		},
		{
			file:  "formats/cframe/x.go",
			deny:  map[string]string{"/formats/b2nd": "formats-over-blosc", "/formats/gulp": "formats-over-blosc", "/objstore": "formats-pure"},
			allow: []string{"/formats/blosc", "/formats/frameindex", "/formats/index"},
		},
		{
			file:  "formats/frameindex/x.go",
			deny:  map[string]string{"/formats/cframe": "formats-frame-index", "/formats/zoomindex": "formats-frame-index", "os": "formats-pure"},
			allow: []string{"/formats/blosc", "/formats/index", "/internal/lru"},
		},
		{
			file:  "formats/bloscpack/x.go",
			deny:  map[string]string{"/formats/cframe": "formats-over-blosc", "os": "formats-pure"},
			allow: []string{"/formats/blosc", "/internal/lru"},
		},
		{
			file:  "formats/zarr/x.go",
			deny:  map[string]string{"/formats/cframe": "formats-over-blosc", "/formats/b2nd": "formats-over-blosc", "/objstore": "formats-pure"},
			allow: []string{"/formats/blosc", "/formats/nd", "/internal/codec"},
		},
		{
			file:  "formats/b2nd/x.go",
			deny:  map[string]string{"/formats/bloscpack": "formats-over-cframe", "/formats/all": "formats-over-cframe", "/objstore": "formats-pure"},
			allow: []string{"/formats/cframe", "/formats/blosc", "/formats/nd"},
		},
		{
			file:  "formats/nd/x.go",
			deny:  map[string]string{"/formats": "formats-nd-leaf", "/rangeio": "formats-nd-leaf"},
			allow: []string{"errors", "iter"},
		},
		{
			file:  "formats/stats/x.go",
			deny:  map[string]string{"/formats/b2nd": "formats-numbers", "/formats/index": "formats-numbers", "/formats/nd": "formats-numbers", "/rangeio": "formats-numbers", "/formats/predicate": "formats-numbers"},
			allow: []string{"/formats", "/formats/dtype", "/formats/internal/ordered"},
		},
		{
			file:  "formats/predicate/x.go",
			deny:  map[string]string{"/formats/cframe": "formats-numbers", "/formats/index": "formats-numbers"},
			allow: []string{"/formats", "/formats/dtype", "/formats/stats", "/formats/internal/ordered", "math/big"},
		},
		{
			file:  "formats/arraymeta/x.go",
			deny:  map[string]string{"/formats/b2nd": "formats-array-meta", "/formats/cframe": "formats-array-meta", "/rangeio": "formats-array-meta"},
			allow: []string{"/formats", "/formats/dtype", "github.com/vmihailenco/msgpack/v5"},
		},
		{
			file:  "formats/all/x.go",
			deny:  map[string]string{"/objstore": "formats-pure", "os": "formats-pure"},
			allow: []string{"/formats/gulp", "/formats/b2nd", "/formats/zoomcache"},
		},
		{
			file:  "formats/formattest/x.go",
			deny:  map[string]string{"/objstore": "formats-test-kit", "/functions": "formats-test-kit", "net/http": "formats-test-kit"},
			allow: []string{"os", "testing", "/rangeio/rangeiotest", "github.com/google/go-cmp/cmp"},
		},
		{
			file:  "functions/x.go",
			deny:  map[string]string{"/gateway": "functions-below-programs", "/cmd/farread": "functions-below-programs", "": "functions-below-programs", aws: "sdk-in-driver", "/objstore/s3store": "drivers-are-wired-outside", "/localcloud": "localcloud-apart"},
			allow: []string{"/objstore", "/formats/all", "/internal/par", "log/slog", "github.com/aws/aws-lambda-go/events"},
		},
		{
			file:  "functions/pack/x.go",
			deny:  map[string]string{"/gateway": "functions-below-programs", "/objstore/s3store": "drivers-are-wired-outside", cobra: "programs-own-flags"},
			allow: []string{"/functions", "/objstore", "/formats/gulp"},
		},
		{
			file:  "functions/bootstrap/x.go",
			deny:  map[string]string{"/localcloud": "localcloud-apart", "flag": "programs-own-flags"},
			allow: []string{aws, "/objstore/s3store", "/functions/pack", "github.com/aws/aws-lambda-go/lambda"},
		},
		{
			file:  "analyze/x.go",
			deny:  map[string]string{"/objstore": "analyze-over-formats", "/formats/cframe": "analyze-over-formats", "": "analyze-over-formats", "/cmd/farread": "analyze-over-formats", "net/http": "analyze-over-formats", cobra: "analyze-over-formats"},
			allow: []string{"/analyze/internal/cells", "/analyze/internal/groups", "/formats/b2nd", "/formats/gulp", "/formats/predicate", "/formats/zoomindex", "/rangeio", "os", "encoding/json"},
		},
		{
			file:  "analyze/internal/cells/x.go",
			deny:  map[string]string{"/formats/b2nd": "analyze-numbers", "/analyze": "analyze-numbers", "/rangeio": "analyze-numbers", "os": "analyze-numbers"},
			allow: []string{"/analyze/internal/exact", "/formats/dtype", "/formats/nd", "math/big"},
		},
		{
			file:  "gateway/x.go",
			deny:  map[string]string{"/functions": "gateway-is-a-face", aws: "sdk-in-driver", "/cmd/farread": "gateway-is-a-face", "/objstore/s3store": "drivers-are-wired-outside"},
			allow: []string{"", "/objstore", "/formats/all", "/internal/render", "/internal/viewer", "net/http"},
		},
		{
			file:  "internal/viewer/x.go",
			deny:  map[string]string{"/gateway": "gateway-in-programs", "": "internal-below-root", "os": "viewer-is-a-page", "/formats": "viewer-is-a-page", "/internal/human": "viewer-is-a-page"},
			allow: []string{"net/http", "embed", "io/fs"},
		},
		{
			file:  "internal/zarrface/x.go",
			deny:  map[string]string{"net/http": "zarrface-is-pure", "os": "zarrface-is-pure", "/objstore": "zarrface-is-pure", "/rangeio": "zarrface-is-pure", "/formats/all": "zarrface-is-pure", "/internal/codec": "zarrface-is-pure", "": "internal-below-root"},
			allow: []string{"/formats", "/formats/b2nd", "/formats/blosc", "/formats/cframe", "/formats/dtype", "/formats/nd", "github.com/klauspost/compress/zstd", "encoding/json"},
		},
		{
			file:  "internal/par/x.go",
			deny:  map[string]string{"/objstore": "internal-leaves", "/formats": "internal-leaves", "/functions": "internal-leaves", "net/http": "internal-leaves"},
			allow: []string{"sync"},
		},
		{
			file:  "internal/lru/x.go",
			deny:  map[string]string{"/objstore": "internal-leaves", "/formats/b2nd": "internal-leaves", "net/http": "internal-leaves"},
			allow: []string{"iter"},
		},
		{
			file:  "internal/tracetest/x.go",
			deny:  map[string]string{aws: "sdk-in-driver", "/objstore/s3store": "drivers-are-wired-outside"},
			allow: []string{"flag", "testing", "/objstore"},
		},
		{
			file:  "internal/flawedtest/x.go",
			deny:  map[string]string{aws: "sdk-in-driver"},
			allow: []string{"testing", "/objstore", "/objstore/s3store"},
		},
		{
			file:  "internal/teststack/x.go",
			deny:  map[string]string{aws: "stacks-are-leaves", "/objstore": "stacks-are-leaves", "": "internal-below-root"},
			allow: []string{"testing", "flag", "/internal/stack"},
		},
		{
			file:  "internal/picture/x.go",
			deny:  map[string]string{"": "internal-below-root", "/cmd/farread": "internal-below-root"},
			allow: []string{"/formats/zoomcache", "gonum.org/v1/plot"},
		},
		{
			file:  "internal/codec/lz4/x.go",
			deny:  map[string]string{"/formats/blosc": "internal-leaves"},
			allow: []string{"github.com/pierrec/lz4/v4"},
		},
		{
			file:  "x.go",
			deny:  map[string]string{"/functions": "root-wires-readers", "/gateway": "root-wires-readers", aws: "sdk-in-driver", "/localcloud": "localcloud-apart", "flag": "programs-own-flags"},
			allow: []string{"/objstore/s3store", "/objstore/filestore", "/formats/all", "/rangeio"},
		},
		{
			file:  "cmd/farread/x.go",
			deny:  map[string]string{"/localcloud": "localcloud-apart", "github.com/versity/versitygw/embedgw": "localcloud-apart", "testing": "test-kits-in-tests", aws: "sdk-in-driver"},
			allow: []string{"/cmd/farread/internal/quickstart", "/objstore/s3store", "/functions", cobra, "github.com/schollz/progressbar/v3", "os"},
		},
		{
			file:  "cmd/farread/internal/backfill/x.go",
			deny:  map[string]string{cobra: "below-commands", "github.com/spf13/pflag": "below-commands", "flag": "below-commands", "github.com/schollz/progressbar/v3": "progress-is-told", aws: "sdk-in-driver"},
			allow: []string{"/functions", "/objstore", "os"},
		},
		{
			file:  "cmd/farread/internal/deadletters/x.go",
			deny:  map[string]string{cobra: "below-commands"},
			allow: []string{aws, "github.com/aws/smithy-go", "/internal/sdkhttp"},
		},
		{
			file:  "cmd/farread/internal/quickstart/x.go",
			deny:  map[string]string{cobra: "below-commands"},
			allow: []string{"", "github.com/schollz/progressbar/v3"},
		},
		{
			file:  "scripts/tool/x.go",
			deny:  map[string]string{"log": "everywhere", aws: "sdk-in-driver"},
			allow: []string{"flag", "os", "archive/zip"},
		},
		{
			file:  "localcloud/x.go",
			deny:  map[string]string{"github.com/pkg/errors": "everywhere"},
			allow: []string{aws, "github.com/versity/versitygw/embedgw", "/functions", "flag"},
		},
	}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool) // rules that some case expects
	for _, l := range layers() {
		for _, rule := range l.deny {
			seen[rule] = true
		}
	}
	for i, b := range batches(layers()) {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			checkLayers(t, b)
		})
	}
	for _, rule := range rules(t) {
		if !seen[rule] {
			t.Errorf("rule %s has no case that it must catch", rule)
		}
	}
	if len(rules(t)) < 15 {
		t.Errorf("only the rules %v were found in .golangci.yml", rules(t))
	}
}

// A batch are layers that one module may have: none imports another in a circle.
type batch struct {
	layers  []layer
	imports map[string][]string // of our packages, by folder
}

// batches puts each layer into the first batch that it fits into.
func batches(all []layer) []*batch {
	var out []*batch
	for _, l := range all {
		i := slices.IndexFunc(out, func(b *batch) bool { return b.fits(l) })
		if i < 0 {
			i = len(out)
			out = append(out, &batch{imports: map[string][]string{}})
		}
		out[i].layers = append(out[i].layers, l)
		dir := l.dir()
		out[i].imports[dir] = append(out[i].imports[dir], l.imports()...)
	}
	return out
}

// dir is the folder of the layer's file, as its imports name folders.
func (l layer) dir() string {
	if d := path.Dir(l.file); d != "." {
		return "/" + d
	}
	return ""
}

// imports are those of the layer's file.
func (l layer) imports() []string { return append(slices.Collect(maps.Keys(l.deny)), l.allow...) }

// fits reports whether nothing that l imports leads back to l.
func (b *batch) fits(l layer) bool {
	dir, seen, next := l.dir(), map[string]bool{}, l.imports()
	for len(next) > 0 {
		p := next[0]
		if next = next[1:]; p == dir {
			return false
		}
		if !seen[p] {
			seen[p] = true
			next = append(next, b.imports[p]...)
		}
	}
	return true
}

// checkLayers lints the files of a batch as one module.
func checkLayers(t *testing.T, b *batch) {
	t.Helper()
	files := make(map[string]string)
	var imports []string
	for _, l := range b.layers {
		files[l.file] = source("x", l.imports())
		for _, p := range l.imports() {
			imports = append(imports, full(p))
		}
	}
	complaints := make(map[string][][]string) // by file
	for _, is := range run(t, write(t, files, imports), "--enable-only=depguard") {
		m := complaint.FindStringSubmatch(is.Text)
		if m == nil {
			t.Fatalf("%s: %s: not about an import", is.FromLinter, is.Text)
		}
		complaints[is.Pos.Filename] = append(complaints[is.Pos.Filename], m[1:])
	}
	for _, l := range b.layers {
		l.check(t, complaints[l.file])
	}
}

// check compares the complaints about the layer's file, each an import and a rule.
func (l layer) check(t *testing.T, complaints [][]string) {
	t.Helper()
	want := make(map[string]bool)
	for p, rule := range l.deny {
		want[full(p)+" "+rule] = true
	}
	got := make(map[string]bool)
	denied := make(map[string]bool)
	for _, m := range complaints {
		denied[m[0]] = true
		if key := m[0] + " " + m[1]; want[key] || !denies(l, m[0]) {
			got[key] = true
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: complaints (-want +got):\n%s", l.file, d)
	}
	for _, p := range l.allow {
		if denied[full(p)] {
			t.Errorf("%s may import %s", l.file, p)
		}
	}
}

// denies reports whether an import, given as a full path, is among l.deny: then
// further rules may complain about it too.
func denies(l layer, imp string) bool {
	for p := range l.deny {
		if full(p) == imp {
			return true
		}
	}
	return false
}

// badCode breaks one rule a line; the comment names the linter and, after a
// colon, a word of its complaint.
const badCode = `// Package x breaks rules.
package x

import (
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

type holder struct {
	ctx context.Context // containedctx
}

func init() { // gochecknoinits
	fmt.Println(holder{}.ctx) // forbidigo:fmt.Print
}

func Exported() error { // revive:exported
	time.Sleep(time.Second)       // forbidigo:time.Sleep
	_ = os.Getenv("HOME")         // forbidigo:os.Getenv
	resp, err := http.Get("http://localhost") // forbidigo:http.Get noctx bodyclose
	if err == io.EOF { // errorlint
		return fmt.Errorf("no: %v", errors.New("x")) // errorlint
	}
	os.Remove("x")  // errcheck
	_ = resp.Status //nolint // nolintlint
	_ = md5.New() // gosec
	os.Exit(1)      // forbidigo:os.Exit
	return nil
}
`

// TestCode: the linters other than depguard are on and see what they should.
func TestCode(t *testing.T) {
	t.Parallel()
	cases := []struct {
		file  string
		quiet []string // rules that this file is free of
	}{
		{"rangeio/x.go", nil},
		{"formats/gulp/x.go", nil},
		{"cmd/farread/x.go", []string{"forbidigo:os.Getenv", "forbidigo:os.Exit"}},
		{"cmd/farread/internal/backfill/x.go", nil},
		{"scripts/tool/x.go", []string{"forbidigo:os.Getenv", "forbidigo:os.Exit"}},
		{"localcloud/x.go", []string{"forbidigo:os.Getenv", "forbidigo:os.Exit"}},
		{"functions/bootstrap/x.go", []string{"forbidigo:os.Getenv", "forbidigo:os.Exit"}},
	}
	files := map[string]string{}
	for _, c := range cases {
		files[c.file] = badCode
	}
	got := make(map[string]map[int][]string) // complaints by file and line
	for _, is := range run(t, write(t, files, nil)) {
		if got[is.Pos.Filename] == nil {
			got[is.Pos.Filename] = map[int][]string{}
		}
		got[is.Pos.Filename][is.Pos.Line] = append(got[is.Pos.Filename][is.Pos.Line], is.FromLinter+":"+is.Text)
	}
	for _, c := range cases {
		for i, line := range strings.Split(badCode, "\n") {
			_, wants, _ := strings.Cut(line, " // ")
			for w := range strings.FieldsSeq(wants) {
				linter, word, _ := strings.Cut(w, ":")
				list := got[c.file][i+1]
				found := slices.ContainsFunc(list, func(s string) bool {
					return strings.HasPrefix(s, linter+":") && strings.Contains(s, word)
				})
				if quiet := slices.Contains(c.quiet, w); found == quiet {
					t.Errorf("%s:%d: %s: complaint %v, want %v: %q\n%s", c.file, i+1, w, found, !quiet, list, line)
				}
			}
		}
	}
}

// complaint takes import and rule from depguard's text.
var complaint = regexp.MustCompile(`import '([^']+)' is not allowed from list '([^']+)'`)

// full is the import path of p.
func full(p string) string {
	if p == "" || p[0] == '/' {
		return module + p
	}
	return p
}

// source is a Go file that imports everything in paths.
func source(name string, paths []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Package %s is a case.\npackage %s\n\nimport (\n", name, name)
	for _, p := range paths {
		fmt.Fprintf(&b, "\t_ %q\n", full(p))
	}
	b.WriteString(")\n")
	return b.String()
}

// write lays out a module with the files, the project's lint settings, and an
// empty package for each import that is not of the standard library.
func write(t *testing.T, files map[string]string, imports []string) string {
	t.Helper()
	dir := t.TempDir()
	config, err := os.ReadFile(filepath.Join(root, ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{".golangci.yml": string(config)}
	mod := "module " + module + "\n\ngo 1.26\n"
	foreign := make(map[string]bool)
	for _, imp := range imports {
		host, _, _ := strings.Cut(imp, "/")
		switch p, ours := strings.CutPrefix(imp, module); {
		case ours:
			all[path.Join(".", p, "stub.go")] = "package x\n"
		case strings.Contains(host, "."):
			// Each foreign package becomes a module of its own in ext/.
			if !foreign[imp] {
				version := "v0.0.0"
				if v := path.Base(imp); len(v) > 1 && v[0] == 'v' && v[1] > '1' && v[1] <= '9' {
					version = v + ".0.0"
				}
				mod += fmt.Sprintf("require %s %s\nreplace %s => ./ext/%s\n", imp, version, imp, imp)
			}
			foreign[imp] = true
			all["ext/"+imp+"/go.mod"] = "module " + imp + "\n\ngo 1.26\n"
			all["ext/"+imp+"/stub.go"] = "package x\n"
		}
	}
	all["go.mod"] = mod
	maps.Copy(all, files)
	for name, text := range all {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// An issue is what golangci-lint prints as JSON.
type issue struct {
	FromLinter, Text string
	Pos              struct {
		Filename string
		Line     int
	}
}

// linter is the path of the pinned linter; the Go tool builds it when needed.
var linter = sync.OnceValues(func() (string, error) {
	cmd := exec.Command("go", "tool", "-modfile=go.tool.mod", "-n", "golangci-lint")
	cmd.Dir = root
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	return strings.TrimSpace(string(out)), err
})

// run lints dir.
func run(t *testing.T, dir string, args ...string) []issue {
	t.Helper()
	bin, err := linter()
	if err != nil {
		t.Fatalf("the linter of go.tool.mod: %v", err)
	}
	args = append([]string{"run", "--allow-parallel-runners", "--show-stats=false", "--uniq-by-line=false", "--output.json.path=stdout"}, args...)
	cmd := exec.CommandContext(t.Context(), bin, append(args, "./...")...)
	cmd.Dir = dir
	// No network, and no checksums: every module is replaced by a folder.
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOPROXY=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: there are issues
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	var report struct{ Issues []issue }
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	for _, is := range report.Issues {
		if is.FromLinter == "typecheck" {
			t.Fatalf("the case does not compile: %s:%d: %s", is.Pos.Filename, is.Pos.Line, is.Text)
		}
	}
	return report.Issues
}

// rules lists the depguard rules of .golangci.yml.
func rules(t *testing.T) []string {
	t.Helper()
	config, err := os.ReadFile(filepath.Join(root, ".golangci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(config), "\n    depguard:\n")
	section, _, _ := strings.Cut(after, "\n    errcheck:\n")
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^        ([a-z-]+):$`).FindAllStringSubmatch(section, -1) {
		names = append(names, m[1])
	}
	return names
}
