package pack_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/gulp"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/pack"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// A spread is a prefix of images, and where its chunks and their plan go.
type spread struct {
	in, out, work objstore.Bucket
	plan          *pack.ImageChunks
}

// newSpread plans files into chunks.
func newSpread(t *testing.T, fs []file, l pack.Layout, full int64) (*spread, error) {
	t.Helper()
	x := &spread{memstore.New(memstore.Config{Name: "s3://images"}), memstore.New(memstore.Config{Name: "s3://frames"}), memstore.New(memstore.Config{Name: "s3://work"}), nil}
	for _, f := range fs {
		put(t, x.in, "set/"+f.name, f.data, nil)
	}
	var err error
	x.plan, err = pack.PlanChunks(t.Context(), x.in, pack.ChunksOptions{
		Source: pack.Place{Bucket: "images", Prefix: "set/"}, Dest: pack.Place{Bucket: "frames", Prefix: "to/"}, Layout: l, Full: full,
	})
	if err == nil {
		err = x.plan.PutLists(t.Context(), x.work, "plan/")
	}
	return x, err
}

// machine is another machine, which knows the plan as text.
func (x *spread) machine(t *testing.T) *pack.ChunksWork {
	t.Helper()
	text, err := json.Marshal(x.plan.Plan)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pack.ParseChunksPlan(text)
	if err != nil {
		t.Fatal(err)
	}
	return pack.NewChunksWork(p, pack.ChunksBuckets{Source: x.in, Dest: x.out, Work: x.work, Dir: "plan/"}, pack.Options{})
}

// finish makes all parts, each on a machine of its own, last first, and returns the answers.
func (x *spread) finish(t *testing.T) (*pack.ChunksAnswers, error) {
	t.Helper()
	n := x.plan.Plan.Parts
	lines := make([][]byte, n)
	for part := n - 1; part >= 0; part-- {
		var err error
		if lines[part], err = x.machine(t).Part(t.Context(), part); err != nil {
			return nil, err
		}
	}
	w := x.machine(t)
	for part, line := range lines {
		if err := w.Take(part, line); err != nil {
			t.Fatal(err)
		}
	}
	text, err := w.Finish(t.Context())
	if err != nil {
		return nil, err
	}
	var a pack.ChunksAnswers
	return &a, json.Unmarshal(text, &a)
}

// TestChunksTwice: parts that are made again, at the same time or after a machine was lost,
// and an end that is, change nothing.
func TestChunksTwice(t *testing.T) {
	t.Parallel()
	x, err := newSpread(t, clips(t), pack.Clips, 1)
	if err != nil || x.plan.Plan.Parts != 3 {
		t.Fatal(err)
	}
	first, err := x.machine(t).Part(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	before := content(t, x.out)
	again, err := x.machine(t).Part(t.Context(), 1)
	if err != nil || !bytes.Equal(first, again) {
		t.Errorf("%s, then %s, %v", first, again, err)
	}
	if err := x.work.Delete(t.Context(), "plan/meta/00000001.gmeta"); err != nil { // lost between the two
		t.Fatal(err)
	}
	a, err := x.finish(t)
	if err != nil || a.Result.Frames != 12 || a.Result.IDs != 3 || a.Chunks != 3 || a.Result.Layout != pack.Clips {
		t.Fatalf("%+v, %v", a, err)
	}
	after := content(t, x.out)
	for key, etag := range before {
		if after[key] != etag {
			t.Errorf("%s was written again", key)
		}
	}
	if b, err := x.finish(t); err != nil || *b != *a {
		t.Errorf("%+v, then %+v, %v", a, b, err)
	}
	if fmt.Sprint(after) != fmt.Sprint(content(t, x.out)) || len(after) != 6 {
		t.Errorf("%v, then %v", after, content(t, x.out))
	}
}

// content are the ETags of a bucket by key; those of memstore differ by write.
func content(t *testing.T, b objstore.Bucket) map[string]string {
	t.Helper()
	out := map[string]string{}
	for in, err := range b.List(t.Context(), "") {
		if err != nil {
			t.Fatal(err)
		}
		out[in.Key] = in.ETag
	}
	return out
}

// TestChunksApart: files that are far from the others of their id.
func TestChunksApart(t *testing.T) {
	t.Parallel()
	// The text comes long after its image, as "a.k/" lies between. The image of "lost" is nowhere.
	x, err := newSpread(t, tree(t, "a.jpg\na.k/1.jpg\na.k/2.jpg\na.txt=far behind\nlost.txt=x"), pack.WebDataset, 1)
	if err != nil || x.plan.Plan.Parts != 3 {
		t.Fatal(err)
	}
	a, err := x.finish(t)
	if err != nil || a.Result.Labels != 2 || a.Result.Unlabelled != 1 || a.Result.FirstUnlabelled != "lost" {
		t.Fatalf("%+v, %v", a, err)
	}
	if meta := get(t, x.out, "to/meta_0.gmeta"); !strings.Contains(meta, `"text":"far behind"`) {
		t.Error(meta)
	}
	// A clip whose frames lie around those of another one.
	fs := tree(t, "a/1.jpg\na/b/1.jpg\na/c.jpg")
	if _, err := newSpread(t, fs, pack.Clips, 1); !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), `the frames of id "a" lie apart`) {
		t.Error(err)
	}
	if x, err := newSpread(t, fs, pack.Clips, 1<<20); err != nil || x.plan.Plan.Parts != 1 {
		t.Error(err)
	}
}

