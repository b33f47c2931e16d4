// Package simstore has middlewares that make a bucket slow or faulty, for tests of
// code that reads and writes buckets, users' own tests too.
//
// All waiting is done with timers and obeys the context, so that in a bubble of
// testing/synctest it takes no real time. A middleware with its zero settings is
// the bucket itself. A middleware counts calls and bodies over all buckets that it
// wraps.
package simstore

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/farread/farread/objstore"
)

// wait sleeps for d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wrapper passes everything on; the middlewares of this package override what
// they change.
type wrapper struct{ objstore.Bucket }

func (w wrapper) Unwrap() objstore.Bucket { return w.Bucket }

func (w wrapper) fail(op, key string, r objstore.Range, err error) error {
	return &objstore.Error{Op: op, Bucket: w.Name(), Key: key, Range: r, Err: err}
}

// Latency delays every call by d before the bucket sees it: a Get, Head, Tags, Delete,
// DeleteIf and Commit, and the beginning of a List.
func Latency(d time.Duration) objstore.Middleware {
	if d <= 0 {
		return same
	}
	return before(func(ctx context.Context, _ Call) error { return wait(ctx, d) })
}

// Bandwidth lets each body carry bytesPerSecond, as one connection does: side
// by side, two bodies carry twice as much. Each Read waits for the time of its own
// bytes; time that passes between reads is not credited. 0 is no limit.
func Bandwidth(bytesPerSecond int64) objstore.Middleware {
	if bytesPerSecond <= 0 {
		return same
	}
	return bodies(func(ctx context.Context, rc io.ReadCloser) io.ReadCloser {
		sleep := pause(ctx)
		var total int64
		var paid time.Duration // total wait so far, so that rounding errors do not add up
		return &filter{ReadCloser: rc, read: func(p []byte) (int, error) {
			n, err := rc.Read(p)
			if n == 0 {
				return 0, err
			}
			total += int64(n)
			due := time.Duration(float64(total) / float64(bytesPerSecond) * float64(time.Second))
			if werr := sleep(due - paid); werr != nil {
				return 0, werr
			}
			paid = due
			return n, err
		}}
	})
}

// Trickle lets each Read of a body return at most n bytes, after a wait of d,
// like a slow and uneven server. An n below 1 means no limit.
func Trickle(n int, d time.Duration) objstore.Middleware {
	if n <= 0 && d <= 0 {
		return same
	}
	return bodies(func(ctx context.Context, rc io.ReadCloser) io.ReadCloser {
		sleep := pause(ctx)
		return &filter{ReadCloser: rc, read: func(p []byte) (int, error) {
			if n > 0 && len(p) > n {
				p = p[:n]
			}
			if err := sleep(d); err != nil {
				return 0, err
			}
			return rc.Read(p)
		}}
	})
}

// Cut breaks each every-th body after n bytes with io.ErrUnexpectedEOF, as a lost
// connection does; bodies of up to n bytes arrive whole. every 1 breaks all of them,
// 0 none.
func Cut(every, n int64) objstore.Middleware { return cut(every, n, io.ErrUnexpectedEOF) }

// Short is Cut with io.EOF: a server that announces more than it sends, and a driver
// that does not count.
func Short(every, n int64) objstore.Middleware { return cut(every, n, io.EOF) }

func cut(every, n int64, end error) objstore.Middleware {
	return nthBody(every, func(_ context.Context, rc io.ReadCloser) io.ReadCloser {
		left := n
		return &filter{ReadCloser: rc, read: func(p []byte) (int, error) {
			if len(p) == 0 {
				return rc.Read(p)
			}
			if left <= 0 {
				return atCut(rc, end)
			}
			k, err := rc.Read(p[:min(int64(len(p)), left)])
			left -= int64(k)
			return k, err
		}}
	})
}

// Stall stops each every-th body after n bytes: a Read then brings neither bytes nor
// io.EOF until the context ends or the body is closed. If every is 1, all bodies stall;
// if it is 0, no body does.
func Stall(every, n int64) objstore.Middleware {
	return nthBody(every, func(ctx context.Context, rc io.ReadCloser) io.ReadCloser {
		left := n
		done, cause := ctx.Done(), ctx.Err
		closed := make(chan struct{})
		return &filter{
			ReadCloser: rc,
			close:      func() { close(closed) },
			read: func(p []byte) (int, error) {
				if left <= 0 && len(p) > 0 {
					select {
					case <-done:
						return 0, cause()
					case <-closed:
						return rc.Read(p) // the inner body returns the error for a closed body
					}
				}
				k, err := rc.Read(p[:min(int64(len(p)), left)])
				left -= int64(k)
				return k, err
			},
		}
	})
}

// atCut ends a body with err, unless the body is at its end.
func atCut(rc io.Reader, err error) (int, error) {
	var one [1]byte
	for {
		n, rerr := rc.Read(one[:])
		switch {
		case n > 0:
			return 0, err
		case rerr != nil:
			return 0, rerr
		}
	}
}

// pause returns a sleep function for the body of a Get, since a body has no
// context of its own.
func pause(ctx context.Context) func(time.Duration) error {
	return func(d time.Duration) error { return wait(ctx, d) }
}

func same(b objstore.Bucket) objstore.Bucket { return b }

// bodies wraps the body of every Get.
func bodies(wrap func(context.Context, io.ReadCloser) io.ReadCloser) objstore.Middleware {
	return nthBody(1, wrap)
}

// nthBody wraps every n-th body: number every, 2*every and so on.
func nthBody(every int64, wrap func(context.Context, io.ReadCloser) io.ReadCloser) objstore.Middleware {
	if every <= 0 {
		return same
	}
	n := new(atomic.Int64)
	return func(b objstore.Bucket) objstore.Bucket {
		return &bodyBucket{wrapper{b}, func(ctx context.Context, rc io.ReadCloser) io.ReadCloser {
			if n.Add(1)%every != 0 {
				return rc
			}
			return wrap(ctx, rc)
		}}
	}
}

type bodyBucket struct {
	wrapper
	wrap func(context.Context, io.ReadCloser) io.ReadCloser
}

func (b *bodyBucket) Get(ctx context.Context, key string, o objstore.GetOptions) (io.ReadCloser, objstore.Info, error) {
	rc, info, err := b.Bucket.Get(ctx, key, o)
	if err != nil {
		return nil, info, err
	}
	return b.wrap(ctx, rc), info, nil
}

// filter is a body with another Read.
type filter struct {
	io.ReadCloser
	read   func([]byte) (int, error)
	close  func() // nil: nothing to do
	closed sync.Once
}

func (f *filter) Read(p []byte) (int, error) { return f.read(p) }

func (f *filter) Close() error {
	var err error
	f.closed.Do(func() {
		err = f.ReadCloser.Close()
		if f.close != nil {
			f.close()
		}
	})
	return err
}
