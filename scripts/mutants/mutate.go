package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// A mutant is one change.
type mutant struct {
	id    int
	file  string // below the module
	line  int
	where string // function
	text  string // the changed text
	to    string // into what
	nth   int    // number among mutants that differ only in their place
	bad   bool   // does not compile
	edits []edit
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.file, m.line, m.text, m.to)
}

// key names a mutant in a way that outlives edits elsewhere in the file.
func (m *mutant) key() string {
	return fmt.Sprintf("%s %s #%d: %s: %s", m.file, m.where, m.nth, m.text, m.to)
}

// An edit puts text at an offset, in place of del bytes. Those of one place go in
// order: what closes first, what opens later inside what opened earlier.
type edit struct {
	off, del int
	text     string
	closing  bool
}

type source struct {
	path, rel string
	src       []byte
	mutants   []*mutant
}

type program struct {
	name, dir, path string
	files           []*source
	fset            *token.FileSet
	info            *types.Info
	count           int
	told            map[ast.Node]bool // bodies of "if err != nil", and what they return
}

func (p *program) live() []*mutant {
	var ms []*mutant
	for _, f := range p.files {
		for _, m := range f.mutants {
			if !m.bad {
				ms = append(ms, m)
			}
		}
	}
	return ms
}

type listed struct {
	Name, Dir, ImportPath, Export string
	GoFiles, CgoFiles             []string
	Module                        *struct{ Dir string }
}

func list(ctx context.Context, args ...string) ([]listed, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-json=Name,Dir,ImportPath,Export,GoFiles,CgoFiles,Module"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var ls []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return ls, nil
		} else if err != nil {
			return nil, err
		}
		ls = append(ls, l)
	}
}

// load reads a package with its types and finds its mutants.
func load(ctx context.Context, pkg string, files *regexp.Regexp) (*program, error) {
	targets, err := list(ctx, pkg)
	if err != nil {
		return nil, err
	}
	if len(targets) != 1 || targets[0].Module == nil {
		return nil, fmt.Errorf("%s: not one package of this module", pkg)
	}
	t := targets[0]
	deps, err := list(ctx, "-export", "-deps", pkg, "cmp", "os", "strconv", "sync") // also the packages that the helper needs
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	for _, d := range deps {
		exports[d.ImportPath] = d.Export
	}
	p := &program{name: t.Name, dir: t.Dir, path: t.ImportPath, fset: token.NewFileSet(), told: map[ast.Node]bool{}}
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	var parsed []*ast.File
	for _, name := range t.GoFiles {
		f := &source{path: filepath.Join(t.Dir, name)}
		f.rel, _ = filepath.Rel(t.Module.Dir, f.path)
		if f.src, err = os.ReadFile(f.path); err != nil {
			return nil, err
		}
		a, err := parser.ParseFile(p.fset, f.path, f.src, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, a)
		p.files = append(p.files, f)
	}
	conf := types.Config{Importer: importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	if _, err := conf.Check(t.ImportPath, p.fset, parsed, p.info); err != nil {
		return nil, err
	}
	for i, f := range p.files {
		if files.MatchString(filepath.Base(f.path)) {
			p.mutate(f, parsed[i])
		}
	}
	return p, p.compile(exports)
}

// mutate finds the mutants of a file.
func (p *program) mutate(f *source, a *ast.File) {
	seen := map[string]int{}
	for _, d := range a.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Body == nil {
			continue
		}
		v := &visitor{p: p, f: f, where: name(fn), seen: seen}
		v.results = fn.Type.Results
		ast.Walk(v, fn.Body)
	}
}

func name(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return fn.Name.Name
	}
	return strings.TrimLeft(types.ExprString(fn.Recv.List[0].Type), "*") + "." + fn.Name.Name
}

type visitor struct {
	p       *program
	f       *source
	where   string
	seen    map[string]int
	results *ast.FieldList
}

func (v *visitor) offset(pos token.Pos) int { return v.p.fset.Position(pos).Offset }

func (v *visitor) text(n ast.Node) string {
	s := strings.Join(strings.Fields(string(v.f.src[v.offset(n.Pos()):v.offset(n.End())])), " ")
	if r := []rune(s); len(r) > 90 {
		s = string(r[:87]) + "..."
	}
	return s
}

