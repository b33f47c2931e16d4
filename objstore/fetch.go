package objstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/rangeio"
)

// pause before the n-th repetition: none before the first, since most broken
// bodies are single accidents, then 100 ms, doubled, at most 2 s.
func pause(ctx context.Context, n int) error {
	if n <= 1 {
		return ctx.Err()
	}
	t := time.NewTimer(min(100*time.Millisecond<<min(n-2, 10), 2*time.Second))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fetch runs one planned request. Only fetch and openPart read bodies. If a body breaks
// or stalls, fetch continues it from the last byte, a few times, under the same pin.
// Drivers repeat requests that got no answer; fetch does not repeat these, so retries
// never multiply. If a request is slow, fetch makes a second one at the same time,
// within the budget of usual.
func (o *object) fetch(ctx context.Context, r *rangeio.Request) error {
	c := call{clock: o.clock(ctx), inOrder: rangeio.WaitedFor(ctx)}
	defer c.clock.Stop()
	var done int64
	for {
		err := o.fetchOnce(ctx, &c, r, &done)
		if err == nil {
			o.keep(r.Spans)
			return nil
		}
		if errors.Is(err, rangeio.ErrLater) {
			if err := r.WaitMemory(); err != nil {
				return err
			}
			continue
		}
		if err := o.again(ctx, &c, err); err != nil {
			o.forget(err)
			return o.fail(o.info.Key, Range{r.Off, r.Len}, err)
		}
	}
}

// A call is one planned request with its repetitions.
type call struct {
	clock   *silence.Clock
	inOrder bool // requests that were sent later wait for this one
	fails   int  // number of repetitions
	stalls  int  // bodies that were continued before the clock would have ended them
}

func (o *object) fetchOnce(ctx context.Context, c *call, r *rangeio.Request, done *int64) error {
	rng := Range{r.Off + *done, r.Len - *done}
	ask := o.pinned(rng)
	body, in, err := o.get(ctx, c, o.info.Key, ask)
	if errors.Is(err, ErrDenied) && ask.VersionID != "" && o.info.ETag != "" {
		// To read a version needs a permission of its own. Without it the ETag
		// pins as well; a replaced object is then ErrChanged.
		o.noVersion.Store(true)
		if body, in, err = o.get(ctx, c, o.info.Key, o.pinned(rng)); errors.Is(err, ErrDenied) {
			o.noVersion.Store(false) // all is denied, the credentials have expired, say
		}
	}
	if err != nil {
		return err
	}
	defer body.close(ctx)
	if err := o.same(in); err != nil {
		return err
	}
	waited := r.Waited()
	err = r.Scatter(body, done)
	body.waited = r.Waited() - waited
	return body.end(ctx, err)
}

// wholeMost is the most bytes of an object that Open reads whole if its server ignores
// ranges: they take no longer than a head, and nothing else could be read of it.
const wholeMost = 256 << 10

// A part is a range of an object that is being opened: the head, the tail or
// OpenOptions.Also.
type part struct {
	b    []byte
	info Info
}

// openPart fetches a range of an object of unknown size, into buf if that holds it.
func (o *object) openPart(ctx context.Context, key string, rng Range, buf []byte) (part, error) {
	c := call{clock: o.clock(ctx)}
	defer c.clock.Stop()
	var p part
	var from, done int64
	for {
		ask := GetOptions{Range: rng, IfMatch: o.o.IfMatch, VersionID: o.o.VersionID, Whole: wholeMost}
		if p.b != nil {
			pin := object{info: p.info}
			pin.noVersion.Store(o.o.VersionID == "") // the ETag pins as well, without a permission of its own
			ask = pin.pinned(Range{from + done, int64(len(p.b)) - done})
		}
		body, in, err := o.get(ctx, &c, key, ask)
		if err == nil {
			if p.b == nil {
				var to int64
				if from, to = rng.Resolve(in.Size); in.Whole {
					to = in.Size
				}
				p.info = in
				p.info.Whole = false
				if p.b = buf; buf == nil || to-from > int64(len(buf)) {
					p.b = make([]byte, to-from)
				}
				p.b = p.b[:to-from]
			} else if err := (&object{info: p.info}).same(in); err != nil {
				body.close(ctx)
				return part{}, o.fail(key, rng, err)
			}
			var k int
			k, err = io.ReadFull(body, p.b[done:])
			done += int64(k)
			err = body.end(ctx, err)
			body.close(ctx)
			if err == nil && int64(len(p.b)) == p.info.Size {
				if err = p.info.Checksum.whole(p.b); err != nil {
					done = 0
				}
			}
			if err == nil {
				return p, nil
			}
		}
		if err := o.again(ctx, &c, err); err != nil {
			return part{}, o.fail(key, rng, err)
		}
	}
}

// again decides what follows a failure of a request. It waits and returns nil if the
// request may go on: the body broke and is worth continuing, or its bytes may have
// changed on the way. A body that stalled goes on at once. Otherwise again returns the
// error to report; if the caller has left, that is the error of ctx.
func (o *object) again(ctx context.Context, c *call, err error) error {
	broken := errors.Is(err, errBroken)
	if broken && ctx.Err() != nil {
		return ctx.Err()
	}
	stalled := errors.Is(err, errStalled)
	if c.clock.Over() || !stalled && (c.fails >= o.o.Resumes || !broken && !errors.Is(err, ErrCorrupt)) {
		return err
	}
	o.count.AddRetry()
	o.o.Counter.AddRetry()
	if stalled {
		o.hedged() // not in Slow: the call may be over before that goroutine goes on
		c.stalls++
		return nil
	}
	c.fails++
	return pause(ctx, c.fails)
}

// errBroken marks a failure that a continued body can mend. Callers never see it.
var errBroken = errors.New("body ended early")

// errStalled marks one of a body that was given up since it brought nothing for longer
// than is usual.
var errStalled = errors.New("body stalled")

// pinned asks for a range of the version that was opened. Versions do not
// change, so they need no condition. A weak ETag cannot be sent in If-Match
// (RFC 9110, 13.1.1); same compares it instead.
func (o *object) pinned(r Range) GetOptions {
	g := GetOptions{Range: r}
	switch in := o.info; {
	case in.VersionID != "" && !o.noVersion.Load():
		g.VersionID = in.VersionID
	case strong(in.ETag):
		g.IfMatch = in.ETag
	case !in.ModTime.IsZero():
		g.IfUnmod = in.ModTime
	}
	return g
}

// strong reports whether an ETag names exact bytes.
func strong(etag string) bool { return etag != "" && !strings.HasPrefix(etag, "W/") }

// same compares an answer with the pin, since not every server obeys the conditions.
func (o *object) same(in Info) error {
	pin := o.info
	switch {
	case in.Size != pin.Size:
		return fmt.Errorf("size %d, was %d: %w", in.Size, pin.Size, ErrChanged)
	case in.VersionID != pin.VersionID && in.VersionID != "":
		return fmt.Errorf("version %s, was %s: %w", in.VersionID, pin.VersionID, ErrChanged)
	case in.ETag != pin.ETag:
		return fmt.Errorf("ETag %s, was %s: %w", in.ETag, pin.ETag, ErrChanged)
	case pin.ETag == "" && !in.ModTime.Equal(pin.ModTime):
		return fmt.Errorf("date %s, was %s: %w", in.ModTime, pin.ModTime, ErrChanged)
	case in.ContentEncoding != pin.ContentEncoding: // the same version by its name, but not these bytes of it
		return fmt.Errorf("Content-Encoding %q, was %q: %w", in.ContentEncoding, pin.ContentEncoding, ErrBadRange)
	}
	return nil
}

// classified reports whether a driver or a middleware gave err a sentinel, and one
// that a continued body cannot mend.
func classified(err error) bool {
	for _, s := range []error{ErrNotFound, ErrChanged, ErrExists, ErrDenied, ErrThrottled, ErrBadRange, ErrCorrupt, ErrInvalid} {
		if errors.Is(err, s) {
			return true
		}
	}
	return false
}

// get makes one call of the driver, or a second one at the same time if the first is
// slow. It watches the call for silence, and counts its time and its cost.
func (o *object) get(ctx context.Context, c *call, key string, g GetOptions) (*body, Info, error) {
	gctx, cancel := context.WithCancel(c.clock.Context())
	w := &body{o: o, ask: asking{o: o, clock: c.clock, key: key, g: g, cancel: cancel}, start: time.Now()}
	o.count.AddRequest()
	o.usual.asked()
	c.clock.Watch(o.usual.slow(o.hedgeLimit(), c.inOrder), &w.ask)
	ran := c.clock.Ran()
	c.clock.Run()
	rc, in, err := o.b.Get(gctx, key, g) //nolint:contextcheck // the clock made it of ours
	rc, in, w.cancel, err = w.ask.settle(rc, in, err)
	if err != nil {
		if c.clock.Over() && ctx.Err() == nil {
			err = silent(c.clock.Err())
		}
		o.log(ctx, slog.LevelDebug, "get failed", key, g.Range, 0, "err", err)
		return nil, in, err
	}
	w.rc, w.first, w.served = rc, time.Now(), c.clock.Ran()-ran
	w.watch(c.stalls)
	return w, in, nil
}

// A body reads one answer. The clock runs only during Read.
type body struct {
	o       *object
	ask     asking
	rc      io.ReadCloser
	try     *silence.Try
	patient time.Duration // time that a body may bring nothing; 0: the clock decides
	cancel  context.CancelFunc
	n       int64
	start   time.Time
	first   time.Time
	served  time.Duration // time from start to first, without waits in a Limit
	waited  time.Duration // time in which nobody read the body, since there was no memory
	closed  bool
}

// watch begins the time of the body, in which Slow ends it if it stalls. stalls is how
// many bodies of the same request did.
func (b *body) watch(stalls int) {
	clock := b.ask.clock
	if b.o.usual == nil {
		b.try = clock.Body(b.cancel)
		return
	}
	if waited, _ := clock.Waited(); !b.ask.won { // what the first Get would have taken is unknown
		b.o.usual.answered(waited)
	}
	b.try = clock.Body(b.cancel)
	if b.o.o.Resumes > 0 {
		b.patient = b.o.usual.stalled(b.o.hedgeLimit(), stalls)
	}
	clock.Watch(b.patient, b)
}

// Slow implements silence.Watcher: the body is continued on another connection.
func (b *body) Slow() {
	u := b.o.usual
	if !u.spend() {
		return
	}
	if !b.try.Cut(b.patient) {
		u.save() // a byte came after all
	}
}

func (b *body) Read(p []byte) (int, error) {
	b.try.Run()
	n, err := b.rc.Read(p)
	b.try.Got(n)
	b.try.Rest()
	if n > 0 {
		b.n += int64(n)
		b.o.count.AddBytes(int64(n))
	}
	return n, err
}

// end turns an error of reading the body into one that says whether to continue.
func (b *body) end(ctx context.Context, err error) error {
	switch {
	case err == nil:
		b.o.o.Pace.note(b.served, b.n, time.Since(b.first)-b.waited)
		return nil
	case errors.Is(err, rangeio.ErrLater):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case b.ask.clock.Over():
		return silent(b.ask.clock.Err())
	case b.try.IsCut():
		return fmt.Errorf("%w: %w: %w", b.try.Err(), errStalled, errBroken)
	case b.try.Err() != nil:
		return fmt.Errorf("after %d bytes: %w: %w: %w", b.n, b.try.Err(), errBroken, ErrUnavailable)
	case classified(err): // the driver has classified it; after ErrUnavailable another try may help
		return err
	default:
		return fmt.Errorf("after %d bytes: %w: %w: %w", b.n, err, errBroken, ErrUnavailable)
	}
}

func (b *body) close(ctx context.Context) {
	if b.closed {
		return
	}
	b.closed = true
	if b.o.usual != nil && b.n > 0 && !b.try.IsCut() { // what a cut body would have taken is unknown
		now, longest := b.ask.clock.Waited()
		b.o.usual.read(max(now, longest))
	}
	// Close the body before cancelling its context: the other order would cost the
	// connection even if the body was read to its end.
	_ = b.rc.Close() // all that matters was read
	b.try.End(nil)
	b.cancel()
	b.o.log(ctx, slog.LevelDebug, "get", b.ask.key, b.ask.g.Range, b.n, "first_ms", ms(b.first.Sub(b.start)), "ms", ms(time.Since(b.start)))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// fail wraps err once with the place.
func (o *object) fail(key string, r Range, err error) error {
	if e := (*Error)(nil); errors.As(err, &e) {
		return err
	}
	return &Error{Op: "get", Bucket: o.b.Name(), Key: key, Range: r, Err: err}
}

func (o *object) log(ctx context.Context, l slog.Level, msg, key string, r Range, n int64, more ...any) {
	if o.o.Logger == nil || !o.o.Logger.Enabled(ctx, l) {
		return
	}
	o.o.Logger.Log(ctx, l, msg, append([]any{"bucket", o.b.Name(), "key", key, "range", r.String(), "bytes", n}, more...)...)
}
