package analyze_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/predicate"
	fn "github.com/farread/farread/functions/analyze"
	"github.com/farread/farread/internal/machinetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// A cloud is a work bucket with an array, a function and the state machine of the module.
type cloud struct {
	bucket objstore.Bucket
	fn     *fn.Function
	m      *machinetest.Machine

	mu    sync.Mutex
	calls []string // events that the function had
	bad   func(e *fn.Event, tries int) error
	tries map[int]int // calls for batches, by their first part
}

// A buffer is an output in memory.
type buffer struct{ bytes.Buffer }

func (b *buffer) Patch(off int64, p []byte) error {
	copy(b.Bytes()[off:], p)
	return nil
}

const parts = 20

// array is a b2nd of parts chunks of 100 numbers.
var array = sync.OnceValue(func() []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, 100*parts)
	for i := range values {
		values[i] = rnd.NormFloat64() * 1e6
	}
	var out buffer
	w, err := b2nd.NewWriter(&out, b2nd.Meta{Shape: []int64{100 * parts}, ChunkShape: []int{100}, BlockShape: []int{50}, DType: "<f8"}, b2nd.WriteOptions{NoStats: true})
	if err == nil {
		if err = binary.Write(w, binary.NativeEndian, values); err == nil {
			err = w.Close()
		}
	}
	if err != nil {
		panic(err)
	}
	return out.Bytes()
})

// newCloud makes a cloud without anything but the array.
func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{bucket: memstore.New(memstore.Config{Name: "s3://work", Now: func() time.Time { return time.Unix(1.8e9, 0).UTC() }}), tries: map[int]int{}}
	c.put(t, "x.b2nd", array())
	c.fn = &fn.Function{Open: c.open, Buckets: func(name string) (objstore.Bucket, error) {
		if name != "work" {
			return nil, errors.New("no such bucket")
		}
		return c.bucket, nil
	}}
	text, err := os.ReadFile("../../terraform/modules/pipeline/analysis.asl.json")
	if err != nil {
		t.Fatal(err)
	}
	if c.m, err = machinetest.Parse(string(text), map[string]string{"function_arn": "fn", "max_concurrency": "8"}); err != nil {
		t.Fatal(err)
	}
	c.m.Jobs = 4
	c.m.Read = func(_, key string) ([]byte, error) { return c.get(key) }
	c.m.Invoke = func(_ string, payload []byte) ([]byte, *machinetest.Error) {
		answer, err := c.invoke(payload)
		if err == nil {
			return answer, nil
		}
		name := "Temporary"
		if fn.Permanent(err) {
			name = "Permanent"
		}
		cause, _ := json.Marshal(map[string]string{"errorMessage": err.Error(), "errorType": name})
		return nil, &machinetest.Error{Name: name, Cause: string(cause)}
	}
	return c
}

// invoke calls the function, if the test lets it.
func (c *cloud) invoke(payload []byte) ([]byte, error) {
	var e fn.Event
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.calls = append(c.calls, string(payload))
	tries := 0
	if e.Analyze != nil {
		c.tries[e.Analyze.From]++
		tries = c.tries[e.Analyze.From]
	}
	bad := c.bad
	c.mu.Unlock()
	if bad != nil {
		if err := bad(&e, tries); err != nil {
			return nil, err
		}
	}
	return c.fn.Handle(context.Background(), payload)
}

