package objstore

import (
	"context"
	"time"
)

// A Signer is a Bucket that can let others read an object for a while. Use [As] to find
// it inside of middlewares.
type Signer interface {
	// SignGet returns a URL that answers a GET of key, with or without a Range, to
	// whoever has it, until ttl is over or the credentials of the bucket end. If
	// versionID is not "", it answers for this version alone. It costs no request to the
	// store.
	SignGet(ctx context.Context, key, versionID string, ttl time.Duration) (string, error)
}
