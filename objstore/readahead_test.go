package objstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/filestore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/objstore/simstore"
)

// remote opens an object of 8 MiB that is a round trip away.
func remote(t *testing.T, o objstore.OpenOptions, m ...objstore.Middleware) (*objstore.Object, checked, objstore.Bucket) {
	t.Helper()
	data := plain()[:8<<20]
	obj, b := open(t, data, o, append(m, simstore.Latency(rtt))...)
	return obj, checked{t, obj, data}, b
}

// TestPrefetch: the ranges come in one phase, and reads of them cost nothing more, once.
func TestPrefetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		obj, r, _ := remote(t, objstore.OpenOptions{Head: 1})
		want := func(what string, requests, phases int64, trips int, f func()) {
			t.Helper()
			before, start := obj.Stats(), time.Now()
			f()
			took, after := time.Since(start), obj.Stats()
			if requests >= 0 && after.Requests-before.Requests != requests || after.Phases-before.Phases != phases || took != time.Duration(trips)*rtt {
				t.Errorf("%s: %d requests, %d phases, %v", what, after.Requests-before.Requests, after.Phases-before.Phases, took)
			}
			synctest.Wait()
		}
		prefetch := func(ranges ...objstore.Range) {
			t.Helper()
			if err := obj.Prefetch(t.Context(), ranges); err != nil {
				t.Fatal(err)
			}
		}
		want("prefetch does not wait", -1, 1, 0, func() { // its requests may have begun, or not
			prefetch(objstore.Range{Off: 1 << 20, Len: 1000}, objstore.Range{Off: 3 << 20, Len: 1 << 20}, objstore.Range{Off: 8<<20 - 10, Len: 100}, objstore.Range{Off: 9 << 20, Len: 5})
		})
		want("the reads wait for one round trip", 0, 0, 1, func() {
			r.at(1<<20, 1000)
			r.at(3<<20, 700_000) // past the cache
			r.at(3<<20+700_000, 1<<20-700_000)
			r.at(8<<20-10, 10)
		})
		if n := obj.Stats().Requests; n != 4 {
			t.Errorf("%d requests: the opening and three ranges are 4", n)
		}
		want("long reads are not kept", 1, 1, 1, func() { r.at(3<<20, 700_000) })
		want("short ones are", 0, 0, 0, func() { r.at(1<<20, 1000) })
		for _, bad := range []objstore.Range{{Off: -1}, {Off: 1, Len: -1}} {
			if err := obj.Prefetch(t.Context(), []objstore.Range{{Len: 5}, bad}); !errors.Is(err, objstore.ErrInvalid) {
				t.Errorf("%v: %v", bad, err)
			}
		}
	})
}

// TestPhaseOfTheRest: what a read lacks does not depend on blocks that were loaded early,
// whether they have come before the read, or come during it.
func TestPhaseOfTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, n := range map[string]int64{"through the cache": 128 << 10, "past the cache": 1 << 20} {
			for _, come := range []time.Duration{0, 2 * rtt} {
				obj, r, _ := remote(t, objstore.OpenOptions{Head: 1})
				if err := obj.Prefetch(t.Context(), []objstore.Range{{Off: 1 << 20, Len: n / 2}}); err != nil {
					t.Fatal(err)
				}
				time.Sleep(come)
				synctest.Wait()
				phases := obj.Stats().Phases
				r.at(1<<20, n)
				if s := obj.Stats(); s.Phases != phases || s.Requests != 3 {
					t.Errorf("%s, %v after the blocks were asked for: %d requests, %d phases; %d before", name, come, s.Requests, s.Phases, phases)
				}
				if r.at(5<<20, n); obj.Stats().Phases != phases+1 {
					t.Errorf("%s, %v: a read after it is in the same phase", name, come)
				}
			}
		}
	})
}

// TestPrefetchIsBounded: what does not fit is left to the reads, and what is not read
// makes room for what is prefetched later.
func TestPrefetchIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		obj, r, _ := remote(t, objstore.OpenOptions{Head: 1, Ahead: 1 << 20})
		before := obj.Stats().Bytes
		fetched := func() int64 {
			synctest.Wait()
			time.Sleep(rtt)
			synctest.Wait()
			return obj.Stats().Bytes - before
		}
		for i := range int64(5) {
			if err := obj.Prefetch(t.Context(), []objstore.Range{{Off: (i + 1) << 20, Len: 5 << 20}}); err != nil {
				t.Fatal(err)
			}
			if n := fetched(); n != (i+1)<<20 {
				t.Errorf("prefetch %d: %d bytes in all", i, n)
			}
		}
		if n := obj.HeldBytes(); n > 1<<20+10_000 {
			t.Errorf("holds %d bytes", n)
		}
		r.at(1<<20, 1<<20) // dropped
		r.at(5<<20, 1<<20)
		if n := fetched(); n != 6<<20 {
			t.Errorf("%d bytes in all: the last prefetched MiB was to stay", n)
		}
		off, r, _ := remote(t, objstore.OpenOptions{Head: 1, Ahead: -1})
		_ = off.Prefetch(t.Context(), []objstore.Range{{Len: 5 << 20}})
		r.run(0, 2<<20, 64<<10)
		if s := off.Stats(); s.Requests != 33 || s.Phases != 33 {
			t.Errorf("switched off: %+v", s)
		}
	})
}

