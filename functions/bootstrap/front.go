package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
)

// Serve answers the requests of a function URL with h until the runtime ends the process.
// The URL has to be of invoke mode RESPONSE_STREAM.
func Serve(h http.Handler, log *slog.Logger) { lambda.StartHandlerFunc(Front(h, log)) }

// spare is the time of an invocation that is kept for an answer about a deadline.
const spare = time.Second

// Front makes a function of h. Each event is a request to a function URL, and each answer
// a stream. If h panics before it begins its answer, that is status 500. Later, the
// stream ends with an error, and the front of Lambda cuts the connection: an answer that
// is cut never looks whole. The context of a request ends a second before the time of
// the invocation.
//
// Requests have no Accept-Encoding: the front undoes every encoding that it knows.
func Front(h http.Handler, log *slog.Logger) func(context.Context, *events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
	return func(ctx context.Context, e *events.LambdaFunctionURLRequest) (*events.LambdaFunctionURLStreamingResponse, error) {
		cancel := func() {}
		if end, ok := ctx.Deadline(); ok {
			ctx, cancel = context.WithDeadline(ctx, end.Add(-spare))
		}
		// A handler may panic with http.ErrAbortHandler if it finds a server here.
		ctx = context.WithValue(ctx, http.ServerContextKey, &http.Server{ReadHeaderTimeout: spare}) // it serves nothing
		body, to := io.Pipe()
		w := &stream{header: http.Header{}, to: to, ready: make(chan *events.LambdaFunctionURLStreamingResponse, 1), body: body}
		r, err := request(ctx, e)
		go func() {
			defer cancel()
			defer func() { w.end(recover(), log) }()
			if err != nil {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"code":"bad-path","message":"the path is not well escaped","id":""}`+"\n") // it may have gone
				return
			}
			h.ServeHTTP(w, r)
		}()
		return <-w.ready, nil
	}
}

// request is the request of an event.
func request(ctx context.Context, e *events.LambdaFunctionURLRequest) (*http.Request, error) {
	escaped := asSent(e.RawPath)
	path, err := url.PathUnescape(escaped)
	if err != nil {
		return nil, err
	}
	r := (&http.Request{
		Method: e.RequestContext.HTTP.Method, URL: &url.URL{Path: path, RawPath: escaped, RawQuery: e.RawQueryString},
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, RemoteAddr: e.RequestContext.HTTP.SourceIP,
	}).WithContext(ctx)
	for name, value := range e.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Del("Accept-Encoding")
	if r.Host = r.Header.Get("Host"); r.Host == "" {
		r.Host = e.RequestContext.DomainName
	}
	r.Header.Del("Host")
	return r, nil
}

// asSent escapes what no path has as it is sent. Function URLs hand a path on as it was
// sent; clients and fronts that do not escape it differ from that in these characters.
func asSent(path string) string {
	const never = " \"<>\\^`{|}?#"
	plain := true
	for i := range len(path) {
		plain = plain && path[i] > ' ' && path[i] < 0x7f && !strings.Contains(never, path[i:i+1])
	}
	if plain {
		return path
	}
	var b strings.Builder
	for i := range len(path) {
		if c := path[i]; c <= ' ' || c >= 0x7f || strings.Contains(never, path[i:i+1]) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// A stream is an answer that is being written.
type stream struct {
	header http.Header
	once   sync.Once
	begun  bool
	to     *io.PipeWriter
	body   *io.PipeReader
	ready  chan *events.LambdaFunctionURLStreamingResponse // gets the head of the answer, whose body is the pipe
}

func (w *stream) Header() http.Header { return w.header }

func (w *stream) WriteHeader(status int) {
	w.once.Do(func() {
		w.begun = true
		a := &events.LambdaFunctionURLStreamingResponse{StatusCode: status, Headers: map[string]string{}, Body: w.body}
		for name, values := range w.header {
			a.Headers[name] = strings.Join(values, ", ")
		}
		w.ready <- a
	})
}

func (w *stream) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.to.Write(p)
}

// errCut ends a stream whose handler gave up.
var errCut = errors.New("the answer was cut")

// end ends the answer of a handler that returned, or panicked with p.
func (w *stream) end(p any, log *slog.Logger) {
	if p == nil {
		w.WriteHeader(http.StatusOK)
		_ = w.to.Close() // it never fails
		return
	}
	if e, ok := p.(error); !ok || !errors.Is(e, http.ErrAbortHandler) {
		log.Error("panic", "what", fmt.Sprint(p), "stack", string(debug.Stack()))
	}
	if !w.begun {
		w.header = http.Header{"Cache-Control": {"no-store"}}
		w.WriteHeader(http.StatusInternalServerError)
	}
	_ = w.to.CloseWithError(errCut) // it never fails
}