// add puts open before n and end after it; each %d is the mutant's number.
func (v *visitor) add(n ast.Node, to, open, end string, more ...edit) {
	v.p.count++
	m := &mutant{id: v.p.count, file: v.f.rel, line: v.p.fset.Position(n.Pos()).Line, where: v.where, text: v.text(n), to: to}
	k := m.key()
	m.nth = v.seen[k]
	v.seen[k]++
	id := strconv.Itoa(m.id)
	m.edits = append([]edit{
		{off: v.offset(n.Pos()), text: strings.ReplaceAll(open, "%d", id)},
		{off: v.offset(n.End()), text: strings.ReplaceAll(end, "%d", id), closing: true},
	}, more...)
	v.f.mutants = append(v.f.mutants, m)
}

func (v *visitor) constant(e ast.Expr) bool { return v.p.info.Types[e].Value != nil }

func (v *visitor) basic(e ast.Expr) types.BasicInfo {
	t := v.p.info.Types[e].Type
	if t == nil {
		return 0
	}
	if b, ok := t.Underlying().(*types.Basic); ok {
		return b.Info()
	}
	return 0
}

func (v *visitor) Visit(n ast.Node) ast.Visitor {
	switch n := n.(type) {
	case *ast.FuncLit:
		w := *v
		w.results = n.Type.Results
		ast.Walk(&w, n.Body)
		return nil
	case *ast.BlockStmt:
		v.stmts(n.List)
		for _, s := range n.List {
			if r, ok := s.(*ast.ReturnStmt); ok && v.p.told[n] {
				v.p.told[r] = true
			}
		}
	case *ast.CaseClause:
		v.stmts(n.Body)
	case *ast.CommClause:
		v.stmts(n.Body)
	case *ast.IfStmt:
		v.condition(n.Cond, true)
		if c, ok := n.Cond.(*ast.BinaryExpr); ok && v.text(c) == "err != nil" {
			v.p.told[n.Body] = true
		}
	case *ast.ForStmt:
		if n.Cond != nil {
			v.condition(n.Cond, false)
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, c := range n.Body.List {
				for _, e := range c.(*ast.CaseClause).List {
					v.condition(e, true)
				}
			}
		}
	case *ast.BinaryExpr:
		v.binary(n)
	case *ast.ReturnStmt:
		v.returned(n)
	}
	return v
}

// condition makes a condition always false, and always true where that can end.
func (v *visitor) condition(e ast.Expr, both bool) {
	if v.constant(e) {
		return
	}
	v.add(e, "never", "(!mutantOn(%d) && (", "))")
	if both {
		v.add(e, "always", "(mutantOn(%d) || (", "))")
	}
}

var boundary = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

