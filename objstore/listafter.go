package objstore

import (
	"context"
	"iter"
)

// Continuer is implemented by buckets that can begin a listing in its middle
// (S3). Ask through the function ListAfter, which looks behind middlewares.
// Middlewares that count, watch or delay listings implement it, too, and pass it on by
// that function.
type Continuer interface {
	// ListAfter is List without the keys up to and including after.
	ListAfter(ctx context.Context, prefix, after string) iter.Seq2[Info, error]
}

// ListAfter yields the objects under prefix whose keys come behind after, in key
// order: the rest of a long listing that ended there. A bucket that is no Continuer
// lists everything, and keys up to after are passed over.
func ListAfter(ctx context.Context, b Bucket, prefix, after string) iter.Seq2[Info, error] {
	if after == "" {
		return b.List(ctx, prefix)
	}
	if c, ok := As[Continuer](b); ok {
		return c.ListAfter(ctx, prefix, after)
	}
	return func(yield func(Info, error) bool) {
		for info, err := range b.List(ctx, prefix) {
			if err == nil && info.Key <= after {
				continue
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

func (b *counted) ListAfter(ctx context.Context, prefix, after string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		b.c.AddRequest()
		ListAfter(ctx, b.Bucket, prefix, after)(yield)
	}
}

func (b *traced) ListAfter(ctx context.Context, prefix, after string) iter.Seq2[Info, error] {
	return trace(ctx, b, prefix, ListAfter(ctx, b.Bucket, prefix, after))
}

// trace reports a listing when it has ended.
func trace[T any](ctx context.Context, b *traced, prefix string, list iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		e := b.begin("list", prefix)
		var last error
		defer func() { b.end(ctx, e, last) }()
		for entry, err := range list {
			if last = err; err == nil {
				e.Objects++
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}
