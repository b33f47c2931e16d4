// Package silence measures how long the other side of a call, a store or a queue, has
// sent and received nothing, and ends a call that waits too long.
//
// A [Clock] belongs to one call with all its repetitions, so that their limits do not
// add up. It runs while the call waits for the other side. It rests while the call
// waits for something else: for a place in a local queue, for the time that a server
// asked for, or for a slow reader.
//
// There are two limits. The whole call ends if the other side has not moved a [Unit] of
// bytes within the clock's limit: a lower rate counts as silence, too. A single [Try],
// which is a request or the body of an answer, ends after half the limit in which no
// byte moved. Then there is time for one more try, on another connection.
//
// The time of tries that were ended for their silence is lost, also if the next try moves
// bytes: the limit is one for all of them, so a side that begins anew each time, and
// falls silent each time, does not hold a call for longer. Time in which bytes come makes
// good as much time that was lost. A slow body that is never ended loses nothing. A
// [Strain] carries what was lost from one call to the next.
//
// If a call wants to act before these limits, it uses [Clock.Watch].
package silence

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

const (
	// Default is the limit if none is given. A healthy store answers within a second. A
	// store that restarts, or moves a request to another of its servers, answers within
	// five or ten.
	Default = 20 * time.Second
	// Unit is the number of bytes that must move within the limit. It is less than any
	// useful link moves, and more than the bytes that only keep a connection open.
	Unit = 1 << 10
	// looks is how often within the limit a try asks how much is unsent. So a try ends
	// late by at most a twentieth of the limit.
	looks = 20
)

// Limit returns d, or Default if d is 0. A negative limit means no limit.
func Limit(d time.Duration) time.Duration {
	if d == 0 {
		return Default
	}
	return d
}

// A Clock measures the silence of one call. Its methods are safe for concurrent use. On
// a nil Clock they do nothing.
type Clock struct {
	limit time.Duration
	more  time.Duration   // time beyond limit that the last try allows; guarded by mu
	ctx   context.Context //nolint:containedctx // of the one call that the clock belongs to
	end   context.CancelFunc

	mu     sync.Mutex
	timer  *time.Timer
	armed  bool
	due    time.Time     // when the timer should fire
	since  time.Time     // time from which the clock runs; zero: it rests
	silent time.Duration // silence until since
	given  time.Duration // part of silent in tries that were ended
	lost   time.Duration // time of tries that were ended, before the last Unit
	strain *Strain       // nil: none
	aid    bool          // the caller goes on without this call: see ShareAid
	ran    time.Duration // time that the clock has run until since
	bytes  int64         // bytes moved since the last full Unit
	sent   int64         // bytes sent of the request's body, in the try that sent most
	taken  int64         // bytes that the other side has received, in the best try
	got    int64         // bytes received of the answer's body, in the best try
	try    *Try
	host   string // host of the last try
	last   error  // error of the last try that failed
	fails  int    // number of failed tries
	over   bool

	waited  time.Duration // time since Watch, or since the other side last gave a sign of life
	longest time.Duration // longest value of waited since Watch at which a byte came
	patient time.Duration // value of waited at which watcher is told
	watcher Watcher       // nil: no watcher, or it has been told
	between bool          // a try has failed and no other has begun: waited rests
	aside   bool
}

type key struct{}

// With makes the clock of a call. If limit is 0 or less, the clock never ends the call,
// and functions that the call uses make no clock of their own. The caller must stop the
// clock.
func With(ctx context.Context, limit time.Duration) *Clock {
	c := &Clock{limit: limit}
	ctx, c.end = context.WithCancel(ctx)
	c.ctx = context.WithValue(ctx, key{}, c)
	return c
}

// Join returns the clock of ctx. If there is none, it makes one, and own is true.
func Join(ctx context.Context, limit time.Duration) (c *Clock, own bool) {
	if c := From(ctx); c != nil {
		return c, false
	}
	return With(ctx, limit), true
}

// From returns the clock of the call behind ctx, or nil.
func From(ctx context.Context) *Clock {
	c, _ := ctx.Value(key{}).(*Clock)
	return c
}

// Context returns a context that ends with the clock, or with the context that the
// clock was made with.
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

