package quickstart

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/farread/farread/internal/stack"
)

// A part is a program of the local cloud: its place in the folder of binaries, and how
// go build makes it.
type part struct {
	name, module string
	args         []string
}

// releases is where archives with all parts are.
const releases = "https://github.com/farread/farread/releases"

var parts = []part{
	{"localcloud", "localcloud", []string{"."}},
	{"fn-pack/bootstrap", ".", []string{"-tags", "lambda.norpc,nethttpomithttp2", "./cmd/fn-pack"}},
	{"fn-zoom/bootstrap", ".", []string{"-tags", "lambda.norpc,nethttpomithttp2", "./cmd/fn-zoom"}},
}

// missing are the parts that a folder lacks.
func missing(dir string) (names []string) {
	for _, p := range parts {
		if _, err := exec.LookPath(filepath.Join(dir, p.name)); err != nil {
			names = append(names, p.name)
		}
	}
	return names
}

// findParts is the folder with all parts: the program's own, or else the one into
// which they are built from a checkout.
func findParts(ctx context.Context, o Options, errw io.Writer) (string, error) {
	program := o.Program
	if path, err := filepath.EvalSymlinks(program); err == nil {
		program = path
	}
	beside := filepath.Dir(program)
	names := missing(beside)
	if len(names) == 0 {
		return beside, nil
	}
	root := cmp.Or(stack.Checkout(o.Work), stack.Checkout(beside))
	why := " (go install, pip and images bring farread alone): unpack an archive of a release, which has all of it (" + releases + "), or run this in a checkout"
	switch {
	case runtime.GOOS == "windows":
		why = ", and there are none for Windows: run an archive for Linux in WSL (" + releases + ")"
	case root != "":
		if _, err := exec.LookPath("go"); err == nil {
			bin := filepath.Join(root, "bin")
			return bin, build(ctx, root, bin, parts, errw, o.Terminal)
		}
		why = ", and Go, to build from " + root + ", is not installed (https://go.dev/dl)"
	}
	return "", &problem{fmt.Sprintf("%s not found beside %s%s", strings.Join(names, " and "), program, why), fs.ErrNotExist}
}

// build makes the programs of a checkout as its Makefile does. Programs that are up to
// date take a moment.
func build(ctx context.Context, root, bin string, list []part, errw io.Writer, live bool) error {
	what := "building localcloud and fn-pack, fn-zoom in " + bin
	first := len(missing(bin)) > 0
	if first {
		what += " (the first time: about 70 s and 100 MB of downloads)"
	}
	switch {
	case live:
		bar := progressbar.NewOptions(-1, progressbar.OptionSetWriter(errw), progressbar.OptionSetDescription(what),
			progressbar.OptionSetElapsedTime(true), progressbar.OptionClearOnFinish(), progressbar.OptionSetRenderBlankState(true)) // without it the bar is drawn only at its end
		defer bar.Finish() //nolint:errcheck // a remark
	case first:
		fmt.Fprintln(errw, what)
	}
	for _, p := range list {
		args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", filepath.Join(bin, p.name)}, p.args...)
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = filepath.Join(root, p.module)
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		cmd.WaitDelay = time.Second // the compilers of a build that was stopped end by themselves
		text, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			said := strings.TrimSpace(string(text))
			return fmt.Errorf("build %s: %w: %s", p.name, err, said[strings.LastIndexByte(said, '\n')+1:])
		}
	}
	return nil
}
