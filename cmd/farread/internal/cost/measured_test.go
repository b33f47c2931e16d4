package cost

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats/b2nd"
	fn "github.com/farread/farread/functions/analyze"
	"github.com/farread/farread/functions/parts"
	"github.com/farread/farread/internal/machinetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
)

// A sized is a small run.
type sized struct {
	chunks, items int // of the array, and of a chunk
	part, batch   int // chunks of a part, parts of a batch
	workers       int
	latency       time.Duration
	bandwidth     float64 // of a worker
	failing       int     // batches whose first call fails before it does anything
	killed        int     // batches whose first call fails after all
}

// TestMeasured: what the model says of small runs is what the state machine of the module,
// the function and a store with a latency, and workers with a bandwidth, need in virtual
// time: counts to the request, seconds within a quarter.
func TestMeasured(t *testing.T) {
	t.Parallel()
	const slow = 30 * time.Millisecond
	for name, c := range map[string]sized{
		"requests":               {chunks: 48, items: 2048, part: 1, batch: 4, workers: 4, latency: slow, bandwidth: 75e6},
		"a part a batch":         {chunks: 12, items: 4096, part: 1, batch: 1, workers: 3, latency: slow, bandwidth: 75e6},
		"more workers than work": {chunks: 12, items: 4096, part: 3, batch: 2, workers: 50, latency: slow, bandwidth: 1e6},
		"bytes":                  {chunks: 64, items: 4096, part: 4, batch: 2, workers: 4, latency: slow, bandwidth: 1e5},
		"bytes of large parts":   {chunks: 32, items: 8192, part: 8, batch: 1, workers: 2, latency: slow, bandwidth: 1e6},
		"far away":               {chunks: 60, items: 2048, part: 2, batch: 5, workers: 3, latency: 250 * time.Millisecond, bandwidth: 5e5},
		"one worker":             {chunks: 10, items: 4096, part: 1, batch: 2, workers: 1, latency: slow, bandwidth: 1e6},
		"many parts":             {chunks: 200, items: 2048, part: 1, batch: 20, workers: 4, latency: slow, bandwidth: 75e6},
		"read when opened":       {chunks: 60, items: 64, part: 1, batch: 5, workers: 4, latency: slow, bandwidth: 75e6},
		"calls fail":             {chunks: 40, items: 2048, part: 1, batch: 2, workers: 4, latency: slow, bandwidth: 75e6, failing: 5},
		"workers are killed":     {chunks: 40, items: 2048, part: 1, batch: 2, workers: 4, latency: slow, bandwidth: 75e6, killed: 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, c.hold)
		})
	}
}

// hold holds the model against a run.
func (c sized) hold(t *testing.T) {
	e := newEngine(t, c)
	w, list := e.plan(t)
	rates := Default(false, 1)
	rates.Latency, rates.WorkerBandwidth = c.latency.Seconds(), c.bandwidth
	rates.Decode = 1e18 // virtual time does not pass while a processor works
	rates.Ramp = 1e9
	rates.Retries = float64(c.failing+c.killed) / float64(w.Batches)
	b := rates.On(w, c.workers)

	begun := time.Now()
	if _, err := e.machine.Run("run", map[string]any{"bucket": "work", "plan": e.dir.PlanKey(), "list": list}); err != nil {
		t.Fatal(err)
	}
	all := time.Since(begun).Seconds()
	got := e.counted()
	// What a call that fails has done by then is not known: the model takes all of its reads.
	if again := c.failing + c.killed; again > 0 {
		if got.Gets > b.Gets || got.Gets < b.Gets-int64(float64(w.Requests)*rates.Retries)-1 {
			t.Errorf("%d GETs, %d estimated", got.Gets, b.Gets)
		}
		got.Gets, b.Gets = 0, 0
		if got.Lists > b.Lists || got.Lists < b.Lists-int64(again) {
			t.Errorf("%d LISTs, %d estimated", got.Lists, b.Lists)
		}
		got.Lists, b.Lists = 0, 0
	}
	if got != b.Counts || len(e.idle) != b.Workers {
		t.Errorf("%d workers, %+v; %d and %+v estimated", len(e.idle), got, b.Workers, b.Counts)
	}
	if want := w.Stored + w.OpenBytes*int64(b.Workers+1); e.bytes != want {
		t.Errorf("%d bytes, %d estimated", e.bytes, want)
	}
	near := func(what string, got, want float64) {
		if ratio := want / got; ratio < 4./5 || ratio > 5./4 {
			t.Errorf("%s: %.3f, %.3f estimated", what, got, want)
		}
	}
	t.Logf("%d requests for %d parts; %.3f s in all, %.3f estimated; %.3f of workers, %.3f estimated", w.Requests, w.Parts, all, b.Seconds, e.worked.Seconds(), b.GBSeconds/rates.WorkerMemory)
	if c.failing+c.killed == 0 {
		near("seconds in all", all, b.Seconds)
		near("seconds of workers", e.worked.Seconds(), b.GBSeconds/rates.WorkerMemory)
	}
}