// TestPrefetchFails: the read that needs the bytes fetches them, and says what is wrong.
func TestPrefetchFails(t *testing.T) {
	obj, g, _ := gated(t, plain()[:1<<20])
	g.pass <- objstore.ErrDenied
	if err := obj.Prefetch(t.Context(), []objstore.Range{{Off: 500_000, Len: 10}}); err != nil {
		t.Fatal(err)
	}
	<-g.arrived
	g.pass <- objstore.ErrDenied
	p := make([]byte, 10)
	if _, err := obj.ReadAt(p, 500_000); !errors.Is(err, objstore.ErrDenied) {
		t.Errorf("%v, want ErrDenied", err)
	}
	g.on.Store(false)
	if _, err := obj.ReadAt(p, 500_000); err != nil || !bytes.Equal(p, plain()[500_000:500_010]) {
		t.Errorf("after the fault: %v", err)
	}
}

// hanging is a bucket whose Gets wait for their context once it is told so.
type hanging struct {
	objstore.Bucket
	on atomic.Bool
}

func (h *hanging) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	if h.on.Load() {
		<-ctx.Done()
		return nil, objstore.Info{}, ctx.Err()
	}
	return h.Bucket.Get(ctx, key, o)
}

// TestReadAheadEnds: what reads ahead ends with the context of the read, or with the
// limit of silence; a bubble does not end before all its goroutines have. A reader that
// waits for it waits for no longer than the limit. Without a limit and a context,
// nothing is read ahead.
func TestReadAheadEnds(t *testing.T) {
	data := plain()[:8<<20]
	for name, c := range map[string]struct {
		stall time.Duration
		leave bool
		want  error
		took  time.Duration
	}{
		"context":            {-1, true, context.Canceled, time.Second},
		"context and limit":  {5 * time.Second, true, context.Canceled, time.Second},
		"limit":              {5 * time.Second, false, objstore.ErrUnavailable, 5 * time.Second},
		"the limit is first": {500 * time.Millisecond, true, objstore.ErrUnavailable, 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := memstore.New(memstore.Config{})
				put(t, mem, "k", data)
				h := &hanging{Bucket: mem}
				obj, err := objstore.Open(t.Context(), h, "k", objstore.OpenOptions{Stall: c.stall})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				bound := obj.WithContext(ctx)
				checked{t, bound, data}.run(0, 1<<20, 32<<10)
				synctest.Wait()
				h.on.Store(true)
				if c.leave {
					time.AfterFunc(time.Second, cancel)
				}
				start := time.Now()
				for off := int64(1 << 20); err == nil; off += 32 << 10 {
					p := make([]byte, 32<<10)
					_, err = bound.ReadAt(p, off)
					if err == nil && !bytes.Equal(p, data[off:off+int64(len(p))]) {
						t.Fatal("wrong bytes")
					}
				}
				if took := time.Since(start); !errors.Is(err, c.want) || took != c.took {
					t.Errorf("%v after %v, want %v after %v", err, took, c.want, c.took)
				}
				// Whatever else was read ahead ends at this moment, too; a reader who joined
				// it before it has ended would rightly be told the same error.
				synctest.Wait()
				h.on.Store(false)
				checked{t, obj, data}.run(1<<20, 3<<20, 32<<10)
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		obj, r, _ := remote(t, objstore.OpenOptions{Head: 1, Stall: -1})
		r.run(0, 2<<20, 64<<10)
		if s := obj.Stats(); s.Requests != 33 {
			t.Errorf("neither context nor limit: %+v", s)
		}
	})
}

// TestReadAheadOfReplaced: whatever was read ahead when the object is replaced, reads
// return bytes of the version that was opened, or ErrChanged.
func TestReadAheadOfReplaced(t *testing.T) {
	data, young := plain()[:8<<20], plain()[8<<20:][:8<<20]
	for _, at := range []int64{96 << 10, 704 << 10, 1 << 20} {
		synctest.Test(t, func(t *testing.T) {
			obj, _, b := remote(t, objstore.OpenOptions{})
			var changed bool
			for off := int64(0); off < 8<<20; off += 16 << 10 {
				if off == at {
					put(t, b, "k", young)
				}
				p := make([]byte, 16<<10)
				_, err := obj.ReadAt(p, off)
				switch {
				case err == nil && !bytes.Equal(p, data[off:off+16<<10]):
					t.Fatalf("wrong bytes at %d", off)
				case err != nil && !errors.Is(err, objstore.ErrChanged):
					t.Fatal(err)
				}
				changed = changed || err != nil
			}
			if !changed {
				t.Error("nobody noticed")
			}
		})
	}
}