func (c *cloud) put(t *testing.T, key string, p []byte) {
	t.Helper()
	if _, err := objstore.Put(t.Context(), c.bucket, key, bytes.NewReader(p), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c *cloud) get(key string) ([]byte, error) {
	r, _, err := c.bucket.Get(context.Background(), key, objstore.GetOptions{})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(r)
	return b.Bytes(), err
}

// array opens the array.
func (c *cloud) array(ctx context.Context) (*b2nd.Array, analyze.Source, error) {
	o, err := objstore.Open(ctx, c.bucket, "x.b2nd", objstore.OpenOptions{Head: 1024, Tail: 1024})
	if err != nil {
		return nil, analyze.Source{}, err
	}
	in := o.Info()
	a, err := b2nd.Open(ctx, o, b2nd.Options{Policy: rangeio.Lean()})
	return a, analyze.Source{URI: "s3://work/x.b2nd", ETag: in.ETag, Version: in.VersionID, Time: in.ModTime, Size: in.Size}, err
}

func (c *cloud) open(ctx context.Context, p *analyze.Plan) (analyze.Work, error) {
	a, now, err := c.array(ctx)
	if err != nil {
		return nil, err
	}
	return p.OpenArray(ctx, a, now, 1<<30)
}

// plan makes a plan in the bucket, and returns what a run here answers.
func (c *cloud) plan(t *testing.T) (fn.Folder, *analyze.Plan, *analyze.Answers) {
	t.Helper()
	a, src, err := c.array(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stats, err := analyze.ParseStats("count,mean,std,argmax,hist(5,-1e6:1e6),quantiles(0.5)")
	if err != nil {
		t.Fatal(err)
	}
	where, err := predicate.Parse("v > -1e6")
	if err != nil {
		t.Fatal(err)
	}
	j, err := analyze.NewArray(t.Context(), a, analyze.ArrayOptions{Box: b2nd.Whole(a.Shape()), Stats: stats, Where: where, PartBytes: 800, Source: src.String()})
	if err != nil || j.Parts() != parts {
		t.Fatal(err, j.Parts())
	}
	p := j.Plan(src)
	dir := fn.Folder{Bucket: c.bucket, Dir: "jobs/" + p.ID + "/"}
	if err := dir.PutPlan(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	want, err := j.Run(t.Context(), analyze.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return dir, p, want
}

// run runs the state machine over what is missing, in batches of two parts.
func (c *cloud) run(t *testing.T, dir fn.Folder, p *analyze.Plan, run string) error {
	t.Helper()
	missing, err := dir.Missing(t.Context(), 0, p.Parts)
	if err != nil {
		t.Fatal(err)
	}
	list := []fn.Batch{}
	for pair := range slices.Chunk(missing, 2) {
		list = append(list, fn.Batch{From: pair[0], To: pair[len(pair)-1] + 1})
	}
	if err := dir.PutList(t.Context(), run, list); err != nil {
		t.Fatal(err)
	}
	if _, err := c.m.Run(run, map[string]any{"bucket": "work", "plan": dir.PlanKey(), "list": dir.ListKey(run)}); err != nil {
		return err
	}
	return nil
}

func same(t *testing.T, dir fn.Folder, p *analyze.Plan, want *analyze.Answers) {
	t.Helper()
	got, ok, err := dir.Answers(t.Context(), p)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	now, err := p.EncodeAnswers(got)
	if err != nil {
		t.Fatal(err)
	}
	if wish, err := p.EncodeAnswers(want); err != nil || !bytes.Equal(now, wish) {
		t.Errorf("%v:\n%s\nwant\n%s", err, now, wish)
	}
}

// TestMachine: the state machine of the module, with the function, answers what a run here
// does, also if batches fail at first, and a second run changes nothing.
func TestMachine(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	dir, p, want := c.plan(t)
	c.bad = func(e *fn.Event, tries int) error {
		if e.Analyze != nil && e.Analyze.From%4 == 0 && tries <= 4 {
			return errors.New("a bad day")
		}
		return nil
	}
	if err := c.run(t, dir, p, "r1"); err != nil {
		t.Fatal(err)
	}
	same(t, dir, p, want)
	for n, tries := range c.tries {
		if wish := 1 + 4*((n+2)/2%2); tries != wish {
			t.Errorf("the batch from %d was tried %d times, want %d", n, tries, wish)
		}
	}
	if run, err := dir.LastRun(t.Context()); err != nil || run != "r1" {
		t.Error(run, err)
	}
	before, err := c.get(dir.AnswersKey())
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range c.calls {
		if _, err := c.fn.Handle(t.Context(), []byte(event)); err != nil {
			t.Errorf("%s, once more: %v", event, err)
		}
	}
	if after, err := c.get(dir.AnswersKey()); err != nil || !bytes.Equal(before, after) {
		t.Error("the answers changed", err)
	}
}

// TestFailedForEver: parts that fail for ever are noted with their reasons, the others are
// made, and another run makes only what is missing.
func TestFailedForEver(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	dir, p, want := c.plan(t)
	c.bad = func(e *fn.Event, _ int) error {
		switch {
		case e.Analyze != nil && e.Analyze.From == 6:
			return objstore.ErrChanged
		case e.Analyze != nil && e.Analyze.From == 10:
			return errors.New("no luck")
		}
		return nil
	}
	err := c.run(t, dir, p, "r1")
	if e, ok := errors.AsType[*machinetest.Error](err); !ok || e.Name != "Permanent" || !strings.Contains(e.Cause, "4 of 20 parts are missing: 6-7, 10-11") {
		t.Fatal(err)
	}
	if c.tries[6] != 1 || c.tries[10] != 5 {
		t.Errorf("%d and %d tries, want 1 and 5", c.tries[6], c.tries[10])
	}
	got, err := dir.Failures(t.Context(), "r1")
	if err != nil || len(got) != 2 || got[0] != (fn.Failure{fn.Batch{6, 8}, "Permanent", "object changed"}) || got[1] != (fn.Failure{fn.Batch{10, 12}, "Temporary", "no luck"}) {
		t.Errorf("%+v, %v", got, err)
	}
	c.bad, c.calls = nil, nil
	if err := c.bucket.Delete(t.Context(), dir.Dir+"parts/00000019.json"); err != nil {
		t.Fatal(err)
	}
	if err := c.run(t, dir, p, "r2"); err != nil {
		t.Fatal(err)
	}
	if len(c.calls) != 3+1 {
		t.Errorf("%d calls: %v", len(c.calls), c.calls)
	}
	same(t, dir, p, want)
}

// TestSourceChanges: an array that was replaced is refused, before a batch and within one.
func TestSourceChanges(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	dir, p, _ := c.plan(t)
	event := func(from, to int) []byte {
		return fmt.Appendf(nil, `{"analyze":{"bucket":"work","plan":%q,"from":%d,"to":%d}}`, dir.PlanKey(), from, to)
	}
	if _, err := c.fn.Handle(t.Context(), event(0, 2)); err != nil {
		t.Fatal(err)
	}
	c.put(t, "x.b2nd", array()) // the same bytes, and another ETag
	if _, err := c.fn.Handle(t.Context(), event(16, 18)); !errors.Is(err, objstore.ErrChanged) || !fn.Permanent(err) || !strings.HasPrefix(err.Error(), "2 of 2 parts failed: part 16: ") {
		t.Errorf("an instance that had it open: %v", err)
	}
	if _, err := (&fn.Function{Buckets: c.fn.Buckets, Open: c.open}).Handle(t.Context(), event(4, 6)); !errors.Is(err, analyze.ErrOtherSource) || !fn.Permanent(err) {
		t.Errorf("a new instance: %v", err)
	}
	missing, err := dir.Missing(t.Context(), 0, p.Parts)
	if err != nil || fn.Spelled(missing) != "2-19" {
		t.Errorf("%v are missing, %v", missing, err)
	}
}

// TestRefused: events and objects that make no sense.
func TestRefused(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	dir, _, _ := c.plan(t)
	key := dir.PlanKey()
	for _, event := range []string{
		``, `[]`, `{}`, `{"analyze":{}}`, `{"analyze":{"bucket":"work","plan":"plan.json","from":0,"to":1}}`, `{"analyze":{"bucket":"work","plan":"a/b.json","from":0,"to":1}}`,
		`{"analyze":{"bucket":"work","plan":"none/plan.json","from":0,"to":1}}`, `{"analyze":{"bucket":"work","plan":"` + key + `","from":0,"to":21}}`,
		`{"analyze":{"bucket":"work","plan":"` + key + `","from":-1,"to":1}}`, `{"analyze":{"bucket":"work","plan":"` + key + `","from":1,"to":1}}`,
		`{"failed":{"bucket":"work","plan":"` + key + `","from":1,"to":2,"run":"../x"}}`, `{"reduce":{"bucket":"work","plan":"` + key + `"}}`,
	} {
		if _, err := c.fn.Handle(t.Context(), []byte(event)); err == nil || !fn.Permanent(err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", event, err)
		}
	}
	if _, err := c.fn.Handle(t.Context(), []byte(`{"reduce":{"bucket":"other","plan":"`+key+`"}}`)); err == nil || fn.Permanent(err) {
		t.Errorf("a bucket that cannot be had: %v", err)
	}
	for want, change := range map[string]func(id string) string{
		"of another plan":        func(string) string { return `{"plan":"other","part":3,"result":{}}` },
		"a line of part 4":       func(id string) string { return `{"plan":"` + id + `","part":4,"result":{}}` },
		"no result of a part":    func(string) string { return "?" },
		"no table of this plan":  func(id string) string { return `{"plan":"` + id + `","part":3,"result":{}}` },
		"parts are missing: 3\n": nil,
	} {
		c := newCloud(t)
		dir, p, _ := c.plan(t)
		for _, b := range []fn.Batch{{From: 0, To: 3}, {From: 4, To: parts}} {
			if _, err := c.fn.Handle(t.Context(), fmt.Appendf(nil, `{"analyze":{"bucket":"work","plan":%q,"from":%d,"to":%d}}`, dir.PlanKey(), b.From, b.To)); err != nil {
				t.Fatal(err)
			}
		}
		if change != nil {
			c.put(t, dir.Dir+"parts/00000003.json", []byte(change(p.ID)))
		}
		_, err := c.fn.Handle(t.Context(), fmt.Appendf(nil, `{"reduce":{"bucket":"work","plan":%q}}`, dir.PlanKey()))
		if err == nil || !strings.Contains(err.Error()+"\n", want) || !fn.Permanent(err) {
			t.Errorf("%s: %v", want, err)
		}
		if _, ok, _ := dir.Answers(t.Context(), p); ok {
			t.Errorf("%s: there are answers", want)
		}
	}
}

// TestBatches: batches hold what is missing, once, in order, and are as many and as large
// as they should be.
func TestBatches(t *testing.T) {
	t.Parallel()
	all := func(n int) (list []int) {
		for i := range n {
			list = append(list, i)
		}
		return list
	}
	const mib = 1 << 20
	for _, c := range []struct {
		parts, missing int // the last ones
		each           int64
		batches, size  int
	}{
		{1000, 1000, mib, 16, 64},
		{1000, 10, mib, 1, 10},
		{1000, 1000, 64 * mib, 250, 4},
		{40000, 40000, 64 * mib, 10000, 4},
		{40000, 40000, 1 << 30, 10000, 4},
		{9000, 9000, 1 << 30, 9000, 1},
		{0, 0, 1, 0, 0},
	} {
		p := &analyze.Plan{Parts: c.parts, Bytes: int64(c.parts) * c.each}
		list, err := fn.Batches(p, all(c.parts)[c.parts-c.missing:], 0)
		if err != nil || len(list) != c.batches || len(list) > 0 && list[0].To-list[0].From != c.size {
			t.Errorf("%+v: %d batches, %v", c, len(list), err)
			continue
		}
		next := c.parts - c.missing
		for _, b := range list {
			if b.From != next {
				t.Fatalf("%+v: %v", c, b)
			}
			next = b.To
		}
		if next != c.parts {
			t.Errorf("%+v: up to %d", c, next)
		}
	}
	list, err := fn.Batches(&analyze.Plan{Parts: 10, Bytes: 10}, []int{1, 2, 3, 7, 9}, 0)
	if err != nil || fmt.Sprint(list) != "[{1 4} {7 8} {9 10}]" {
		t.Errorf("with gaps: %v, %v", list, err)
	}
	list, err = fn.Batches(&analyze.Plan{Parts: 10, Bytes: 10}, all(10), 4)
	if err != nil || fmt.Sprint(list) != "[{0 4} {4 8} {8 10}]" {
		t.Errorf("of 4 bytes: %v, %v", list, err)
	}
	if _, err := fn.Batches(&analyze.Plan{Parts: fn.MaxParts + 1, Bytes: 1}, nil, 0); err == nil {
		t.Error("too many parts")
	}
	if got := fn.Spelled([]int{0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20}); got != "0-2, 4, 6, 8, 10, 12, 14, 16, …" {
		t.Error(got)
	}
}
