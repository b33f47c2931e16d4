package objstore

import (
	"context"
	"fmt"
	"time"

	"github.com/farread/farread/internal/silence"
)

// Alive tells the Object behind ctx that the store gave a sign of life: the silence
// begins anew. A driver of your own calls it for an answer that makes the driver wait
// and ask again, and once more after the wait if that is long; the drivers of this
// module need not. Without an Object behind ctx it does nothing.
func Alive(ctx context.Context) { silence.From(ctx).Alive() }

// resting stops the clock of ctx while a middleware delays a call.
func resting(ctx context.Context) (awake func()) {
	c := silence.From(ctx)
	c.Rest()
	return c.Run
}

// silent makes the error of a call that a clock has ended.
func silent(err error) error { return fmt.Errorf("%w: %w", err, ErrUnavailable) }

// A Patient is implemented by buckets that say how long they bear the silence of their
// store.
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
