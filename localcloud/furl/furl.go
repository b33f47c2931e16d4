// Package furl answers HTTP requests by a function, as the URL of a Lambda function does
// whose invoke mode is RESPONSE_STREAM: a request is an event of payload format 2.0, and
// the answer a document with status, headers and cookies, eight zero bytes, and the body.
package furl

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/farread/farread/localcloud/lambda"
)

// Limits of Lambda.
const (
	maxBody    = 6 << 20  // of a request
	maxPrelude = 64 << 10 // of the document that begins an answer; Lambda names no number
)

// A Streamer runs a function, as lambda.Pool does.
type Streamer interface {
	Stream(ctx context.Context, payload []byte, w io.Writer) (lambda.Result, error)
}

// Handler returns a handler that asks the function f. log receives failures of it.
func Handler(f Streamer, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		payload, err := event(w, r)
		if err != nil {
			http.Error(w, `{"Message":"the request is too long"}`, http.StatusRequestEntityTooLarge)
			return
		}
		a := &answer{w: w, head: r.Method == http.MethodHead}
		// Lambda lets a function go on whose client has gone.
		if _, err = f.Stream(context.WithoutCancel(r.Context()), payload, a); err == nil && !a.begun {
			err = errors.New("the answer has no document before its body")
		}
		if err == nil {
			return
		}
		if r.Context().Err() == nil {
			log.Error("function URL", "path", r.URL.EscapedPath(), "error", err)
		}
		if a.begun {
			panic(http.ErrAbortHandler) // the connection ends: what was sent is not all
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, `{"Message":"Internal Server Error"}`) // the client may have gone
	})
}

// event is the event of a request.
func event(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return nil, err
	}
	headers := map[string]string{"host": r.Host, "x-forwarded-proto": "http"}
	for name, values := range r.Header {
		headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	from, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		from = r.RemoteAddr
	}
	now := time.Now().UTC()
	path, _, _ := strings.Cut(r.RequestURI, "?") // as it was sent
	if !strings.HasPrefix(path, "/") {
		path = r.URL.EscapedPath()
	}
	e := map[string]any{
		"version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": r.URL.RawQuery, "headers": headers,
		"requestContext": map[string]any{
			"accountId": "anonymous", "apiId": "localcloud", "domainName": r.Host, "domainPrefix": "localcloud", "routeKey": "$default", "stage": "$default",
			"time": now.Format("02/Jan/2006:15:04:05 -0700"), "timeEpoch": now.UnixMilli(),
			"http": map[string]any{"method": r.Method, "path": path, "protocol": r.Proto, "sourceIp": from, "userAgent": r.UserAgent()},
		},
		"isBase64Encoded": len(body) > 0,
	}
	if len(body) > 0 {
		e["body"] = base64.StdEncoding.EncodeToString(body)
	}
	return json.Marshal(e)
}

// An answer takes the stream of a function apart and hands it on.
type answer struct {
	w     http.ResponseWriter
	head  bool
	start []byte // the document, as far as it has come
	begun bool
}

var zeros = make([]byte, 8)

// Write never keeps p.
func (a *answer) Write(p []byte) (int, error) {
	n := len(p)
	if !a.begun {
		a.start = append(a.start, p...)
		document, body, whole := bytes.Cut(a.start, zeros)
		switch {
		case !whole && len(a.start) > maxPrelude:
			return 0, fmt.Errorf("no end of the document in %d bytes", len(a.start))
		case !whole:
			return n, nil
		}
		if err := a.begin(document); err != nil {
			return 0, err
		}
		p, a.start = body, nil
	}
	if a.head || len(p) == 0 {
		return n, nil
	}
	if _, err := a.w.Write(p); err != nil {
		return 0, err
	}
	_ = http.NewResponseController(a.w).Flush() // every server of this package's can
	return n, nil
}

// begin sends status and headers. Lambda gives some headers other names; the length is
// one of them, so that clients do not learn it.
func (a *answer) begin(document []byte) error {
	var d struct {
		StatusCode int               `json:"statusCode"`
		Headers    map[string]string `json:"headers"`
		Cookies    []string          `json:"cookies"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return fmt.Errorf("the document before the body: %w", err)
	}
	if d.StatusCode == 0 {
		d.StatusCode = http.StatusOK
	}
	if d.StatusCode < 200 || d.StatusCode > 599 {
		return fmt.Errorf("status %d", d.StatusCode)
	}
	h := a.w.Header()
	for name, value := range d.Headers {
		switch name = http.CanonicalHeaderKey(name); name {
		case "Connection", "Content-Length", "Date", "Server", "Www-Authenticate":
			h.Set("X-Amzn-Remapped-"+name, value)
		case "Transfer-Encoding", "Content-Encoding":
			if name == "Content-Encoding" && value != "" {
				return fmt.Errorf("Content-Encoding %q: Lambda would undo it", value)
			}
		default:
			h.Set(name, value)
		}
	}
	for _, c := range d.Cookies {
		h.Add("Set-Cookie", c)
	}
	a.begun = true
	a.w.WriteHeader(d.StatusCode)
	return nil
}
