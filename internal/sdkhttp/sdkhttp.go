// Package sdkhttp keeps a connection whole on which the AWS SDK is still answered.
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
	"io"
	"net/http"
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
		r = r.WithContext(r.Context()) // a copy
		r.Body = struct{ io.ReadCloser }{r.Body}
	}
	return g.d.Do(r)
}
