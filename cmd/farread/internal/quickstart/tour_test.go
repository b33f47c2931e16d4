package quickstart

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sample"
	"github.com/farread/farread/formats"
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
	all := append(parts(), part{"farread", ".", []string{"./cmd/farread"}})
	if err := build(t.Context(), filepath.Join("..", "..", "..", ".."), bin, all, io.Discard, false); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	return Options{Program: filepath.Join(bin, "farread"), Config: farread.Config{Counter: &objstore.Counter{}}}, bin
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
	clips, storm, err := sample.Draw(t.Context())
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
	tr.page.invite(tr)
	told(t, tr, shown.String())
	mismatches(t, tr, clips[0], storm)
	others(t, tr)
	err = tr.run(t.Context(), []story{{what: "rubbish", files: []file{{"clips/rubbish.tar", []byte("no tar at all")}}}})
	if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "s3://uploads/clips/rubbish.tar") {
		t.Error(err)
	}
}

// told checks the report and the page. docs/quickstart.md shows what each read costs, and
// make docs-check compares it.
func told(t *testing.T, tr *tour, page string) {
	t.Helper()
	r := tr.report
	var made []string
	for _, o := range r.Outputs {
		made = append(made, o.Source, o.URI, o.Format, o.Function)
		if o.Size <= 0 || o.SourceSize <= 0 || o.MS <= 0 || o.UploadMS <= 0 || o.FunctionMS <= 0 || (o.Format == "zoomcache") != (o.IndexSize > 0) || o.IndexSize > o.Size/10 {
			t.Errorf("%+v", o)
		}
	}
	const in, to = "s3://uploads/", "s3://datasets/"
	if d := cmp.Diff([]string{
		in + "clips/sunrise.tar", to + "clips/sunrise.tar.gulp", "gulp", "fn-pack", in + "clips/planet.zip", to + "clips/planet.zip.gulp", "gulp", "fn-pack",
		in + "clips/aurora/", to + "clips/aurora/frames.gulp", "gulp", "fn-pack", in + "arrays/storm.npy", to + "arrays/storm.npy.b2nd", "b2nd", "fn-pack",
		in + "logs/requests.jsonl", to + "logs/requests.jsonl.blp", "bloscpack", "fn-pack",
		in + "series/heart.wav", to + "series/heart.wav.zoom", "zoomcache", "fn-zoom", in + "series/tide.csv", to + "series/tide.csv.zoom", "zoomcache", "fn-zoom",
	}, made); d != "" {
		t.Error(d)
	}
	for i, r := range r.Reads {
		points := strings.HasSuffix(r.URI, ".zoom") // points take less in an index than they do here
		if !r.OK || r.Payload <= 0 || r.Requests <= 0 || r.Phases > 2 || r.Bytes < r.Payload && i > 0 && !points {
			t.Errorf("%+v", r)
		}
	}
	if r.Uploads != 7 || len(r.Reads) != 15 || r.UploadSize < 30<<20 {
		t.Errorf("%d uploads of %d bytes, %d reads", r.Uploads, r.UploadSize, len(r.Reads))
	}
	if n := strings.Count(page, "same as source"); n != len(r.Reads) {
		t.Errorf("%d reads on the page\n%s", n, page)
	}
	for _, name := range []string{"storm.png", "heart-day.png", "heart-spike.png", "tide-day.png", "tide-hour.png"} {
		name = filepath.Join(tr.slices, name)
		if p, err := os.ReadFile(name); err != nil || !strings.HasPrefix(string(p), "\x89PNG") || !slices.Contains(r.Pictures, name) {
			t.Errorf("%s begins with %.8q, %v; pictures are %q", name, p, err, r.Pictures)
		}
	}
}