// TestReadAheadSideBySide: many readers with patterns of their own, some of which leave,
// share objects and a small cache. Each gets the right bytes, or the error of its context.
func TestReadAheadSideBySide(t *testing.T) {
	t.Parallel()
	data := plain()[:4<<20]
	mem := memstore.New(memstore.Config{})
	put(t, mem, "k", data)
	cache := objstore.NewCache(600_000, 4096)
	var objs []*objstore.Object
	for _, o := range []objstore.OpenOptions{{Cache: cache}, {Cache: cache, Tail: 50_000}, {Ahead: 300_000}} {
		obj, err := objstore.Open(t.Context(), mem, "k", o)
		if err != nil {
			t.Fatal(err)
		}
		objs = append(objs, obj)
	}
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for range 30 {
				ctx, cancel := context.WithCancel(t.Context())
				obj := objs[r.IntN(len(objs))].WithContext(ctx)
				if r.IntN(3) == 0 {
					_ = obj.Prefetch(ctx, []objstore.Range{{Off: r.Int64N(4 << 20), Len: r.Int64N(200_000)}})
				}
				off, n := r.Int64N(4<<20), 1+r.Int64N(30_000)
				step := []int64{n, n, n, -n, -n, 100_000, -70_000, 5 * n}[r.IntN(8)]
				leave := r.IntN(60)
				for k := 0; k < 40 && off >= 0 && off < 4<<20; k++ {
					if k == leave {
						cancel()
					}
					p := make([]byte, min(n, 4<<20-off))
					_, err := obj.ReadAt(p, off)
					if err != nil && (k < leave || !errors.Is(err, context.Canceled)) || err == nil && !bytes.Equal(p, data[off:off+int64(len(p))]) {
						t.Errorf("%d bytes at %d: %v", n, off, err)
					}
					off += step
				}
				cancel()
			}
		})
	}
	wg.Wait()
	if n := cache.Size(); n > 600_000 {
		t.Errorf("the cache holds %d bytes", n)
	}
}

// panicking is a bucket whose Gets panic once it is told so.
type panicking struct {
	objstore.Bucket
	on atomic.Bool
}

func (b *panicking) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	if b.on.Load() {
		panic("driver")
	}
	return b.Bucket.Get(ctx, key, o)
}

// TestReadAheadPanics: a driver that panics does so where the caller can recover.
func TestReadAheadPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := plain()[:1<<20]
		mem := memstore.New(memstore.Config{})
		put(t, mem, "k", data)
		b := &panicking{Bucket: mem}
		obj, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{Head: 1})
		if err != nil {
			t.Fatal(err)
		}
		b.on.Store(true)
		if err := obj.Prefetch(t.Context(), []objstore.Range{{Off: 500_000, Len: 10}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			_, _ = obj.ReadAt(make([]byte, 10), 500_000)
		}()
		b.on.Store(false)
		checked{t, obj, data}.at(500_000, 10)
	})
}

// TestFilesAreNotReadAhead: a file has no round trip.
func TestFilesAreNotReadAhead(t *testing.T) {
	dir := t.TempDir()
	data := plain()[:2<<20]
	if err := os.WriteFile(filepath.Join(dir, "k"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	b, err := filestore.New(filestore.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string]objstore.Bucket{"alone": b, "in a queue": objstore.Chain(b, objstore.Limit(3))} {
		obj, err := objstore.Open(t.Context(), b, "k", objstore.OpenOptions{Head: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := obj.Prefetch(t.Context(), []objstore.Range{{Len: 2 << 20}}); err != nil {
			t.Fatal(err)
		}
		checked{t, obj, data}.run(0, 2<<20, 64<<10)
		if s := obj.Stats(); s.Requests != 33 {
			t.Errorf("%s: %+v, want a read for each block", name, s)
		}
	}
}

// TestOptionsFor: readers of some formats begin at the end.
func TestOptionsFor(t *testing.T) {
	for key, tail := range map[string]int64{"a/b.zip": 256 << 10, "b.PARQUET": 256 << 10, "x.npz": 256 << 10, "x.tar": 0, "zip": 0, "": 0, "a.zip/x": 0, "a.zip/": 0} {
		o := objstore.OptionsFor(key)
		if o.Tail != tail || o.Head != tail/64 {
			t.Errorf("%q: %+v", key, o)
		}
	}
}
