package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/objstoretest"
	"github.com/farread/farread/objstore/simstore"
	"github.com/farread/farread/rangeio"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestMiddlewaresConform: with all middlewares, and with those that may have nothing to do
// or little room, a bucket behaves as before, and every body is closed once.
func TestMiddlewaresConform(t *testing.T) {
	t.Parallel()
	quiet := objstore.Trace(func(objstore.Event) {})
	for name, m := range map[string][]objstore.Middleware{
		"least": {objstore.Count(nil), objstore.Limit(1)},
		"all":   {quiet, objstore.Limit(3), objstore.Count(new(objstore.Counter)), quiet},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w bodyWatch
			objstoretest.Run(t, func(*testing.T) objstore.Bucket {
				return objstore.Chain(memstore.New(memstore.Config{Versioned: true}), append(slices.Clone(m), w.watch)...)
			}, objstoretest.Features{Meta: true, Versions: true})
			if w.twice.Load() > 0 { // the suite does so itself, on purpose
				t.Errorf("%d bodies were closed twice", w.twice.Load())
			}
			if n := w.open.Load(); n != 0 {
				t.Errorf("%d bodies were left open", n)
			}
		})
	}
}

// bodyWatch counts bodies that are open, and closes of closed ones.
type bodyWatch struct{ open, twice atomic.Int64 }

func (w *bodyWatch) watch(b objstore.Bucket) objstore.Bucket { return &watched{b, w} }

type watched struct {
	objstore.Bucket
	w *bodyWatch
}

func (b *watched) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	rc, info, err := b.Bucket.Get(ctx, key, o)
	if err != nil {
		return nil, info, err
	}
	b.w.open.Add(1)
	return &watchedClose{ReadCloser: rc, w: b.w}, info, nil
}

type watchedClose struct {
	io.ReadCloser
	w      *bodyWatch
	closed atomic.Bool
}

func (c *watchedClose) Close() error {
	if c.closed.Swap(true) {
		c.w.twice.Add(1)
		return nil
	}
	c.w.open.Add(-1)
	return c.ReadCloser.Close()
}

