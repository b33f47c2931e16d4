package silence_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/internal/silence"
)

// watcher notes when it was told.
type watcher struct {
	start time.Time
	told  []time.Duration
}

func (w *watcher) Slow() { w.told = append(w.told, time.Since(w.start)) }

// TestWatch: when a watcher is told, which is never more than once.
func TestWatch(t *testing.T) {
	const limit, patient = 20 * time.Second, 2 * time.Second
	for name, c := range map[string]struct {
		limit time.Duration
		do    func(ctx context.Context, c *silence.Clock, w *watcher)
		told  time.Duration // 0: never
	}{
		"it runs":  {limit, func(_ context.Context, c *silence.Clock, _ *watcher) { c.Run() }, patient},
		"no limit": {-1, func(_ context.Context, c *silence.Clock, _ *watcher) { c.Run() }, patient},
		"it ran":   {limit, func(_ context.Context, c *silence.Clock, w *watcher) { c.Run(); c.Watch(patient, w) }, patient},
		"it ran, no limit": {-1, func(_ context.Context, c *silence.Clock, w *watcher) {
			c.Run()
			time.Sleep(time.Second)
			c.Watch(patient, w)
		}, patient + time.Second},
		"it rests": {limit, func(context.Context, *silence.Clock, *watcher) {}, 0},
		"it rests for a while": {limit, func(_ context.Context, c *silence.Clock, _ *watcher) {
			c.Run()
			time.Sleep(time.Second)
			c.Rest()
			time.Sleep(time.Minute)
			c.Run()
		}, patient + time.Minute},
		"nobody":         {limit, func(_ context.Context, c *silence.Clock, w *watcher) { c.Watch(0, w); c.Run() }, 0},
		"no longer":      {limit, func(_ context.Context, c *silence.Clock, _ *watcher) { c.Run(); c.Watch(0, nil) }, 0},
		"a good head":    {limit, func(ctx context.Context, c *silence.Clock, _ *watcher) { begin(ctx, c).Answered(false) }, 0},
		"a refusal":      {limit, func(ctx context.Context, c *silence.Clock, _ *watcher) { begin(ctx, c).Answered(true); c.Run() }, 0},
		"a sign of life": {limit, func(ctx context.Context, c *silence.Clock, _ *watcher) { begin(ctx, c); c.Alive() }, 0},
		"a byte":         {limit, func(ctx context.Context, c *silence.Clock, _ *watcher) { after(begin(ctx, c), time.Second, 1) }, patient + time.Second},
		"another try": {limit, func(ctx context.Context, c *silence.Clock, _ *watcher) {
			x := begin(ctx, c)
			time.Sleep(time.Second)
			x.End(context.Canceled)
			begin(ctx, c)
		}, patient},
		"a try that failed": {limit, func(ctx context.Context, c *silence.Clock, _ *watcher) {
			x := begin(ctx, c)
			time.Sleep(time.Second)
			x.End(errors.New("refused"))
			time.Sleep(5 * time.Second)
			begin(ctx, c)
		}, patient + 6*time.Second},
		"a try that failed, no limit": {-1, func(ctx context.Context, c *silence.Clock, _ *watcher) {
			x := begin(ctx, c)
			time.Sleep(time.Second)
			x.End(errors.New("refused"))
			time.Sleep(time.Minute)
			begin(ctx, c)
		}, patient + time.Minute + time.Second},
		"a body": {limit, func(ctx context.Context, c *silence.Clock, w *watcher) {
			begin(ctx, c).Answered(false)
			b := c.Body(ended(ctx))
			c.Watch(patient, w)
			time.Sleep(time.Minute) // nobody reads
			b.Run()
			after(b, time.Second, 1)
			b.Rest()
			if now, longest := c.Waited(); now != 0 || longest != time.Second {
				t.Errorf("waited %v, %v", now, longest)
			}
			time.Sleep(time.Minute)
			b.Run()
		}, patient + time.Second + 2*time.Minute},
		"a limit that is shorter": {time.Second, func(_ context.Context, c *silence.Clock, _ *watcher) { c.Run() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := silence.With(t.Context(), c.limit)
				defer clock.Stop()
				w := &watcher{start: time.Now()}
				clock.Watch(patient, w)
				c.do(context.WithValue(clock.Context(), endKey{}, func() {}), clock, w)
				time.Sleep(time.Hour)
				synctest.Wait()
				if c.told == 0 && len(w.told) > 0 || c.told > 0 && (len(w.told) != 1 || w.told[0] != c.told) {
					t.Errorf("told after %v, want %v", w.told, c.told)
				}
			})
		})
	}
}

// TestCut: a try can be ended before its time, if it is silent.
func TestCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := silence.With(t.Context(), 20*time.Second)
		defer clock.Stop()
		ends := 0
		old := clock.Body(func() { t.Error("the old one") })
		try := clock.Body(func() { ends++ })
		try.Run()
		time.Sleep(3 * time.Second)
		try.Got(1)
		time.Sleep(time.Second)
		if old.Cut(0) || try.Cut(2*time.Second) || try.Err() != nil || try.IsCut() || ends != 0 {
			t.Error("cut before its time")
		}
		time.Sleep(time.Second)
		if !try.Cut(2*time.Second) || try.Cut(2*time.Second) || !try.IsCut() || ends != 1 {
			t.Error("not cut, or twice")
		}
		if err := try.Err(); err == nil || err.Error() != "the store brought less than 1024 bytes in 2s, after 1" || clock.Over() {
			t.Error(err)
		}
		var none *silence.Try
		if none.Cut(0) || none.IsCut() {
			t.Error("nothing was cut")
		}
	})
}

// TestAside: the clock beside another one has no limit, but ends with it.
func TestAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := silence.With(t.Context(), 20*time.Second)
		defer clock.Stop()
		aside := silence.Aside(clock.Context())
		defer aside.Stop()
		clock.Run()
		aside.Begin(aside.Context(), "host", func() { t.Error("ended by itself") })
		var none *silence.Clock
		if !aside.OnlyTry() || clock.OnlyTry() || none.OnlyTry() || silence.From(aside.Context()) != aside {
			t.Error("one try or not")
		}
		time.Sleep(time.Second)
		aside.Alive() // is no sign of life of the other
		start := time.Now()
		<-aside.Context().Done()
		if took := time.Since(start); took != 19*time.Second || !clock.Over() || aside.Over() {
			t.Errorf("after %v, %v", took, aside.Err())
		}
	})
}
