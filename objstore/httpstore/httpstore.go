// Package httpstore reads objects from any HTTP server that answers Range
// requests. It cannot write or list.
//
// Bytes are read as stored: no compression is asked for, and none undone.
// Redirects are followed with the range kept. Requests that got no usable
// answer (a lost connection, or status 429, 500, 502, 503, 504) are repeated here, a few
// times, until the server has been silent for too long or the context ends. Bodies
// that break are not repeated: objstore.Object continues those.
package httpstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/farread/farread/internal/httplimit"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/internal/wire"
)

// Config has the address of a bucket, and options for requests. Only Base is
// required.
type Config struct {
	// Base is the URL that stands for the bucket; keys are paths below it. Its
	// query, such as a signature, is added to every request. Split returns Base
	// and key for the URL of an object.
	Base string
	// Transport carries the requests; nil: a transport of the bucket's own. One
	// that is given must not decompress. NewTransport makes one for several
	// buckets to share.
	Transport   http.RoundTripper
	Concurrency int           // requests in flight that connections are kept for, without a Transport; below 64: 64
	Retries     int           // repetitions of a request without a usable answer; 0: 4; -1: none
	MinWait     time.Duration // before the first repetition, then doubled; 0: 100 ms
	MaxWait     time.Duration // most before any repetition, also if the server asks for more; 0: 5 s, or a quarter of Timeout
	// Timeout bounds the silence of the server. A call, with all its tries, ends if the
	// server has not brought 1 KiB for this time. A single try ends after half of it if
	// not a byte came. The Stall of an Object replaces Timeout. 0 means 20 s, a
	// negative value no limit.
	Timeout time.Duration
	// Header goes with every request to the host of Base: Authorization, for
	// one. A redirect to another host, or away from https, goes without it. New
	// copies it.
	Header  http.Header
	Counter *objstore.Counter
	Logger  *slog.Logger // debug lines about repeated requests; nil: none
}

func (c Config) withDefaults() Config {
	if c.Retries == 0 {
		c.Retries = 4 // the waits take 1.5 s together, enough for a server that restarts
	}
	if c.MinWait <= 0 {
		c.MinWait = 100 * time.Millisecond
	}
	c.Timeout = silence.Limit(c.Timeout)
	if c.MaxWait <= 0 {
		c.MaxWait = httplimit.MaxWait(c.Timeout)
	}
	return c
}

// A Bucket reads below one URL. It implements objstore.Bucket. Its methods are safe
// for concurrent use. It needs no Close; CloseIdleConnections ends its connections.
type Bucket struct {
	base *url.URL
	name string
	http *http.Client
	cfg  Config
}

var _ objstore.Bucket = (*Bucket)(nil)

// New checks the configuration; its errors are ErrInvalid. It makes no request.
func New(c Config) (*Bucket, error) {
	base, err := url.Parse(c.Base)
	if err != nil {
		return nil, fmt.Errorf("base URL: %w", objstore.ErrInvalid) // the text would quote a signature
	}
	if base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("base URL needs http or https and a host: %w", objstore.ErrInvalid)
	}
	base.Fragment, base.RawFragment = "", ""
	b := &Bucket{base: base, name: nameOf(base), cfg: c.withDefaults()}
	b.cfg.Header = http.Header{}
	for k, v := range c.Header {
		k = http.CanonicalHeaderKey(k)
		b.cfg.Header[k] = append(b.cfg.Header[k], v...)
	}
	t := c.Transport
	if t == nil {
		t = NewTransport(c.Concurrency)
	}
	limited := httplimit.New(t, httplimit.Options{Roots: "SSL_CERT_FILE", Place: "URL"})
	b.http = &http.Client{Transport: wire.Counting(limited, c.Counter, nil), CheckRedirect: b.redirect}
	return b, nil
}

