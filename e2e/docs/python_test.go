//go:build docs

package docs

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/internal/pages"
)

//go:embed blocks.py
var blocksScript string

// A python runs the blocks of Python of all pages, in one process, since imports take long.
type python struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// python starts Python with the package of the checkout and the programs of the ground. It is
// nil where there is no .venv, which only CI takes for a failure.
func (g *ground) python(t *testing.T) *python {
	t.Helper()
	program := os.Getenv("FARREAD_PYTHON")
	if program == "" {
		program = filepath.Join(g.root, ".venv", "bin", "python")
	}
	if _, err := os.Stat(program); err != nil {
		if os.Getenv("CI") != "" {
			t.Error(err)
		}
		fmt.Println("  not run    the Python of the pages: no .venv: run 'make venv'")
		return nil
	}
	// It ends with its input, after the test.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "-c", blocksScript, filepath.Join(g.root, "python"))
	cmd.Env = append(g.env, "FARREAD_BIN="+filepath.Join(g.bin, "farread"),
		"PYTHONDONTWRITEBYTECODE=1", "MPLBACKEND=agg")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the Python of the pages: %v", err)
		}
	})
	return &python{in, bufio.NewReader(out)}
}

// try runs a block of a page, which has to end well.
func (p *python) try(t *testing.T, page *pages.Page, b *pages.Block, dir string) {
	t.Helper()
	began := time.Now()
	line, err := json.Marshal([]any{page.Name, b.Line, dir, strings.Join(b.Lines, "\n")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	answer, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%s: Python ended: %v", page.Where(b), err)
	}
	var why string
	if err := json.Unmarshal([]byte(answer), &why); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("  %6.2f s  %s: %s …\n", time.Since(began).Seconds(), page.Where(b), b.Lines[0])
	if why != "" {
		t.Errorf("%s: %s", page.Where(b), why)
	}
}
