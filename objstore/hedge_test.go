package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
)

// A slowGet says what becomes of the n-th Get: how long its answer lets wait (-1: for
// ever), and its error.
type slowGet struct {
	wait time.Duration
	err  error
	etag string // instead of that of the object
	body func(ctx context.Context, rc io.ReadCloser) io.ReadCloser
}

// gets is a bucket whose Gets are slow as said, from the first on; later ones are quick.
type gets struct {
	objstore.Bucket
	slow []slowGet
	n    atomic.Int64
	open atomic.Int64 // bodies
	read sync.Map     // number of the Get: bytes read
}

func (b *gets) Unwrap() objstore.Bucket { return b.Bucket }

func (b *gets) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	n := int(b.n.Add(1))
	s := slowGet{wait: time.Millisecond}
	if n <= len(b.slow) {
		s = b.slow[n-1]
	}
	wait := time.NewTimer(s.wait)
	defer wait.Stop()
	if s.wait < 0 {
		wait.Stop()
	}
	select {
	case <-wait.C:
	case <-ctx.Done():
		return nil, objstore.Info{}, ctx.Err()
	}
	if s.err != nil {
		return nil, objstore.Info{}, s.err
	}
	rc, in, err := b.Bucket.Get(ctx, key, o)
	if err != nil {
		return nil, in, err
	}
	if s.etag != "" {
		in.ETag = s.etag
	}
	if s.body != nil {
		rc = s.body(ctx, rc)
	}
	b.open.Add(1)
	return &getBody{ReadCloser: rc, b: b, n: n}, in, nil
}

type getBody struct {
	io.ReadCloser
	b      *gets
	n      int
	closed bool
}

func (r *getBody) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if n > 0 {
		was, _ := r.b.read.LoadOrStore(r.n, 0)
		r.b.read.Store(r.n, was.(int)+n)
	}
	return n, err
}

func (r *getBody) Close() error {
	if !r.closed {
		r.closed = true
		r.b.open.Add(-1)
	}
	return r.ReadCloser.Close()
}

// stalls gives n bytes, and no more until the context ends.
func stalls(n int64) func(context.Context, io.ReadCloser) io.ReadCloser {
	return func(ctx context.Context, rc io.ReadCloser) io.ReadCloser {
		return pausing{rc, ctx, n, -1, new(int64)}
	}
}

// pauses gives n bytes at a time, each after d.
func pauses(n int64, d time.Duration) func(context.Context, io.ReadCloser) io.ReadCloser {
	return func(ctx context.Context, rc io.ReadCloser) io.ReadCloser {
		return pausing{rc, ctx, n, d, new(int64)}
	}
}

type pausing struct {
	io.ReadCloser
	ctx  context.Context //nolint:containedctx // of the body
	n    int64
	d    time.Duration
	done *int64
}

func (b pausing) Read(p []byte) (int, error) {
	if b.d < 0 && *b.done >= b.n {
		<-b.ctx.Done()
		return 0, b.ctx.Err()
	}
	if b.d >= 0 {
		select {
		case <-time.After(b.d):
		case <-b.ctx.Done():
			return 0, b.ctx.Err()
		}
	}
	most := b.n
	if b.d < 0 {
		most -= *b.done
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), most)])
	*b.done += int64(n)
	return n, err
}

// hedge lets objects of a bucket hedge, with a budget of their own.
func hedge(b objstore.Bucket) objstore.Bucket { return objstore.Hedge(&objstore.Pace{})(b) }

// hedging runs f on an object of a bucket with slow Gets after the one of Open.
func hedging(t *testing.T, dress objstore.Middleware, o objstore.OpenOptions, slow []slowGet, f func(t *testing.T, b *gets, ob *objstore.Object, data []byte)) {
	t.Helper()
	data := randomBytes(1 << 20)
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", data)
		b := &gets{Bucket: mem, slow: append([]slowGet{{wait: time.Millisecond}}, slow...)}
		o.Head = 1
		ob, err := objstore.Open(t.Context(), dress(b), "k", o)
		if err != nil {
			t.Fatal(err)
		}
		f(t, b, ob, data)
		synctest.Wait()
		if n := b.open.Load(); n != 0 {
			t.Errorf("%d bodies are open", n)
		}
	})
}

const never = -1

