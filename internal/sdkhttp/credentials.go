package sdkhttp

import (
	"context"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// SetCredentials is what helps if there are none.
const SetCredentials = "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"

// Credentials wraps p so that its errors are NoCredentials errors, which callers can
// recognise, and so that Renew can ask the source behind p anew. If p is nil, the result
// is nil.
func Credentials(p aws.CredentialsProvider) aws.CredentialsProvider {
	if p == nil {
		return nil
	}
	return &named{CredentialsProvider: p}
}

type named struct {
	aws.CredentialsProvider
	mu    sync.Mutex
	stale string // keys that a store has refused
	at    time.Time
}

type usedKey struct{}

// Noting returns a context whose calls note in used the credentials that they retrieve.
func Noting(ctx context.Context, used *aws.Credentials) context.Context {
	return context.WithValue(ctx, usedKey{}, used)
}

// Retrieve implements aws.CredentialsProvider.
func (n *named) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := n.CredentialsProvider.Retrieve(ctx)
	if err != nil {
		return c, &NoCredentials{err}
	}
	if used, ok := ctx.Value(usedKey{}).(*aws.Credentials); ok {
		*used = c
	}
	return c, nil
}

// again is how long a source is not asked anew for the same credentials: all requests that
// were signed by them are refused at about the same time.
const again = 5 * time.Second

// Renew asks the source of p for credentials anew, since a store has refused the used
// ones as expired, and reports whether there are others now. Of calls for the same
// credentials, side by side, one asks.
func Renew(ctx context.Context, p aws.CredentialsProvider, used aws.Credentials) bool {
	n, ok := p.(*named)
	if !ok || !used.HasKeys() {
		return false
	}
	cache, ok := n.CredentialsProvider.(interface{ Invalidate() })
	if !ok {
		return false
	}
	others := func() bool {
		now, err := n.CredentialsProvider.Retrieve(ctx)
		return err == nil && keys(now) != keys(used)
	}
	if others() {
		return true
	}
	n.mu.Lock()
	if k := keys(used); n.stale != k || time.Since(n.at) >= again {
		cache.Invalidate()
		n.stale, n.at = k, time.Now()
	}
	n.mu.Unlock()
	return others()
}

func keys(c aws.Credentials) string { return c.AccessKeyID + "\x00" + c.SessionToken }

// A NoCredentials error tells that credentials were not found, or could not be
// loaded.
type NoCredentials struct{ err error }

// Error implements error.
func (e *NoCredentials) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *NoCredentials) Unwrap() error { return e.err }