// mismatches: small differences from the source are found by the reads that meet them.
func mismatches(t *testing.T, tr *tour, c sample.Clip, v sample.Volume) {
	t.Helper()
	label, frame := c, c
	label.Label = "dusk"
	frame.Frames = slices.Clone(c.Frames)
	frame.Frames[7] = append(bytes.Clone(c.Frames[7]), 0)
	value, shape := v, v
	value.Values = slices.Clone(v.Values)
	value.Values[(30*v.Shape[1]+1)*v.Shape[2]+1]++
	shape.Shape = []int64{v.Shape[0], v.Shape[1] * v.Shape[2]}
	line := bytes.Split(bytes.TrimSuffix(requestLog(60_000), []byte("\n")), []byte("\n"))
	line[7] = append(bytes.Clone(line[7]), ' ')
	heart, waves := heartbeat(), tide()
	heart[len(heart)-1], waves[300] = 30_000, 30_000
	for _, tt := range []struct {
		output int
		step   step
		ok     bool
	}{
		{0, frames(frame, "a frame, not read", 0, 7, 1), true},
		{0, frames(frame, "a frame", 7, 8, 1), false},
		{0, frames(frame, "a frame of many", 0, 40, 1), false},
		{0, frames(label, "the label", 0, 1, 1), false},
		{3, cut(value, ":30, :, :", "a value, not read"), true},
		{3, cut(value, "30, 1, 1", "a value"), false},
		{3, cut(value, "30, 1:, :", "a value of many"), false},
		{3, cut(shape, "30, :", "the shape"), false},
		{4, records(line, "a record, not read", 8, 300), true},
		{4, records(line, "a record", 7, 8), false},
		{4, records(line, "a record of many", 0, 300), false},
		{4, records(line[:299], "the number of records", 0, 1), false},
		{5, wavStory(heart).steps[0], false},
		{6, view("a level, not read, cold", "tide-x", func(i int64) (float64, bool) { return float64(waves[i/10]), i%10 == 0 }, 0, 2990), true},
		{6, tideStory(waves).steps[0], false},
		{6, view("one level too many, cold", "tide-y", func(i int64) (float64, bool) { return float64(waves[i/10]), i%5 == 0 }, 0, 990), false},
	} {
		err := tr.readBack(t.Context(), story{steps: []step{tt.step}}, tr.report.Outputs[tt.output].URI)
		if tt.ok && err != nil || !tt.ok && (!errors.Is(err, ErrMismatch) || !errors.Is(err, formats.ErrCorrupt)) {
			t.Errorf("%s: %v", tt.step.what, err)
		}
	}
}

// others: uploads of people to the running cloud are found, with any output.
func others(t *testing.T, tr *tour) {
	t.Helper()
	array := "\x93NUMPY\x01\x00\x76\x00" + fmt.Sprintf("%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }") + strings.Repeat("\x00", 24)
	files := func(data, a, b string) string {
		p, err := archive(".zip", []file{{a, []byte(data)}, {b, []byte(data)}})
		if err != nil {
			t.Fatal(err)
		}
		return string(p)
	}
	arrays := files(array, "a.npy", "b.npy")
	ctx, cancel := context.WithCancel(t.Context())
	seen := make(events, 100)
	tr.page.w = seen
	defer cancel()
	watched := make(chan error, 1)
	go func() { watched <- tr.watch(ctx) }()
	for i, tt := range []struct {
		key, data string
		want      []string // of the output, or of the remark
	}{
		{"x.npy", array, []string{"/x.npy.b2nd "}},
		{"d/y.npz", arrays, []string{"/d/y.npz/a.b2nd ", "/d/y.npz/b.b2nd "}},
		{"z.raw", array[128:], []string{errWaits.Error()}},
		{"z.raw.json", `{"dtype":"<f4","shape":[6]}`, []string{"/z.raw.b2nd "}},
		{"w.raw.json", `{"dtype":"<f4","shape":[6]}`, []string{errWaits.Error()}},
		{"bad.raw.json", `{"dtype":"<f4"}`, []string{errRefused.Error()}},
		{"bad\u202e.npy", "no array", []string{"bad·.npy"}},
		{"l/my.jsonl", "{}\n", []string{"/l/my.jsonl.blp "}},
		{"files.zip", arrays, []string{"/files.zip/a.b2nd ", "/files.zip/b.b2nd "}}, // it is a .npz
		{"texts.zip", files("text", "a.txt", "b.txt"), []string{"/texts.zip.blp "}},
		{strings.Repeat("long/", 160) + "a.npy", array, []string{".b2nd "}},
		{"bad.npz", "no archive", []string{errRefused.Error()}},
	} {
		if _, err := objstore.Put(t.Context(), tr.uploads, tt.key, strings.NewReader(tt.data), objstore.PutOptions{}); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		for _, want := range tt.want {
			if line := <-seen; !strings.Contains(line, want) {
				t.Errorf("%s: %q does not say %q", tt.key, line, want)
			}
		}
	}
	cancel()
	if err := <-watched; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// events are the lines of a page as they come.
type events chan string

func (e events) Write(p []byte) (int, error) {
	e <- string(p)
	return len(p), nil
}