func TestHedge(t *testing.T) {
	unavailable := fmt.Errorf("reset: %w", objstore.ErrUnavailable)
	for _, c := range []struct {
		name     string
		slow     []slowGet
		o        objstore.OpenOptions
		err      error // nil: the right bytes
		took     time.Duration
		requests int64 // with the one of Open
		hedged   int64
		retries  int64
		bytes    int64 // with the one of Open; 0: 5001
	}{
		{name: "nothing is slow", took: time.Millisecond, requests: 2},
		{name: "as slow as is allowed", slow: []slowGet{{wait: 999 * time.Millisecond}}, took: 999 * time.Millisecond, requests: 2},
		{name: "no answer, once", slow: []slowGet{{wait: never}}, took: 1001 * time.Millisecond, requests: 3, hedged: 1},
		{name: "the first wins", slow: []slowGet{{wait: 1500 * time.Millisecond}, {wait: time.Second}}, took: 1500 * time.Millisecond, requests: 3, hedged: 1},
		{name: "the hedge wins", slow: []slowGet{{wait: 2 * time.Second}, {wait: 500 * time.Millisecond}}, took: 1500 * time.Millisecond, requests: 3, hedged: 1},
		{name: "the loser has another ETag", slow: []slowGet{{wait: 1500 * time.Millisecond}, {wait: time.Second, etag: "other"}}, took: 1500 * time.Millisecond, requests: 3, hedged: 1},
		{name: "the winner has another ETag", slow: []slowGet{{wait: 1500 * time.Millisecond}, {wait: time.Millisecond, etag: "other"}}, err: objstore.ErrChanged, took: 1001 * time.Millisecond, requests: 3, hedged: 1},
		{name: "the hedge is refused", slow: []slowGet{{wait: 3 * time.Second}, {err: objstore.ErrThrottled}}, took: 3 * time.Second, requests: 3, hedged: 1},
		{name: "the hedge is denied", slow: []slowGet{{wait: 3 * time.Second}, {err: objstore.ErrDenied}}, took: 3 * time.Second, requests: 3, hedged: 1},
		{name: "the hedge is denied twice", slow: []slowGet{{wait: never}, {err: objstore.ErrDenied}, {err: objstore.ErrDenied}}, err: objstore.ErrDenied, took: 3500 * time.Millisecond, requests: 4, hedged: 2},
		{name: "the hedge is denied, and then answers", slow: []slowGet{{wait: never}, {err: objstore.ErrDenied}}, took: 3501 * time.Millisecond, requests: 4, hedged: 2},
		{name: "the hedge is denied twice, the first answers", slow: []slowGet{{wait: 4 * time.Second}, {err: objstore.ErrDenied}, {wait: time.Second, err: objstore.ErrDenied}}, took: 4 * time.Second, requests: 4, hedged: 2},
		{name: "the hedge is denied, the first fails while it is asked again", slow: []slowGet{{wait: 4 * time.Second, err: unavailable}, {err: objstore.ErrDenied}, {wait: time.Second, err: objstore.ErrDenied}}, err: objstore.ErrDenied, took: 4500 * time.Millisecond, requests: 4, hedged: 2},
		{name: "an aid, and the hedge is denied", slow: []slowGet{{wait: never}, {err: objstore.ErrDenied}}, o: objstore.OpenOptions{Aid: true}, err: objstore.ErrDenied, took: time.Second, requests: 3, hedged: 1},
		{name: "an aid is silent", slow: []slowGet{{wait: never}, {wait: never}}, o: objstore.OpenOptions{Aid: true}, err: objstore.ErrUnavailable, took: 2 * time.Second, requests: 3, hedged: 1},
		{name: "the first fails, the hedge answers", slow: []slowGet{{wait: 2 * time.Second, err: unavailable}, {wait: 2 * time.Second}}, took: 3 * time.Second, requests: 3, hedged: 1},
		{name: "the first is throttled, the hedge answers", slow: []slowGet{{wait: 2 * time.Second, err: objstore.ErrThrottled}, {wait: 2 * time.Second}}, took: 3 * time.Second, requests: 3, hedged: 1},
		{name: "the first fails before", slow: []slowGet{{wait: 900 * time.Millisecond, err: unavailable}}, err: objstore.ErrUnavailable, took: 900 * time.Millisecond, requests: 2},
		{name: "the first answers that it is gone", slow: []slowGet{{wait: 2 * time.Second, err: objstore.ErrNotFound}, {wait: never}}, err: objstore.ErrNotFound, took: 2 * time.Second, requests: 3, hedged: 1},
		{name: "the hedge answers that it is gone", slow: []slowGet{{wait: never}, {wait: time.Millisecond, err: objstore.ErrNotFound}}, err: objstore.ErrNotFound, took: 1001 * time.Millisecond, requests: 3, hedged: 1},
		{name: "the hedge answers that it is another one", slow: []slowGet{{wait: never}, {wait: time.Millisecond, err: objstore.ErrChanged}}, err: objstore.ErrChanged, took: 1001 * time.Millisecond, requests: 3, hedged: 1},
		{name: "the hedge answers too late that it is gone", slow: []slowGet{{wait: 1500 * time.Millisecond}, {wait: time.Second, err: objstore.ErrNotFound}}, took: 1500 * time.Millisecond, requests: 3, hedged: 1},
		{name: "the first fails, the hedge answers that it is gone", slow: []slowGet{{wait: 2 * time.Second, err: unavailable}, {wait: 2 * time.Second, err: objstore.ErrNotFound}}, err: objstore.ErrNotFound, took: 3 * time.Second, requests: 3, hedged: 1},
		{name: "both fail", slow: []slowGet{{wait: 2 * time.Second, err: unavailable}, {wait: 3 * time.Second, err: objstore.ErrDenied}}, err: objstore.ErrUnavailable, took: 4 * time.Second, requests: 3, hedged: 1},
		{name: "both fail, the hedge before", slow: []slowGet{{wait: 2 * time.Second, err: unavailable}, {err: objstore.ErrDenied}}, err: objstore.ErrUnavailable, took: 2 * time.Second, requests: 3, hedged: 1},
		{name: "both are silent", slow: []slowGet{{wait: never}, {wait: never}}, err: objstore.ErrUnavailable, took: 20 * time.Second, requests: 3, hedged: 1},
		{name: "the first fails, the hedge is silent", slow: []slowGet{{wait: 2 * time.Second, err: unavailable}, {wait: never}}, err: objstore.ErrUnavailable, took: 20 * time.Second, requests: 3, hedged: 1},
		{name: "both are silent, little patience", slow: []slowGet{{wait: never}, {wait: never}}, o: objstore.OpenOptions{Stall: time.Second}, err: objstore.ErrUnavailable, took: time.Second, requests: 3, hedged: 1},
		{name: "no answer once, little patience", slow: []slowGet{{wait: never}}, o: objstore.OpenOptions{Stall: time.Second}, took: 251 * time.Millisecond, requests: 3, hedged: 1},
		{name: "endless patience", slow: []slowGet{{wait: 3 * time.Second}}, o: objstore.OpenOptions{Stall: -1}, took: 3 * time.Second, requests: 2},
		{name: "not wanted", slow: []slowGet{{wait: never}}, o: objstore.OpenOptions{Stall: 20 * time.Second}, err: objstore.ErrUnavailable, took: 20 * time.Second, requests: 2},

		{name: "stalls at the start", slow: []slowGet{{body: stalls(0)}}, took: 1001 * time.Millisecond, requests: 3, hedged: 1, retries: 1},
		{name: "stalls in the middle", slow: []slowGet{{body: stalls(1000)}}, took: 1001 * time.Millisecond, requests: 3, hedged: 1, retries: 1},
		{name: "stalls at the last byte", slow: []slowGet{{body: stalls(4999)}}, took: 1001 * time.Millisecond, requests: 3, hedged: 1, retries: 1},
		{name: "stalls twice", slow: []slowGet{{body: stalls(1000)}, {body: stalls(1000)}}, took: 3001 * time.Millisecond, requests: 4, hedged: 2, retries: 2},
		{name: "stalls three times", slow: []slowGet{{body: stalls(1000)}, {body: stalls(1000)}, {body: stalls(1000)}}, took: 13001 * time.Millisecond, requests: 5, hedged: 2, retries: 3},
		{name: "stalls, and the next is silent", slow: []slowGet{{body: stalls(1000)}, {wait: never}}, took: 2001 * time.Millisecond, requests: 4, hedged: 2, retries: 1},
		{name: "stalls, not wanted", slow: []slowGet{{body: stalls(1000)}}, o: objstore.OpenOptions{Stall: 20 * time.Second}, took: 10001 * time.Millisecond, requests: 3, retries: 1},
		{name: "stalls, and may not be continued", slow: []slowGet{{body: stalls(1000)}}, o: objstore.OpenOptions{Resumes: -1}, err: objstore.ErrUnavailable, took: 10 * time.Second, requests: 2, bytes: 1001},
		{name: "slow, but steady", slow: []slowGet{{body: pauses(100, 900*time.Millisecond)}}, took: 45 * time.Second, requests: 2},
		{name: "slow everywhere", slow: []slowGet{{body: pauses(1000, 3*time.Second)}, {body: pauses(1000, 3*time.Second)}, {body: pauses(1000, 3*time.Second)}},
			took: 18 * time.Second, requests: 4, hedged: 2, retries: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			dress := hedge
			if strings.Contains(c.name, "not wanted") {
				dress = func(b objstore.Bucket) objstore.Bucket { return b }
			}
			for i := range c.slow {
				if c.slow[i].wait == 0 && c.slow[i].err == nil && c.slow[i].body == nil {
					c.slow[i].wait = time.Millisecond
				}
			}
			hedging(t, dress, c.o, c.slow, func(t *testing.T, b *gets, ob *objstore.Object, data []byte) {
				t.Helper()
				p := make([]byte, 5000)
				start := time.Now()
				err := ob.ReadRanges(t.Context(), []rangeio.Span{{Off: 100, P: p}})
				took := time.Since(start)
				if c.err == nil && (err != nil || !bytes.Equal(p, data[100:5100])) || !errors.Is(err, c.err) || took != c.took {
					t.Errorf("%v after %v, want %v after %v", err, took, c.err, c.took)
				}
				s := ob.Stats()
				if s.Requests != c.requests || s.Requests != b.n.Load() || s.Hedged != c.hedged || s.Retries != c.retries {
					t.Errorf("%+v, %d gets, want %d requests, %d hedged, %d retries", s, b.n.Load(), c.requests, c.hedged, c.retries)
				}
				if want := max(c.bytes, 5001); c.err == nil && s.Bytes != want {
					t.Errorf("%d bytes, want %d", s.Bytes, want)
				}
			})
		})
	}
}

