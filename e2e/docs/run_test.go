//go:build docs

package docs

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/farread/farread/e2e/scenario"
	"github.com/farread/farread/internal/pages"
)

// TestShell runs the lines of every block of shell and the blocks of Python, a page's one after
// the other in one folder, and the lines of every command's help.
func TestShell(t *testing.T) {
	g := newGround(t)
	upload(t, g.stack, filepath.Join(g.files, "day.wav"), "s3://uploads/day.wav")
	g.weather(t)
	g.help(t, "pack") // makes some of what the others read
	g.must(t, "rm temperature.npy; mkdir -p ~/.config/fish/completions")
	g.must(t, "farread pack 702766/ s3://frames/train/data_0.gulp --force --quiet")
	g.must(t, "farread pack tide.csv s3://series/tide.zoom --quiet && farread pack air.csv s3://series/air.zoom --quiet")
	g.must(t, "farread pack day1.jsonl s3://records/day1.jsonl.blp --quiet")
	g.must(t, "farread pack logs.tar s3://datasets/logs.blp --quiet")
	for uri, file := range map[string]string{ // of the original programs, which know no index
		"s3://series/foreign.zoom":         "zoomcache/testdata/original/*.zoom",
		"s3://archive/old.zoom":            "zoomcache/testdata/original/*.zoom",
		"s3://arrays/foreign.b2nd":         "b2nd/testdata/index/threads.b2nd",
		"s3://frames/foreign/data_0.gulp":  "gulp/testdata/chunks/ingest_gulpio2_gray5/data_0.gulp",
		"s3://frames/foreign/meta_0.gmeta": "gulp/testdata/chunks/ingest_gulpio2_gray5/meta_0.gmeta",
	} {
		upload(t, g.stack, g.fixture(t, file), uri)
	}
	for _, name := range g.commands(t) {
		if name != "pack" {
			g.help(t, name)
		}
	}
	list, err := pages.All(g.root)
	if err != nil {
		t.Fatal(err)
	}
	py := g.python(t)
	for _, p := range list {
		dir := g.folder(t)
		for _, b := range p.Blocks {
			switch {
			case b.NotRun != "":
			case b.Info == "sh":
				for _, line := range b.Commands() {
					g.try(t, p.Where(&b), dir, line)
				}
			case b.Info == "python" && py != nil:
				py.try(t, &p, &b, dir)
			}
		}
	}
}

// fixture is the first file below formats that a pattern names.
func (g *ground) fixture(t *testing.T, pattern string) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(g.root, "formats", filepath.FromSlash(pattern)))
	if err != nil || len(list) == 0 {
		t.Fatalf("%s: no such file: %v", pattern, err)
	}
	return list[0]
}

// commands are those that the program has, as it tells a shell.
func (g *ground) commands(t *testing.T) []string {
	t.Helper()
	out, err := g.shell(t, g.files, "farread __complete '' 2>/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(out) {
		if name, _, ok := strings.Cut(line, "\t"); ok {
			names = append(names, name)
		}
	}
	if len(names) < 15 {
		t.Fatalf("commands: %q", names)
	}
	return append(names, "man") // hidden
}

// elsewhere are examples that cannot run here, by what is in them, and why.
var elsewhere = map[string]string{
	"https://host/":       "no such host",
	"https://sqs.":        "a queue of AWS",
	"URL-OF-DLQ":          "a queue of AWS",
	"aws sqs":             "a queue of AWS",
	"arn:aws:states:":     "a state machine of AWS",
	"/usr/local/":         "the system's own folder",
	"--port 9000":         "stays until Ctrl-C",
	"farread quickstart$": "stays until Ctrl-C; TestConsole runs it",
}

var examples = regexp.MustCompile(`(?ms)^Examples:\n(.*?)(?:\n\n|\z)`)

// help runs the examples of a command's help.
func (g *ground) help(t *testing.T, name string) {
	t.Helper()
	text, err := g.shell(t, g.files, "farread help "+name)
	if err != nil {
		t.Errorf("farread help %s: %v\n%s", name, err, text)
		return
	}
	m := examples.FindStringSubmatch(text)
	if m == nil {
		if _, topic, _ := strings.Cut(text, "Usage:"); topic != "" {
			t.Errorf("farread help %s has no examples", name)
		}
		return
	}
	dir := g.folder(t)
lines:
	for line := range strings.Lines(m[1]) {
		line = strings.TrimSpace(line)
		for part, why := range elsewhere {
			if strings.Contains(line+"$", part) {
				fmt.Printf("  not run    farread help %s: %s: %s\n", name, line, why)
				continue lines
			}
		}
		g.try(t, "farread help "+name, dir, line)
	}
}

