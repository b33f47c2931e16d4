package silence_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/internal/silence"
)

// TestClock: when a call and a try of it end.
func TestClock(t *testing.T) {
	const limit = 20 * time.Second
	for name, c := range map[string]struct {
		do        func(ctx context.Context, c *silence.Clock)
		try, call time.Duration // after which each ends, from the start; 0: not within an hour
	}{
		"nothing at all": {func(ctx context.Context, c *silence.Clock) { c.Run() }, 0, limit},
		"it rests": {func(ctx context.Context, c *silence.Clock) {
			c.Run()
			time.Sleep(time.Second)
			c.Rest()
		}, 0, 0},
		"it rests for a while": {func(ctx context.Context, c *silence.Clock) {
			c.Run()
			time.Sleep(time.Second)
			c.Rest()
			time.Sleep(time.Minute)
			c.Run()
		}, 0, limit + time.Minute},
		"a try":           {func(ctx context.Context, c *silence.Clock) { begin(ctx, c) }, limit / 2, limit},
		"a try with more": {func(ctx context.Context, c *silence.Clock) { begin(silence.More(ctx, time.Minute, false), c) }, limit/2 + time.Minute, limit + time.Minute},
		"a byte":          {func(ctx context.Context, c *silence.Clock) { after(begin(ctx, c), time.Second, 1) }, limit/2 + time.Second, limit},
		"a byte that says": {func(ctx context.Context, c *silence.Clock) {
			after(begin(silence.More(ctx, 0, true), c), time.Second, 1)
		}, limit/2 + time.Second, limit + time.Second},
		"a unit": {func(ctx context.Context, c *silence.Clock) { after(begin(ctx, c), time.Second, silence.Unit) }, limit/2 + time.Second, limit + time.Second},
		"a unit in two": {func(ctx context.Context, c *silence.Clock) {
			t := begin(ctx, c)
			after(t, time.Second, 1000)
			after(t, time.Second, 24)
		}, limit/2 + 2*time.Second, limit + 2*time.Second},
		"the same unit again": {func(ctx context.Context, c *silence.Clock) {
			after(begin(ctx, c), time.Second, silence.Unit)
			after(begin(ctx, c), time.Second, silence.Unit)
		}, limit/2 + 2*time.Second, limit + time.Second},
		"another body": {func(ctx context.Context, c *silence.Clock) {
			after(begin(ctx, c), time.Second, silence.Unit)
			b := c.Body(ended(ctx))
			b.Run()
			after(b, time.Second, silence.Unit)
		}, limit/2 + 2*time.Second, limit + 2*time.Second},
		"a good head": {func(ctx context.Context, c *silence.Clock) { begin(ctx, c).Answered(false) }, 0, 0},
		"a refusal": {func(ctx context.Context, c *silence.Clock) {
			x := begin(ctx, c)
			time.Sleep(time.Second)
			x.Answered(true)
			c.Run()
		}, limit/2 + time.Second, limit + time.Second},
		"a sign of life":   {func(ctx context.Context, c *silence.Clock) { begin(ctx, c); time.Sleep(time.Second); c.Alive() }, limit/2 + time.Second, limit + time.Second},
		"a try that fails": {func(ctx context.Context, c *silence.Clock) { begin(ctx, c).End(errors.New("x")) }, 0, limit},
		"what is unsent becomes less": {func(ctx context.Context, c *silence.Clock) {
			const whole = 100 * silence.Unit
			start := time.Now()
			x := begin(ctx, c)
			x.Unsent(func() (int64, bool) { return max(whole-int64(time.Since(start)/time.Second)*silence.Unit, 0), true })
			x.Sent(whole)
			x.Sent(0)
		}, limit/2 + 100*time.Second, limit + 100*time.Second},
		"what is unsent stays": {func(ctx context.Context, c *silence.Clock) {
			x := begin(ctx, c)
			x.Unsent(func() (int64, bool) { return 1000, true })
			x.Sent(100 * silence.Unit)
			x.Sent(0)
		}, limit/2 + time.Second, limit + time.Second}, // unsent bytes are looked at once a second
		"the same is unsent again": {func(ctx context.Context, c *silence.Clock) {
			for range 2 {
				start := time.Now()
				x := begin(ctx, c)
				x.Unsent(func() (int64, bool) {
					return 4*silence.Unit - int64(min(time.Since(start)/time.Second, 2))*silence.Unit, true
				})
				x.Sent(4 * silence.Unit)
				x.Sent(0)
				time.Sleep(2500 * time.Millisecond)
			}
		}, limit/2 + 4500*time.Millisecond, limit + 2*time.Second},
		"an old try": {func(ctx context.Context, c *silence.Clock) {
			old := begin(ctx, c)
			begin(ctx, c)
			after(old, time.Second, silence.Unit)
			old.Rest()
		}, limit / 2, limit},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := silence.With(t.Context(), limit)
				defer clock.Stop()
				start := time.Now()
				var try, call time.Duration
				ctx := context.WithValue(clock.Context(), endKey{}, func() { try = time.Since(start) })
				context.AfterFunc(clock.Context(), func() { call = time.Since(start) })
				c.do(ctx, clock)
				time.Sleep(time.Hour)
				synctest.Wait() // all that ended then has happened
				if try != c.try || call != c.call {
					t.Errorf("try %v, want %v; call %v, want %v", try, c.try, call, c.call)
				}
				if over := clock.Over(); over != (c.call > 0) || over != silence.Is(clock.Err()) {
					t.Errorf("%v", clock.Err())
				}
			})
		})
	}
}

type endKey struct{}

func ended(ctx context.Context) func() { return ctx.Value(endKey{}).(func()) }

func begin(ctx context.Context, c *silence.Clock) *silence.Try {
	return c.Begin(ctx, "host", ended(ctx))
}

func after(t *silence.Try, d time.Duration, n int) {
	time.Sleep(d)
	t.Got(n)
}

// TestNoClock: without a clock, and with one that has no limit, nothing ends.
func TestNoClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		none := silence.From(t.Context())
		none.Run()
		none.Rest()
		none.Alive()
		try := none.Begin(t.Context(), "host", nil)
		try.Got(1)
		try.Sent(1)
		try.Answered(true)
		try.End(nil)
		if none.Err() != nil || try.Err() != nil || none.Body(nil) != nil {
			t.Error("an error of nobody")
		}
		c := silence.With(t.Context(), -1)
		defer c.Stop()
		if in, own := silence.Join(c.Context(), time.Second); in != c || own {
			t.Error("a clock in a clock")
		}
		c.Begin(c.Context(), "host", func() { t.Error("ended") })
		time.Sleep(24 * time.Hour)
		if c.Over() {
			t.Error(c.Err())
		}
	})
}

// TestError: the error is a time-out, but not one of the caller's context.
func TestError(t *testing.T) {
	err := &silence.Error{Host: "store:9000", For: 20*time.Second + 44*time.Millisecond, Last: errors.New("reset")}
	if err.Error() != "no answer from store:9000 for 20s (reset)" || !err.Timeout() || err.RetryableError() ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	err.Got = 7
	if err.Error() != "store:9000 brought less than 1024 bytes in 20s, after 7 (reset)" {
		t.Error(err)
	}
}