// TestLoserIsNotRead: of the body that came later, not a byte is read.
func TestLoserIsNotRead(t *testing.T) {
	for name, slow := range map[string][]slowGet{
		"first": {{wait: 2 * time.Second}, {wait: time.Second - time.Nanosecond}},
		"hedge": {{wait: 2*time.Second - time.Nanosecond}, {wait: time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			hedging(t, hedge, objstore.OpenOptions{}, slow, func(t *testing.T, b *gets, ob *objstore.Object, data []byte) {
				t.Helper()
				p := make([]byte, 5000)
				if err := ob.ReadRanges(t.Context(), []rangeio.Span{{Off: 100, P: p}}); err != nil || !bytes.Equal(p, data[100:5100]) {
					t.Error(err)
				}
				time.Sleep(time.Minute)
				first, _ := b.read.Load(2)
				second, _ := b.read.Load(3)
				if first != nil && second != nil || first == nil && second == nil || (first == nil) == (name == "hedge") {
					t.Errorf("of the first body %v bytes were read, of the second %v", first, second)
				}
			})
		})
	}
}

// stubborn is a bucket whose Gets do not obey their context: both answer.
type stubborn struct{ *gets }

func (b stubborn) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	return b.gets.Get(context.WithoutCancel(ctx), key, o)
}

