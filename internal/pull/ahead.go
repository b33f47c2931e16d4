package pull

import (
	"context"
	"iter"
)

// Ahead reads each piece while the one before it is written, in order, with two buffers.
// It is for pieces of what is decoded, such as slabs of an array: each is a read of its
// own, of one Pull or several, which hide their round trips themselves; Ahead hides the
// writing. The bytes of an object are read ahead by a Pull.
//
// size is how many bytes read fills. write is called in the goroutine of the caller, and
// its error is returned as it is; that of read is returned once what was read before is
// written. No read is under way any more when Ahead returns.
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