// An engine is the state machine of the module, its function in as many workers as are
// busy, and a store that counts.
type engine struct {
	c       sized
	store   objstore.Bucket // at once, and not counted
	machine *machinetest.Machine
	dir     parts.Folder

	mu     sync.Mutex
	idle   []*worker
	n      Counts
	worked time.Duration
	bytes  int64 // of the array
	tries  map[int]int
}

// A worker is an instance of the function, with a network of its own.
type worker struct {
	e  *engine
	fn parts.Function
}

func newEngine(t *testing.T, c sized) *engine {
	t.Helper()
	e := &engine{c: c, store: memstore.New(memstore.Config{Name: "s3://work"}), tries: map[int]int{}}
	var out buffer
	w, err := b2nd.NewWriter(&out, b2nd.Meta{Shape: []int64{int64(c.chunks * c.items)}, ChunkShape: []int{c.items}, BlockShape: []int{c.items}, DType: "<f8"}, b2nd.WriteOptions{NoStats: true})
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	values := make([]float64, c.chunks*c.items)
	for i := range values {
		values[i] = math.Float64frombits(rnd.Uint64() >> 2)
	}
	if err := errors.Join(binary.Write(w, binary.LittleEndian, values), w.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := objstore.Put(t.Context(), e.store, "x.b2nd", &out, objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../../terraform/modules/pipeline/analysis.asl.json")
	if err != nil {
		t.Fatal(err)
	}
	if e.machine, err = machinetest.Parse(string(text), map[string]string{"function_arn": "fn", "max_concurrency": "100"}); err != nil {
		t.Fatal(err)
	}
	e.machine.Jobs = c.workers
	e.machine.Invoke = e.invoke
	e.machine.Enter = func(string) { e.count(func(n *Counts) { n.Transitions++ }) }
	e.machine.Read = func(_, key string) ([]byte, error) {
		e.count(func(n *Counts) { n.Gets++ })
		r, _, err := e.store.Get(context.Background(), key, objstore.GetOptions{})
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(r)
	}
	return e
}

// A buffer is an output in memory.
type buffer struct{ bytes.Buffer }

func (b *buffer) Patch(off int64, p []byte) error {
	copy(b.Bytes()[off:], p)
	return nil
}

func (e *engine) count(add func(n *Counts)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	add(&e.n)
}

func (e *engine) counted() Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.n
}

// open opens the array as the function does.
func open(ctx context.Context, b objstore.Bucket) (*b2nd.Array, analyze.Source, error) {
	o, err := objstore.Open(ctx, b, "x.b2nd", objstore.OpenOptions{})
	if err != nil {
		return nil, analyze.Source{}, err
	}
	in := o.Info()
	a, err := b2nd.Open(ctx, o, b2nd.Options{Policy: rangeio.Fast()})
	return a, analyze.Source{URI: "s3://work/x.b2nd", ETag: in.ETag, Version: in.VersionID, Time: in.ModTime, Size: in.Size}, err
}

// plan does what the command does: it plans, and writes plan and list.
func (e *engine) plan(t *testing.T) (Work, string) {
	t.Helper()
	var counter objstore.Counter
	ctx := objstore.WithCounter(t.Context(), &counter)
	a, src, err := open(ctx, objstore.Chain(e.store, objstore.Count(&counter)))
	if err != nil {
		t.Fatal(err)
	}
	stats, err := analyze.ParseStats("mean,min,max")
	if err != nil {
		t.Fatal(err)
	}
	j, err := analyze.NewArray(ctx, a, analyze.ArrayOptions{Box: b2nd.Whole(a.Shape()), Stats: stats, PartBytes: int64(e.c.part * e.c.items * 8), Source: src.String()})
	if err != nil {
		t.Fatal(err)
	}
	opened := counter.Stats()
	p := j.Plan(src)
	e.dir = parts.Folder{Bucket: e.store, Dir: "jobs/" + p.ID + "/"}
	missing, err := e.dir.Missing(ctx, 0, p.Parts)
	if err != nil {
		t.Fatal(err)
	}
	head, err := parts.NewPlan(p)
	if err != nil {
		t.Fatal(err)
	}
	list, err := parts.Batches(head, missing, int64(e.c.batch*e.c.part*e.c.items*8))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(e.dir.PutPlan(ctx, head), e.dir.PutList(ctx, "run", list)); err != nil {
		t.Fatal(err)
	}
	requests, err := j.Explain(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w := Work{
		Parts: p.Parts, Decoded: p.Bytes, Batches: len(list), Open: opened.Requests, OpenBytes: opened.Bytes, Phases: opened.Phases,
		Requests: int64(len(requests)) + counter.Stats().Requests - opened.Requests,
	}
	for _, q := range requests {
		w.Stored += q.Len
	}
	return w, e.dir.ListKey("run")
}

// invoke calls the function in a worker that is idle, or in a new one.
func (e *engine) invoke(_ string, payload []byte) ([]byte, *machinetest.Error) {
	e.count(func(n *Counts) { n.Invocations++ })
	var event parts.Event
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, &machinetest.Error{Name: "Permanent", Cause: err.Error()}
	}
	begun := time.Now()
	w := e.take()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.idle = append(e.idle, w)
		e.worked += time.Since(begun)
	}()
	if e.fails(&event, e.c.failing, 0) {
		return nil, &machinetest.Error{Name: "Temporary", Cause: "no luck"}
	}
	answer, err := w.fn.Handle(context.Background(), payload)
	if err == nil && e.fails(&event, e.c.killed, e.c.failing) {
		err = errors.New("killed")
	}
	if err != nil {
		return nil, &machinetest.Error{Name: "Temporary", Cause: err.Error()}
	}
	return answer, nil
}

