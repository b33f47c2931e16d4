package main

import (
	"bytes"
	"cmp"
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
	"strconv"
	"strings"
	"time"
)

// helper is what mutants call. It is added to the package that is mutated.
const helper = `package %s

import (
	"cmp"
	"os"
	"strconv"
	"sync"
)

type mutantNumber interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr | ~float32 | ~float64
}

var (
	mutantID, _  = strconv.Atoi(os.Getenv("MUTANT"))
	mutantReach  = os.Getenv("MUTANTS_REACHED")
	mutantsSeen  sync.Map
)

func mutantOn(id int) bool {
	if mutantReach != "" {
		mutantHit(id)
	}
	return id == mutantID
}

func mutantHit(id int) {
	if _, seen := mutantsSeen.LoadOrStore(id, true); seen {
		return
	}
	f, err := os.OpenFile(mutantReach, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(strconv.Itoa(id) + "\n"); err != nil {
		panic(err)
	}
}

func mutantErr(id int, err error) error {
	if mutantOn(id) {
		return nil
	}
	return err
}

func mutantLSS[T cmp.Ordered](id int, a, b T) bool { return a < b || mutantOn(id) && a == b }
func mutantGTR[T cmp.Ordered](id int, a, b T) bool { return a > b || mutantOn(id) && a == b }
func mutantLEQ[T cmp.Ordered](id int, a, b T) bool { return a < b || !mutantOn(id) && a == b }
func mutantGEQ[T cmp.Ordered](id int, a, b T) bool { return a > b || !mutantOn(id) && a == b }

func mutantADD2[T mutantNumber](id, other int, a, b T) T {
	if mutantOn(id) {
		return a
	}
	if mutantOn(other) {
		return a - b
	}
	return a + b
}

func mutantSUB2[T mutantNumber](id, other int, a, b T) T {
	if mutantOn(id) {
		return a
	}
	if mutantOn(other) {
		return a + b
	}
	return a - b
}

func mutantLeftMUL[T mutantNumber](id int, a, b T) T {
	if mutantOn(id) {
		return a
	}
	return a * b
}

func mutantLeftQUO[T mutantNumber](id int, a, b T) T {
	if mutantOn(id) {
		return a
	}
	return a / b
}

func mutantLeftREM[T ~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr](id int, a, b T) T {
	if mutantOn(id) {
		return a
	}
	return a %% b
}
`

// compile leaves out the mutants that break the types of the package.
func (p *program) compile(exports map[string]string) error {
	help := fmt.Sprintf(helper, p.name)
	for range 10 {
		fset := token.NewFileSet()
		var parsed []*ast.File
		for _, f := range p.files {
			a, err := parser.ParseFile(fset, f.path, f.mutated(), parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			parsed = append(parsed, a)
		}
		a, err := parser.ParseFile(fset, "helper.go", help, 0)
		if err != nil {
			return err
		}
		var errs []types.Error
		conf := types.Config{
			Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }),
			Error: func(err error) {
				var e types.Error
				if errors.As(err, &e) && !e.Soft {
					errs = append(errs, e)
				}
			},
		}
		_, _ = conf.Check(p.path, fset, append(parsed, a), nil) // told by Error
		if len(errs) == 0 {
			return nil
		}
		dropped := 0
		for _, e := range errs {
			at := fset.Position(e.Pos)
			for _, f := range p.files {
				for _, m := range f.mutants {
					if f.path == at.Filename && m.line == at.Line && !m.bad {
						m.bad = true
						dropped++
					}
				}
			}
			fmt.Fprintf(os.Stderr, "%s: %s: no mutants in this line\n", at, e.Msg)
		}
		if dropped == 0 {
			return errs[0]
		}
	}
	return errors.New("mutants do not compile")
}

// A binary holds the tests of one package, built with all mutants.
type binary struct {
	pkg, dir, path string
	flags          []string
}

