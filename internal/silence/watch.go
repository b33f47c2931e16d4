package silence

import (
	"context"
	"time"
)

// A Watcher learns from a Clock that the Clock's call has waited for long.
type Watcher interface {
	// Slow is called once, in a goroutine of its own.
	Slow()
}

// Watch starts to count how long the call waits: the time in which the clock runs and
// the other side moves no byte. After a failed try the count begins again with the next
// try. When the count reaches d, the clock tells w. It does not tell w if Watch is
// called again before, or if the other side refuses the request or gives another sign
// of life: then the call repeats the request by itself. If d <= 0, or w is nil, nobody
// is told.
func (c *Clock) Watch(d time.Duration, w Watcher) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	c.waited, c.longest, c.patient, c.watcher, c.between = 0, 0, d, w, false
	if d <= 0 {
		c.watcher = nil
	}
	if c.watcher != nil {
		c.armed = false // the timer may be set for later
		c.arm(false)
	}
}

// Waited returns how long the call has now waited, as Watch counts it, and the longest
// wait for a byte of a body since Watch.
func (c *Clock) Waited() (now, longest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	return c.waited, c.longest
}

// pardon leaves out of what Watch counts the time by which the timer is late: this
// program, or its machine, stood still, and what the other side sent meanwhile has yet to
// be read.
func (c *Clock) pardon(late time.Duration) {
	const usual, reading = 50 * time.Millisecond, 100 * time.Millisecond
	if late > usual {
		c.waited = max(c.waited-late-reading, 0)
	}
}

// spoke begins the silence again, and removes the watcher: if a server has said
// "later", no second request should be made at the same time.
func (c *Clock) spoke() {
	c.settle()
	c.silent, c.bytes, c.waited = 0, 0, 0
	c.watcher = nil
}

// Aside makes the clock of a second call, which repeats the call of ctx at the same
// time, with one try. The end of ctx's clock ends both calls. The clock of Aside has no
// limit, and what the second call moves is no sign of life for the first.
func Aside(ctx context.Context) *Clock {
	c := With(ctx, -1)
	c.aside = true
	return c
}

// OnlyTry reports whether the call has only one try, since its clock is from Aside.
func (c *Clock) OnlyTry() bool { return c != nil && c.aside }

// Cut ends the try if it has been silent for d, and reports whether it did.
func (t *Try) Cut(d time.Duration) (cut bool) {
	t.do(func(c *Clock) {
		if t.silent >= d && !t.over && !c.over {
			t.cut = true
			t.giveUp(d)
			cut = true
		}
	})
	return cut
}

// IsCut reports whether Cut ended the try.
func (t *Try) IsCut() bool {
	if t == nil {
		return false
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	return t.cut
}
