// Package silence measures how long somebody far away, a store or a queue, has brought
// and taken nothing, and ends the call that waits for it.
//
// A [Clock] belongs to one call, all its repetitions together, so that their limits do
// not multiply. It runs while the call waits for the other side, and rests while the
// call waits for something else: for a place in a queue of ours, for the time that a
// server asked for, for a reader that does other things.
//
// Two limits hold. A whole call ends when the other side has not brought or taken a
// [Unit] for the clock's limit: a rate below that is silence, too. A single [Try] of it,
// a request or the body of an answer, ends after half the limit in which not one byte
// moved: then there is time for one more, on another connection.
package silence

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// Default is the limit where none is given. Healthy stores answer within a
	// second; those that restart, or move a request to another of their servers,
	// within five or ten.
	Default = 20 * time.Second
	// Unit is how many bytes have to move within the limit: less than any link
	// that is of use, and more than what keeps a connection open.
	Unit = 1 << 10
	// looks is how often within the limit a try asks how much is unsent: so no try
	// ends late by more than a twentieth of the limit.
	looks = 20
)

// Limit is d, or Default where it is 0. Below 0 there is no limit.
func Limit(d time.Duration) time.Duration {
	if d == 0 {
		return Default
	}
	return d
}

// A Clock measures the silence of one call. Its methods are safe for concurrent use;
// those of a nil Clock do nothing.
type Clock struct {
	limit time.Duration
	more  time.Duration   // allowed beyond it, by the last try; under mu
	ctx   context.Context //nolint:containedctx // of the one call that the clock belongs to
	end   context.CancelFunc

	mu     sync.Mutex
	timer  *time.Timer
	armed  bool
	since  time.Time     // it runs; zero: it rests
	silent time.Duration // up to since
	bytes  int64         // towards the next Unit
	sent   int64         // of a request's body, in the try that got furthest
	taken  int64         // of these, how many the other side has, likewise
	got    int64         // of an answer's body, likewise
	try    *Try
	host   string // of the last try
	last   error  // why the last try failed
	fails  int    // tries that did
	over   bool
}

type key struct{}

// With makes the clock of a call. limit <= 0 is none: the clock then never ends the
// call, nor does one that something below would make. The caller stops the clock.
func With(ctx context.Context, limit time.Duration) *Clock {
	c := &Clock{limit: limit}
	ctx, c.end = context.WithCancel(ctx)
	c.ctx = context.WithValue(ctx, key{}, c)
	return c
}

// Join is the clock that ctx has, and otherwise a new one, which own says.
func Join(ctx context.Context, limit time.Duration) (c *Clock, own bool) {
	if c := From(ctx); c != nil {
		return c, false
	}
	return With(ctx, limit), true
}

// From is the clock of the call behind ctx, or nil.
func From(ctx context.Context) *Clock {
	c, _ := ctx.Value(key{}).(*Clock)
	return c
}

// Context ends with the clock, or with the context that the clock was made with.
func (c *Clock) Context() context.Context { return c.ctx }

// Stop ends the call's context.
func (c *Clock) Stop() {
	c.mu.Lock()
	c.rest()
	if c.timer != nil {
		c.timer.Stop()
	}
	c.mu.Unlock()
	c.end()
}

// Run lets the clock run on.
func (c *Clock) Run() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
}

// Rest stops it until Run.
func (c *Clock) Rest() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest()
}

// Alive says that the other side gave a sign of life: the silence is broken.
func (c *Clock) Alive() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	c.silent, c.bytes = 0, 0
	if c.try != nil {
		c.try.silent = 0
	}
}

// Limit is what the clock was made with; 0: none.
func (c *Clock) Limit() time.Duration {
	if c == nil {
		return 0
	}
	return max(c.limit, 0)
}

// Failures is how many tries have failed without an answer.
func (c *Clock) Failures() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fails
}

// Err is why the clock ended the call, an *Error, or nil if it did not.
func (c *Clock) Err() error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err()
}