func build(ctx context.Context, p *program, tests []string, dir string) ([]binary, error) {
	overlay := map[string]string{}
	put := func(name string, at string, b []byte) error {
		file := filepath.Join(dir, name)
		overlay[at] = file
		return os.WriteFile(file, b, 0o600)
	}
	for _, f := range p.files {
		if err := put(filepath.Base(f.path), f.path, f.mutated()); err != nil {
			return nil, err
		}
	}
	if err := put("mutants_helper.go", filepath.Join(p.dir, "mutants_helper.go"), fmt.Appendf(nil, helper, p.name)); err != nil {
		return nil, err
	}
	b, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		return nil, err
	}
	pkgs, err := list(ctx, tests...)
	if err != nil {
		return nil, err
	}
	var bins []binary
	for i, t := range pkgs {
		bin := binary{pkg: t.ImportPath, dir: t.Dir, path: filepath.Join(dir, strconv.Itoa(i)+".test")}
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-overlay", file, "-o", bin.path, t.ImportPath)
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s does not build: %w\n%s", t.ImportPath, err, out)
		}
		if _, err := os.Stat(bin.path); err != nil {
			continue // a package may have no tests
		}
		// What fails here is no input to keep.
		if help, _ := exec.CommandContext(ctx, bin.path, "-h").CombinedOutput(); bytes.Contains(help, []byte("rapid.nofailfile")) {
			bin.flags = []string{"-rapid.nofailfile"}
		}
		bins = append(bins, bin)
	}
	return bins, nil
}

// reached is a test and the mutants that it comes by.
type reached struct {
	bin  binary
	test string
	took time.Duration
	ids  map[int]bool
	all  bool // any of them may reach it
}

// run runs tests of the binary and says whether they pass.
func (b binary) run(ctx context.Context, o options, pattern string, limit time.Duration, env ...string) (bool, []byte) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	args := []string{"-c", `ulimit -v 8388608; exec "$0" "$@"`, b.path, "-test.run", pattern, "-test.failfast", "-test.timeout", (limit + time.Second).String()}
	if !o.full {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(ctx, "sh", append(args, b.flags...)...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Env = append(cmd.Env, "TMPDIR="+filepath.Dir(b.path))
	cmd.WaitDelay = 2 * time.Second
	out, err := cmd.CombinedOutput()
	return err == nil, out
}

var testName = regexp.MustCompile(`^(Test|Fuzz|Example)`)

// reach runs each test alone.
func (b binary) reach(ctx context.Context, o options, dir string) ([]reached, error) {
	cmd := exec.CommandContext(ctx, b.path, "-test.list", cmp.Or(o.run, "."))
	cmd.Dir = b.dir
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.pkg, err)
	}
	var rs []reached
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		if !testName.MatchString(name) {
			continue
		}
		file := filepath.Join(dir, "reached")
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		begun := time.Now()
		ok, out := b.run(ctx, o, "^"+name+"$", 10*time.Minute, "MUTANTS_REACHED="+file)
		if !ok {
			// A test that counts allocations, say: it is shown every mutant.
			if ok, _ = b.run(ctx, o, "^"+name+"$", 10*time.Minute); ok {
				rs = append(rs, reached{bin: b, test: name, took: time.Since(begun), all: true})
				continue
			}
			fmt.Fprintf(os.Stderr, "%s %s fails alone and unchanged, left out:\n%s", b.pkg, name, out)
			continue
		}
		r := reached{bin: b, test: name, took: time.Since(begun), ids: map[int]bool{}}
		seen, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		for id := range bytes.Lines(seen) {
			n, err := strconv.Atoi(strings.TrimSpace(string(id)))
			if err != nil {
				return nil, err
			}
			r.ids[n] = true
		}
		rs = append(rs, r)
	}
	return rs, nil
}

// judge shows a mutant the tests that reach it, which come with the quickest
// first: some at a time, as long as they are quick.
func (m *mutant) judge(ctx context.Context, reach []reached, o options) (by string, tests int) {
	reach = slices.Clone(reach)
	reach = slices.DeleteFunc(reach, func(r reached) bool { return !r.all && !r.ids[m.id] })
	const together = 2 * time.Second
	for i := 0; i < len(reach); {
		var names []string
		var took time.Duration
		first := reach[i]
		for i < len(reach) && reach[i].bin.path == first.bin.path && (len(names) == 0 || took+reach[i].took < together) {
			names, took = append(names, reach[i].test), took+reach[i].took
			i++
		}
		ok, out := first.bin.run(ctx, o, "^("+strings.Join(names, "|")+")$", 5*took+o.slack, "MUTANT="+strconv.Itoa(m.id))
		if !ok {
			return first.bin.pkg + " " + why(out), len(reach)
		}
	}
	return "", len(reach)
}

// why returns the first line of a test's output that tells what failed.
func why(out []byte) string {
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "--- FAIL: "); ok {
			return strings.Fields(name)[0]
		}
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return line
		}
	}
	return "its time was up"
}
