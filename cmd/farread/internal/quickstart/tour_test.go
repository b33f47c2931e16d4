package quickstart

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	_ "image/jpeg"
	"io"
	"io/fs"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/demo"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/internal/stack"
	"github.com/farread/farread/objstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// options runs binaries of this checkout, which `make build` makes, with temporary
// folders of the test. Tests that run the whole cloud are left out of -short.
func options(t *testing.T) (o Options, bin string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds and runs the local cloud")
	}
	bin = t.TempDir()
	all := append(slices.Clone(parts), part{"farread", ".", []string{"./cmd/farread"}})
	if err := build(t.Context(), filepath.Join("..", "..", "..", ".."), bin, all, io.Discard, false); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	return Options{Program: filepath.Join(bin, "farread"), Config: farread.Config{NoHedge: true, Counter: &objstore.Counter{}}}, bin
}

// TestTour tells all stories to a cloud that stays up, and then uploads more.
func TestTour(t *testing.T) {
	o, bin := options(t)
	o.Dir, o.Kept = t.TempDir(), true
	if err := folder(&o); err != nil {
		t.Fatal(err)
	}
	tr, err := begin(t.Context(), o, bin)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.end()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := demo.Draw(ended); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	clips, storm, err := demo.Draw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	list, err := stories(clips, storm)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		for i, f := range s.files {
			if _, ok := rules().Match(uploads, f.name); ok != (i == len(s.files)-1) {
				t.Errorf("%s, %d of %d: a rule matches: %v", f.name, i, len(s.files), ok)
			}
		}
	}
	var shown bytes.Buffer
	tr.page.w = &shown
	if err := tr.run(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(tr.startWeb(t.Context()), tr.ask(t.Context(), storm)); err != nil {
		t.Fatal(err)
	}
	tr.page.invite(tr)
	linked(t, shown.String())
	told(t, tr, shown.String())
	pictures(t, tr, clips)
	if i := slices.IndexFunc(storm.Values, func(x float32) bool { return x < 0 || x > 100 || x*16 != float32(int(x*16)) }); i >= 0 {
		t.Errorf("item %d of the storm is %v", i, storm.Values[i])
	}
	mismatches(t, tr, clips[0], storm)
	others(t, tr)
	err = tr.run(t.Context(), []story{{what: "rubbish", files: []file{{"clips/rubbish.tar", []byte("no tar at all")}}}})
	if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "s3://uploads/clips/rubbish.tar") {
		t.Error(err)
	}
}

// told checks the report and the page. docs/quickstart.md shows what becomes of each upload
// and what each read costs, and make docs-check compares it.
func told(t *testing.T, tr *tour, page string) {
	t.Helper()
	r := tr.report
	format := map[string]string{".gulp": "gulp", ".b2nd": "b2nd", ".blp": "bloscpack", ".zoom": "zoomcache"}
	for _, o := range r.Outputs {
		if o.Format != format[filepath.Ext(o.URI)] || o.Size <= 0 || o.SourceSize <= 0 || o.MS <= 0 || o.UploadMS <= 0 || o.FunctionMS <= 0 || (o.Format == "zoomcache") != (o.IndexSize > 0) || o.IndexSize > o.Size/10 {
			t.Errorf("%+v", o)
		}
	}
	for i, r := range r.Reads {
		least := r.Payload
		switch {
		case strings.HasSuffix(r.URI, ".b2nd"): // blocks are compressed
			least /= 8
		case strings.HasSuffix(r.URI, ".zoom"), i == 0: // points take less in an index than they do here
			least = 1
		}
		if !r.OK || r.Payload <= 0 || r.Requests <= 0 || r.Phases > 2 || r.Bytes < least {
			t.Errorf("%+v", r)
		}
	}
	if r.Uploads != 7 || len(r.Outputs) != 7 || len(r.Reads) != 15 || r.UploadSize < 30<<20 {
		t.Errorf("%d uploads of %d bytes, %d reads", r.Uploads, r.UploadSize, len(r.Reads))
	}
	if n := strings.Count(page, "same as source"); n != len(r.Reads)+1 || !r.Served.OK {
		t.Errorf("%d reads on the page\n%s", n, page)
	}
}

// linked: each link of the page is answered.
func linked(t *testing.T, page string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for _, link := range regexp.MustCompile(`(?m)^  (http://\S+)$`).FindAllStringSubmatch(page, -1) {
		if strings.Contains(link[1], "/group/") { // what Zarr clients open has documents below it
			link[1] += "/zarr.json"
		}
		a, err := client.Get(link[1])
		if err != nil {
			t.Fatal(err)
		}
		if a.Body.Close(); a.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", link[1], a.Status)
		}
	}
	if n := strings.Count(page, "http://127.0.0.1:"); n < 6 {
		t.Errorf("%d links\n%s", n, page)
	}
}

