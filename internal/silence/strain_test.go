package silence_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/internal/silence"
)

// body lets a body move n Units, gap apart, and then nothing until it is ended. It reports
// whether the call goes on then.
func body(c *silence.Clock, n int, gap time.Duration) bool {
	over := make(chan struct{})
	b := c.Body(func() { close(over) })
	b.Run()
	for range n {
		time.Sleep(gap)
		b.Got(silence.Unit)
	}
	select {
	case <-over:
	case <-c.Context().Done():
	}
	b.Rest()
	return !c.Over()
}

// TestStallsAddUp: the time of bodies that were given up counts though bytes came in
// between, less the time in which bytes came.
func TestStallsAddUp(t *testing.T) {
	const limit = 20 * time.Second
	for name, c := range map[string]struct {
		units  int
		gap    time.Duration
		bodies int // that the call has
		took   time.Duration
	}{
		"nothing between":    {0, 0, 2, 20 * time.Second},
		"a little between":   {1, time.Millisecond, 2, 20*time.Second + 2*time.Millisecond},
		"much between":       {1000, time.Millisecond, 3, 24998 * time.Millisecond},
		"as much as is lost": {11, time.Second, 1000, 1000 * 21 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clock := silence.With(t.Context(), limit)
				defer clock.Stop()
				start, n := time.Now(), 1
				for ; n < 1000 && body(clock, c.units, c.gap); n++ {
				}
				if took := time.Since(start); n != c.bodies || (n < 1000) != clock.Over() || n < 1000 && took != c.took {
					t.Errorf("%d bodies, %v: %v", n, took, clock.Err())
				}
			})
		})
	}
}

// TestStrain: what a call has lost, the next one has not got, until time has made it good,
// or a call has ended for it.
func TestStrain(t *testing.T) {
	const limit = 20 * time.Second
	synctest.Test(t, func(t *testing.T) {
		var s silence.Strain
		call := func(f func(c *silence.Clock)) time.Duration {
			clock := silence.With(t.Context(), limit)
			defer clock.Stop()
			clock.Share(&s)
			start := time.Now()
			f(clock)
			return time.Since(start)
		}
		stall := func(c *silence.Clock) { body(c, 1, 0) }
		for i, want := range []time.Duration{limit / 2, limit / 2, limit / 2} { // the second ends with the call
			if took := call(stall); took != want {
				t.Errorf("call %d: %v", i, took)
			}
		}
		never := func(c *silence.Clock) { c.Run(); <-c.Context().Done() }
		if took := call(never); took != limit/2 {
			t.Errorf("a call without an answer after a body that stalled: %v", took)
		}
		if took := call(never); took != limit {
			t.Errorf("a call after one that has ended for it: %v", took)
		}
		aid := func() time.Duration {
			clock := silence.With(t.Context(), limit/2)
			defer clock.Stop()
			clock.ShareAid(&s)
			start := time.Now()
			never(clock)
			return time.Since(start)
		}
		if took := aid(); took != limit/2 {
			t.Errorf("a call of half the limit without which others go on: %v", took)
		}
		if took := aid(); took != limit/40 {
			t.Errorf("another one behind it: %v", took)
		}
		if took := call(never); took != limit/2-limit/40 {
			t.Errorf("a call behind both: %v", took)
		}
		call(stall)
		time.Sleep(4 * time.Second)
		if took := call(never); took != limit/2+4*time.Second {
			t.Errorf("a call later: %v", took)
		}
		// Side by side, the same time is lost once, and none of it while another moves.
		done := make(chan struct{})
		for range 5 {
			go func() { call(stall); done <- struct{}{} }()
		}
		for range 5 {
			<-done
		}
		if took := call(never); took != limit/2 {
			t.Errorf("a call after five side by side: %v", took)
		}
		go func() { call(stall); done <- struct{}{} }()
		call(func(c *silence.Clock) { body(c, 9, time.Second) })
		<-done
		if took := call(never); took != limit/2 {
			t.Errorf("a call after one that stalled beside one that moved for 9 s, and then stalled: %v", took)
		}
	})
}
