package rangeio

import (
	"context"
	"sync/atomic"
	"time"
)

// If a read takes longer than slowRead plus the time of its bytes at slowRate, the
// bytes did not come from memory: the read waited for a disk or another machine. A
// single slow read proves nothing, since another process may have had the processor; it
// takes three in a row, or more than one in five.
const (
	slowRead  = 300 * time.Microsecond
	slowRate  = 1 << 30 // bytes a second
	slowScore = 4       // that a slow read adds; a quick one takes 1
	slowFrom  = 3 * slowScore
	slowMost  = 64 // so many quick reads and it is quick again

	slowFlight = 64 // reads at a time that keep a slow disk busy
)

// A Disk reads files of this machine. Out of memory it reads span after span in the
// caller's goroutine; a disk whose reads turn out to wait gets 64 at a time. It is safe
// for concurrent use.
type Disk struct {
	score  atomic.Int32
	flight chan struct{} // one for each read of a slow disk
}

// NewDisk gives a Disk that is quick until its reads prove otherwise.
func NewDisk() *Disk { return &Disk{flight: make(chan struct{}, slowFlight)} }

// Slow tells whether reads wait at present.
func (d *Disk) Slow() bool { return d.score.Load() >= slowFrom }

// Read calls read for each span that is not empty and then done, if given, with the
// span's number: in order, or side by side if the disk is slow. The first error ends it.
func (d *Disk) Read(ctx context.Context, spans []Span, read func(Span) error, done func(i int) error) error {
	last := time.Now()
	for i, s := range spans {
		if d.Slow() {
			return d.apart(ctx, spans, i, read, done)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(s.P) > 0 {
			if err := read(s); err != nil {
				return err
			}
			last = d.note(last, len(s.P))
		}
		if done != nil {
			if err := done(i); err != nil {
				return err
			}
			last = time.Now()
		}
	}
	return nil
}

// apart reads the spans side by side, beginning with number from.
func (d *Disk) apart(ctx context.Context, spans []Span, from int, read func(Span) error, done func(i int) error) error {
	if done != nil && from > 0 {
		first := done
		done = func(i int) error { return first(from + i) }
	}
	return Do(ctx, spans[from:], Policy{}, slowFlight, func(ctx context.Context, r *Request) error {
		select {
		case d.flight <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		defer func() { <-d.flight }()
		start := time.Now()
		err := read(r.Spans[0])
		d.note(start, len(r.Spans[0].P))
		return err
	}, done)
}

// note judges a read of n bytes that began at start and ends now.
func (d *Disk) note(start time.Time, n int) (now time.Time) {
	now = time.Now()
	switch slow := now.Sub(start) > slowRead+time.Duration(int64(n)*int64(time.Second)/slowRate); {
	case slow && d.score.Load() < slowMost:
		d.score.Add(slowScore)
	case !slow && d.score.Load() > 0:
		d.score.Add(-1)
	}
	return now
}