// Run makes the clock run.
func (c *Clock) Run() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run()
}

// Rest stops the clock until Run is called.
func (c *Clock) Rest() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest()
}

// Alive notes a sign of life of the other side. The silence begins again.
func (c *Clock) Alive() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	c.spoke()
	if c.try != nil {
		c.try.silent = 0
	}
}

// Limit returns the limit of the clock; 0 means no limit.
func (c *Clock) Limit() time.Duration {
	if c == nil {
		return 0
	}
	return max(c.limit, 0)
}

// Ran returns how long the clock has run so far: how long the call has waited for the
// other side.
func (c *Clock) Ran() time.Duration {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	return c.ran
}

// Failures returns the number of tries that failed without an answer.
func (c *Clock) Failures() int {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fails
}

// Err returns an *Error if the clock ended the call, and nil otherwise.
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
	return &Error{Host: c.host, For: c.limit + c.more, Sent: c.sent, Got: c.got, Last: c.last, InAll: c.lost > 0}
}

// Over reports whether the clock ended the call.
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

// tick adds the time since the last tick.
func (c *Clock) tick() {
	if c.since.IsZero() {
		return
	}
	now := time.Now()
	d := now.Sub(c.since)
	c.since, c.silent, c.ran = now, c.silent+d, c.ran+d
	if !c.between {
		c.waited += d
	}
	if c.try != nil {
		c.try.silent += d
	}
}

// arm sets the timer for the next limit. Bytes do not move the timer, so it may fire
// early. If again is set, arm replaces a timer that is set, since that may be too late.
func (c *Clock) arm(again bool) {
	if c.limit <= 0 && c.watcher == nil || c.since.IsZero() || c.over || c.armed && !again {
		return
	}
	d := c.left()
	c.armed, c.due = true, time.Now().Add(d)
	if c.timer == nil {
		c.timer = time.AfterFunc(d, c.fire)
		return
	}
	c.timer.Reset(d)
}

// left returns the time until the next limit, or until the watcher is told.
func (c *Clock) left() time.Duration {
	watch := time.Duration(math.MaxInt64)
	if c.watcher != nil && !c.between {
		watch = max(c.patient-c.waited, 0)
	}
	if c.limit <= 0 {
		return watch
	}
	d := min(c.limit+c.more-c.silent-c.lost, watch)
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
	c.pardon(time.Since(c.due))
	t := c.try
	t.look()
	if w := c.watcher; w != nil && c.waited >= c.patient {
		c.watcher = nil
		go w.Slow()
	}
	switch {
	case c.limit <= 0:
	case c.silent+c.lost >= c.limit+c.more:
		c.over = true
		c.since = time.Time{}
		c.ended()
		c.end()
		return
	case t != nil && !t.over && t.silent >= c.limit/2+c.more:
		t.giveUp(c.limit/2 + c.more)
	}
	c.arm(false)
}

// A Try is one request, or one read of a body. Its methods do nothing on a nil Try, or
// after a later Try of the same call has begun.
type Try struct {
	c      *Clock
	cancel context.CancelFunc
	unit   int64
	silent time.Duration
	sent   int64
	piece  int64 // length of the last piece that was sent
	taken  int64 // bytes that the other side has received; see Unsent
	got    int64
	over   bool
	cut    bool
	after  time.Duration // time of silence after which the try was ended
	unsent func() (int64, bool)
}

// Begin starts a try with host, and starts the clock. cancel ends the try. The try's
// body begins at the same byte as the bodies of earlier tries, so bytes that an earlier
// try has moved do not count as progress. ctx may allow more time: see More.
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
	c.try, c.host, c.between = t, host, false
	c.run()
	c.arm(true)
	return t
}

// Body starts a try that reads a body, and stops the clock. Every byte of the body is
// new.
func (c *Clock) Body(cancel context.CancelFunc) *Try {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rest()
	c.armed = false // the timer is set for later than the limit of this try
	c.try = &Try{c: c, cancel: cancel, unit: Unit}
	c.got, c.between = 0, false
	return c.try
}

type moreKey struct{}

type more struct {
	d    time.Duration
	unit int64
}

