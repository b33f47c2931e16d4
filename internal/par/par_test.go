package par_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/internal/par"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDoCallsEachIndexOnce(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 0, 1, 2, 7, 100} {
		for _, limit := range []int{-1, 0, 1, 2, 3, 200} {
			calls := make([]atomic.Int32, max(n, 0))
			err := par.Do(t.Context(), n, limit, func(_ context.Context, i int) error {
				calls[i].Add(1)
				return nil
			})
			if err != nil {
				t.Fatalf("n=%d limit=%d: %v", n, limit, err)
			}
			for i := range calls {
				if c := calls[i].Load(); c != 1 {
					t.Errorf("n=%d limit=%d: index %d called %d times", n, limit, i, c)
				}
			}
		}
	}
}

func TestEach(t *testing.T) {
	t.Parallel()
	calls := make([]atomic.Int32, 50)
	bad := errors.New("bad")
	err := par.Each(len(calls), 3, func(i int) error {
		calls[i].Add(1)
		if i == 49 {
			return bad
		}
		return nil
	})
	if !errors.Is(err, bad) {
		t.Errorf("%v, want the error of the call", err)
	}
	for i := range calls {
		if n := calls[i].Load(); n != 1 {
			t.Errorf("index %d called %d times", i, n)
		}
	}
}

// TestDoKeepsTheLimit: in virtual time, n calls of one second with a limit of
// k take ceil(n/k) seconds, no less (more than k at once) and no more.
func TestDoKeepsTheLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ n, limit, seconds int }{{1, 4, 1}, {8, 1, 8}, {8, 3, 3}, {8, 8, 1}, {9, 8, 2}, {3, 50, 1}} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			var now, most atomic.Int32
			err := par.Do(t.Context(), c.n, c.limit, func(ctx context.Context, _ int) error {
				most.Store(max(most.Load(), now.Add(1)))
				defer now.Add(-1)
				<-time.After(time.Second)
				return ctx.Err()
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := time.Since(begin); got != time.Duration(c.seconds)*time.Second {
				t.Errorf("n=%d limit=%d: %v, want %d s", c.n, c.limit, got, c.seconds)
			}
			if int(most.Load()) > c.limit {
				t.Errorf("n=%d limit=%d: %d at once", c.n, c.limit, most.Load())
			}
		})
	}
}

func TestDoDefaultLimitIsGOMAXPROCS(t *testing.T) {
	t.Parallel()
	p := runtime.GOMAXPROCS(0)
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		err := par.Do(t.Context(), 3*p, 0, func(context.Context, int) error {
			<-time.After(time.Second)
			return nil
		})
		if got := time.Since(begin); err != nil || got != 3*time.Second {
			t.Errorf("%v, %v; want 3 s", got, err)
		}
	})
}

func TestDoFirstErrorCancelsAndIsReturned(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			boom := errors.New("boom")
			var mu sync.Mutex
			var started []int
			err := par.Do(t.Context(), 100, limit, func(ctx context.Context, i int) error {
				mu.Lock()
				started = append(started, i)
				mu.Unlock()
				if i == 0 {
					<-time.After(time.Second)
					return boom
				}
				<-ctx.Done() // hangs the bubble if the error does not cancel
				return ctx.Err()
			})
			if !errors.Is(err, boom) {
				t.Errorf("limit=%d: %v, want %v", limit, err, boom)
			}
			slices.Sort(started)
			if len(started) != limit || started[limit-1] != limit-1 {
				t.Errorf("limit=%d: indexes %v started", limit, started)
			}
		})
	}
}

func TestDoCancelledContext(t *testing.T) {
	t.Parallel()
	why := errors.New("why")
	for _, limit := range []int{1, 3} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		err := par.Do(ctx, 5, limit, func(context.Context, int) error {
			t.Error("called under a context that had ended")
			return nil
		})
		if !errors.Is(err, why) {
			t.Errorf("limit=%d: %v, want the cause", limit, err)
		}
	}
}

// TestDoCancelAfterTheLastStart: if all work ends well, a late cancel does not make it
// an error.
func TestDoCancelAfterTheLastStart(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 4} {
		ctx, cancel := context.WithCancel(t.Context())
		err := par.Do(ctx, 4, limit, func(_ context.Context, i int) error {
			if i == 3 {
				cancel()
			}
			return nil
		})
		cancel()
		// With goroutines, another index may be about to start: either outcome is
		// right for it, but no other error than the cancellation.
		if err != nil && (limit == 1 || !errors.Is(err, context.Canceled)) {
			t.Errorf("limit=%d: %v", limit, err)
		}
	}
}

func TestDoPanicReachesTheCaller(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	var ended atomic.Int32
	defer func() {
		v := recover()
		p, ok := v.(*par.Panic)
		if !ok {
			t.Fatalf("recovered %T %v, want a *par.Panic", v, v)
		}
		if !errors.Is(p, boom) || !strings.Contains(p.String(), "par_test.go") {
			t.Errorf("panic does not tell what and where: %v", p)
		}
		if ended.Load() != 1 {
			t.Error("Do panicked before the other call had ended")
		}
	}()
	_ = par.Do(t.Context(), 2, 2, func(ctx context.Context, i int) error {
		if i == 1 {
			panic(boom)
		}
		<-ctx.Done()
		ended.Add(1)
		return nil
	})
	t.Error("Do returned")
}

func TestDoPanicOfAPlainValue(t *testing.T) {
	t.Parallel()
	defer func() {
		p, ok := recover().(*par.Panic)
		if !ok || p.Value != "just text" || p.Unwrap() != nil {
			t.Errorf("recovered %v", p)
		}
	}()
	_ = par.Do(t.Context(), 4, 2, func(context.Context, int) error { panic("just text") })
}

func TestDoGoexitIsNotSuccess(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a work function that never returned looks like success")
		}
	}()
	_ = par.Do(t.Context(), 2, 2, func(context.Context, int) error {
		runtime.Goexit()
		return nil
	})
}

func BenchmarkDo(b *testing.B) {
	for _, n := range []int{1, 16, 256} {
		b.Run("n="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := par.Do(b.Context(), n, 0, func(context.Context, int) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