// NewTransport makes the transport that a Bucket without one makes: a copy of
// http.DefaultTransport, unless the process put another type there, that keeps
// connections for n requests in flight (below 64: 64) and decompresses nothing. Its
// idle connections are closed by its own CloseIdleConnections, or by a bucket's.
func NewTransport(n int) *http.Transport {
	var t *http.Transport
	if std, ok := http.DefaultTransport.(*http.Transport); ok {
		t = std.Clone()
	} else {
		// The values of net/http's own default.
		t = &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second,
			TLSHandshakeTimeout: 10 * time.Second, ExpectContinueTimeout: time.Second,
			DialContext: (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext}
	}
	wire.Tune(t, n)
	return t
}

// nameOf returns the URL without credentials and query, which may be secret. The
// server's answer may depend on them, so the name has a digest of them: buckets with
// different credentials have different names.
func nameOf(base *url.URL) string {
	name := base.Scheme + "://" + base.Host + strings.TrimSuffix(base.EscapedPath(), "/")
	if base.RawQuery == "" && base.User == nil {
		return name
	}
	secret := "?" + base.RawQuery
	if base.User != nil {
		secret = base.User.String() + secret
	}
	sum := sha256.Sum256([]byte(secret))
	return name + "?" + hex.EncodeToString(sum[:8]) // 64 bits are enough: there is no attacker
}

// maxRedirects is the limit of net/http. go-retryablehttp recognises the text
// of its error.
const maxRedirects = 10

// redirect removes the headers for the configured host if the redirect leads to
// another host. Referer is removed because it would carry a signature.
func (b *Bucket) redirect(req *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	req.Header.Del("Referer")
	if strings.EqualFold(req.URL.Host, b.base.Host) && (req.URL.Scheme == b.base.Scheme || req.URL.Scheme == "https") {
		return nil
	}
	for k := range b.cfg.Header {
		switch k {
		case "Range", "If-Match", "If-Unmodified-Since", "Accept-Encoding": // the request's own
		default:
			req.Header.Del(k)
		}
	}
	return nil
}

// Split cuts the URL of one object into the Base of a Config and the key, which
// is its last segment, unescaped. The query stays with the Base, so that a presigned
// URL goes on working. A URL that names no key is ErrInvalid.
func Split(rawURL string) (base, key string, err error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", "", fmt.Errorf("object URL: %w", objstore.ErrInvalid)
	}
	path := u.EscapedPath()
	i := strings.LastIndexByte(path, '/')
	key, err = url.PathUnescape(path[i+1:])
	if err != nil || key == "" || strings.Contains(key, "/") {
		return "", "", fmt.Errorf("object URL names no key: %w", objstore.ErrInvalid)
	}
	u.RawPath = path[:i+1]
	if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
		return "", "", fmt.Errorf("object URL: %w", objstore.ErrInvalid)
	}
	return u.String(), key, nil
}

// Name is the base URL without credentials and query. If the URL has any, Name ends
// in a digest of them, so names differ if credentials or queries differ.
func (b *Bucket) Name() string { return b.name }

// Timeout returns Config.Timeout, or 20 s if that is 0. An Object that is opened
// without a Stall uses it.
func (b *Bucket) Timeout() time.Duration { return b.cfg.Timeout }

// Counter is Config.Counter.
func (b *Bucket) Counter() *objstore.Counter { return b.cfg.Counter }

// CloseIdleConnections closes the connections of the bucket's transport that no
// request uses. The bucket stays usable.
func (b *Bucket) CloseIdleConnections() { b.http.CloseIdleConnections() }

// url is the URL of key. A key that a server would read as another path is ErrInvalid.
func (b *Bucket) url(key string) (string, error) {
	if key == "" {
		return "", fmt.Errorf("empty key: %w", objstore.ErrInvalid)
	}
	segs := strings.Split(key, "/")
	for i, s := range segs {
		if s == "." || s == ".." {
			return "", fmt.Errorf("key with a segment %q: %w", s, objstore.ErrInvalid)
		}
		// "+" means itself in a path, but S3 reads it as a space.
		segs[i] = strings.ReplaceAll(url.PathEscape(s), "+", "%2B")
	}
	u := *b.base
	u.RawPath = strings.TrimSuffix(b.base.EscapedPath(), "/") + "/" + strings.Join(segs, "/")
	path, err := url.PathUnescape(u.RawPath)
	if err != nil {
		return "", fmt.Errorf("key: %w", objstore.ErrInvalid)
	}
	u.Path = path
	return u.String(), nil
}

