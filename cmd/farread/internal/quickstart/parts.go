package quickstart

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// parts are the programs that the local cloud is made of.
type parts struct {
	cloud     string // path of localcloud
	functions string // folder with NAME/bootstrap
}

// functionNames are the functions that the tour's rules need.
func functionNames() []string { return []string{"fn-pack", "fn-zoom"} }

// partsIn looks for the programs in a folder.
func partsIn(dir string) (p parts, missing []string) {
	p = parts{cloud: filepath.Join(dir, "localcloud"+exe()), functions: dir}
	if !isProgram(p.cloud) {
		missing = append(missing, "localcloud")
	}
	for _, f := range functionNames() {
		if !isProgram(filepath.Join(dir, f, "bootstrap")) {
			missing = append(missing, f+"/bootstrap")
		}
	}
	return p, missing
}

func exe() string {
	if runtime.GOOS == "windows" {
		return ".exe"
	}
	return ""
}

func isProgram(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && (runtime.GOOS == "windows" || fi.Mode()&0o111 != 0)
}

// findParts looks beside the program, else builds from a checkout.
func findParts(ctx context.Context, o Options, errw io.Writer) (parts, error) {
	program := o.Program
	if path, err := filepath.EvalSymlinks(program); err == nil {
		program = path
	}
	beside := filepath.Dir(program)
	p, missing := partsIn(beside)
	if len(missing) == 0 {
		return p, nil
	}
	root := checkout(o.Work)
	if root == "" {
		root = checkout(beside)
	}
	absent := func(why string) error {
		return &problem{fmt.Sprintf("%s not found beside %s, and %s", strings.Join(missing, " and "), program, why), fs.ErrNotExist}
	}
	if root == "" {
		return parts{}, absent("there is no checkout of farread here to build from (run this in one, or `make build` there)")
	}
	if _, err := exec.LookPath("go"); err != nil {
		return parts{}, absent("Go, to build from " + root + ", is not installed (https://go.dev/dl)")
	}
	return build(ctx, root, errw, o.Terminal)
}

// module is the first line of the go.mod of a checkout.
const module = "module github.com/farread/farread"

// checkout is the root of the checkout that dir lies in, or "".
func checkout(dir string) string {
	if dir == "" {
		return ""
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	for {
		b, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			first, _, _ := bytes.Cut(b, []byte("\n"))
			_, whole := os.Stat(filepath.Join(dir, "localcloud", "go.mod"))
			if strings.TrimSpace(string(first)) == module && whole == nil { // not a go.mod that was left somewhere
				return dir
			}
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// build makes the programs in the checkout's bin folder, as its Makefile does.
// What is up to date costs a moment.
func build(ctx context.Context, root string, errw io.Writer, live bool) (parts, error) {
	bin := filepath.Join(root, "bin")
	names := functionNames()
	jobs := make([][]string, 0, 1+len(names))
	jobs = append(jobs, []string{filepath.Join(root, "localcloud"), "-o", filepath.Join(bin, "localcloud"+exe()), "."})
	for _, f := range names {
		jobs = append(jobs, []string{root, "-tags", "lambda.norpc", "-o", filepath.Join(bin, f, "bootstrap"), "./cmd/" + f})
	}
	what := "building localcloud and " + strings.Join(names, ", ") + " in " + bin
	if _, missing := partsIn(bin); len(missing) > 0 {
		what += " (the first time: about 70 s and 100 MB of downloads)"
	}
	done := waiting(errw, live, func(d time.Duration) string { return fmt.Sprintf("%s … %d s", what, int(d.Seconds())) })
	defer done()
	for _, j := range jobs {
		args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w"}, j[1:]...)
		cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // fixed words and paths of the checkout
		cmd.Dir = j[0]
		cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0", "GOWORK=off")
		stopGroup(cmd)
		if text, err := cmd.CombinedOutput(); err != nil {
			if ctx.Err() != nil {
				return parts{}, ctx.Err()
			}
			return parts{}, fmt.Errorf("build %s: %w: %s", filepath.Base(j[len(j)-2]), err, lastLine(string(text)))
		}
	}
	p, missing := partsIn(bin)
	if len(missing) > 0 {
		return parts{}, &problem{fmt.Sprintf("%s not in %s after the build", strings.Join(missing, " and "), bin), fs.ErrNotExist}
	}
	return p, nil
}

// waiting shows a line that counts seconds, once there is something to wait for.
// A terminal sees one line that changes and goes; a log gets it once.
func waiting(w io.Writer, live bool, line func(time.Duration) string) (done func()) {
	stop, gone := make(chan struct{}), make(chan struct{})
	start := time.Now()
	go func() {
		defer close(gone)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		shown := false
		for {
			select {
			case <-stop:
				if shown && live {
					fmt.Fprint(w, "\r\x1b[K")
				}
				return
			case <-tick.C:
				switch text := line(time.Since(start)); {
				case live:
					fmt.Fprint(w, "\r\x1b[K"+text)
				case !shown:
					fmt.Fprintln(w, text)
				}
				shown = true
			}
		}
	}()
	return func() { close(stop); <-gone }
}

// lastLine is the end of what a program said before it failed.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return strings.TrimSpace(s[strings.LastIndexByte(s, '\n')+1:])
}
