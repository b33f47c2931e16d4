package pull

import (
	"context"
	"iter"

	"github.com/farread/farread/rangeio"
)

// Ahead reads pieces in order and writes each of them, while it reads the next ones. Its
// pieces are decoded data, such as slabs of an array. Each piece is a read by one Pull or
// several, and these hide most of their round trips themselves; Ahead hides the rest, and
// the time of the writing. For the bytes of an object, a Pull reads ahead by itself.
//
// size returns how many bytes read fills for a piece. Ahead reads as many pieces at the
// same time as memory bytes hold, with the one that is written: two at least, and at most
// 8. If memory is 0, it reads one piece while it writes another. Buffers are used again.
// Ahead calls write in the goroutine of the caller, and returns its error as it is. If
// read fails, Ahead first writes the pieces before, and then returns the error of read. No
// read is under way any more when Ahead returns.
func Ahead[T any](ctx context.Context, pieces iter.Seq[T], memory int64, size func(T) int64,
	read func(ctx context.Context, piece T, p []byte) error, write func(p []byte) error,
) error {
	next, stop := iter.Pull(pieces)
	defer stop()
	a := ahead[T]{memory: memory, next: next, size: size, read: read}
	rctx, cancel := context.WithCancel(rangeio.InOrder(ctx))
	defer a.wait()
	defer cancel()
	flight := 1
	if memory > 0 {
		flight = mostAhead
	}
	for a.begin(rctx, flight); len(a.begun) > 0; {
		r := a.begun[0]
		err := <-r.done
		a.begun = a.begun[1:]
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return err
		}
		a.begin(rctx, flight)
		if err := write(r.p); err != nil {
			return err
		}
		a.free = append(a.free, r.p)
		a.begin(rctx, flight)
	}
	return context.Cause(ctx)
}

// mostAhead is the most pieces that Ahead holds at the same time. Slabs are 16 MiB as a
// rule, two requests, and seven of them in flight bring 0.8 GB/s from connections of 80
// MB/s; four bring half of that. More would be more pages that the kernel has to fill first.
const mostAhead = 8

// An ahead is one call of Ahead.
type ahead[T any] struct {
	memory int64
	next   func() (T, bool)
	size   func(T) int64
	read   func(context.Context, T, []byte) error

	begun  []aheadRead
	free   [][]byte
	held   int64 // capacity of all buffers
	kept   int   // number of buffers
	queued *T    // the next piece, for which there was no memory
}

type aheadRead struct {
	p    []byte
	done chan error // gets the error of the read
}

// begin begins to read pieces, until so many reads are under way as most says, or the
// memory is used up.
func (a *ahead[T]) begin(ctx context.Context, most int) {
	for len(a.begun) < most {
		if a.queued == nil {
			piece, more := a.next()
			if !more {
				return
			}
			a.queued = &piece
		}
		p, ok := a.buffer(a.size(*a.queued))
		if !ok {
			return
		}
		piece, done := *a.queued, make(chan error, 1)
		a.queued = nil
		a.begun = append(a.begun, aheadRead{p, done})
		go func() { done <- a.read(ctx, piece, p) }()
	}
}

// buffer returns memory for a piece of n bytes, or false if a buffer must come back
// first.
func (a *ahead[T]) buffer(n int64) ([]byte, bool) {
	for i, p := range a.free {
		if int64(cap(p)) >= n {
			a.free = append(a.free[:i], a.free[i+1:]...)
			return p[:n], true
		}
	}
	for len(a.free) > 0 && (a.kept >= 2 && a.held+n > a.memory || a.kept >= mostAhead) { // too short for this piece
		a.held -= int64(cap(a.free[0]))
		a.kept--
		a.free = a.free[1:]
	}
	if a.kept >= mostAhead || a.kept >= 2 && a.held+n > a.memory {
		return nil, false
	}
	a.kept++
	a.held += n
	return make([]byte, n), true
}

// wait waits for the reads that are under way.
func (a *ahead[T]) wait() {
	for _, r := range a.begun {
		<-r.done //nolint:errcheck // what it read is not wanted any more, nor why it failed
	}
}