func memory(t *testing.T, objects map[string]string) *memstore.Bucket {
	t.Helper()
	b := memstore.New(memstore.Config{})
	for key, data := range objects {
		if _, err := objstore.Put(t.Context(), b, key, strings.NewReader(data), objstore.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func TestChainOrder(t *testing.T) {
	t.Parallel()
	var seen []string
	note := func(name string) objstore.Middleware {
		return simstore.Replace(func(context.Context, simstore.Call) error {
			seen = append(seen, name)
			return nil
		})
	}
	mem := memory(t, map[string]string{"k": "data"})
	if got := objstore.Limit(0)(mem); got != objstore.Bucket(mem) {
		t.Errorf("no limit wraps the bucket in a %T", got)
	}
	b := objstore.Chain(mem, note("first"), note("second"), note("third"))
	if _, err := b.Head(t.Context(), "k"); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"first", "second", "third"}, seen); d != "" {
		t.Error(d)
	}
	if got := objstore.Chain(mem); got != objstore.Bucket(mem) {
		t.Errorf("a chain of nothing is a %T", got)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	var c objstore.Counter
	b := objstore.Count(&c)(memory(t, map[string]string{"k": "0123456789", "e": ""}))
	step := func(what string, requests, bytes int64, f func() error) {
		t.Helper()
		before := c.Stats()
		err := f()
		after := c.Stats()
		want := rangeio.Stats{Requests: before.Requests + requests, Bytes: before.Bytes + bytes}
		if after != want {
			t.Errorf("%s (%v): %+v, want %+v", what, err, after, want)
		}
	}
	get := func(key string, r objstore.Range, n int64) func() error {
		return func() error {
			rc, _, err := b.Get(t.Context(), key, objstore.GetOptions{Range: r})
			if err != nil {
				return err
			}
			defer rc.Close()
			_, err = io.CopyN(io.Discard, rc, n)
			return err
		}
	}
	step("a get", 1, 10, get("k", objstore.Range{}, 10))
	step("a get of a part", 1, 3, get("k", objstore.Range{Off: 2, Len: 3}, 3))
	step("a get that stops early", 1, 4, get("k", objstore.Range{}, 4))
	step("a get of nothing", 1, 0, get("e", objstore.Range{}, 1))
	step("a get that fails", 1, 0, get("absent", objstore.Range{}, 1))
	step("a head", 1, 0, func() error { _, err := b.Head(t.Context(), "k"); return err })
	step("a list", 1, 0, func() error {
		for _, err := range b.List(t.Context(), "") {
			if err != nil {
				return err
			}
		}
		return nil
	})
	step("a put", 1, 0, func() error {
		_, err := objstore.Put(t.Context(), b, "n", strings.NewReader("data"), objstore.PutOptions{})
		return err
	})
	step("an aborted write", 0, 0, func() error {
		w, err := b.Create(t.Context(), "n", objstore.PutOptions{})
		if err == nil {
			w.Abort()
		}
		return err
	})
	step("a delete", 1, 0, func() error { return b.Delete(t.Context(), "n") })
}

// TestLimitTakesTurns: with places for k, n gets of one second take n/k seconds,
// also when they come through two buckets, and end by a Close, by the end of the
// body or by its failure.
func TestLimitTakesTurns(t *testing.T) {
	t.Parallel()
	for name, finish := range map[string]func(rc io.ReadCloser){
		"close": func(rc io.ReadCloser) { rc.Close() },
		"end":   func(rc io.ReadCloser) { _, _ = io.Copy(io.Discard, rc) },
		"twice": func(rc io.ReadCloser) { _, _ = io.Copy(io.Discard, rc); rc.Close(); rc.Close() },
	} {
		for _, fault := range []objstore.Middleware{simstore.Cut(0, 0), simstore.Cut(1, 2)} {
			synctest.Test(t, func(t *testing.T) {
				limit := objstore.Limit(3)
				buckets := []objstore.Bucket{
					objstore.Chain(memory(t, map[string]string{"k": "data"}), limit, fault),
					objstore.Chain(memory(t, map[string]string{"k": "data"}), limit, fault),
				}
				begin := time.Now()
				var now, most atomic.Int64
				var wg sync.WaitGroup
				for i := range 12 {
					wg.Go(func() {
						rc, _, err := buckets[i%2].Get(t.Context(), "k", objstore.GetOptions{})
						if err != nil {
							t.Error(err)
							return
						}
						most.Store(max(most.Load(), now.Add(1)))
						time.Sleep(time.Second)
						now.Add(-1)
						finish(rc)
					})
				}
				wg.Wait()
				if d := time.Since(begin); d != 4*time.Second || most.Load() != 3 {
					t.Errorf("%s: 12 gets, 3 at once: took %v with %d at once", name, d, most.Load())
				}
			})
		}
	}
}

// TestLimitWaitingEnds: a call that waits for a place leaves with its context,
// and leaves the place to others; a failed call keeps none.
func TestLimitWaitingEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := objstore.Limit(1)(memory(t, map[string]string{"k": "data"}))
		for range 3 {
			if _, _, err := b.Get(t.Context(), "absent", objstore.GetOptions{}); !errors.Is(err, objstore.ErrNotFound) {
				t.Fatal(err)
			}
		}
		rc, _, err := b.Get(t.Context(), "k", objstore.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for what, call := range map[string]func() error{
			"get":    func() error { _, _, err := b.Get(ctx, "k", objstore.GetOptions{}); return err },
			"head":   func() error { _, err := b.Head(ctx, "k"); return err },
			"delete": func() error { return b.Delete(ctx, "k") },
		} {
			var e *objstore.Error
			if err := call(); !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &e) || e.Op != what {
				t.Errorf("%s while the only place is taken: %v", what, err)
			}
		}
		// A write must not wait for a reader in front of it.
		if _, err := objstore.Put(t.Context(), b, "n", strings.NewReader("x"), objstore.PutOptions{}); err != nil {
			t.Error(err)
		}
		rc.Close()
		if _, err := b.Head(t.Context(), "k"); err != nil {
			t.Error(err)
		}
	})
}

func TestTrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var events []objstore.Event
		mem := memory(t, map[string]string{"a/k": "0123456789"})
		b := objstore.Chain(mem, objstore.Trace(func(e objstore.Event) { events = append(events, e) }), simstore.Latency(time.Second))
		info, err := mem.Head(t.Context(), "a/k")
		if err != nil {
			t.Fatal(err)
		}
		get := func(key string, o objstore.GetOptions, n int64) {
			rc, _, err := b.Get(t.Context(), key, o)
			if err != nil {
				return
			}
			_, _ = io.CopyN(io.Discard, rc, n)
			rc.Close()
		}
		get("a/k", objstore.GetOptions{}, 10)
		get("a/k", objstore.GetOptions{Range: objstore.Range{Off: 2, Len: 5}, IfMatch: info.ETag}, 3)
		get("a/k", objstore.GetOptions{Range: objstore.Range{Off: -4}, VersionID: "v9"}, 4)
		get("a/k", objstore.GetOptions{Range: objstore.Range{Off: -4}}, 9)
		_, _ = b.Head(t.Context(), "a/k")
		w, err := b.Create(t.Context(), "a/n", objstore.PutOptions{IfAbsent: true})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte("abc"))
		_, _ = w.Commit(t.Context())
		w.Abort() // no event of its own
		w, err = b.Create(t.Context(), "a/n", objstore.PutOptions{IfMatch: `"x"`})
		if err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write([]byte("abcd"))
		w.Abort()
		w.Abort()
		for _, err := range b.List(t.Context(), "a/") {
			if err != nil {
				t.Error(err)
			}
		}
		for _, err := range b.List(t.Context(), "a/") {
			if err != nil {
				t.Error(err)
			}
			break
		}
		_ = b.Delete(t.Context(), "a/n")

		var lines []string
		for i, e := range events {
			lines = append(lines, e.String())
			if e.Seq != int64(i+1) || e.Start.IsZero() {
				t.Errorf("event %d: %+v", i, e)
			}
			if want := time.Second; e.Duration != want && e.Op != "abort" {
				t.Errorf("event %d, %s: took %v, want %v", i, e, e.Duration, want)
			}
		}
		want := []string{
			"get a/k 10 bytes",
			"get a/k [2+5] if-match 3 bytes",
			`get a/k [-4] version 0 bytes: get mem://bucket/a/k [-4]: version "v9": not found`,
			"get a/k [-4] 4 bytes",
			"head a/k",
			"put a/n if-absent 3 bytes",
			"abort a/n if-match 4 bytes",
			"list a/ 2 objects",
			"list a/ 1 objects",
			"delete a/n",
		}
		for _, e := range events {
			if e.Bucket != mem.Name() {
				t.Errorf("%s: bucket %q", e, e.Bucket)
			}
		}
		if d := cmp.Diff(want, lines); d != "" {
			t.Error(d)
		}
	})
}