// masks are what the comment before a console may name.
var masks = map[string]func(string) string{
	"times": replacer(`[\d.,]+ (ms|s)\b`, `# $1`, `[\d.]+(\s+same as source)`, `#$1`),
	// Ports are taken as they are free.
	"addresses": replacer(`127\.0\.0\.1:\d+`, `127.0.0.1:#`),
	// Reads of many pieces are planned by the round trip and the pace that were measured.
	"plans that depend on times": replacer(`^(\s*(?:frames ::4 of planet|20:30, 100:132).*? (?:cold|warm)) .*`, `$1 #`),
}

// replacer replaces in turn; blanks, which fill columns, count as one.
func replacer(pairs ...string) func(string) string {
	return func(s string) string {
		for i := 0; i < len(pairs); i += 2 {
			s = regexp.MustCompile(pairs[i]).ReplaceAllString(s, pairs[i+1])
		}
		return s
	}
}

var blanks = regexp.MustCompile(`\s+`)

func masked(line string, names []string) string {
	for _, name := range names {
		line = masks[name](line)
	}
	return blanks.ReplaceAllString(strings.TrimRight(line, " \n"), " ")
}

// TestConsole runs what is shown with its output in a fresh copy of the checkout, and
// compares. What still runs when all that is shown has come gets a Ctrl-C.
func TestConsole(t *testing.T) {
	root := scenario.Root(t)
	list, err := pages.All(root)
	if err != nil {
		t.Fatal(err)
	}
	var dir string
	for _, p := range list {
		for _, b := range p.Blocks {
			if b.Info != "console" || b.NotRun != "" {
				continue
			}
			var names []string
			for name := range strings.SplitSeq(b.Masked, ",") {
				if name = strings.TrimSpace(name); masks[name] == nil {
					t.Fatalf("%s: nothing known of masking %q", p.Where(&b), name)
				}
				names = append(names, name)
			}
			if dir == "" {
				dir = clone(t, root)
			}
			console(t, p.Where(&b), dir, b.Lines, names)
		}
	}
}

// clone copies the files that git knows, and those that it would.
func clone(t *testing.T, root string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			continue // removed, but not yet from git
		}
		write(t, filepath.Join(dir, name), []byte(read(t, filepath.Join(root, name))))
		if err := os.Chmod(filepath.Join(dir, name), info.Mode()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// console runs the one command of a block and waits for the lines below it.
func console(t *testing.T, where, dir string, lines, names []string) {
	t.Helper()
	line, ok := strings.CutPrefix(lines[0], "$ ")
	if !ok || slices.ContainsFunc(lines[1:], func(s string) bool { return strings.HasPrefix(s, "$ ") }) {
		t.Fatalf("%s: want one command, in the first line", where)
	}
	if len(lines) < 2 {
		t.Fatalf("%s: no output is shown: a block of sh would do", where)
	}
	var want, got []string
	for _, l := range lines[1:] {
		want = append(want, masked(l, names))
	}
	began := time.Now()
	cmd := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), "MAKEFLAGS=", "MAKELEVEL=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // most often all is over
	found := false
	in := bufio.NewScanner(out)
	// Where the page shows too much, there comes no line that could tell.
	late := time.AfterFunc(patience, func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }) //nolint:errcheck // it may be over already
	defer late.Stop()
	for !found && firstOther(want, got) == "" && in.Scan() {
		got = append(got, masked(in.Text(), names))
		at := slices.Index(got, want[0])
		found = at >= 0 && len(got) == at+len(want) && slices.Equal(got[at:], want)
	}
	fmt.Printf("  %6.2f s  %s: %s\n", time.Since(began).Seconds(), where, line)
	if !found {
		t.Errorf("%s: the output is not the page's (masked: %q); %s\n%s\n%s", where, names, firstOther(want, append(got, "the end")), strings.Join(got, "\n"), stderr.String())
	}
	syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) //nolint:errcheck // it may be over already
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait() // make ends as it was interrupted
}

// patience is how long a command may take for what a page shows: the first build of
// the local cloud takes minutes on a machine that is busy with something else.
const patience = 20 * time.Minute

// firstOther tells where what came leaves the page; "" while it may still become it.
func firstOther(want, got []string) string {
	at := slices.Index(got, want[0])
	switch {
	case at < 0 && len(got) > 0 && got[len(got)-1] == "the end":
		return fmt.Sprintf("no line %q", want[0])
	case at < 0:
		return ""
	}
	for i, line := range got[at:] {
		if i < len(want) && line != want[i] {
			return fmt.Sprintf("line %d: the page has %q, there came %q", i+1, want[i], line)
		}
	}
	return ""
}
