package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/objstore"
)

var update = flag.Bool("update", false, "rewrite golden help texts")

// asProgram makes the test binary behave as farread, for tests that need a
// process: signals, exit codes, standard streams.
const asProgram = "FARREAD_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// result is one run of a command line in this process.
type result struct {
	code           int
	stdout, stderr string
}

type runner struct {
	env    map[string]string
	stdin  string
	screen bool // stdout is a terminal
	width  int  // its columns
	hedge  bool // make second requests beside slow ones, as the program does
}

func (r runner) run(t *testing.T, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(r.stdin), stdout: &out, stderr: &errs, env: func(k string) string { return r.env[k] }, screen: r.screen, width: r.width, patient: !r.hedge}
	code := a.main(args, nil, sink.Grace)
	return result{code, out.String(), errs.String()}
}

// run runs a command that must succeed without a word on stderr.
func run(t *testing.T, args ...string) string {
	t.Helper()
	r := runner{}.run(t, args...)
	if r.code != 0 || r.stderr != "" {
		t.Fatalf("farread %q: exit %d: %s", args, r.code, r.stderr)
	}
	return r.stdout
}

// stats runs a command with --stats and returns its line.
func stats(t *testing.T, args ...string) (s struct{ Requests, Bytes, Phases int64 }) {
	t.Helper()
	r := runner{}.run(t, append(args, "--stats")...)
	if r.code != 0 {
		t.Fatalf("farread %q: exit %d: %s", args, r.code, r.stderr)
	}
	if err := json.Unmarshal([]byte(r.stderr), &s); err != nil {
		t.Fatalf("stats %q: %v", r.stderr, err)
	}
	return s
}