// TestTraceOfBrokenBody: the event carries what had arrived, and why no more.
func TestTraceOfBrokenBody(t *testing.T) {
	t.Parallel()
	var events []objstore.Event
	b := objstore.Chain(memory(t, map[string]string{"k": "0123456789"}),
		objstore.Trace(func(e objstore.Event) { events = append(events, e) }), simstore.Cut(1, 6))
	rc, _, err := b.Get(t.Context(), "k", objstore.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := io.ReadAll(rc)
	rc.Close()
	if !errors.Is(err, io.ErrUnexpectedEOF) || !bytes.Equal(p, []byte("012345")) {
		t.Fatalf("%q, %v", p, err)
	}
	if len(events) != 1 || events[0].Bytes != 6 || !errors.Is(events[0].Err, io.ErrUnexpectedEOF) {
		t.Errorf("events: %+v", events)
	}
}

// starting is a bucket that can begin a listing in its middle.
type starting struct {
	*memstore.Bucket
	after int // listings that did
}

func (b *starting) ListAfter(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	b.after++
	return objstore.ListAfter(ctx, b.Bucket, prefix, after)
}

// TestMiddlewaresSeeAll: calls that only some buckets know pass through every
// middleware of a chain, and are sent once.
func TestMiddlewaresSeeAll(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	driver := &starting{Bucket: memory(t, map[string]string{"a/b": "1", "a/c": "2", "a/d": "3"})}
	if err := driver.SetTags("a/b", map[string]string{"kind": "clip"}); err != nil {
		t.Fatal(err)
	}
	info, err := driver.Head(ctx, "a/b")
	if err != nil {
		t.Fatal(err)
	}
	call := func(b objstore.Bucket) {
		n := 0
		for in, err := range objstore.ListAfter(ctx, b, "a/", "a/b") {
			if n++; err != nil || in.Key <= "a/b" {
				t.Errorf("%v, %v", in, err)
			}
		}
		for _, err := range objstore.ListFolder(ctx, b, "a/", "a/c") {
			if n++; err != nil {
				t.Error(err)
			}
		}
		if n != 3 {
			t.Errorf("%d objects", n)
		}
		if tags, err := objstore.Tags(ctx, b, "a/b", ""); err != nil || tags != nil && tags["kind"] != "clip" {
			t.Errorf("%v, %v", tags, err)
		}
		if err := objstore.DeleteIf(ctx, b, "a/b", info.ETag); err != nil && !errors.Is(err, objstore.ErrInvalid) {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		driver   objstore.Bucket
		want     []string // events
		requests int64
		after    int
	}{
		{struct{ objstore.Bucket }{driver}, []string{"list a/ 2 objects", "list a/ 1 objects", "delete a/b if-match: delete mem://bucket/a/b: this store deletes without conditions only: invalid request"}, 3, 0},
		{driver, []string{"list a/ 2 objects", "list a/ 1 objects", "tags a/b", "delete a/b if-match"}, 4, 1},
	} {
		var c objstore.Counter
		var events, hooked, want []string
		hook := simstore.Replace(func(_ context.Context, c simstore.Call) error {
			hooked = append(hooked, c.Op)
			return nil
		})
		trace := objstore.Trace(func(e objstore.Event) { events = append(events, e.String()) })
		call(objstore.Chain(tt.driver, trace, objstore.Limit(1), hook, objstore.Count(&c)))
		if d := cmp.Diff(tt.want, events); d != "" {
			t.Error(d)
		}
		for _, e := range events {
			op, _, _ := strings.Cut(e, " ")
			want = append(want, op)
		}
		if d := cmp.Diff(want, hooked); d != "" || c.Stats().Requests != tt.requests || driver.after != tt.after {
			t.Errorf("%d requests, %d listings from a key on, and of simstore:\n%s", c.Stats().Requests, driver.after, d)
		}
	}

	// A Limit has no place for tags while a body is open, and the wait ends with ctx.
	b := objstore.Limit(1)(driver)
	rc, _, err := b.Get(ctx, "a/c", objstore.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	short, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := objstore.Tags(short, b, "a/c", ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
