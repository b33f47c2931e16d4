package docs

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"image"
	"image/color"
	"image/jpeg"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/e2e/scenario"
	"github.com/farread/farread/internal/pages"
	"github.com/farread/farread/internal/teststack"
)

// A snippet is a block of Go in a page, as a function, or as declarations that those of
// the page use.
type snippet struct {
	where    string
	code     string
	imports  []string
	declares bool
}

const module = "github.com/farread/farread"

// imported are the packages that snippets use by their names alone.
var imported = map[string]string{
	"farread": module, "objstore": module + "/objstore", "rangeio": module + "/rangeio", "formats": module + "/formats",
	"b2nd": module + "/formats/b2nd", "bloscpack": module + "/formats/bloscpack", "blosc": module + "/formats/blosc",
	"cframe": module + "/formats/cframe", "gulp": module + "/formats/gulp", "zoomcache": module + "/formats/zoomcache", "zoomindex": module + "/formats/zoomindex",
	"gateway": module + "/gateway", "analyze": module + "/analyze", "http": "net/http", "sha256": "crypto/sha256",
	"zip": "archive/zip", "bytes": "bytes", "context": "context", "errors": "errors", "fmt": "fmt", "io": "io", "iter": "iter", "maps": "maps", "os": "os",
	"slices": "slices", "slog": "log/slog", "strings": "strings",
}

// wrap makes a function of a snippet: what it declares counts as used, and an error
// that it leaves unchecked is returned.
func wrap(where, text string, n int) (snippet, error) {
	fail := func(err error) (snippet, error) { return snippet{}, fmt.Errorf("%s: %w", where, err) }
	if f, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+text, 0); err == nil {
		s := snippet{where: where, code: text + "\n", declares: true}
		if s.imports, err = imports(f); err != nil {
			return fail(err)
		}
		return s, nil
	}
	file := "package p\nfunc f() error {\n" + text + "\nreturn nil\n}\n"
	f, err := parser.ParseFile(token.NewFileSet(), "", file, 0)
	if err != nil {
		return fail(err)
	}
	body := f.Decls[len(f.Decls)-1].(*ast.FuncDecl).Body.List
	var declared []string
	for _, s := range body {
		if a, ok := s.(*ast.AssignStmt); ok && a.Tok == token.DEFINE {
			for _, x := range a.Lhs {
				if id := x.(*ast.Ident); id.Name != "_" && !slices.Contains(declared, id.Name) {
					declared = append(declared, id.Name)
				}
			}
		}
	}
	s := snippet{where: where}
	if s.imports, err = imports(f); err != nil {
		return fail(err)
	}
	last := "return nil"
	if slices.Contains(declared, "err") {
		last = "return err"
	}
	s.code = fmt.Sprintf("func snippet%d(ctx context.Context) error {\n%s\n_ = []any{%s}\n%s\n}\n", n, text, strings.Join(declared, ", "), last)
	return s, nil
}

// imports are the paths of the packages that a file uses.
func imports(f *ast.File) (out []string, err error) {
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := sel.X.(*ast.Ident); ok && id.Obj == nil {
				used[id.Name] = true
			}
		}
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if name == "ctx" {
			continue
		}
		path := imported[name]
		if path == "" {
			return nil, fmt.Errorf("which package is %s?", name)
		}
		out = append(out, path)
	}
	return out, nil
}

// program is the program of all snippets.
func program(list []snippet) string {
	imports := []string{"context", "fmt", "os"}
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	for _, s := range list {
		imports = append(imports, s.imports...)
	}
	slices.Sort(imports)
	for _, path := range slices.Compact(imports) {
		fmt.Fprintf(&b, "\t%q\n", path)
	}
	b.WriteString(")\n\nfunc main() {\n\tok := true\n")
	for i, s := range list {
		if s.declares {
			continue
		}
		fmt.Fprintf(&b, "\tif err := snippet%d(context.Background()); err != nil {\n\t\tok = false\n\t\tfmt.Printf(\"%s: %%v\\n\", err)\n\t}\n", i, s.where)
	}
	b.WriteString("\tif !ok {\n\t\tos.Exit(1)\n\t}\n}\n")
	for _, s := range list {
		b.WriteString("\n" + s.code)
	}
	return b.String()
}

