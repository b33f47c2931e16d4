package rangeio_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/rangeio"
)

// TestDoLimit: in virtual time, 12 requests of a second each with k at once take
// 12/k seconds.
func TestDoLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ limit, atOnce int }{{0, 12}, {-1, 12}, {1, 1}, {3, 3}, {12, 12}, {100, 12}} {
		synctest.Test(t, func(t *testing.T) {
			var now, most atomic.Int64
			begin := time.Now()
			err := rangeio.Do(t.Context(), layout(12, 1, 10), rangeio.Policy{}, c.limit, func(context.Context, *rangeio.Request) error {
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(time.Second)
				now.Add(-1)
				return nil
			}, nil)
			if err != nil {
				t.Error(err)
			}
			if d, want := time.Since(begin), time.Duration(12/c.atOnce)*time.Second; d != want || most.Load() != int64(c.atOnce) {
				t.Errorf("limit %d: %v with %d at once, want %v with %d", c.limit, d, most.Load(), want, c.atOnce)
			}
		})
	}
}

// TestDoStopsAtTheFirstError: the others are cancelled, none begins, and the
// error is the one that came first, not what it caused.
func TestDoStopsAtTheFirstError(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad")
	for _, where := range []string{"fetch", "done"} {
		for _, limit := range []int{0, 1, 4} {
			synctest.Test(t, func(t *testing.T) {
				var begun, running atomic.Int64
				spans := layout(50, 10, 100)
				err := rangeio.Do(t.Context(), spans, rangeio.Policy{}, limit, func(ctx context.Context, r *rangeio.Request) error {
					begun.Add(1)
					running.Add(1)
					defer running.Add(-1)
					if r.Off != 0 {
						<-ctx.Done()
						return ctx.Err()
					}
					time.Sleep(time.Minute)
					if where == "fetch" {
						return bad
					}
					return nil
				}, func(int) error {
					if where == "done" {
						return bad
					}
					return nil
				})
				if !errors.Is(err, bad) {
					t.Errorf("%s, limit %d: want the first error, got %v", where, limit, err)
				}
				if n := running.Load(); n != 0 {
					t.Errorf("%s, limit %d: %d fetches still run", where, limit, n)
				}
				if limit > 0 && begun.Load() > int64(limit) {
					t.Errorf("%s, limit %d: %d requests were begun", where, limit, begun.Load())
				}
			})
		}
	}
}

func TestDoObeysItsContext(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 20} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begin := time.Now()
			err := rangeio.Do(ctx, layout(n, 10, 100), rangeio.Policy{}, 3, func(ctx context.Context, _ *rangeio.Request) error {
				<-ctx.Done()
				return ctx.Err()
			}, func(i int) error {
				t.Errorf("done(%d)", i)
				return nil
			})
			if d := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || d != time.Minute {
				t.Errorf("%d requests: %v after %v", n, err, d)
			}
		})
	}
}

// TestDoOfPieces: a long span is done once, when its last piece is.
func TestDoOfPieces(t *testing.T) {
	t.Parallel()
	spans := at(0, 100, 200, 0, 300, 5)
	var fetched atomic.Int64
	var mu sync.Mutex
	var done []int
	err := rangeio.Do(t.Context(), spans, rangeio.Policy{MaxLen: 10}, 4, func(_ context.Context, r *rangeio.Request) error {
		fetched.Add(r.Len)
		return nil
	}, func(i int) error {
		mu.Lock()
		defer mu.Unlock()
		if i == 0 && fetched.Load() < 100 {
			t.Errorf("done after %d of 100 bytes", fetched.Load())
		}
		done = append(done, i)
		return nil
	})
	slices.Sort(done)
	if err != nil || !slices.Equal(done, []int{0, 1, 2}) {
		t.Errorf("done %v, %v", done, err)
	}
	bad := errors.New("bad")
	err = rangeio.Do(t.Context(), at(0, 10, 5, 0), rangeio.Policy{}, 0, func(context.Context, *rangeio.Request) error {
		t.Error("a request although the empty span failed first")
		return nil
	}, func(int) error { return bad })
	if !errors.Is(err, bad) {
		t.Errorf("an empty span whose done fails: %v", err)
	}
}