// TestBothAnswer: if the one that lost answers all the same, its body is closed.
func TestBothAnswer(t *testing.T) {
	data := randomBytes(10_000)
	for name, slow := range map[string][]slowGet{
		"the first later": {{wait: time.Millisecond}, {wait: 5 * time.Second}, {wait: time.Second}},
		"the hedge later": {{wait: time.Millisecond}, {wait: 2 * time.Second}, {wait: 5 * time.Second}},
		"with another":    {{wait: time.Millisecond}, {wait: 2 * time.Second}, {wait: 5 * time.Second, etag: "other"}},
		"at once":         {{wait: time.Millisecond}, {wait: 2 * time.Second}, {wait: time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := memstore.New(memstore.Config{})
				put(t, mem, "k", data)
				b := stubborn{&gets{Bucket: mem, slow: slow}}
				ob, err := objstore.Open(t.Context(), hedge(b), "k", objstore.OpenOptions{Head: 1})
				if err != nil {
					t.Fatal(err)
				}
				p := make([]byte, 5000)
				if err := ob.ReadRanges(t.Context(), []rangeio.Span{{Off: 100, P: p}}); err != nil || !bytes.Equal(p, data[100:5100]) {
					t.Error(err)
				}
				time.Sleep(time.Minute)
				first, _ := b.read.Load(2)
				second, _ := b.read.Load(3)
				if b.open.Load() != 0 || first != nil && second != nil || ob.Stats().Bytes != 5001 {
					t.Errorf("%d bodies are open; of the first %v bytes were read, of the second %v", b.open.Load(), first, second)
				}
			})
		})
	}
}