var update = flag.Bool("update", false, "rewrite testdata")

// pictures compares pictures with those of testdata, not bytes: another processor may
// round a pixel the other way, and another release may encode it differently.
func pictures(t *testing.T, tr *tour, clips []demo.Clip) {
	t.Helper()
	for _, c := range clips {
		middle := c.Frames[len(c.Frames)/2]
		golden(t, c.ID+".jpg", middle)
		if change := difference(t, c.Frames[0], middle); change < 1 || c.Label == "" || c.Title == "" || len(c.Frames) < 36 {
			t.Errorf("%q %q %q: %d frames, the first is %.2f of 255 away from the middle", c.ID, c.Label, c.Title, len(c.Frames), change)
		}
	}
	for _, name := range []string{"storm.png", "heart-day.png", "heart-spike.png", "tide-day.png", "tide-hour.png"} {
		file := filepath.Join(tr.o.Dir, "slices", name)
		p, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(p), "\x89PNG") || !slices.Contains(tr.report.Pictures, file) {
			t.Fatalf("%s begins with %.8q, %v; pictures are %q", name, p, err, tr.report.Pictures)
		}
		if name == "storm.png" {
			golden(t, name, p)
		}
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(name, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := difference(t, got, want); d > 0.3 {
		t.Errorf("%s: %.2f of 255 away on average", name, d)
	}
}

// difference is the mean difference of green over all pixels.
func difference(t *testing.T, a, b []byte) (sum float64) {
	t.Helper()
	x, _, err := image.Decode(bytes.NewReader(a))
	y, _, err2 := image.Decode(bytes.NewReader(b))
	if err = errors.Join(err, err2); err != nil || x.Bounds() != y.Bounds() {
		t.Fatalf("%v, %v", err, x)
	}
	size := x.Bounds().Size()
	for i := range size.X * size.Y {
		_, g, _, _ := x.At(i%size.X, i/size.X).RGBA()
		_, h, _, _ := y.At(i%size.X, i/size.X).RGBA()
		sum += math.Abs(float64(g)-float64(h)) / 257
	}
	return sum / float64(size.X*size.Y)
}

// mismatches: small differences from the source are found by the reads that meet them.
func mismatches(t *testing.T, tr *tour, c demo.Clip, v demo.Volume) {
	t.Helper()
	label, frame := c, c
	label.Label = "dusk"
	frame.Frames = slices.Clone(c.Frames)
	frame.Frames[7] = append(bytes.Clone(c.Frames[7]), 0)
	value, shape := v, v
	value.Values = slices.Clone(v.Values)
	value.Values[(30*v.Shape[1]+1)*v.Shape[2]+1]++
	shape.Shape = []int64{v.Shape[0], v.Shape[1] * v.Shape[2]}
	line := bytes.Split(bytes.TrimSuffix(demo.RequestLog(), []byte("\n")), []byte("\n"))
	line[7] = append(bytes.Clone(line[7]), ' ')
	heart, waves := demo.Heart(heartRate), demo.Tide(tideStep)
	heart[len(heart)-1], waves[300] = 30_000, 30_000
	var twice []int64
	for _, x := range waves {
		twice = append(twice, x, x)
	}
	for _, tt := range []struct {
		output int
		step   step
	}{
		{0, frames(frame, "a frame of many", 0, 40, 1)},
		{0, frames(label, "the label", 0, 1, 1)},
		{3, cut(value, "30, 1:, :", "a value of many")},
		{3, cut(shape, "30, :", "the shape")},
		{4, records(line, "a record of many", 0, 300)},
		{4, records(line[:299], "the number of records", 0, 1)},
		{5, heartStory(heart).steps[0]},
		{6, tideStory(waves).steps[0]},
		{6, view("one level too many, cold", "tide-y", series{twice, 0, tideStep / 2}, 0, 990)},
	} {
		err := tr.readBack(t.Context(), story{steps: []step{tt.step}}, tr.report.Outputs[tt.output].URI)
		if !errors.Is(err, ErrMismatch) || !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s: %v", tt.step.what, err)
		}
	}
}