func TestPhases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		run  func(ctx context.Context, p *rangeio.Phases)
		want int64
	}{
		{"none", func(context.Context, *rangeio.Phases) {}, 0},
		{"one after the other", func(ctx context.Context, p *rangeio.Phases) {
			p.Begin(ctx)()
			p.Begin(ctx)()
			p.Begin(ctx)()
		}, 3},
		{"side by side", func(ctx context.Context, p *rangeio.Phases) {
			a, b := p.Begin(ctx), p.Begin(ctx)
			a()
			b()
		}, 1},
		{"a pair, then one", func(ctx context.Context, p *rangeio.Phases) {
			a, b := p.Begin(ctx), p.Begin(ctx)
			a()
			b()
			p.Begin(ctx)()
		}, 2},
		{"overlapping in a chain", func(ctx context.Context, p *rangeio.Phases) {
			a := p.Begin(ctx) // 1
			b := p.Begin(ctx) // 1
			a()
			c := p.Begin(ctx) // 2: may depend on a
			b()
			d := p.Begin(ctx) // 2: c has not ended
			c()
			d()
		}, 2},
		{"begun but not ended", func(ctx context.Context, p *rangeio.Phases) { p.Begin(ctx) }, 1},
		{"OnePhase", func(ctx context.Context, p *rangeio.Phases) {
			p.Begin(ctx)()
			one := rangeio.OnePhase(ctx)
			for range 5 {
				p.Begin(one)()
			}
		}, 2},
		{"after OnePhase", func(ctx context.Context, p *rangeio.Phases) {
			one := rangeio.OnePhase(ctx)
			p.Begin(one)()
			p.Begin(one)()
			p.Begin(ctx)()
		}, 2},
		{"two of OnePhase", func(ctx context.Context, p *rangeio.Phases) {
			for range 2 {
				one := rangeio.OnePhase(ctx)
				p.Begin(one)()
				p.Begin(one)()
			}
		}, 2},
		{"a chain", func(ctx context.Context, p *rangeio.Phases) {
			p.Begin(ctx)()
			starts, blocks := rangeio.Steps(ctx)
			for range 3 {
				p.Begin(starts)()
				p.Begin(blocks)()
			}
		}, 3},
		{"a chain that one needs the end of only", func(ctx context.Context, p *rangeio.Phases) {
			p.Begin(ctx)()
			starts, blocks := rangeio.Steps(ctx)
			p.Begin(blocks)()
			p.Begin(starts)()
			p.Begin(blocks)()
			p.Begin(starts)()
		}, 3},
		{"a chain whose first link asks for nothing", func(ctx context.Context, p *rangeio.Phases) {
			p.Begin(ctx)()
			_, rest := rangeio.Steps(ctx)
			_, blocks := rangeio.Steps(rest)
			p.Begin(blocks)()
			p.Begin(blocks)()
		}, 2},
		{"a chain of no beginning", func(ctx context.Context, p *rangeio.Phases) {
			_, one := rangeio.Steps(ctx)
			p.Begin(one)()
			p.Begin(one)()
		}, 1},
		{"steps within a step", func(ctx context.Context, p *rangeio.Phases) {
			for range 2 {
				p.Begin(ctx)()
				before, blocks := rangeio.Steps(ctx)
				open, starts := rangeio.Steps(before)
				for range 3 {
					p.Begin(open)()
					p.Begin(starts)()
					p.Begin(blocks)()
				}
			}
		}, 8},
		{"steps of two reads in one phase", func(ctx context.Context, p *rangeio.Phases) {
			one := rangeio.OnePhase(ctx)
			for range 3 {
				starts, blocks := rangeio.Steps(one)
				p.Begin(starts)()
				p.Begin(blocks)()
			}
		}, 2},
	} {
		var p, other rangeio.Phases
		c.run(t.Context(), &p)
		if got := p.Depth(); got != c.want || other.Depth() != 0 {
			t.Errorf("%s: %d phases, want %d", c.name, got, c.want)
		}
	}
}

// TestOnePhaseOfTwo: one context serves several objects, each with phases of its
// own.
func TestOnePhaseOfTwo(t *testing.T) {
	t.Parallel()
	var a, b rangeio.Phases
	a.Begin(t.Context())()
	one := rangeio.OnePhase(t.Context())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			a.Begin(one)()
			b.Begin(one)()
		})
	}
	wg.Wait()
	if a.Depth() != 2 || b.Depth() != 1 {
		t.Errorf("%d and %d phases, want 2 and 1", a.Depth(), b.Depth())
	}
}

// TestOnePhaseHoldsNothing: a context of one phase outlives the objects that were read under
// it, and must not keep them.
func TestOnePhaseHoldsNothing(t *testing.T) {
	t.Parallel()
	one := rangeio.OnePhase(t.Context())
	gone := make(chan struct{})
	func() {
		type object struct{ phases rangeio.Phases }
		o := new(object)
		o.phases.Begin(one)()
		runtime.AddCleanup(o, func(c chan struct{}) { close(c) }, gone)
	}()
	for range 100 {
		runtime.GC()
		select {
		case <-gone:
			runtime.KeepAlive(one)
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
	t.Error("the context keeps an object")
}