// TestHedgeCancelled: a caller who leaves has left, whatever is waited for.
func TestHedgeCancelled(t *testing.T) {
	unavailable := fmt.Errorf("reset: %w", objstore.ErrUnavailable)
	for name, slow := range map[string][]slowGet{
		"both":             {{wait: never}, {wait: never}},
		"the hedge":        {{wait: 1200 * time.Millisecond, err: unavailable}, {wait: never}},
		"the first":        {{wait: never}, {wait: 100 * time.Millisecond, err: unavailable}},
		"a body":           {{body: stalls(1000)}, {body: stalls(1000)}},
		"the hedge's body": {{wait: never}, {body: stalls(1000)}, {wait: never}},
	} {
		for _, at := range []time.Duration{500 * time.Millisecond, time.Second, 1100 * time.Millisecond, 1500 * time.Millisecond, 2500 * time.Millisecond} {
			t.Run(fmt.Sprint(name, " at ", at), func(t *testing.T) {
				hedging(t, hedge, objstore.OpenOptions{}, slow, func(t *testing.T, _ *gets, ob *objstore.Object, _ []byte) {
					t.Helper()
					ctx, cancel := context.WithTimeout(t.Context(), at)
					defer cancel()
					start := time.Now()
					err := ob.ReadRanges(ctx, []rangeio.Span{{Off: 100, P: make([]byte, 5000)}})
					if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != at {
						t.Errorf("%v after %v", err, took)
					}
				})
			})
		}
	}
}

// TestHedgeBudget: a store that becomes slow gets one request more for 20, and a few
// that were saved up.
func TestHedgeBudget(t *testing.T) {
	data := randomBytes(1000)
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", data)
		wait := new(atomic.Int64)
		wait.Store(int64(10 * time.Millisecond))
		b := simstore.Replace(func(ctx context.Context, _ simstore.Call) error {
			select {
			case <-time.After(time.Duration(wait.Load())):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})(mem)
		pace, n := &objstore.Pace{}, &objstore.Counter{}
		read := func(times int) rangeio.Stats {
			before := n.Stats()
			for range times {
				if _, err := objstore.Open(t.Context(), objstore.Hedge(pace)(b), "k", objstore.OpenOptions{Counter: n}); err != nil {
					t.Fatal(err)
				}
			}
			after := n.Stats()
			return rangeio.Stats{Hedged: after.Hedged - before.Hedged}
		}
		if s := read(1000); s.Hedged != 0 {
			t.Errorf("%+v: nothing was slow", s)
		}
		wait.Store(int64(600 * time.Millisecond)) // more than what is usual by now
		if s := read(10); s.Hedged != 10 {
			t.Errorf("%+v: an answer after 600 ms was not thought slow after many in 10 ms", s)
		}
		if s := read(1000); s.Hedged > 2 {
			t.Errorf("%+v: 600 ms should be usual by now", s)
		}
		wait.Store(int64(10 * time.Second))
		if s := read(1000); s.Hedged > 10+50 {
			t.Errorf("%+v, more than 5 %%", s)
		}
	})
}

// TestWaitingInALimitIsNotSlow: who waits for a place of ours does not ask again.
func TestWaitingInALimitIsNotSlow(t *testing.T) {
	data := randomBytes(4 << 20)
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", data)
		b := objstore.Chain(mem, objstore.Limit(1), simstore.Latency(800*time.Millisecond))
		ob, err := objstore.Open(t.Context(), hedge(b), "k", objstore.OpenOptions{Head: 1, Policy: rangeio.Policy{}})
		if err != nil {
			t.Fatal(err)
		}
		var spans []rangeio.Span
		for i := range 20 {
			spans = append(spans, rangeio.Span{Off: int64(i) << 17, P: make([]byte, 10)})
		}
		if err := ob.ReadRanges(t.Context(), spans); err != nil {
			t.Fatal(err)
		}
		if s := ob.Stats(); s.Hedged != 0 || s.Requests < 10 {
			t.Errorf("%+v", s)
		}
	})
}