// fails reports whether this is the first call of one of n batches, behind some others.
func (e *engine) fails(event *parts.Event, n, behind int) bool {
	if event.Make == nil {
		return false
	}
	k := event.Make.From/e.c.batch - behind
	e.mu.Lock()
	defer e.mu.Unlock()
	if k < 0 || k >= n || e.tries[event.Make.From] > 0 {
		return false
	}
	e.tries[event.Make.From]++
	return true
}

// take returns a worker. A new one takes its time to start.
func (e *engine) take() *worker {
	e.mu.Lock()
	if k := len(e.idle); k > 0 {
		w := e.idle[k-1]
		e.idle = e.idle[:k-1]
		e.mu.Unlock()
		return w
	}
	e.mu.Unlock()
	time.Sleep(time.Second)
	w := &worker{e: e}
	b := objstore.Chain(e.store, objstore.Trace(w.seen), simstore.Latency(e.c.latency), newLink(e.c.bandwidth))
	w.fn.Buckets = func(string) (objstore.Bucket, error) { return b, nil }
	w.fn.Open = fn.Open(func(ctx context.Context, p *analyze.Plan) (analyze.Work, error) {
		a, now, err := open(ctx, b)
		if err != nil {
			return nil, err
		}
		return p.OpenArray(ctx, a, now, 1<<30)
	})
	return w
}

// seen counts a call.
func (w *worker) seen(c objstore.Event) {
	w.e.count(func(n *Counts) {
		switch c.Op {
		case "get":
			n.Gets++
			if c.Key == "x.b2nd" {
				w.e.bytes += c.Bytes
			}
		case "put":
			n.Puts++
		case "list":
			n.Lists += max(1, (int64(c.Objects)+page-1)/page)
		default:
			panic(fmt.Sprintf("a call that the model does not know: %s", c.Op))
		}
	})
}

// newLink makes a network whose bodies share a bandwidth, as those of a worker do.
func newLink(bandwidth float64) objstore.Middleware {
	l := &link{bandwidth: bandwidth}
	return func(b objstore.Bucket) objstore.Bucket { return &linked{b, l} }
}

type link struct {
	bandwidth float64
	mu        sync.Mutex
	free      time.Time // when what was asked for is through
}

// pass waits until n bytes are through.
func (l *link) pass(n int) {
	l.mu.Lock()
	now := time.Now()
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(n) / l.bandwidth * float64(time.Second)))
	wait := l.free.Sub(now)
	l.mu.Unlock()
	time.Sleep(wait)
}

type linked struct {
	objstore.Bucket
	l *link
}

func (b *linked) Unwrap() objstore.Bucket { return b.Bucket }

func (b *linked) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	r, in, err := b.Bucket.Get(ctx, key, o)
	if err != nil {
		return nil, in, err
	}
	return &passing{r, b.l}, in, nil
}

type passing struct {
	io.ReadCloser
	l *link
}

func (p *passing) Read(buf []byte) (int, error) {
	n, err := p.ReadCloser.Read(buf)
	p.l.pass(n)
	return n, err
}