// do sends one request and repeats it as the configuration says. It returns the answer
// of the last try, whatever its status; the caller closes the body.
func (b *Bucket) do(ctx context.Context, method, key string, h http.Header) (*http.Response, error) {
	u, err := b.url(key)
	if err != nil {
		return nil, err
	}
	clock, own := silence.Join(ctx, b.cfg.Timeout)
	under, stop := ctx, func() {} //nolint:contextcheck // the clock made it of ours
	if own {
		under, stop = clock.Context(), clock.Stop
	}
	req, err := retryablehttp.NewRequestWithContext(httplimit.Payload(under), method, u, nil)
	if err != nil {
		stop()
		return nil, fmt.Errorf("request: %w", objstore.ErrInvalid)
	}
	for k, v := range b.cfg.Header {
		req.Header[k] = v
	}
	for k, v := range h {
		req.Header[k] = v
	}
	req.Header.Set("Accept-Encoding", "identity")
	repeats := max(b.cfg.Retries, 0)
	if clock.OnlyTry() {
		repeats = 0
	}
	c := retryablehttp.Client{
		HTTPClient:   b.http,
		RetryWaitMin: b.cfg.MinWait,
		RetryWaitMax: b.cfg.MaxWait,
		RetryMax:     repeats,
		CheckRetry:   retryable,
		Backoff:      backoff,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
		RequestLogHook: func(_ retryablehttp.Logger, _ *http.Request, n int) {
			if n > 0 {
				b.cfg.Counter.AddRetry()
				b.debug(ctx, "again", "key", key, "try", n+1)
			}
		},
	}
	clock.Run()
	resp, err := c.Do(req)
	if err != nil {
		if resp != nil {
			resp.Body.Close()
		}
		stop()
		if clock.Over() {
			err = clock.Err()
		}
		return nil, wire.Failure(ctx, err)
	}
	resp.Body = wire.Ending(resp.Body, stop)
	return resp, nil
}

func (b *Bucket) debug(ctx context.Context, msg string, more ...any) {
	if b.cfg.Logger != nil {
		b.cfg.Logger.DebugContext(ctx, msg, append([]any{"bucket", b.name}, more...)...)
	}
}

// retryable reports whether a failure may pass: the answer says so, or the connection
// was lost.
func retryable(ctx context.Context, resp *http.Response, err error) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if hopeless := (interface{ RetryableError() bool })(nil); errors.As(err, &hopeless) {
		return hopeless.RetryableError(), nil
	}
	if err != nil {
		return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true, nil
	}
	return false, nil
}

// backoff obeys Retry-After, but never waits longer than the bucket allows.
func backoff(least, most time.Duration, n int, resp *http.Response) time.Duration {
	return httplimit.Pause(resp, retryablehttp.DefaultBackoff(least, most, n, nil), most)
}

// Create always fails: the store is read-only. The error is ErrInvalid and
// errors.ErrUnsupported.
func (b *Bucket) Create(_ context.Context, key string, _ objstore.PutOptions) (objstore.Writer, error) {
	return nil, b.readOnly("put", key)
}

// Delete always fails, as Create does.
func (b *Bucket) Delete(_ context.Context, key string) error { return b.readOnly("delete", key) }

// List yields one error, as Create does: HTTP has no listing.
func (b *Bucket) List(_ context.Context, prefix string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		yield(objstore.Info{}, b.readOnly("list", prefix))
	}
}

func (b *Bucket) readOnly(op, key string) error {
	return &objstore.Error{Op: op, Bucket: b.name, Key: key,
		Err: fmt.Errorf("a plain HTTP server can only be read: %w: %w", objstore.ErrInvalid, errors.ErrUnsupported)}
}
