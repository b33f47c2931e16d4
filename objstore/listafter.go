package objstore

import (
	"context"
	"iter"
)

// Continuer is implemented by buckets that can begin a listing in its middle
// (S3). Ask through the function ListAfter, which looks behind middlewares.
type Continuer interface {
	// ListAfter is List without the keys up to and including after.
	ListAfter(ctx context.Context, prefix, after string) iter.Seq2[Info, error]
}

// ListAfter yields the objects under prefix whose keys come behind after, in key
// order: the rest of a long listing that ended there. A bucket that is no Continuer
// lists everything, and keys up to after are passed over. Middlewares do not see
// the call if the bucket is a Continuer and after is not "".
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
