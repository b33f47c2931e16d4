package objstore

import (
	"context"
	"io"
	"iter"
	"time"
)

// WithCounter returns a context whose calls add to c, besides what else counts them, if
// they pass the Middleware Tally. So a server tells what one of its answers cost.
func WithCounter(ctx context.Context, c *Counter) context.Context {
	return context.WithValue(ctx, tallyKey{}, c)
}

type tallyKey struct{}

// Tally adds the calls that pass, and the bytes of their bodies, to the Counter that
// WithCounter put into their context, as Count does. Calls of other contexts are not
// counted. Loads that Objects share among readers belong to the reader that began them.
// Objects add their phases to the same Counter, and the time that they waited.
func Tally() Middleware {
	return func(b Bucket) Bucket { return &tallied{b} }
}

type tallied struct{ Bucket }

// tally returns the counter of a context, or nil.
func tally(ctx context.Context) *Counter {
	c, _ := ctx.Value(tallyKey{}).(*Counter)
	return c
}

func (b *tallied) Unwrap() Bucket { return b.Bucket }

func (b *tallied) Get(ctx context.Context, key string, o GetOptions) (io.ReadCloser, Info, error) {
	c := tally(ctx)
	c.AddRequest()
	r, info, err := b.Bucket.Get(ctx, key, o)
	if err != nil || c == nil {
		return r, info, err
	}
	return &watchedBody{rc: r, read: func(n int) { c.AddBytes(int64(n)) }}, info, nil
}

func (b *tallied) filled(ctx context.Context, _ string, o GetOptions, _ time.Time) {
	c := tally(ctx)
	c.AddRequest()
	c.AddBytes(o.Range.Len)
}

func (b *tallied) Head(ctx context.Context, key string) (Info, error) {
	c := tally(ctx)
	c.AddRequest()
	defer c.enter(ctx)()
	return b.Bucket.Head(ctx, key)
}

func (b *tallied) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	tally(ctx).AddRequest()
	return b.Bucket.List(ctx, prefix)
}

func (b *tallied) ListAfter(ctx context.Context, prefix, after string) iter.Seq2[Info, error] {
	tally(ctx).AddRequest()
	return ListAfter(ctx, b.Bucket, prefix, after)
}

func (b *tallied) ListFolder(ctx context.Context, prefix, after string) iter.Seq2[FolderEntry, error] {
	tally(ctx).AddRequest()
	return ListFolder(ctx, b.Bucket, prefix, after)
}

func (b *tallied) DeleteIf(ctx context.Context, key, etag string) error {
	tally(ctx).AddRequest()
	return DeleteIf(ctx, b.Bucket, key, etag)
}

func (b *tallied) Delete(ctx context.Context, key string) error {
	tally(ctx).AddRequest()
	return b.Bucket.Delete(ctx, key)
}