// photo is a small real JPEG, another one for each seed.
func photo(t *testing.T, seed int) []byte {
	t.Helper()
	m := image.NewRGBA(image.Rect(0, 0, 24+seed%7, 16))
	for y := range 16 {
		for x := range m.Rect.Dx() {
			m.Set(x, y, color.RGBA{uint8(x * seed), uint8(y * 9), uint8(seed), 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// clips are the frames of the sample: id to frames.
func clips(t *testing.T) map[string][][]byte {
	t.Helper()
	out := map[string][][]byte{}
	for k, id := range []string{"one", "sub/two", "three 3"} {
		for i := range 1 + 4*k {
			out[id] = append(out[id], photo(t, 10*k+i))
		}
	}
	return out
}

// sample writes x.gulp and x.gmeta with the clips, and returns its path.
func sample(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "x.gulp")
	var data, meta bytes.Buffer
	w := gulp.NewWriter(&data, gulp.WriteOptions{})
	all := clips(t)
	for _, id := range []string{"one", "sub/two", "three 3"} {
		if err := w.AddMeta(id, json.RawMessage(fmt.Sprintf(`{"label": %q, "n": 1.50}`, "a "+id))); err != nil {
			t.Fatal(err)
		}
		for _, p := range all[id] {
			if err := w.WriteFrame(id, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.WriteMeta(&meta); err != nil {
		t.Fatal(err)
	}
	write(t, name, data.Bytes())
	write(t, filepath.Join(dir, "x.gmeta"), meta.Bytes())
	return name
}

// hostile writes a chunk with one frame for each id.
func hostile(t *testing.T, dir string, ids ...string) string {
	t.Helper()
	var data bytes.Buffer
	w := gulp.NewWriter(&data, gulp.WriteOptions{})
	for _, id := range ids {
		if err := w.WriteFrame(id, photo(t, 1)); err != nil {
			t.Fatal(err)
		}
	}
	var meta bytes.Buffer
	if err := w.WriteMeta(&meta); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "h.gulp"), data.Bytes())
	write(t, filepath.Join(dir, "h.gmeta"), meta.Bytes())
	return filepath.Join(dir, "h.gulp")
}

func write(t *testing.T, name string, p []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, p, 0o644); err != nil {
		t.Fatal(err)
	}
}

// files are the files below dir, by name, with their content.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		p, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		out[filepath.ToSlash(rel)] = string(p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// lines decodes one JSON object a line.
func lines[T any](t *testing.T, text string) (out []T) {
	t.Helper()
	for l := range strings.Lines(text) {
		var v T
		if err := json.Unmarshal([]byte(l), &v); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		out = append(out, v)
	}
	return out
}

// photosTar is an archive of the clips, frames in order, with labels at the end.
func photosTar(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(name string, p []byte) {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(p))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
	}
	all := clips(t)
	for _, id := range slices.Sorted(namesOf(all)) {
		for i, p := range all[id] {
			add(fmt.Sprintf("%s/f%d.jpg", id, i+1), p)
		}
	}
	add("labels.csv", []byte("id,label\none,first\n"))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func namesOf(m map[string][][]byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// TestHelp: golden texts, so that a change of the manual is a change of a file.
func TestHelp(t *testing.T) {
	t.Parallel()
	root := newRoot(&app{})
	for _, c := range append(root.Commands(), root) {
		if n := c.Name(); n == "completion" || n == "help" || n == "quickstart" {
			continue // the first two have cobra's own text; quickstart is tested with its command
		}
		args := append(strings.Fields(c.CommandPath())[1:], "--help")
		got := run(t, args...)
		name := filepath.Join("testdata", "help", c.Name()+".txt")
		if *update {
			write(t, name, []byte(got))
			continue
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), got); d != "" {
			t.Errorf("%s (-want +got), go test ./cmd/farread -update accepts it:\n%s", name, d)
		}
		if c.Runnable() && c.Example == "" {
			t.Errorf("%s has no example", c.CommandPath())
		}
		for l := range strings.Lines(c.Long) {
			if len([]rune(strings.TrimSpace(l))) > 88 {
				t.Errorf("%s: a line of the text is too long: %s", c.CommandPath(), l)
			}
		}
	}
}

func TestMan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run(t, "man", dir)
	pages := files(t, dir)
	for _, want := range []string{"farread.1", "farread-get.1", "farread-exit-codes.1"} {
		if p := pages[want]; !strings.HasPrefix(p, ".TH ") || !strings.Contains(p, ".SH DESCRIPTION") {
			t.Errorf("%s: %.80q", want, p)
		}
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	got := runner{}.run(t, "__complete", "get", "x.gulp", "--policy", "f").stdout
	for _, want := range []string{"fast\t", "few\t"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	for _, c := range []struct{ command, flag, want string }{
		{"get", "policy", "lean"}, {"pack", "codec", "blosclz"}, {"pack", "filter", "bytedelta"}, {"pack", "for", "planes"}, {"pack", "records", "files"},
		{"pack", "checksum", "adler32"}, {"pack", "layout", "webdataset"}, {"pack", "format", "b2frame"}, {"view", "format", "json"}, {"view", "bits", "16"}, {"view", "colors", "viridis"},
	} {
		r := runner{}.run(t, "__complete", c.command, "x", "--"+c.flag, "")
		if got := r.stdout; !strings.Contains(got, c.want) {
			t.Errorf("farread %s --%s: no %q in %q", c.command, c.flag, c.want, got)
		}
	}
	if !strings.Contains(run(t, "completion"), "farread completion bash") {
		t.Error("no example")
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if !strings.Contains(run(t, "completion", shell), "farread") {
			t.Error(shell)
		}
	}
}

// TestRunsAreForgotten: nothing keeps what a run has read once it is over.
func TestRunsAreForgotten(t *testing.T) {
	t.Parallel()
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, env: func(string) string { return "" }}
	if code := a.main([]string{"info", bloscDir + "/nd2.b2nd"}, nil, sink.Grace); code != 0 {
		t.Fatal(code)
	}
	kept := weak.Make(a)
	for end := time.Now().Add(20 * time.Second); kept.Value() != nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("something keeps the app")
		}
		runtime.GC()
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	var v versionInfo
	if err := json.Unmarshal([]byte(run(t, "version", "--json")), &v); err != nil {
		t.Fatal(err)
	}
	if v.Version == "" || v.Commit == "" || !strings.HasPrefix(v.Go, "go1.") {
		t.Errorf("%+v", v)
	}
	text := run(t, "version")
	if !strings.HasPrefix(text, "farread "+v.Version+" ") || strings.Count(text, "\n") != 1 {
		t.Errorf("%q", text)
	}
	if flag := run(t, "--version"); flag != text {
		t.Errorf("--version: %q, want %q", flag, text)
	}
	if r := (runner{}).run(t, "--version", "none"); r.code != exitUsage || r.stdout != "" {
		t.Errorf("%+v", r)
	}
	for text, want := range map[string]string{
		"v1.2.3-4-gabcdef0": "abcdef0", "3af60f4-dirty": "3af60f4", "devel-0123456789ab": "0123456789ab", "v1.0.0": "", "deadbee": "deadbee",
	} {
		got := ""
		if m := describedCommit.FindStringSubmatch(text); m != nil {
			got = m[1]
		}
		if got != want {
			t.Errorf("commit of %q: %q", text, got)
		}
	}
}

// put writes an object through a run's own client.
func put(t *testing.T, a *app, uri string, p []byte) {
	t.Helper()
	b, key, err := a.client.Bucket(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := objstore.Put(t.Context(), b, key, bytes.NewReader(p), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
}