func get(t *testing.T, b objstore.Bucket, key string) string {
	t.Helper()
	r, _, err := b.Get(t.Context(), key, objstore.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var p bytes.Buffer
	if _, err := p.ReadFrom(r); err != nil {
		t.Fatal(err)
	}
	return p.String()
}

// TestChunksIDs: a plan is of a listing, a place and a way, and of nothing else.
func TestChunksIDs(t *testing.T) {
	t.Parallel()
	fs := clips(t)
	plan := func(fs []file, full int64) string {
		x, err := newSpread(t, fs, pack.Clips, full)
		if err != nil {
			t.Fatal(err)
		}
		return x.plan.Plan.ID
	}
	one := plan(fs, 1)
	if plan(fs, 1) == one { // memstore's ETags count the writes of a bucket, so these are equal
		for what, id := range map[string]string{"size": plan(fs, 2), "files": plan(fs[1:], 1), "bytes": plan(append(slices.Clone(fs[1:]), file{fs[0].name, fs[1].data}), 1)} {
			if id == one {
				t.Errorf("the same ID with another %s", what)
			}
		}
	} else {
		t.Error("another ID for the same plan")
	}
}

// TestChunksRefused: what a part refuses, and leaves as it is.
func TestChunksRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(t *testing.T, x *spread)
		err   error
		says  string
	}{
		"changed": {func(t *testing.T, x *spread) { t.Helper(); put(t, x.in, "set/run/r1/f4.jpg", picture(t, 9), nil) }, objstore.ErrChanged, "set/run/r1/f4.jpg is not what was listed"},
		"gone":    {func(t *testing.T, x *spread) { t.Helper(); _ = x.in.Delete(t.Context(), "set/run/r1/f0.jpg") }, objstore.ErrNotFound, "set/run/r1/f0.jpg is not what was listed"},
		"taken":   {func(t *testing.T, x *spread) { t.Helper(); put(t, x.out, "to/data_0.gulp", nil, nil) }, functions.ErrTaken, "to/data_0.gulp is not of this plan"},
		"no list": {func(t *testing.T, x *spread) {
			t.Helper()
			_ = x.work.Delete(t.Context(), "plan/"+pack.ChunkListKey(0))
		}, objstore.ErrNotFound, ""},
		"bad list": {func(t *testing.T, x *spread) {
			t.Helper()
			put(t, x.work, "plan/"+pack.ChunkListKey(0), []byte("[]"), nil)
		}, formats.ErrCorrupt, ""},
		"another list": {func(t *testing.T, x *spread) {
			t.Helper()
			put(t, x.work, "plan/"+pack.ChunkListKey(0), []byte(get(t, x.work, "plan/"+pack.ChunkListKey(1))), nil)
		}, pack.ErrOtherList, ""},
		"a list that leads away": {func(t *testing.T, x *spread) {
			t.Helper()
			put(t, x.work, "plan/"+pack.ChunkListKey(0), fmt.Appendf(nil, `{"plan":%q,"part":0,"files":[{"key":"../x.jpg","etag":"x","size":5}]}`, x.plan.Plan.ID), nil)
		}, formats.ErrCorrupt, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, err := newSpread(t, clips(t), pack.Clips, 1)
			if err != nil {
				t.Fatal(err)
			}
			c.spoil(t, x)
			before := content(t, x.out)
			if _, err := x.machine(t).Part(t.Context(), 0); !errors.Is(err, c.err) || !strings.Contains(err.Error(), c.says) {
				t.Error(err)
			}
			if fmt.Sprint(before) != fmt.Sprint(content(t, x.out)) {
				t.Errorf("left %v", content(t, x.out))
			}
		})
	}
	// An image that is none: the other chunks do not show.
	bad := append(clips(t), file{"walk/w2/f9.jpg", []byte("no image")})
	x, err := newSpread(t, bad, pack.Clips, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.finish(t); !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), `"walk/w2/f9.jpg": not a JPEG`) {
		t.Error(err)
	}
	for key := range content(t, x.out) {
		if strings.HasSuffix(key, gulp.MetaSuffix) {
			t.Errorf("%s shows", key)
		}
	}
	for _, text := range []string{"", "{}", `{"farread_plan":1,"id":"x","kind":"b2nd","parts":1}`, `{"farread_plan":2,"id":"x","kind":"gulp-chunks","parts":1}`} {
		if _, err := pack.ParseChunksPlan([]byte(text)); !errors.Is(err, formats.ErrCorrupt) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := x.machine(t).Take(0, []byte(`{}`)); !errors.Is(err, formats.ErrCorrupt) {
		t.Error(err)
	}
}

// TestChunksTrace pins what planning, a part and the end cost.
func TestChunksTrace(t *testing.T) {
	t.Parallel()
	var fs []file
	for i := range 6 {
		fs = append(fs, file{fmt.Sprintf("c%d/%s.jpg", i/2, strings.Repeat("x", 1+i%2)), picture(t, i)})
	}
	fs = append(fs, file{"labels.csv", []byte("id,x\nc1,1\n")})
	x, err := newSpread(t, fs, pack.Clips, 1)
	if err != nil {
		t.Fatal(err)
	}
	var log tracetest.Log
	x.in, x.out, x.work = objstore.Chain(x.in, log.Middleware()), objstore.Chain(x.out, log.Middleware()), objstore.Chain(x.work, log.Middleware())
	if _, err := pack.PlanChunks(t.Context(), x.in, pack.ChunksOptions{Source: x.plan.Plan.Source, Dest: x.plan.Plan.Dest, Full: 1}); err != nil {
		t.Fatal(err)
	}
	log.Step("plan 6 images and labels")
	w := x.machine(t)
	for part := range 3 {
		line, err := x.machine(t).Part(t.Context(), part)
		if err == nil {
			err = w.Take(part, line)
		}
		if err != nil {
			t.Fatal(err)
		}
		log.Step(fmt.Sprintf("part %d", part))
	}
	if _, err := w.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	log.Step("end")
	log.Golden(t, "testdata/chunks.trace")
}
