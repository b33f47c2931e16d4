// Package sdkhttp is what clients of the AWS SDK need around theirs: limits of silence,
// errors of credentials that can be told from others, and connections that stay whole while the SDK is still answered.
//
// The SDK closes the body of a request as soon as the head of the answer is there.
// net/http may not have seen the end of that body yet: it sends all bytes, and only then
// looks whether there is one more. Of a closed body, Read tells io.EOF, as expected; but
// WriteTo, which io.Copy prefers, tells io.EOF too, where it had to tell nothing. The
// request then counts as failed, and its connection is closed under the answer: "use of
// closed network connection", now and then, on busy machines
// (https://github.com/aws/aws-sdk-go-v2/issues/2737 has such reports).
package sdkhttp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/farread/farread/internal/httplimit"
	"github.com/farread/farread/internal/silence"
)

// A Doer sends requests, as *http.Client and the SDK's own client do.
type Doer interface {
	Do(r *http.Request) (*http.Response, error)
}

// Guard is d for the SDK: bodies of requests have no WriteTo.
func Guard(d Doer) Doer { return guard{d} }

type guard struct{ d Doer }

// Do implements Doer. The request stays as it is.
func (g guard) Do(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Body != http.NoBody {
		r = r.WithContext(r.Context()) // a shallow copy of the request
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return g.d.Do(r)
}

// Backoff is the SDK's own, up to most, and longer where the answer asks for that by
// Retry-After, which the SDK does not read. After silence there is none: that was a wait
// already.
func Backoff(most time.Duration) retry.BackoffDelayer {
	b := retry.NewExponentialJitterBackoff(most)
	return retry.BackoffDelayerFunc(func(attempt int, err error) (time.Duration, error) {
		if silence.Is(err) {
			return 0, nil
		}
		own, berr := b.BackoffDelay(attempt, err)
		if berr != nil {
			return 0, berr
		}
		var resp *http.Response
		if refused := (interface{ HTTPResponse() *smithyhttp.Response })(nil); errors.As(err, &refused) && refused.HTTPResponse() != nil {
			resp = refused.HTTPResponse().Response
		}
		return httplimit.Pause(resp, own, most), nil
	})
}

// Within gives each call of a client, all its tries together, a clock of silence.
func Within(limit time.Duration) func(*middleware.Stack) error {
	return func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("Silence", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			clock := silence.With(ctx, limit)
			defer clock.Stop()
			clock.Run()
			out, meta, err := next.HandleInitialize(clock.Context(), in) //nolint:contextcheck // the clock made it of ours
			if err != nil && clock.Over() {
				err = clock.Err()
			}
			return out, meta, err
		}), middleware.Before)
	}
}
