package objstore

import (
	"testing"
	"time"
)

// TestHistogram: the 99th percentile is found to a step of 1.42, and follows the store.
func TestHistogram(t *testing.T) {
	near := func(what string, got, want time.Duration) {
		t.Helper()
		if got < want || float64(got) > 1.42*float64(want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	var h histogram
	for i := range histEnough {
		if h.most() != 0 {
			t.Errorf("known after %d", i)
		}
		h.add(30 * time.Millisecond)
	}
	near("the same again", h.most(), 30*time.Millisecond)
	h.add(2 * time.Second)
	near("one of 17", h.most(), 2*time.Second)
	for range 200 {
		h.add(30 * time.Millisecond)
	}
	near("one of 217", h.most(), 30*time.Millisecond)
	for range 10 {
		h.add(300 * time.Millisecond)
	}
	near("10 of 227", h.most(), 300*time.Millisecond)
	for range 3000 {
		h.add(0)
	}
	near("old ones are forgotten", h.most(), shortest)
	for range 3000 {
		h.add(24 * time.Hour)
	}
	if d := h.most(); d < 10*time.Minute || h.total >= histFull {
		t.Errorf("beyond all steps: %v, %d", d, h.total)
	}
}

// TestUsual: what is slow, before and after anything is known.
func TestUsual(t *testing.T) {
	learn := func(answer, gap time.Duration) *usual {
		u := &usual{}
		for range 100 {
			u.answered(answer)
			u.read(gap)
		}
		return u
	}
	const usually = 20 * time.Second
	for _, c := range []struct {
		name          string
		u             *usual
		limit         time.Duration
		times         int
		slow, stalled time.Duration
	}{
		{"off", nil, usually, 0, 0, 0},
		{"nothing known", &usual{}, usually, 0, time.Second, time.Second},
		{"nothing known, no limit", &usual{}, -1, 0, time.Second, time.Second},
		{"nothing known, little patience", &usual{}, 2 * time.Second, 0, 500 * time.Millisecond, 500 * time.Millisecond},
		{"quick", learn(time.Millisecond, time.Millisecond), usually, 0, 500 * time.Millisecond, time.Second},
		{"256 ms", learn(256*time.Millisecond, 512*time.Millisecond), usually, 0, 768 * time.Millisecond, 1536 * time.Millisecond},
		{"slow", learn(4*time.Second, 8*time.Second), usually, 0, 5 * time.Second, 5 * time.Second},
		{"slow, much patience", learn(64*time.Second, 64*time.Second), 10 * time.Minute, 0, 30 * time.Second, 30 * time.Second},
		{"slow, no limit", learn(64*time.Second, 64*time.Second), -1, 0, 30 * time.Second, 30 * time.Second},
		{"again", &usual{}, usually, 1, time.Second, 2 * time.Second},
		{"a third time", &usual{}, usually, 3, time.Second, 8 * time.Second},
		{"too often", &usual{}, usually, 4, time.Second, 0},
		{"very often, no limit", &usual{}, -1, 100, time.Second, 1024 * time.Second},
	} {
		if d := c.u.slow(c.limit, false); d != c.slow {
			t.Errorf("%s: slow after %v, want %v", c.name, d, c.slow)
		}
		if d := c.u.stalled(c.limit, c.times); d != c.stalled {
			t.Errorf("%s: stalled after %v, want %v", c.name, d, c.stalled)
		}
	}
}

// TestBudget: what was not spent is saved up, but not without end.
func TestBudget(t *testing.T) {
	spend := func(u *usual) (n int) {
		for u.spend() {
			n++
		}
		return n
	}
	u := &usual{}
	if n := spend(u); n != hedgeFirst {
		t.Errorf("%d at first", n)
	}
	u.save()
	if n := spend(u); n != 1 {
		t.Errorf("%d after one was saved", n)
	}
	for range 99 {
		u.asked()
	}
	if n := spend(u); n != 4 {
		t.Errorf("%d after 99 requests", n)
	}
	for range 1000 {
		u.asked()
	}
	if n := spend(u); n != hedgeMost {
		t.Errorf("%d after many requests", n)
	}
	var none *usual
	none.asked()
	none.answered(1)
	none.read(1)
}