func (c *Clock) err() error {
	if !c.over {
		return nil
	}
	return &Error{Host: c.host, For: c.limit + c.more, Sent: c.sent, Got: c.got, Last: c.last}
}

// Over says whether the clock ended the call.
func (c *Clock) Over() bool { return c.Err() != nil }

func (c *Clock) run() {
	if c.since.IsZero() && !c.over {
		c.since = time.Now()
		c.arm(false)
	}
}

func (c *Clock) rest() {
	c.tick()
	c.since = time.Time{}
}

// tick adds the time since it was last called.
func (c *Clock) tick() {
	if c.since.IsZero() {
		return
	}
	now := time.Now()
	d := now.Sub(c.since)
	c.since, c.silent = now, c.silent+d
	if c.try != nil {
		c.try.silent += d
	}
}

// arm sets the timer for the next limit. Bytes do not move the timer, so it may fire
// early. again says that the timer may be late now, and sets it anew.
func (c *Clock) arm(again bool) {
	if c.limit <= 0 || c.since.IsZero() || c.over || c.armed && !again {
		return
	}
	d := c.left()
	c.armed = true
	if c.timer == nil {
		c.timer = time.AfterFunc(d, c.fire)
		return
	}
	c.timer.Reset(d)
}

// left is the time until the next limit.
func (c *Clock) left() time.Duration {
	d := c.limit + c.more - c.silent
	if t := c.try; t != nil && !t.over {
		d = min(d, c.limit/2+c.more-t.silent)
		if t.unsent != nil {
			d = min(d, c.limit/looks)
		}
	}
	return max(d, 0)
}

func (c *Clock) fire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.armed = false
	if c.since.IsZero() || c.over {
		return
	}
	c.tick()
	t := c.try
	t.look()
	switch {
	case c.silent >= c.limit+c.more:
		c.over = true
		c.since = time.Time{}
		c.end()
		return
	case t != nil && !t.over && t.silent >= c.limit/2+c.more:
		t.over = true
		t.cancel()
	}
	c.arm(false)
}

// A Try is one request, or the reading of one body. Its methods do nothing on a nil
// Try, and on one that another has followed.
type Try struct {
	c      *Clock
	cancel context.CancelFunc
	unit   int64
	silent time.Duration
	sent   int64
	piece  int64 // the last of what was sent
	taken  int64 // of all that; see Unsent
	got    int64
	over   bool
	unsent func() (int64, bool)
}

// Begin starts a try with host, which cancel ends, and lets the clock run. The body that
// it brings begins where those of the tries before began: what they had brought is not
// brought again. ctx may allow more time: see More.
func (c *Clock) Begin(ctx context.Context, host string, cancel context.CancelFunc) *Try {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	t := &Try{c: c, cancel: cancel, unit: Unit}
	c.more = 0
	if m, ok := ctx.Value(moreKey{}).(more); ok {
		c.more, t.unit = m.d, m.unit
	}
	c.try, c.host = t, host
	c.run()
	c.arm(true)
	return t
}

// Body starts a try that reads a body, every byte of which is new, and rests.
func (c *Clock) Body(cancel context.CancelFunc) *Try {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest()
	c.armed = false // the timer is set for later than the limit of this try
	c.try = &Try{c: c, cancel: cancel, unit: Unit}
	c.got = 0
	return c.try
}

type moreKey struct{}

type more struct {
	d    time.Duration
	unit int64
}

// More allows the tries of a call d beyond both limits, for work that the other side
// does without a word. With any, every single byte counts as much as a Unit: those that
// are sent only to say that the work goes on.
func More(ctx context.Context, d time.Duration, anyByte bool) context.Context {
	m := more{d, Unit}
	if anyByte {
		m.unit = 1
	}
	return context.WithValue(ctx, moreKey{}, m)
}

