package pages

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/farread/farread/e2e/scenario"
)

// all are the pages of the checkout.
func all(t *testing.T) (root string, list []Page) {
	t.Helper()
	root = scenario.Root(t)
	list, err := All(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 15 {
		t.Fatalf("%d pages", len(list))
	}
	return root, list
}

// TestClassified: of every block it is known how a test uses it, or why none does.
func TestClassified(t *testing.T) {
	_, list := all(t)
	for _, p := range list {
		for _, b := range p.Blocks {
			if err := b.Classified(); err != nil {
				t.Errorf("%s: %v", p.Where(&b), err)
			}
			if text := strings.Join(b.Lines, "\n"); b.Info == "json" && !json.Valid([]byte(text)) {
				t.Errorf("%s: no JSON", p.Where(&b))
			}
		}
	}
}

// TestSpans: a piece of code ends in the line in which it begins. Other tests would
// not see the names, paths and commands of a longer one.
func TestSpans(t *testing.T) {
	_, list := all(t)
	for _, p := range list {
		for _, l := range p.Lines {
			if strings.Count(l.Text, "`")%2 != 0 {
				t.Errorf("%s:%d: a piece of code that begins or ends in another line", p.Name, l.Number)
			}
		}
	}
}

// TestLinks: every link of a page leads to a file of the checkout, and to a heading in
// it if the link names one.
func TestLinks(t *testing.T) {
	root, list := all(t)
	anchors := map[string][]string{}
	for _, p := range list {
		anchors[p.Name] = p.Anchors()
	}
	seen := 0
	for _, p := range list {
		for _, l := range p.Lines {
			for _, to := range l.Links() {
				if strings.HasPrefix(to, "https://") {
					continue
				}
				seen++
				name, anchor, has := strings.Cut(to, "#")
				target := p.Name
				if name != "" {
					target = filepath.ToSlash(filepath.Join(filepath.Dir(p.Name), name))
				}
				if _, err := os.Stat(filepath.Join(root, target)); err != nil {
					t.Errorf("%s:%d: %s leads nowhere", p.Name, l.Number, to)
				}
				if has && !slices.Contains(anchors[target], anchor) {
					t.Errorf("%s:%d: %s has no heading %q: %q", p.Name, l.Number, target, anchor, anchors[target])
				}
			}
		}
	}
	if seen < 30 {
		t.Errorf("%d links", seen)
	}
}

// history says that a page tells of the past, so that its names may be gone.
func history(p *Page) bool { return p.Name == "CHANGELOG.md" }

var target = regexp.MustCompile(`\bmake((?: -[a-z]+)*)((?: [a-z0-9][a-z0-9-]*)+)`)

// TestMakeTargets: every target of make that a page names exists.
func TestMakeTargets(t *testing.T) {
	root, list := all(t)
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	is := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindAllStringSubmatch(string(text), -1) {
		is[m[1]] = true
	}
	for _, p := range list {
		for _, c := range code(&p) {
			if history(&p) || c.block != nil && c.block.IsText != "" {
				continue
			}
			text, _, _ := strings.Cut(c.text, "#")
			if !strings.HasPrefix(text, "make ") && !strings.Contains(text, " make ") {
				continue
			}
			for _, m := range target.FindAllStringSubmatch(text, -1) {
				for _, name := range strings.Fields(m[2]) {
					if !is[name] {
						t.Errorf("%s:%d: make has no target %q", p.Name, c.line, name)
					}
				}
			}
		}
	}
}

// A piece is code in a page: a span, or a line of a block.
type piece struct {
	text  string
	line  int
	block *Block // nil: a span
}

func code(p *Page) []piece {
	var out []piece
	for _, l := range p.Lines {
		for _, s := range l.Spans() {
			out = append(out, piece{s, l.Number, nil})
		}
	}
	for i := range p.Blocks {
		b := &p.Blocks[i]
		for n, line := range b.Lines {
			out = append(out, piece{line, b.Line + 1 + n, b})
		}
	}
	return out
}

// A pkg is what a package of the checkout exports: names, and members behind a dot.
type pkg map[string]bool

// exported parses the packages of the main module. Packages of one name count as one.
func exported(t *testing.T, root string) map[string]pkg {
	t.Helper()
	out := map[string]pkg{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "test/") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if f.Name.Name == "main" {
			return nil
		}
		if out[f.Name.Name] == nil {
			out[f.Name.Name] = pkg{}
		}
		out[f.Name.Name].add(f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (p pkg) add(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			p[d.Name.Name] = true // methods, too: a page may say formats.Method for brevity
			if d.Recv != nil {
				p[receiver(d.Recv.List[0].Type)+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					p[s.Name.Name] = true
					p.members(s)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						p[n.Name] = true
					}
				}
			}
		}
	}
}

