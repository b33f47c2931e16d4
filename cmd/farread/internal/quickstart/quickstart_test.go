package quickstart

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sample"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// built is a folder with localcloud and the functions of this checkout, as
// `make build` leaves them. The first test that asks builds them.
var built = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(scratch, "bin")
	return dir, errors.Join(compile("localcloud", ".", filepath.Join(dir, "localcloud"+exe())),
		compile(".", "./cmd/fn-pack", filepath.Join(dir, "fn-pack", "bootstrap")),
		compile(".", "./cmd/fn-zoom", filepath.Join(dir, "fn-zoom", "bootstrap")))
})

// compile builds a package of the checkout.
func compile(module, pkg, to string) error {
	cmd := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", to, pkg)
	cmd.Dir = filepath.Join("..", "..", "..", "..", module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

var scratch string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "quickstart-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := m.Run()
	os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// bin is the folder of binaries; what needs them runs the whole cloud, so it is
// left out of -short.
func bin(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs the local cloud")
	}
	dir, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// drawn are the clips; drawing them takes a second, and many under the race detector.
var drawn = sync.OnceValues(func() ([]sample.Clip, error) { return sample.Clips(context.Background()) })

// blown is the array; it takes half a second.
var blown = sync.OnceValues(func() (sample.Volume, error) { return sample.Storm(context.Background()) })

func volume(t *testing.T) sample.Volume {
	t.Helper()
	v, err := blown()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func clips(t *testing.T) []sample.Clip {
	t.Helper()
	c, err := drawn()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// client is what the command gives to Run.
func client(e Endpoint, n *objstore.Counter) (*farread.Client, error) {
	err := errors.Join(os.Setenv("AWS_ACCESS_KEY_ID", e.AccessKey), os.Setenv("AWS_SECRET_ACCESS_KEY", e.SecretKey))
	return farread.New(farread.Config{Endpoint: e.URL, Region: e.Region, PathStyle: true, Counter: n}), err
}

// options runs the binaries of the checkout, with temporary folders of the test.
func options(t *testing.T) Options {
	t.Helper()
	dir := bin(t)
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("AWS_ACCESS_KEY_ID", "") // restored after the test; client sets them
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	return Options{Program: filepath.Join(dir, "farread"), Client: client,
		clips: func(context.Context) ([]sample.Clip, error) { return drawn() },
		storm: func(context.Context) (sample.Volume, error) { return blown() }}
}

// empty fails the test when something is left in the folder of temporary files.
func empty(t *testing.T) {
	t.Helper()
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("left behind: %s", e.Name())
	}
}

func TestOnceJSON(t *testing.T) {
	o := options(t)
	o.Once, o.JSON = true, true
	var child *cloud
	o.started = func(c *cloud) { child = c }
	var out, errw bytes.Buffer
	if err := Run(t.Context(), o, &out, &errw); err != nil {
		t.Fatal(err)
	}
	if errw.Len() > 0 {
		t.Errorf("stderr: %s", &errw)
	}
	var got Report
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	if err := d.Decode(&got); err != nil {
		t.Fatal(err)
	}
	times := cmp.FilterPath(func(p cmp.Path) bool {
		name := p.Last().String()
		return strings.HasSuffix(name, "MS") || name == ".Endpoint" || strings.HasSuffix(name, "Size") || name == ".Bytes" || name == ".Payload"
	}, cmp.Ignore())
	const in, to = "s3://uploads/clips/", "s3://datasets/"
	want := Report{Uploads: 7,
		Outputs: []Output{
			{Key: "clips/sunrise.tar.gulp", Format: "gulp", Source: in + "sunrise.tar", URI: to + "clips/sunrise.tar.gulp", Function: "fn-pack", Cold: true},
			{Key: "clips/planet.zip.gulp", Format: "gulp", Source: in + "planet.zip", URI: to + "clips/planet.zip.gulp", Function: "fn-pack"},
			{Key: "clips/aurora/frames.gulp", Format: "gulp", Source: in + "aurora/", URI: to + "clips/aurora/frames.gulp", Function: "fn-pack"},
			{Key: "arrays/storm.npy.b2nd", Format: "b2nd", Source: "s3://uploads/arrays/storm.npy", URI: to + "arrays/storm.npy.b2nd", Function: "fn-pack"},
			{Key: "logs/requests.jsonl.blp", Format: "bloscpack", Source: "s3://uploads/logs/requests.jsonl", URI: to + "logs/requests.jsonl.blp", Function: "fn-pack"},
			{Key: "series/heart.wav.zoom", Format: "zoomcache", Source: "s3://uploads/series/heart.wav", URI: to + "series/heart.wav.zoom", Function: "fn-zoom", Cold: true},
			{Key: "series/tide.csv.zoom", Format: "zoomcache", Source: "s3://uploads/series/tide.csv", URI: to + "series/tide.csv.zoom", Function: "fn-zoom"},
		},
		// An index and a data object are opened side by side; what follows is planned from them.
		Reads: []Read{
			{What: "frame 20 of sunrise, cold", Requests: 3, Phases: 2, URI: to + "clips/sunrise.tar.gulp", OK: true},
			{What: "the same again, warm", Requests: 1, Phases: 1, URI: to + "clips/sunrise.tar.gulp", OK: true},
			{What: "frames ::4 of planet (12), cold", Phases: 2, URI: to + "clips/planet.zip.gulp", OK: true},
			{What: "all 36 frames of aurora, cold", Requests: 3, Phases: 2, URI: to + "clips/aurora/frames.gulp", OK: true},
			// Both ends of a frame are opened side by side. A chunk of this size is taken whole where
			// several blocks are wanted; else the starts of its blocks come first.
			{What: "30, :, : of storm, cold", Requests: 3, Phases: 2, URI: to + "arrays/storm.npy.b2nd", OK: true},
			{What: "the same again, warm", Requests: 1, Phases: 1, URI: to + "arrays/storm.npy.b2nd", OK: true},
			{What: "20:30, 100:132, 160:192, warm", URI: to + "arrays/storm.npy.b2nd", OK: true},
			{What: ":, 120, 200 (a day), warm", Requests: 4, Phases: 1, URI: to + "arrays/storm.npy.b2nd", OK: true},
			// The part of the table that tells of the record is read beside the head.
			{What: "record 41,234, cold", Requests: 3, Phases: 2, URI: to + "logs/requests.jsonl.blp", OK: true},
			{What: "the same again, warm", Requests: 1, Phases: 1, URI: to + "logs/requests.jsonl.blp", OK: true},
			{What: "100 records from there, warm", Requests: 1, Phases: 1, URI: to + "logs/requests.jsonl.blp", OK: true},
			// The head and the end with the index side by side, and what of it the view needs.
			{What: "the day in 2000 points, cold", Requests: 2, Phases: 1, URI: to + "series/heart.wav.zoom", OK: true},
			{What: "10 minutes around a spike, warm", Requests: 1, Phases: 1, URI: to + "series/heart.wav.zoom", OK: true},
			{What: "the day in 2000 points, cold", Requests: 3, Phases: 2, URI: to + "series/tide.csv.zoom", OK: true},
			{What: "an hour of it, warm", Requests: 1, Phases: 1, URI: to + "series/tide.csv.zoom", OK: true},
		},
	}
	want.Pictures = []string{} // nobody could look at them
	many := cmpopts.IgnoreFields(Read{}, "Requests", "Phases")
	if d := cmp.Diff(want, got, times, many); d != "" {
		t.Error(d)
	}
	for i, r := range got.Reads {
		if w := want.Reads[i]; w.Requests > 0 && r.Requests != w.Requests || w.Phases > 0 && r.Phases != w.Phases || r.Phases > max(2, w.Phases) {
			t.Errorf("%s: %d requests in %d phases, not %d in %d", r.What, r.Requests, r.Phases, w.Requests, w.Phases)
		}
		least := r.Payload // a head kept at opening counts as received too
		if strings.HasSuffix(r.URI, ".zoom") {
			least = 1 // points take less in an index than they do here
		}
		if r.Payload <= 0 || r.Bytes < least && i > 0 {
			t.Errorf("%s: %d bytes received for %d of images", r.What, r.Bytes, r.Payload)
		}
	}
	for _, s := range got.Outputs {
		if s.Size <= 0 || s.SourceSize <= 0 || s.MS <= 0 || s.FunctionMS <= 0 {
			t.Errorf("%s: %+v", s.Key, s)
		}
		if has := s.Format == "zoomcache"; has != (s.IndexSize > 0) || s.IndexSize > s.Size/10 {
			t.Errorf("%s: an index of %d bytes in %d", s.Key, s.IndexSize, s.Size)
		}
	}
	select {
	case <-child.ended:
	default:
		t.Error("localcloud still runs")
	}
	empty(t)
}

func TestPage(t *testing.T) {
	o := options(t)
	o.Once, o.Dir = true, filepath.Join(t.TempDir(), "kept")
	for range 2 { // the second time everything is there already
		var out bytes.Buffer
		if err := Run(t.Context(), o, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 100 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
		for _, want := range []string{"s3://uploads/clips/planet.zip", "s3://datasets/clips/aurora/frames.gulp", "s3://datasets/arrays/storm.npy.b2nd", "s3://datasets/logs/requests.jsonl.blp", "same as source", "its index, of summaries by level", "heart-day.png, heart-spike.png"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in\n%s", want, &out)
			}
		}
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "buckets", "datasets", "clips", "planet.zip.gulp")); err != nil {
		t.Error(err)
	}
	for name, kind := range map[string]string{"storm.png": "\x89PNG", "storm.npy": "\x93NUMPY", "heart-day.png": "\x89PNG", "heart-spike.png": "\x89PNG", "tide-day.png": "\x89PNG", "tide-hour.png": "\x89PNG"} {
		if p, err := os.ReadFile(filepath.Join(o.Dir, slicesFolder, name)); err != nil || !strings.HasPrefix(string(p), kind) {
			t.Errorf("%s begins with %.8q, %v", name, p, err)
		}
	}
	empty(t)
}

// start runs a cloud for stories of the test's own.
func start(t *testing.T) *tour {
	t.Helper()
	o := options(t)
	o.Counter = &objstore.Counter{}
	c, err := startCloud(t.Context(), parts{filepath.Join(bin(t), "localcloud"), bin(t)}, t.TempDir(), 0, rules())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.stop)
	w, err := client(c.endpoint, o.Counter)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.CloseIdleConnections)
	return &tour{o: o, c: c, page: &page{io.Discard}, writer: w}
}