func (v *visitor) binary(n *ast.BinaryExpr) {
	if v.constant(n) {
		return
	}
	switch n.Op {
	case token.LAND, token.LOR:
		for _, e := range []ast.Expr{n.X, n.Y} {
			if b, ok := e.(*ast.BinaryExpr); ok && b.Op == n.Op || v.constant(e) {
				continue // its operands are visited instead
			}
			if n.Op == token.LAND {
				v.add(e, "true", "(mutantOn(%d) || (", "))")
			} else {
				v.add(e, "false", "(!mutantOn(%d) && (", "))")
			}
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		v.operator(n, boundary[n.Op], map[token.Token]string{token.LSS: "LSS", token.LEQ: "LEQ", token.GTR: "GTR", token.GEQ: "GEQ"}[n.Op])
	case token.ADD, token.SUB, token.MUL, token.QUO, token.REM:
		if v.basic(n)&types.IsNumeric == 0 || v.basic(n)&types.IsComplex != 0 {
			return
		}
		v.operator(n, "left side alone", "Left"+map[token.Token]string{token.ADD: "ADD", token.SUB: "SUB", token.MUL: "MUL", token.QUO: "QUO", token.REM: "REM"}[n.Op])
		if n.Op == token.ADD || n.Op == token.SUB {
			v.operator(n, map[token.Token]string{token.ADD: "-", token.SUB: "+"}[n.Op], map[token.Token]string{token.ADD: "ADD", token.SUB: "SUB"}[n.Op])
		}
	default: // nothing else is changed
	}
}

// operator makes a call of an operation. Only one can be in the binary of a pair of
// operands: the second mutant of the same operation shares the first one's call.
func (v *visitor) operator(n *ast.BinaryExpr, to, call string) {
	v.add(n, to, "mutant"+call+"(%d, ", ")", edit{off: v.offset(n.OpPos), del: len(n.Op.String()), text: ","})
	ms := v.f.mutants
	if len(ms) < 2 || call != "ADD" && call != "SUB" {
		return
	}
	m, before := ms[len(ms)-1], ms[len(ms)-2]
	before.edits[0].text = fmt.Sprintf("mutant%s2(%d, %d, ", call, before.id, m.id)
	m.edits = nil
}

// returned makes mutants of a return: errors become nil, and booleans are
// negated.
func (v *visitor) returned(n *ast.ReturnStmt) {
	if len(n.Results) == 0 {
		return
	}
	for _, e := range n.Results {
		t := v.p.info.Types[e]
		last := n.Results[len(n.Results)-1]
		if v.basic(e)&types.IsBoolean != 0 && last != e && v.text(last) != "nil" && isError(v.p.info.Types[last].Type) {
			continue // the result is not used
		}
		if t.Type == nil || t.Value != nil {
			if v.basic(e)&types.IsBoolean != 0 && v.boolean(n, e) {
				v.add(e, "the other", "(", " != mutantOn(%d))")
			}
			continue
		}
		switch {
		case isError(t.Type) && v.p.told[n]: // "never" of its condition says the same
		case isError(t.Type):
			v.add(e, "nil", "mutantErr(%d, ", ")")
		case v.basic(e)&types.IsBoolean != 0 && v.boolean(n, e):
			v.add(e, "true", "(mutantOn(%d) || (", "))")
			v.add(e, "false", "(!mutantOn(%d) && (", "))")
		}
	}
}

func isError(t types.Type) bool {
	return t != nil && types.Identical(t, types.Universe.Lookup("error").Type())
}

// boolean reports whether e is returned as a plain bool.
func (v *visitor) boolean(n *ast.ReturnStmt, e ast.Expr) bool {
	i := 0
	for _, f := range v.results.List {
		for range max(1, len(f.Names)) {
			if n.Results[min(i, len(n.Results)-1)] == e {
				id, ok := f.Type.(*ast.Ident)
				return ok && id.Name == "bool"
			}
			i++
		}
	}
	return false
}

// stmts leaves out one statement after the other.
func (v *visitor) stmts(ss []ast.Stmt) {
	for _, s := range ss {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if c, ok := s.X.(*ast.CallExpr); ok {
				if id, ok := c.Fun.(*ast.Ident); ok && id.Name == "panic" {
					continue
				}
			}
		case *ast.AssignStmt:
			if id, ok := s.Lhs[0].(*ast.Ident); s.Tok == token.DEFINE || ok && id.Name == "_" {
				continue
			}
		case *ast.IncDecStmt, *ast.SendStmt, *ast.DeferStmt, *ast.GoStmt:
		case *ast.BranchStmt:
			if s.Tok == token.FALLTHROUGH || s.Tok == token.GOTO {
				continue
			}
		default:
			continue
		}
		v.add(s, "left out", "if !mutantOn(%d) {", "}")
	}
}

// mutated is the file with all its mutants that compile.
func (f *source) mutated() []byte {
	var es []edit
	for _, m := range f.mutants {
		if !m.bad {
			// What is added first to a node is its outermost change.
			es = append(es, m.edits...)
		}
	}
	// At one place all that closes comes before all that opens. What opens keeps
	// the order in which it was found, from the outside in; what closes has the
	// reverse. Offsets of ends are equal only for nodes inside each other.
	sort.SliceStable(es, func(i, j int) bool {
		a, b := es[i], es[j]
		if a.off != b.off {
			return a.off < b.off
		}
		return a.closing && !b.closing
	})
	var out strings.Builder
	at := 0
	for i := 0; i < len(es); {
		j := i
		for j < len(es) && es[j].off == es[i].off && es[j].closing == es[i].closing {
			j++
		}
		group := slices.Clone(es[i:j])
		if es[i].closing {
			slices.Reverse(group)
		}
		out.Write(f.src[at:es[i].off])
		at = es[i].off
		for _, e := range group {
			out.WriteString(e.text)
			at = max(at, e.off+e.del)
		}
		i = j
	}
	out.Write(f.src[at:])
	return []byte(out.String())
}
