package rangeio

import (
	"context"
	"sync/atomic"
	"time"
)

// If a read takes longer than slowRead plus the time of its bytes at slowRate, the
// bytes did not come from memory: the read waited for a disk or another machine. A
// single slow read proves nothing, since another process may have used the processor. A
// disk counts as slow after three slow reads in a row, or if more than one read in five
// is slow.
const (
	slowRead  = 300 * time.Microsecond
	slowRate  = 1 << 30 // bytes per second
	slowScore = 4       // added to the score by a slow read; a quick read subtracts 1
	slowFrom  = 3 * slowScore
	slowMost  = 64 // upper bound of the score: after so many quick reads the disk counts as quick again

	slowFlight = 64 // reads at the same time that keep a slow disk busy
)

// A Disk reads files of this machine. If the bytes are in memory, it reads one span
// after the other in the caller's goroutine. If reads prove to wait for the disk, it
// reads up to 64 spans at the same time. It is safe for concurrent use.
type Disk struct {
	score  atomic.Int32
	flight chan struct{} // holds one entry for each read of a slow disk
}

// NewDisk returns a Disk that counts as quick until its reads prove otherwise.
func NewDisk() *Disk { return &Disk{flight: make(chan struct{}, slowFlight)} }

// Slow reports whether reads wait for the disk at present.
func (d *Disk) Slow() bool { return d.score.Load() >= slowFrom }

// Read calls read for each span that is not empty, and then calls done, if it is not
// nil, with the number of the span. It goes through the spans in order, or reads
// several at the same time if the disk is slow. The first error ends Read.
func (d *Disk) Read(ctx context.Context, spans []Span, read func(Span) error, done func(i int) error) error {
	last := clock()
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
			last = clock()
		}
	}
	return nil
}

// apart reads several spans at the same time. It begins with the span number from.
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
		start := clock()
		err := read(r.Spans[0])
		d.note(start, len(r.Spans[0].P))
		return err
	}, done)
}

// began is the time at which clock is 0.
var began = time.Now()

// clock returns the time since the start of the program. It is called for each span. It
// asks the machine for only one clock; time.Now asks for two.
func clock() time.Duration { return time.Since(began) }

// note updates the score by a read of n bytes that began at start and ends now. It
// returns the time now.
func (d *Disk) note(start time.Duration, n int) (now time.Duration) {
	now = clock()
	switch slow := now-start > slowRead+time.Duration(int64(n)*int64(time.Second)/slowRate); {
	case slow && d.score.Load() < slowMost:
		d.score.Add(slowScore)
	case !slow && d.score.Load() > 0:
		d.score.Add(-1)
	}
	return now
}