// do runs f while t is the try under way.
func (t *Try) do(f func(c *Clock)) {
	if t == nil {
		return
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if t.c.try == t {
		t.c.tick()
		f(t.c)
	}
}

// Run lets the clock run on.
func (t *Try) Run() { t.do((*Clock).run) }

// Rest stops it.
func (t *Try) Rest() { t.do((*Clock).rest) }

// Answered says that the head of an answer came. One that refuses is all of an answer:
// it breaks the silence.
func (t *Try) Answered(refused bool) {
	t.do(func(c *Clock) {
		t.silent = 0
		if refused {
			c.silent, c.bytes = 0, 0
		}
		c.rest()
	})
}

// Unsent says how to ask how many bytes of what was sent are still on this machine. The
// operating system takes some hundred KiB at once, which a slow link takes a while to
// carry: as long as they become fewer, there is no silence. f must not block.
func (t *Try) Unsent(f func() (int64, bool)) {
	t.do(func(c *Clock) {
		t.unsent = f
		c.arm(true)
	})
}

// look asks how many of the sent bytes the other side has. The last piece may not be
// on its way yet.
func (t *Try) look() {
	if t == nil || t.unsent == nil {
		return
	}
	left, ok := t.unsent()
	at := t.sent - t.piece - left
	if !ok || at <= t.taken {
		return
	}
	k := at - t.taken
	t.taken = at
	t.c.moved(t, int(k), at, &t.c.taken)
}

// Sent says that n bytes of the request's body were taken.
func (t *Try) Sent(n int) {
	t.do(func(c *Clock) {
		t.sent, t.piece = t.sent+int64(n), int64(n)
		c.moved(t, n, t.sent, &c.sent)
	})
}

// Got says that n bytes of the answer's body came.
func (t *Try) Got(n int) {
	t.do(func(c *Clock) {
		t.got += int64(n)
		c.moved(t, n, t.got, &c.got)
	})
}

// Rewind says that the request's body is sent once more from its start.
func (t *Try) Rewind() { t.do(func(*Clock) { t.sent, t.piece, t.taken = 0, 0, 0 }) }

// moved counts bytes that no try before has moved.
func (c *Clock) moved(t *Try, n int, at int64, most *int64) {
	if n <= 0 {
		return
	}
	t.silent = 0
	if at <= *most {
		return
	}
	c.bytes += at - *most
	*most = at
	if c.bytes >= t.unit {
		c.silent, c.bytes = 0, 0
	}
}

// End says that the try has ended, by err if it failed. The clock goes on as it is: it
// runs on after a failure, since there was no answer yet.
func (t *Try) End(err error) {
	t.do(func(c *Clock) {
		c.try = nil
		if err != nil && !t.over && !c.over {
			c.last = err
		}
		if err != nil {
			c.fails++
		}
		c.arm(true)
	})
}

// Err is why the try, or the whole call, was ended, an *Error, or nil if it was not.
func (t *Try) Err() error {
	if t == nil {
		return nil
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if t.c.over || !t.over {
		return t.c.err()
	}
	return &Error{Host: t.c.host, For: t.c.limit/2 + t.c.more, Sent: t.sent, Got: t.got, again: true}
}

// An Error says who was silent, and for how long. It is not the caller's own end: it
// matches no error of package context.
type Error struct {
	Host      string
	For       time.Duration
	Sent, Got int64 // bytes of bodies until then
	Last      error // of a try before; nil: none
	again     bool
}

// Error implements error.
func (e *Error) Error() string {
	host := e.Host
	if host == "" {
		host = "the store"
	}
	d := e.For
	if d >= time.Second {
		d = d.Round(100 * time.Millisecond)
	}
	text := fmt.Sprintf("no answer from %s for %v", host, d)
	if e.Got > 0 {
		text = fmt.Sprintf("%s brought less than %d bytes in %v, after %d", host, Unit, d, e.Got)
	}
	if e.Last != nil {
		text += fmt.Sprintf(" (%v)", e.Last)
	}
	return text
}

// Timeout makes it a time-out for package net's users.
func (e *Error) Timeout() bool { return true }

// RetryableError tells the AWS SDK whether there may be another try.
func (e *Error) RetryableError() bool { return e.again }

// Is says whether err tells of silence.
func Is(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
