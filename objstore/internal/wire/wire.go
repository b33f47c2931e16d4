// Package wire is shared by the drivers that speak HTTP: it tunes a transport,
// counts at the transport, holds answers against the range asked for, and classifies
// failures that have no status.
package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/farread/farread/internal/httplimit"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
)

// Idle is the least number of idle connections that are kept. As many small
// ranges are read at the same time.
const Idle = 64

// Tune prepares t for many ranged GETs against one host: connections are kept for n
// requests in flight (at least Idle), HTTP/2 connections are probed, and bodies are
// not decompressed automatically, which would move every offset.
func Tune(t *http.Transport, n int) {
	n = max(n, Idle)
	t.MaxIdleConnsPerHost = n
	t.MaxIdleConns = max(t.MaxIdleConns, 2*n)
	t.DisableCompression = true
	if t.HTTP2 == nil {
		// Another try must not end up on a connection that is dead: HTTP/2 has one
		// for all requests, which only a ping tells from one that waits.
		t.HTTP2 = &http.HTTP2Config{SendPingTimeout: ping, PingTimeout: ping}
	}
}

// ping is how long a connection of HTTP/2 may be quiet before it is asked, and how long
// the answer may take: both together are half of the default limit of silence.
const ping = 5 * time.Second

// Counting counts every request that t sends and the bytes of every answer's body as
// they are read. retry, if given, says whether a request repeats an earlier one. c may
// be nil.
func Counting(t http.RoundTripper, c *objstore.Counter, retry func(*http.Request) bool) http.RoundTripper {
	return &counting{t, c, retry}
}

type counting struct {
	t     http.RoundTripper
	c     *objstore.Counter
	retry func(*http.Request) bool
}

func (t *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	t.c.AddRequest()
	if t.retry != nil && t.retry(r) {
		t.c.AddRetry()
	}
	resp, err := t.t.RoundTrip(r)
	if err == nil && t.c != nil {
		resp.Body = &countedBody{resp.Body, t.c}
	}
	return resp, err
}

// CloseIdleConnections lets http.Client reach the transport.
func (t *counting) CloseIdleConnections() {
	if c, ok := t.t.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

type countedBody struct {
	io.ReadCloser
	c *objstore.Counter
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.c.AddBytes(int64(n))
	return n, err
}

// CheckRange refuses a range of negative length with ErrInvalid. It sets the length to
// 0 if it has no meaning: for a range from the end, or if the range ends beyond any
// offset.
func CheckRange(r objstore.Range) (objstore.Range, error) {
	if r.Len < 0 {
		return r, fmt.Errorf("range of length %d: %w", r.Len, objstore.ErrInvalid)
	}
	if r.Off < 0 || r.Len > math.MaxInt64-r.Off {
		r.Len = 0
	}
	return r, nil
}

// Body reads exactly n bytes of rc. A body that goes on is cut. One that ends before
// is io.ErrUnexpectedEOF, which passes through fail as all errors but io.EOF do: fail
// classifies them. Once ctx has ended nothing more is read, though the connection may
// still hold bytes.
func Body(ctx context.Context, rc io.ReadCloser, n int64, fail func(error) error) io.ReadCloser {
	return &exact{rc, n, ctx.Err, fail}
}

type exact struct {
	io.ReadCloser
	left  int64
	ended func() error
	fail  func(error) error
}

func (b *exact) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if b.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	if err := b.ended(); err != nil {
		return 0, b.fail(err)
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	switch {
	case b.left == 0:
		return n, io.EOF
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		err = b.fail(err)
	}
	return n, err
}

// Limited reports whether err tells of silence, of a host that cannot be reached, or of
// an answer that is too long or nests too deep.
func Limited(err error) bool {
	var out *httplimit.Unreachable
	var bad *httplimit.BadAnswer
	return silence.Is(err) || errors.As(err, &out) || errors.As(err, &bad)
}

// Ending is rc, with after called at the end of each Close.
func Ending(rc io.ReadCloser, after func()) io.ReadCloser { return &ending{rc, after} }

type ending struct {
	io.ReadCloser
	after func()
}

func (b *ending) Close() error {
	defer b.after()
	return b.ReadCloser.Close()
}

// Failure classifies an error of a request without an answer. If ctx has ended, the
// error is the caller's; else it is objstore.ErrUnavailable. The cause is in the text
// only, so that a time-out below does not look like the caller's; causes that are
// Limited or io.ErrUnexpectedEOF stay in the chain. URLs are removed, since they may
// have a signature.
func Failure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for u := (*url.Error)(nil); errors.As(err, &u); {
		err = u.Err
	}
	var quiet *silence.Error // callers may look for this kind
	var out *httplimit.Unreachable
	var bad *httplimit.BadAnswer
	switch {
	case errors.As(err, &quiet):
		return fmt.Errorf("%w: %w", quiet, objstore.ErrUnavailable)
	case errors.As(err, &out):
		return fmt.Errorf("%w: %w", out, objstore.ErrUnavailable)
	case errors.As(err, &bad):
		return fmt.Errorf("%w: %w", bad, objstore.ErrUnavailable)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: %w", objstore.ErrUnavailable, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("%w: %v", objstore.ErrUnavailable, err) //nolint:errorlint // only the text: see above
}
