package pull

import (
	"context"
	"iter"
)

// Ahead reads pieces in order and writes each of them. It has two buffers: it reads a
// piece into one of them while it writes the piece before from the other. Ahead is for
// pieces of decoded data, such as slabs of an array. Each piece is a read by one Pull or
// several, and these hide their round trips themselves; Ahead hides the time of the
// writing. For the bytes of an object, a Pull reads ahead by itself.
//
// size returns how many bytes read fills for a piece. Ahead calls write in the goroutine
// of the caller, and returns its error as it is. If read fails, Ahead first writes the
// pieces that were read before, and then returns the error of read. No read is under way
// any more when Ahead returns.
func Ahead[T any](ctx context.Context, pieces iter.Seq[T], size func(T) int64,
	read func(ctx context.Context, piece T, p []byte) error, write func(p []byte) error,
) error {
	next, stop := iter.Pull(pieces)
	defer stop()
	piece, more := next()
	if !more {
		return context.Cause(ctx)
	}
	var full, empty []byte
	fill := func(ctx context.Context, piece T) error {
		n := size(piece)
		if int64(cap(empty)) < n {
			empty = make([]byte, n)
		}
		empty = empty[:n]
		return read(ctx, piece, empty)
	}
	for err := fill(ctx, piece); ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		full, empty = empty, full
		if piece, more = next(); !more {
			return write(full)
		}
		done := make(chan error, 1)
		rctx, cancel := context.WithCancel(ctx)
		go func() { done <- fill(rctx, piece) }()
		bad := write(full)
		if bad != nil {
			cancel()
		}
		err = <-done
		cancel()
		if bad != nil {
			return bad
		}
	}
}