// members adds the fields and methods that a type lists.
func (p pkg) members(s *ast.TypeSpec) {
	var list *ast.FieldList
	switch x := s.Type.(type) {
	case *ast.StructType:
		list = x.Fields
	case *ast.InterfaceType:
		list = x.Methods
	default:
		return
	}
	for _, f := range list.List {
		for _, n := range f.Names {
			p[s.Name.Name+"."+n.Name] = true
		}
	}
}

func receiver(e ast.Expr) string {
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

var member = regexp.MustCompile(`^[A-Z]\w+\.[A-Z]\w+`)

var goName = regexp.MustCompile(`^([a-z][a-z0-9]*)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)

// TestGoNames: if a page has a name of one of our packages as code, the package has
// that name.
//
// A member may stand behind its type alone: `Options.NoVerify`.
func TestGoNames(t *testing.T) {
	root, list := all(t)
	names := exported(t, root)
	pkgs := slices.Collect(maps.Values(names))
	seen := 0
	for _, p := range list {
		for _, c := range code(&p) {
			if c.block != nil || history(&p) {
				continue
			}
			if member.MatchString(c.text) {
				seen++
				if !slices.ContainsFunc(pkgs, func(p pkg) bool { return p[member.FindString(c.text)] }) {
					t.Errorf("%s:%d: no package has %s", p.Name, c.line, c.text)
				}
				continue
			}
			m := goName.FindStringSubmatch(c.text)
			if m == nil || names[m[1]] == nil {
				continue
			}
			seen++
			name := m[2]
			if m[3] != "" {
				name += "." + m[3]
			}
			if !names[m[1]][name] && !names[m[1]][m[3]] {
				t.Errorf("%s:%d: package %s has no %s", p.Name, c.line, m[1], name)
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d names", seen)
	}
}

var filePath = regexp.MustCompile(`^\.?[a-z][\w.-]*(?:/[\w.-]+)+/?$`)

// TestPaths: text that looks like a path below a folder of the checkout is one.
func TestPaths(t *testing.T) {
	root, list := all(t)
	seen := 0
	for _, p := range list {
		for _, c := range code(&p) {
			if c.block != nil || history(&p) || !filePath.MatchString(c.text) || strings.IndexFunc(c.text, unicode.IsUpper) >= 0 {
				continue
			}
			first, _, _ := strings.Cut(c.text, "/")
			base := ""
			for _, dir := range []string{"", filepath.Dir(p.Name)} {
				if info, err := os.Stat(filepath.Join(root, dir, first)); err == nil && info.IsDir() && !slices.Contains([]string{"bin", "dist", "testdata"}, first) {
					base = filepath.Join(root, dir)
				}
			}
			if base == "" {
				continue
			}
			seen++
			_, err := os.Stat(filepath.Join(root, c.text))
			_, beside := os.Stat(filepath.Join(root, filepath.Dir(p.Name), c.text))
			if err != nil && beside != nil {
				t.Errorf("%s:%d: there is no %s", p.Name, c.line, c.text)
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d paths", seen)
	}
}

func TestParse(t *testing.T) {
	const text = "# A `b` C!\n<!-- not run: no account -->\n```sh\nmake x\n\n# no\n```\n## A b c\n## A b c\n```\n?\n```\n[x](y.md#z) `[n](o)` <img alt=\"a\" src=\"z.png\" width=\"3\">\n<!-- masked: times -->\n```console\n$ a\nb\n$ c\n```\n"
	p, err := Parse("x.md", text)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Anchors(); !slices.Equal(got, []string{"a-b-c", "a-b-c-1", "a-b-c-2"}) {
		t.Errorf("%q", got)
	}
	if len(p.Blocks) != 3 || p.Blocks[0].NotRun != "no account" || p.Blocks[2].Masked != "times" ||
		!slices.Equal(p.Blocks[0].Commands(), []string{"make x"}) || !slices.Equal(p.Blocks[2].Commands(), []string{"a", "c"}) {
		t.Errorf("%+v", p.Blocks)
	}
	for i, want := range []bool{true, false, true} {
		if err := p.Blocks[i].Classified(); (err == nil) != want {
			t.Errorf("block %d: %v", i, err)
		}
	}
	var links []string
	for _, l := range p.Lines {
		links = append(links, l.Links()...)
	}
	if !slices.Equal(links, []string{"y.md#z", "z.png"}) {
		t.Errorf("%q", links)
	}
	if _, err := Parse("x.md", "```\n"); err == nil {
		t.Error("no end")
	}
}

func TestCalls(t *testing.T) {
	for line, want := range map[string][][]string{
		"":                        nil,
		"# nothing":               nil,
		"make a b # c":            {{"make", "a", "b"}},
		"f '0:10, 5' \"a b\"#c -": {{"f", "0:10, 5", "a b#c", "-"}},
		"echo '{\"a b\": 1}' | f -; g && h > out.txt": {{"echo", `{"a b": 1}`}, {"f", "-"}, {"g"}, {"h"}},
		"source <(f completion bash)":                 {{"source"}, {"f", "completion", "bash"}},
		"f 'open":                                     {{"f", "open"}},
	} {
		if got := Calls(line); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestColumn: a column is found by the beginning of its head, and ends with its table.
func TestColumn(t *testing.T) {
	t.Parallel()
	p, err := Parse("x.md", "| a | b |\n| - | - |\n| one | 1 |\n\n| check | aa 1.2 | bb 3 |\n| --- | --- | --- |\n| two | ok | **bad** |\n| three | – | ok |\n\n| two | x | y |\n")
	if err != nil {
		t.Fatal(err)
	}
	head, cells := p.Column("bb")
	if want := map[string]string{"two": "**bad**", "three": "ok"}; head != "bb 3" || !maps.Equal(cells, want) {
		t.Errorf("%q %q", head, cells)
	}
	if head, cells := p.Column("cc"); head != "" || cells != nil {
		t.Errorf("%q %q", head, cells)
	}
}

// TestDependencies: the table of dependencies in docs/design.md has every module that
// the library and its programs require themselves.
func TestDependencies(t *testing.T) {
	root, _ := all(t)
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	design, err := os.ReadFile(filepath.Join(root, "docs", "design.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(design), "\n## Dependencies\n")
	if !ok {
		t.Fatal("docs/design.md has no table of dependencies")
	}
	seen := 0
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+$`).FindAllStringSubmatch(string(mod), -1) {
		seen++
		path := regexp.MustCompile(`/v\d+$`).ReplaceAllString(m[1], "")
		if last := path[strings.LastIndex(path, "/")+1:]; !regexp.MustCompile(`\b` + regexp.QuoteMeta(last) + `\b`).MatchString(table) {
			t.Errorf("docs/design.md: no row has %s", path)
		}
	}
	if seen < 15 {
		t.Errorf("%d modules", seen)
	}
}