func TestMismatch(t *testing.T) {
	tr := start(t)
	c := clips(t)[0]
	s, err := tarStory(c)
	if err != nil {
		t.Fatal(err)
	}
	unlabelled := c
	unlabelled.Label = "dusk"
	wrong := c
	wrong.Frames = append([][]byte{}, c.Frames...)
	wrong.Frames[7] = bytes.Clone(wrong.Frames[7])
	wrong.Frames[7][100] ^= 1
	tests := []struct {
		name string
		step step
		ok   bool
	}{
		{"all equal", frames(c, "", false, 0, len(c.Frames), 1), true},
		{"wrong frame not read", frames(wrong, "", false, 0, 7, 1), true},
		{"one bit in one of many", frames(wrong, "", false, 0, len(c.Frames), 1), false},
		{"another label", frames(unlabelled, "", false, 0, 1, 1), false},
		{"one bit in the one", frames(wrong, "", false, 7, 8, 1), false},
	}
	for _, tt := range tests {
		s.steps = []step{tt.step}
		err := tr.run(t.Context(), []story{s})
		if tt.ok && err != nil || !tt.ok && (!errors.Is(err, ErrMismatch) || !errors.Is(err, formats.ErrCorrupt)) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestRefused(t *testing.T) {
	tr := start(t)
	err := tr.run(t.Context(), []story{{upload: upload{"rubbish", []sample.File{{Name: "clips/rubbish.tar", Data: []byte("no tar at all")}}}, output: gulpOutput()}})
	if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "s3://uploads/clips/rubbish.tar") {
		t.Fatal(err)
	}
}

func TestDies(t *testing.T) {
	o := options(t)
	var child *cloud
	o.started = func(c *cloud) { child = c }
	r, w := io.Pipe()
	go func() {
		var page bytes.Buffer
		for b := make([]byte, 1024); ; {
			n, err := r.Read(b)
			if page.Write(b[:n]); err != nil {
				return
			}
			if strings.Contains(page.String(), "Ctrl-C") && child.cmd.Process != nil {
				_ = child.cmd.Process.Kill() // seen by the test below
			}
		}
	}()
	err := Run(t.Context(), o, w, io.Discard)
	w.Close()
	if !errors.Is(err, objstore.ErrUnavailable) || !strings.Contains(err.Error(), "localcloud ended: signal: killed") {
		t.Fatal(err)
	}
	empty(t)
}

// TestInterrupt is Ctrl-C at the real program.
func TestInterrupt(t *testing.T) {
	o := options(t)
	if err := compile(".", "./cmd/farread", o.Program); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(o.Program, "quickstart")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }() // usually gone
	page, before := bufio.NewReader(out), ""
	for line := ""; !strings.Contains(line, "Ctrl-C"); before += line {
		if line, err = page.ReadString('\n'); err != nil {
			t.Fatalf("%v\n%s%s", err, before, &stderr)
		}
	}
	running := offspring(cmd.Process.Pid)
	if len(running) < 2 {
		t.Fatalf("children: %v, want localcloud and a function", running)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(page)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code is looked at below
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	if len(rest) > 0 || strings.Count(stderr.String(), "\n") > 1 {
		t.Errorf("after Ctrl-C: %s%s", rest, &stderr)
	}
	deadline := time.Now().Add(time.Minute) // it takes that long only if it hangs
	for _, pid := range running {
		for alive(pid) { // an orphan is gone once its new parent has looked
			if time.Now().After(deadline) {
				t.Fatalf("process %d is left", pid)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	empty(t)
}

func TestPortTaken(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	var out bytes.Buffer
	err = Run(t.Context(), Options{Port: port, Client: client}, &out, io.Discard)
	if !errors.Is(err, objstore.ErrUnavailable) || err.Error() != fmt.Sprintf("--port %d: address already in use (0 takes a free one)", port) {
		t.Error(err)
	}
	for _, bad := range []int{-1, 65536} {
		if err := Run(t.Context(), Options{Port: bad, Client: client}, &out, io.Discard); !errors.Is(err, objstore.ErrInvalid) {
			t.Error(err)
		}
	}
	if out.Len() > 0 {
		t.Errorf("printed: %s", &out)
	}
	empty(t)
}

func TestFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := Run(t.Context(), Options{Dir: file, Client: client}, io.Discard, io.Discard)
	if !errors.Is(err, objstore.ErrInvalid) || !strings.Contains(err.Error(), file) {
		t.Error(err)
	}
	// A folder that nobody may write to: for root too, on Linux.
	if _, err := os.Stat("/sys/kernel"); err == nil {
		err := Run(t.Context(), Options{Dir: "/sys/kernel/farread", Client: client}, io.Discard, io.Discard)
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "/sys/kernel/farread") {
			t.Error(err)
		}
	}
	empty(t)
}

func TestMissing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	o := Options{Program: filepath.Join(dir, "farread"), Work: dir, Client: client}
	err := Run(t.Context(), o, io.Discard, io.Discard)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "localcloud and fn-pack/bootstrap and fn-zoom/bootstrap not found beside "+o.Program) {
		t.Error(err)
	}
	empty(t)
}