// TestHedgesPassMiddlewares: limits, traces and counters see a hedge as any request.
func TestHedgesPassMiddlewares(t *testing.T) {
	data := randomBytes(1000)
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", data)
		var n objstore.Counter
		var events atomic.Int64
		slow := &gets{Bucket: mem, slow: []slowGet{{wait: never}}}
		b := objstore.Chain(slow, objstore.Trace(func(objstore.Event) { events.Add(1) }), objstore.Limit(2), objstore.Count(&n))
		if _, err := objstore.Open(t.Context(), hedge(b), "k", objstore.OpenOptions{Counter: &n}); err != nil {
			t.Fatal(err)
		}
		if s := n.Stats(); s.Requests != 2 || s.Hedged != 1 || s.Retries != 0 || s.Bytes != 1000 || s.Phases != 1 || events.Load() != 2 {
			t.Errorf("%+v, %d events", s, events.Load())
		}
		// With one place for all there is none for a hedge. That costs nothing: once there
		// is room, the budget is whole.
		slow = &gets{Bucket: mem, slow: []slowGet{{wait: 3 * time.Second}, {wait: 3 * time.Second}, {wait: 3 * time.Second}, {wait: never}, {wait: time.Millisecond}, {wait: never}}}
		n, pace := objstore.Counter{}, &objstore.Pace{}
		open := func(places int, took time.Duration, gets int64) {
			t.Helper()
			start := time.Now()
			_, err := objstore.Open(t.Context(), objstore.Chain(slow, objstore.Hedge(pace), objstore.Limit(places), objstore.Count(&n)), "k", objstore.OpenOptions{Counter: &n})
			if err != nil || time.Since(start) != took || slow.n.Load() != gets || n.Stats().Requests != gets {
				t.Errorf("%v after %v, %d gets, %+v", err, time.Since(start), slow.n.Load(), n.Stats())
			}
		}
		for i := range 3 {
			open(1, 3*time.Second, int64(i+1))
		}
		open(2, 1001*time.Millisecond, 5)
		open(2, 1001*time.Millisecond, 7)
	})
}

// TestLimitInside: a hedge takes its place in every Limit, and gives all of them back.
func TestLimitInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", randomBytes(1000))
		slow := &gets{Bucket: mem, slow: []slowGet{{wait: 2 * time.Second}, {wait: time.Millisecond}, {wait: 2 * time.Second}, {wait: 3 * time.Second}, {wait: 2 * time.Second}}}
		b := objstore.Chain(slow, objstore.Hedge(&objstore.Pace{}), objstore.Limit(3), objstore.Limit(2))
		for i, took := range []time.Duration{1001 * time.Millisecond, 2 * time.Second, 2 * time.Second} {
			start := time.Now()
			if _, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{}); err != nil || time.Since(start) != took {
				t.Errorf("%d: %v after %v", i, err, time.Since(start))
			}
		}
		var bodies []io.Closer
		for range 2 { // all places are free again
			rc, _, err := b.Get(t.Context(), "k", objstore.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			bodies = append(bodies, rc)
		}
		for _, rc := range bodies {
			_ = rc.Close()
		}
	})
}

// TestCutBodiesTeachNothing: stalls that were not waited for do not become usual.
func TestCutBodiesTeachNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", randomBytes(1000))
		b := &gets{Bucket: mem, slow: make([]slowGet, 3000)}
		for i := range b.slow {
			b.slow[i].wait = time.Millisecond
			if i%40 == 39 {
				b.slow[i].body = stalls(500)
			}
		}
		dressed := hedge(b)
		for b.n.Load() < 2900 {
			start := time.Now()
			if _, err := objstore.Open(t.Context(), dressed, "k", objstore.OpenOptions{}); err != nil || time.Since(start) > 1002*time.Millisecond {
				t.Errorf("after %d requests: %v after %v", b.n.Load(), err, time.Since(start))
			}
		}
	})
}

// TestHedgesTeachNothing: what a Get would have taken that a hedge overtook is unknown,
// so it does not make later hedges wait longer.
func TestHedgesTeachNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", randomBytes(1000))
		b := &gets{Bucket: mem, slow: make([]slowGet, 3000)}
		for i := range b.slow {
			b.slow[i].wait = 10 * time.Millisecond
			if i%40 == 39 {
				b.slow[i].wait = never
			}
		}
		pace := &objstore.Pace{}
		hedged := 0
		for b.n.Load() < 2900 {
			start := time.Now()
			if _, err := objstore.Open(t.Context(), objstore.Hedge(pace)(b), "k", objstore.OpenOptions{}); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > 510*time.Millisecond {
				t.Errorf("after %d requests: %v", b.n.Load(), took)
			} else if took > 10*time.Millisecond {
				hedged++
			}
		}
		if hedged != 72 {
			t.Errorf("%d requests were hedged", hedged)
		}
	})
}
