// Package httplimit bounds what an HTTP server can do to a client: requests without an
// answer, bodies that stall, answers that never end, and XML that nests without end.
// Stores and queues are reached through it.
//
// Time is measured by the [silence.Clock] behind a request's context; without one there
// is no limit of time.
package httplimit

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/farread/farread/internal/silence"
)

// Limits of bodies.
const (
	// MaxError is the number of bytes that are read of the body of an error.
	// Errors of S3 and similar stores are below 1 KiB.
	MaxError = 64 << 10
	// ErrorTime is the time limit for the read of the body of an error.
	ErrorTime = 5 * time.Second
	// MaxAnswer is the longest answer that is not a payload: a page of a listing
	// has 1000 keys of up to 3 KiB, escaped, and about as much around them.
	MaxAnswer = 8 << 20
)

// Options describe answers, and which failures may be repeated.
type Options struct {
	XML       bool   // answers without payload are XML
	MaxAnswer int64  // bound of their bytes; 0: MaxAnswer
	Roots     string // the variable that names CAs of one's own
	Place     string // the option that sets the host: "endpoint"
}

// New puts limits around t.
func New(t http.RoundTripper, o Options) http.RoundTripper {
	if o.MaxAnswer <= 0 {
		o.MaxAnswer = MaxAnswer
	}
	return &transport{t, o}
}

type transport struct {
	t http.RoundTripper
	o Options
}

type payloadKey struct{}

// Payload marks a request whose good answer has payload as its body: it is passed on
// as it comes, and its length is not limited.
func Payload(ctx context.Context) context.Context { return context.WithValue(ctx, payloadKey{}, true) }

// workRate is the least speed, in bytes a second, at which a store processes
// bytes that it has received.
const workRate = 64 << 20

// Work returns how long a store may process n bytes without an answer.
func Work(n int64) time.Duration {
	return time.Duration(float64(max(n, 0)) / workRate * float64(time.Second))
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	clock := silence.From(r.Context())
	ctx, cancel := context.WithCancel(r.Context())
	try := clock.Begin(ctx, r.URL.Host, cancel)
	resp, err := t.t.RoundTrip(watched(ctx, r, try))
	if err != nil {
		switch {
		case try.Err() != nil:
			err = try.Err()
		default:
			err = t.o.unreachable(r.URL.Host, err, clock.Failures() == 0)
		}
		try.End(err)
		cancel()
		return nil, err
	}
	refused := resp.StatusCode >= http.StatusBadRequest
	try.Answered(refused)
	if resp.Body == nil || resp.Body == http.NoBody {
		try.End(nil)
		cancel()
		return resp, nil
	}
	resp.Body = t.body(ctx, resp, try, cancel)
	return resp, nil
}

// CloseIdleConnections lets http.Client reach the transport.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.t.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// watched is r under ctx. It tells try of the bytes of the request's body.
func watched(ctx context.Context, r *http.Request, try *silence.Try) *http.Request {
	if r.Body == nil || r.Body == http.NoBody || try == nil {
		return r.WithContext(ctx)
	}
	r = r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		if c := plain(i.Conn); c != nil {
			try.Unsent(func() (int64, bool) { return unsent(c) })
		}
	}}))
	r.Body = &sending{r.Body, try}
	if get := r.GetBody; get != nil {
		r.GetBody = func() (io.ReadCloser, error) {
			rc, err := get()
			if err != nil {
				return nil, err
			}
			try.Rewind()
			return &sending{rc, try}, nil
		}
	}
	return r
}

// plain is the system's connection below c if one request has it to itself, else nil:
// in HTTP/2 several requests share a connection.
func plain(c net.Conn) syscall.Conn {
	if t, ok := c.(*tls.Conn); ok {
		if t.ConnectionState().NegotiatedProtocol == "h2" {
			return nil
		}
		c = t.NetConn()
	}
	s, _ := c.(syscall.Conn)
	return s
}

// sending is the body of a request.
type sending struct {
	io.ReadCloser
	try *silence.Try
}

func (b *sending) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.try.Sent(n)
	return n, err
}

// body bounds the body of an answer.
func (t *transport) body(ctx context.Context, resp *http.Response, try *silence.Try, cancel context.CancelFunc) io.ReadCloser {
	switch {
	case resp.StatusCode >= http.StatusMultipleChoices:
		try.End(nil)
		b := &refusal{rc: resp.Body, cancel: cancel, left: MaxError}
		b.timer = time.AfterFunc(errorTime(ctx), func() {
			b.late.Store(true)
			cancel()
		})
		return b
	case ctx.Value(payloadKey{}) != nil:
		return &body{rc: resp.Body, try: try, cancel: cancel, most: math.MaxInt64}
	}
	b := &body{rc: resp.Body, try: try, cancel: cancel, most: t.o.MaxAnswer}
	if t.o.XML {
		b.xml = &nesting{}
	}
	return b
}

// errorTime is ErrorTime, or half of the clock's limit if that is shorter.
func errorTime(ctx context.Context) time.Duration {
	if d := silence.From(ctx).Limit(); d > 0 {
		return min(ErrorTime, d/2)
	}
	return ErrorTime
}

// A body is the body of a good answer. The clock runs only while the body is read.
type body struct {
	rc     io.ReadCloser
	try    *silence.Try
	cancel context.CancelFunc
	n      int64
	most   int64
	xml    *nesting
}

func (b *body) Read(p []byte) (int, error) {
	b.try.Run()
	n, err := b.rc.Read(p)
	b.try.Got(n)
	b.try.Rest()
	b.n += int64(n)
	if b.n > b.most {
		return 0, badAnswer("longer than %d bytes", b.most)
	}
	if b.xml != nil {
		if err := b.xml.feed(p[:n]); err != nil {
			return 0, err
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		if silent := b.try.Err(); silent != nil {
			err = silent
		}
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	err := b.rc.Close() // before its context: cancelling first would cost a connection that was read to its end
	b.try.End(nil)
	b.cancel()
	return err
}

// A refusal is the body of an error. Bytes beyond the limit, and late ones, are left
// out: the status says most.
type refusal struct {
	rc     io.ReadCloser
	cancel context.CancelFunc
	left   int64
	timer  *time.Timer
	late   atomic.Bool
}

func (b *refusal) Read(p []byte) (int, error) {
	if b.left == 0 || b.late.Load() {
		return 0, io.EOF
	}
	n, err := b.rc.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	if err != nil && b.late.Load() {
		err = io.EOF
	}
	return n, err
}

// Close implements io.Closer.
func (b *refusal) Close() error {
	b.timer.Stop()
	err := b.rc.Close()
	b.cancel()
	return err
}

// BadAnswer is an answer that is nothing that a client could work with. Asking again
// does not help.
type BadAnswer struct{ text string }

// Error implements error.
func (e *BadAnswer) Error() string { return "bad answer: " + e.text }

// RetryableError tells the AWS SDK not to try again.
func (*BadAnswer) RetryableError() bool { return false }

func badAnswer(format string, a ...any) *BadAnswer { return &BadAnswer{fmt.Sprintf(format, a...)} }
