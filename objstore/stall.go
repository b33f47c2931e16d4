package objstore

import (
	"context"
	"fmt"
	"time"

	"github.com/farread/farread/internal/silence"
)

// Alive tells the Object that made ctx that the store gave a sign of life: the time
// of silence starts again. A driver outside this module calls it if an answer makes
// it wait and try again, and once more after a long wait. The drivers of this module
// need not. If no Object made ctx, Alive does nothing.
func Alive(ctx context.Context) { silence.From(ctx).Alive() }

// resting stops the clock of ctx while a middleware delays a call.
func resting(ctx context.Context) (awake func()) {
	c := silence.From(ctx)
	c.Rest()
	return c.Run
}

// silent returns the error of a call that a clock has ended.
func silent(err error) error { return fmt.Errorf("%w: %w", err, ErrUnavailable) }

// A Patient is a bucket that has a default limit for the silence of its store.
type Patient interface {
	Timeout() time.Duration
}

// timeout is how long a driver behind b waits for a silent store. It is 0 if the driver
// does not say.
func timeout(b Bucket) time.Duration {
	if t, ok := As[Patient](b); ok {
		return t.Timeout()
	}
	return 0
}

// aidPatience is how long an OpenOptions.Aid is waited for: time for a hedge to answer. Of a store
// whose answers usually take longer, that is what counts as slow there.
const aidPatience = 2 * time.Second

// A Patience is the silence of a store that several Objects bear together: those that are
// read one after the other for one thing. What one of them has lost in bodies that stalled,
// or as OpenOptions.Aid, the others have not got. The zero value is ready.
type Patience struct{ strain silence.Strain }

// Patience returns what the object shares with others that are opened with it.
func (o *Object) Patience() *Patience { return o.o.Patience }

// patience sets what the options leave open about silence.
func (o *object) patience(b Bucket) {
	if o.o.Stall == 0 {
		o.o.Stall = silence.Limit(timeout(b))
	}
	if o.o.Aid {
		most := max(aidPatience, o.usual.slow(0, false))
		if o.o.Stall > 0 {
			most = min(most, o.o.Stall/2)
		}
		o.o.Stall = most
	}
	if o.o.Stall < 0 { // a call without a limit is not hedged
		o.usual = nil
	}
	if o.o.Patience == nil {
		o.o.Patience = &Patience{}
	}
}

// hedgeLimit is the limit of silence that tells what is slow. It is longer than that of an Aid, which is so short
// that a part of it may be usual.
func (o *object) hedgeLimit() time.Duration {
	if o.o.Aid {
		return 2 * o.o.Stall
	}
	return o.o.Stall
}

// clock makes the clock of one request with its repetitions.
func (o *object) clock(ctx context.Context) *silence.Clock {
	c := silence.With(ctx, o.o.Stall)
	if o.o.Aid {
		c.ShareAid(&o.o.Patience.strain)
	} else {
		c.Share(&o.o.Patience.strain)
	}
	return c
}