// More allows the tries of a call the time d beyond both limits, while the other side
// works in silence. If anyByte is set, a single byte counts as much as a Unit. This is
// for servers that send bytes only to show that they still work.
func More(ctx context.Context, d time.Duration, anyByte bool) context.Context {
	m := more{d, Unit}
	if anyByte {
		m.unit = 1
	}
	return context.WithValue(ctx, moreKey{}, m)
}

// do runs f if t is the current try.
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

// Run makes the clock run.
func (t *Try) Run() { t.do((*Clock).run) }

// Rest stops the clock.
func (t *Try) Rest() { t.do((*Clock).rest) }

// Answered notes that the head of an answer came. If refused is set, the head refuses
// the request: it is a complete answer, and the silence begins again.
func (t *Try) Answered(refused bool) {
	t.do(func(c *Clock) {
		t.silent = 0
		if refused {
			c.spoke()
		}
		c.rest()
	})
}

// Unsent sets a function that returns how many of the sent bytes are still on this
// machine. The operating system accepts some hundred KiB at once, and a slow link needs
// time to carry them. While their number falls, there is no silence. f must not block.
func (t *Try) Unsent(f func() (int64, bool)) {
	t.do(func(c *Clock) {
		t.unsent = f
		c.arm(true)
	})
}

// look updates how many of the sent bytes the other side has received. It assumes that
// the last piece is not sent yet.
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

// Sent notes that n bytes of the request's body were sent.
func (t *Try) Sent(n int) {
	t.do(func(c *Clock) {
		t.sent, t.piece = t.sent+int64(n), int64(n)
		c.moved(t, n, t.sent, &c.sent)
	})
}

// Got notes that n bytes of the answer's body came.
func (t *Try) Got(n int) {
	t.do(func(c *Clock) {
		t.got += int64(n)
		c.moved(t, n, t.got, &c.got)
	})
}

// Rewind notes that the request's body is sent again from its start.
func (t *Try) Rewind() { t.do(func(*Clock) { t.sent, t.piece, t.taken = 0, 0, 0 }) }

// moved counts bytes that no earlier try has moved.
func (c *Clock) moved(t *Try, n int, at int64, most *int64) {
	if n <= 0 {
		return
	}
	t.silent = 0
	c.longest, c.waited = max(c.longest, c.waited), 0
	if at <= *most {
		return
	}
	c.bytes += at - *most
	*most = at
	if c.bytes >= t.unit {
		c.settle()
		c.silent, c.bytes = 0, 0
	}
}

// End notes that the try has ended, with err if it failed. It does not stop the clock:
// after a failure there is still no answer.
func (t *Try) End(err error) {
	t.do(func(c *Clock) {
		c.try = nil
		if err != nil && !errors.Is(err, context.Canceled) { // such an error is our own: another answer came first
			if !t.over && !c.over {
				c.last = err
			}
			c.fails++
			c.waited, c.between = 0, true
		}
		c.arm(true)
	})
}

// Err returns an *Error if the try, or the whole call, was ended, and nil otherwise.
func (t *Try) Err() error {
	if t == nil {
		return nil
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if t.c.over || !t.over {
		return t.c.err()
	}
	return &Error{Host: t.c.host, For: t.after, Sent: t.sent, Got: t.got, again: true}
}

// An Error says which host was silent, and for how long. It matches no error of package
// context, since the caller did not end the call.
type Error struct {
	Host      string
	For       time.Duration
	Sent, Got int64 // bytes of bodies sent and received before the end
	Last      error // error of an earlier try; nil: none
	InAll     bool  // the silence was not at one time: bytes came in between
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
	switch {
	case e.InAll:
		text = fmt.Sprintf("%s stalled again and again, for %v in all", host, d)
	case e.Got > 0:
		text = fmt.Sprintf("%s brought less than %d bytes in %v, after %d", host, Unit, d, e.Got)
	}
	if e.Last != nil {
		text += fmt.Sprintf(" (%v)", e.Last)
	}
	return text
}

// Timeout reports true, so that users of package net take the Error for a time-out.
func (e *Error) Timeout() bool { return true }

// RetryableError tells the AWS SDK whether it may try again.
func (e *Error) RetryableError() bool { return e.again }

// Is reports whether err is the error of a clock.
func Is(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
