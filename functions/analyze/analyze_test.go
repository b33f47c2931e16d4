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
	"github.com/farread/farread/functions/parts"
	"github.com/farread/farread/internal/machinetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// A cloud is a work bucket with an array, a function and the state machine of the module.
type cloud struct {
	bucket objstore.Bucket
	fn     *parts.Function
	m      *machinetest.Machine

	mu    sync.Mutex
	calls []string // events that the function had
	bad   func(e *parts.Event, tries int) error
	tries map[int]int // calls for batches, by their first part
}

// A buffer is an output in memory.
type buffer struct{ bytes.Buffer }

func (b *buffer) Patch(off int64, p []byte) error {
	copy(b.Bytes()[off:], p)
	return nil
}

const total = 20

// array is a b2nd of total chunks of 100 numbers.
var array = sync.OnceValue(func() []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, 100*total)
	for i := range values {
		values[i] = rnd.NormFloat64() * 1e6
	}
	var out buffer
	w, err := b2nd.NewWriter(&out, b2nd.Meta{Shape: []int64{100 * total}, ChunkShape: []int{100}, BlockShape: []int{50}, DType: "<f8"}, b2nd.WriteOptions{NoStats: true})
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
	c.fn = &parts.Function{Open: fn.Open(c.open), Buckets: func(name string) (objstore.Bucket, error) {
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
		if parts.Permanent(err) {
			name = "Permanent"
		}
		cause, _ := json.Marshal(map[string]string{"errorMessage": err.Error(), "errorType": name})
		return nil, &machinetest.Error{Name: name, Cause: string(cause)}
	}
	return c
}

// invoke calls the function, if the test lets it.
func (c *cloud) invoke(payload []byte) ([]byte, error) {
	var e parts.Event
	if err := json.Unmarshal(payload, &e); err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.calls = append(c.calls, string(payload))
	tries := 0
	if e.Make != nil {
		c.tries[e.Make.From]++
		tries = c.tries[e.Make.From]
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
func (c *cloud) plan(t *testing.T) (parts.Folder, *analyze.Plan, *analyze.Answers) {
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
	if err != nil || j.Parts() != total {
		t.Fatal(err, j.Parts())
	}
	p := j.Plan(src)
	dir := parts.Folder{Bucket: c.bucket, Dir: "jobs/" + p.ID + "/"}
	head, err := parts.NewPlan(p)
	if err == nil {
		err = dir.PutPlan(t.Context(), head)
	}
	if err != nil {
		t.Fatal(err)
	}
	want, err := j.Run(t.Context(), analyze.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return dir, p, want
}

// run runs the state machine over what is missing, in batches of two parts.
func (c *cloud) run(t *testing.T, dir parts.Folder, p *analyze.Plan, run string) error {
	t.Helper()
	missing, err := dir.Missing(t.Context(), 0, p.Parts)
	if err != nil {
		t.Fatal(err)
	}
	list := []parts.Batch{}
	for pair := range slices.Chunk(missing, 2) {
		list = append(list, parts.Batch{From: pair[0], To: pair[len(pair)-1] + 1})
	}
	if err := dir.PutList(t.Context(), run, list); err != nil {
		t.Fatal(err)
	}
	if _, err := c.m.Run(run, map[string]any{"bucket": "work", "plan": dir.PlanKey(), "list": dir.ListKey(run)}); err != nil {
		return err
	}
	return nil
}

func same(t *testing.T, dir parts.Folder, p *analyze.Plan, want *analyze.Answers) {
	t.Helper()
	now, ok, err := dir.Answers(t.Context(), p.ID)
	if err != nil || !ok {
		t.Fatal(ok, err)
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
	c.bad = func(e *parts.Event, tries int) error {
		if e.Make != nil && e.Make.From%4 == 0 && tries <= 4 {
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
	c.bad = func(e *parts.Event, _ int) error {
		switch {
		case e.Make != nil && e.Make.From == 6:
			return objstore.ErrChanged
		case e.Make != nil && e.Make.From == 10:
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
	if err != nil || len(got) != 2 || got[0] != failure(6, "Permanent", "object changed") || got[1] != failure(10, "Temporary", "no luck") {
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

// failure is that of a batch of two parts.
func failure(from int, name, cause string) parts.Failure {
	return parts.Failure{Batch: parts.Batch{From: from, To: from + 2}, Error: name, Cause: cause}
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
	if _, err := c.fn.Handle(t.Context(), event(16, 18)); !errors.Is(err, objstore.ErrChanged) || !parts.Permanent(err) || !strings.HasPrefix(err.Error(), "2 of 2 parts failed: part 16: ") {
		t.Errorf("an instance that had it open: %v", err)
	}
	if _, err := (&parts.Function{Buckets: c.fn.Buckets, Open: fn.Open(c.open)}).Handle(t.Context(), event(4, 6)); !errors.Is(err, analyze.ErrOtherSource) || !parts.Permanent(err) {
		t.Errorf("a new instance: %v", err)
	}
	missing, err := dir.Missing(t.Context(), 0, p.Parts)
	if err != nil || parts.Spelled(missing) != "2-19" {
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
		if _, err := c.fn.Handle(t.Context(), []byte(event)); err == nil || !parts.Permanent(err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", event, err)
		}
	}
	if _, err := c.fn.Handle(t.Context(), []byte(`{"reduce":{"bucket":"other","plan":"`+key+`"}}`)); err == nil || parts.Permanent(err) {
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
		for _, b := range []parts.Batch{{From: 0, To: 3}, {From: 4, To: total}} {
			if _, err := c.fn.Handle(t.Context(), fmt.Appendf(nil, `{"analyze":{"bucket":"work","plan":%q,"from":%d,"to":%d}}`, dir.PlanKey(), b.From, b.To)); err != nil {
				t.Fatal(err)
			}
		}
		if change != nil {
			c.put(t, dir.Dir+"parts/00000003.json", []byte(change(p.ID)))
		}
		_, err := c.fn.Handle(t.Context(), fmt.Appendf(nil, `{"reduce":{"bucket":"work","plan":%q}}`, dir.PlanKey()))
		if err == nil || !strings.Contains(err.Error()+"\n", want) || !parts.Permanent(err) {
			t.Errorf("%s: %v", want, err)
		}
		if _, ok, _ := dir.Answers(t.Context(), p.ID); ok {
			t.Errorf("%s: there are answers", want)
		}
	}
}