// compile writes the program as a module that takes farread from the checkout, and
// builds it.
func compile(t *testing.T, root, code string) (binary string) {
	t.Helper()
	dir := t.TempDir()
	mod := read(t, filepath.Join(root, "go.mod"))
	mod = regexp.MustCompile(`(?m)^module .*`).ReplaceAllString(mod, "module example.com/snippets")
	mod += "\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + root + "\n"
	for name, text := range map[string]string{"go.mod": mod, "go.sum": read(t, filepath.Join(root, "go.sum")), "main.go": code} {
		write(t, filepath.Join(dir, name), []byte(text))
	}
	binary = filepath.Join(dir, "snippets")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", binary, ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "GOWORK=off", "GOPROXY=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the snippets do not compile: %v\n%s\n%s", err, out, code)
	}
	return binary
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, name string, p []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, p, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestSnippets: the Go of the pages compiles in a module of somebody else and does
// what it says on objects of the names that it has.
func TestSnippets(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and runs the local cloud")
	}
	root := scenario.Root(t)
	list, err := pages.All(root)
	if err != nil {
		t.Fatal(err)
	}
	var all []snippet
	for _, p := range list {
		for _, b := range p.Blocks {
			if b.Info != "go" || b.NotRun != "" {
				continue
			}
			s, err := wrap(p.Where(&b), strings.Join(b.Lines, "\n"), len(all))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, s)
		}
	}
	if len(all) < 4 {
		t.Fatalf("%d snippets", len(all))
	}
	began := time.Now()
	binary := compile(t, root, program(all))
	t.Logf("%d snippets compiled in %v", len(all), time.Since(began).Round(time.Millisecond))
	stack := teststack.Run(t, teststack.Options{Buckets: []string{"datasets", "bucket"}})
	env := environ(t, stack, os.Getenv("PATH"))
	began = time.Now()
	inputs(t, stack, env)
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("filled and run in %v", time.Since(began).Round(time.Millisecond))
}

// numpy is an array as NumPy saves it.
func numpy(dtype, shape string, items []byte) []byte {
	head := "\x93NUMPY\x01\x00\x76\x00" + "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': (" + shape + "), }"
	return append([]byte(head+strings.Repeat(" ", 127-len(head))+"\n"), items...)
}

// inputs puts there what the snippets read.
func inputs(t *testing.T, stack *teststack.Stack, env []string) {
	t.Helper()
	dir, farread := t.TempDir(), scenario.Build(t).CLI
	picture := image.NewGray(image.Rect(0, 0, 16, 16))
	for i := range 8 {
		var b bytes.Buffer
		picture.SetGray(i, i, color.Gray{Y: 200})
		if err := jpeg.Encode(&b, picture, nil); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "sunrise", fmt.Sprintf("%02d.jpg", i)), b.Bytes())
	}
	write(t, filepath.Join(dir, "storm.npy"), numpy("<f4", "48, 240, 320", make([]byte, 4*48*240*320)))
	write(t, filepath.Join(dir, "day1.jsonl"), []byte(strings.Repeat("{\"status\":200}\n", 50_000)))
	var z bytes.Buffer
	w := zip.NewWriter(&z)
	if _, err := w.Create("hello.txt"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "archive.zip"), z.Bytes())
	const days, lats = 365, 10
	var times []byte
	for i := range days {
		times = binary.LittleEndian.AppendUint64(times, uint64(20089+i)) // 2025-01-01
	}
	write(t, filepath.Join(dir, "time.npy"), numpy("<M8[D]", "365,", times))
	write(t, filepath.Join(dir, "lat.npy"), numpy("|u1", "10,", []byte{90, 80, 70, 60, 50, 40, 30, 20, 10, 0}))
	write(t, filepath.Join(dir, "t2m.npy"), numpy("<f4", "365, 10", make([]byte, 4*days*lats)))
	write(t, filepath.Join(dir, "wave.npy"), numpy("<i2", "100000,", make([]byte, 2*100_000)))
	for _, args := range [][]string{
		{"sunrise/", "s3://datasets/clips/sunrise.tar.gulp"}, {"storm.npy", "s3://datasets/arrays/storm.npy.b2nd"}, {"day1.jsonl", "s3://datasets/day1.blp"},
		{"sunrise/", "s3://datasets/train/", "--format", "gulp"}, {"wave.npy", "s3://datasets/day.zoom", "--rate", "100"},
		{"t2m.npy", "s3://datasets/t2m.b2nd", "--dims", "time,lat", "--coord", "time=time.npy", "--coord", "lat=lat.npy"},
	} {
		cmd := exec.CommandContext(t.Context(), farread, append([]string{"pack", "--quiet"}, args...)...)
		cmd.Dir, cmd.Env = dir, env
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	upload(t, stack, filepath.Join(dir, "archive.zip"), "s3://bucket/archive.zip")
}
