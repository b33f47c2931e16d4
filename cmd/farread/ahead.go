package main

import (
	"context"
	"iter"

	"golang.org/x/sync/errgroup"
)

const (
	minWindow  = 1 << 20
	maxAtATime = 64 << 20 // 16 requests of 4 MiB keep a link busy
)

// window is how many decoded bytes are read at a time; two such windows are
// held, besides what the reader needs.
func (a *app) window() int64 {
	return min(max(int64(a.flags.maxMemory)/8, minWindow), maxAtATime)
}

// ahead reads each piece while the one before it is written, in order.
func ahead[T any](ctx context.Context, pieces iter.Seq[T], size func(T) int64,
	read func(ctx context.Context, piece T, p []byte) error, write func(p []byte) error,
) error {
	next, stop := iter.Pull(pieces)
	defer stop()
	var full, empty []byte
	for wrote := false; ; wrote = true {
		piece, more := next()
		if !more && !wrote {
			return ctx.Err()
		}
		g, gctx := errgroup.WithContext(ctx)
		if more {
			n := size(piece)
			if int64(cap(empty)) < n {
				empty = make([]byte, n)
			}
			empty = empty[:n]
			g.Go(func() error { return read(gctx, piece, empty) })
		}
		if wrote {
			p := full
			g.Go(func() error { return write(p) })
		}
		if err := g.Wait(); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
		if !more {
			return nil
		}
		full, empty = empty, full
	}
}