// checkoutOf writes a tiny checkout.
func checkoutOf(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestBuild(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	files := map[string]string{
		"go.mod":              module + "\n\ngo 1.26\n",
		"cmd/fn-pack/main.go": "package main\n\nfunc main() {}\n",
		"cmd/fn-zoom/main.go": "package main\n\nfunc main() {}\n",
		"localcloud/go.mod":   module + "/localcloud\n\ngo 1.26\n",
		"localcloud/main.go":  "package main\n\nimport \"os\"\n\nfunc main() {\n\tprintln(\"localcloud: not today\")\n\tos.Exit(1)\n}\n",
		"deep/down/note":      "",
	}
	root := checkoutOf(t, files)
	o := Options{Program: filepath.Join(t.TempDir(), "farread"), Work: filepath.Join(root, "deep", "down"), Client: client}
	p, err := findParts(t.Context(), o, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if want := (parts{filepath.Join(root, "bin", "localcloud"+exe()), filepath.Join(root, "bin")}); p != want {
		t.Errorf("%+v, want %+v", p, want)
	}
	err = Run(t.Context(), o, io.Discard, io.Discard)
	if !errors.Is(err, objstore.ErrUnavailable) || err.Error() != "localcloud did not start: not today" {
		t.Error(err)
	}
	files["cmd/fn-pack/main.go"] = "package main\n\nfunc main() { undefined() }\n"
	o.Work = checkoutOf(t, files)
	if _, err := findParts(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), "undefined: undefined") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := findParts(ctx, o, io.Discard); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestWaiting(t *testing.T) {
	for live, want := range map[bool]string{true: "\r\x1b[Kx\r\x1b[K", false: "x\n"} {
		shown := make(chan struct{})
		w := &signalled{shown: shown}
		done := waiting(w, live, func(time.Duration) string { return "x" })
		<-shown
		done()
		if got := w.String(); got != want {
			t.Errorf("live %v: %q, want %q", live, got, want)
		}
	}
}

// signalled closes shown at the first write.
type signalled struct {
	bytes.Buffer
	shown chan struct{}
	once  sync.Once
}

func (s *signalled) Write(p []byte) (int, error) {
	defer s.once.Do(func() { close(s.shown) })
	return s.Buffer.Write(p)
}

func TestRules(t *testing.T) {
	r := rules()
	if err := r.Validate(); err != nil {
		t.Fatal(err)
	}
	list, err := stories(clips(t), volume(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		for i, f := range s.upload.objects {
			_, ok := r.Match(uploads, f.Name)
			if ok && !slices.Contains(outputsOf(f.Name), s.output) {
				t.Errorf("%s becomes %+v", f.Name, outputsOf(f.Name))
			}
			if last := i == len(s.upload.objects)-1; ok != last {
				t.Errorf("%s: matched %v, last %v", f.Name, ok, last)
			}
		}
	}
	if _, err := stories(nil, volume(t)); err == nil {
		t.Error("stories without clips")
	}
}

func TestOfKey(t *testing.T) {
	good := record{Bucket: uploads, Key: "a"}
	failed, dead := good, good
	failed.Failed, dead.Failed, dead.Dead = true, true, true
	for _, tt := range []struct {
		name string
		inv  invocation
		done bool
		err  error
	}{
		{"done", invocation{OK: true, Records: []record{{Bucket: uploads, Key: "b"}, good}}, true, nil},
		{"another key", invocation{OK: true, Records: []record{{Bucket: uploads, Key: "b"}}}, false, nil},
		{"another bucket", invocation{OK: true, Records: []record{{Bucket: datasets, Key: "a"}}}, false, nil},
		{"tried again", invocation{Records: []record{failed}}, false, nil},
		{"given up", invocation{Records: []record{dead}}, true, objstore.ErrUnavailable},
	} {
		done, err := ofKey(tt.inv, "a")
		if done != tt.done || !errors.Is(err, tt.err) {
			t.Errorf("%s: %v %v", tt.name, done, err)
		}
	}
}

func TestWords(t *testing.T) {
	c := &cloud{log: &tail{}, err: errors.New("exit status 1")}
	fmt.Fprint(c.log, "time=1 level=INFO msg=x\n")
	if got := c.lastWords(); got != "exit status 1" {
		t.Errorf("%q", got)
	}
	fmt.Fprint(c.log, "localcloud: no\ntime=2 level=INFO msg=y\n")
	if got := c.lastWords(); got != "no" {
		t.Errorf("%q", got)
	}
	if got := printable("a\x1b[2J\u202eb ü"); got != "a·[2J·b ü" {
		t.Errorf("%q", got)
	}
	for in, want := range map[float64]string{0.04: "0.0", 9.96: "10.0", 12.4: "12"} {
		if got := duration(in); got != want {
			t.Errorf("%v: %q, want %q", in, got, want)
		}
	}
	if got := (upload{objects: []sample.File{{Name: "a/0.jpg"}, {Name: "a/_SUCCESS"}}}).name(); got != "a/" {
		t.Errorf("%q", got)
	}
	if _, _, ok := functions.Closing("a/_SUCCESS"); !ok {
		t.Error("no marker")
	}
}