// others: uploads of people to the running cloud are found, with any output.
func others(t *testing.T, tr *tour) {
	t.Helper()
	array := "\x93NUMPY\x01\x00\x76\x00" + fmt.Sprintf("%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }") + strings.Repeat("\x00", 24)
	files := func(data, a, b string) string {
		p, err := archive("zip", []file{{a, []byte(data)}, {b, []byte(data)}})
		if err != nil {
			t.Fatal(err)
		}
		return string(p)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	seen := bufio.NewScanner(r)
	tr.page.w = w
	defer cancel()
	watched := make(chan error, 1)
	go func() { watched <- tr.watch(ctx) }()
	for i, tt := range []struct {
		key, data string
		want      []string // of the output, or of the remark
	}{
		{"x.npy", array, []string{"/x.npy.b2nd "}},
		{"d/y.npz", files(array, "a.npy", "b.npy"), []string{"/d/y.npz/a.b2nd ", "/d/y.npz/b.b2nd "}},
		{"z.raw", array[128:], []string{errWaits.Error()}},
		{"z.raw.json", `{"dtype":"<f4","shape":[6]}`, []string{"/z.raw.b2nd "}},
		{"w.raw.json", `{"dtype":"<f4","shape":[6]}`, []string{errWaits.Error()}},
		{"bad.raw.json", `{"dtype":"<f4"}`, []string{errRefused.Error()}},
		{"bad\u202e.npy", "no array", []string{`bad\u202e.npy`}},
		{"l/my.jsonl", "{}\n", []string{"/l/my.jsonl.blp "}},
		{"texts.zip", files("text", "a.txt", "b.txt"), []string{"/texts.zip.blp "}},
		{strings.Repeat("long/", 160) + "a.npy", array, []string{".b2nd "}},
	} {
		if _, err := objstore.Put(t.Context(), tr.uploads, tt.key, strings.NewReader(tt.data), objstore.PutOptions{}); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		for _, want := range tt.want {
			if !seen.Scan() || !strings.Contains(seen.Text(), want) {
				t.Errorf("%s: %q does not say %q", tt.key, seen.Text(), want)
			}
		}
	}
	cancel()
	if err := <-watched; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestProgram runs the real program: once for scripts, and then until a Ctrl-C or the
// end of its cloud.
func TestProgram(t *testing.T) {
	o, _ := options(t)
	out, err := exec.Command(o.Program, "quickstart", "--once", "--json").Output()
	var r Report
	if err = errors.Join(err, json.Unmarshal(out, &r)); err != nil || r.Uploads != 7 || len(r.Reads) != 15 || r.Pictures == nil || len(r.Pictures) > 0 || !r.Served.OK {
		t.Errorf("%v\n%s", err, out)
	}
	ends(t, o.Program, func(pid int) int { return pid }, 130, "interrupted")
	ends(t, o.Program, child, 6, "localcloud ended: ")
	left, err := os.ReadDir(os.Getenv("TMPDIR"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// ends interrupts one of the program's processes after the tour: then all processes
// have to end.
func ends(t *testing.T, program string, victim func(pid int) int, code int, says string) {
	t.Helper()
	alive, held, err := os.Pipe() // its end comes when no process holds the other end
	if err != nil {
		t.Fatal(err)
	}
	defer alive.Close()
	cmd := exec.Command(program, "quickstart")
	var stderr bytes.Buffer
	cmd.Stderr, cmd.ExtraFiles = &stderr, []*os.File{held} // which children inherit
	out, err := cmd.StdoutPipe()
	if err = errors.Join(err, cmd.Start(), held.Close()); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill() //nolint:errcheck // usually gone
	page := bufio.NewReader(out)
	for line := ""; !strings.Contains(line, "Ctrl-C"); {
		if line, err = page.ReadString('\n'); err != nil {
			t.Fatalf("%v\n%s", err, &stderr)
		}
	}
	if cloud := child(cmd.Process.Pid); cloud == 0 || child(cloud) == 0 {
		t.Fatal("localcloud or its functions do not run")
	}
	if err := syscall.Kill(victim(cmd.Process.Pid), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(page)
	_ = cmd.Wait() // the exit code is looked at below
	if got := cmd.ProcessState.ExitCode(); got != code || err != nil || len(rest) > 0 || !strings.Contains(stderr.String(), says) || strings.Count(stderr.String(), "\n") > 1 {
		t.Errorf("exit code %d, want %d, %v: %s%s", got, code, err, rest, &stderr)
	}
	_ = alive.SetReadDeadline(time.Now().Add(time.Minute)) // it takes that long only if it hangs
	if _, err := alive.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a process is left: %v", err)
	}
}

// child is a process that pid has started; 0: there is none. Not every Linux has pgrep.
func child(pid int) (first int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		var state string
		var parent int
		// The name of the program, in brackets, may have brackets and blanks.
		_, _ = fmt.Sscan(string(text[bytes.LastIndexByte(text, ')')+1:]), &state, &parent)
		if parent == pid {
			_, _ = fmt.Sscan(string(text), &first)
			return first
		}
	}
	if len(stats) == 0 {
		out, _ := exec.Command("pgrep", "-P", strconv.Itoa(pid)).Output() // it fails if there is none
		_, _ = fmt.Sscan(string(out), &first)
	}
	return first
}

// TestRefuses: faults are told before anything runs.
func TestRefuses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := l.Addr().(*net.TCPAddr).Port
	dir, other, file := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "file")
	for name, text := range map[string]string{
		file: "", dir + "/go.mod": stack.Module + "\n\ngo 1.26\n", dir + "/localcloud/go.mod": stack.Module + "/localcloud\n\ngo 1.26\n", dir + "/deep/down/note": "",
		dir + "/cmd/fn-pack/main.go": "package main\n\nfunc main() {}\n", dir + "/cmd/fn-zoom/main.go": "package main\n\nfunc main() {}\n",
		dir + "/localcloud/main.go": "package main\n\nimport \"os\"\n\nfunc main() {\n\tprintln(\"localcloud: not today\")\n\tos.Exit(1)\n}\n",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o750), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(other, "farread")
	for _, tt := range []struct {
		o    Options
		is   error
		text string
	}{
		{Options{Port: taken}, objstore.ErrUnavailable, fmt.Sprintf("--port %d: address already in use (0 takes a free one)", taken)},
		{Options{Port: 65536}, objstore.ErrInvalid, "--port 65536 is not in 1 to 65535"},
		{Options{Dir: file}, objstore.ErrInvalid, "--dir: " + file + " is not a folder"},
		{Options{Dir: "/sys/kernel/farread"}, fs.ErrPermission, "--dir: mkdir /sys/kernel/farread"},
		{Options{Program: program, Work: other}, fs.ErrNotExist, "localcloud and fn-pack/bootstrap and fn-zoom/bootstrap not found beside " + program + " (go install, pip and images bring farread alone): unpack an archive"},
		{Options{Program: program, Work: filepath.Join(dir, "deep", "down")}, objstore.ErrUnavailable, "localcloud did not start: not today"},
	} {
		var out, errw bytes.Buffer
		if tt.o.Dir == "" {
			tt.o.Dir = t.TempDir()
		}
		err := Run(t.Context(), tt.o, &out, &errw)
		if _, missing := os.Stat("/sys/kernel"); missing != nil && errors.Is(tt.is, fs.ErrPermission) {
			continue // a folder that nobody may write to, not even root
		}
		if !errors.Is(err, tt.is) || !strings.HasPrefix(err.Error(), tt.text) || out.Len() > 0 {
			t.Errorf("%q: %v\n%s", tt.text, err, &out)
		}
		if built := "building localcloud"; strings.Contains(errw.String(), built) != strings.HasSuffix(tt.text, "not today") {
			t.Errorf("%q: %q", tt.text, &errw)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "cmd", "fn-pack", "main.go"), []byte("package main\n\nfunc main() { undefined() }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := findParts(t.Context(), Options{Program: program, Work: dir, Terminal: true}, io.Discard); err == nil || !strings.Contains(err.Error(), "undefined: undefined") {
		t.Error(err)
	}
}

// TestAwait: an upload is done after its last try, whatever else happens.
func TestAwait(t *testing.T) {
	run := func(bucket, key string, failed, dead bool) stack.Invocation {
		return stack.Invocation{OK: !failed, Records: []stack.Record{{Bucket: uploads}, {Bucket: bucket, Key: key, Failed: failed, Dead: dead}}}
	}
	for dead, want := range map[bool]error{false: nil, true: objstore.ErrUnavailable} {
		runs := make(chan stack.Invocation, 5)
		for n, i := range []stack.Invocation{run(uploads, "b", false, false), run(datasets, "a", false, false), run(uploads, "a", true, false), run(uploads, "a", dead, dead), {}} {
			i.MS = float64(n)
			runs <- i
		}
		tr := &tour{cloud: &stack.Process{Invocations: runs}}
		if i, err := tr.await(t.Context(), "a"); i.MS != 3 || !errors.Is(err, want) {
			t.Errorf("%v: %+v %v", dead, i, err)
		}
	}
}
