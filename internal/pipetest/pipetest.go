// Package pipetest is an HTTP server in memory: without sockets, so that tests of time
// run in a bubble of testing/synctest, where time moves on once everybody waits.
package pipetest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A Server answers HTTP on pipes. Its Transport sends all requests to it, for
// any host.
type Server struct {
	Transport *http.Transport

	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	srv    http.Server
	end    context.CancelFunc // cancels the contexts of handlers: a handler that reads nothing does not notice that its client has gone
}

// New starts a server. It ends with the test; Close ends it before a bubble does.
func New(t testing.TB, h http.Handler) *Server {
	t.Helper()
	s := &Server{conns: make(chan net.Conn), closed: make(chan struct{}), srv: http.Server{Handler: h}}
	base, end := context.WithCancel(context.Background())
	s.end, s.srv.BaseContext = end, func(net.Listener) context.Context { return base }
	s.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		select {
		case s.conns <- theirs:
			return ours, nil
		case <-s.closed:
			return nil, net.ErrClosed
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}, DisableCompression: true}
	go func() {
		if err := s.srv.Serve((*listener)(s)); err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}()
	t.Cleanup(s.Close)
	return s
}

// Virtual runs f with a server for h, in virtual time, and returns the time that f
// took. f must close its idle connections.
func Virtual(t *testing.T, h http.Handler, f func(t *testing.T, s *Server) error) (took time.Duration, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := New(t, h)
		start := time.Now()
		err = f(t, s)
		took = time.Since(start)
		s.Close()
	})
	return took, err
}

// Slowly writes text in pieces of n bytes, d apart, until ctx ends.
func Slowly(ctx context.Context, w http.ResponseWriter, text string, n int, d time.Duration) {
	for len(text) > 0 {
		n = min(n, len(text))
		if _, err := io.WriteString(w, text[:n]); err != nil {
			return
		}
		text = text[n:]
		_ = http.NewResponseController(w).Flush()
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return
		}
	}
}

// Endless answers with status and head, and then text again and again as long as anybody
// reads.
func Endless(status int, head, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, err := io.WriteString(w, head)
		for err == nil && r.Method != http.MethodHead {
			_, err = io.WriteString(w, strings.Repeat(text, 1+4096/len(text)))
		}
	}
}

// Close ends the server and all connections.
func (s *Server) Close() {
	s.once.Do(func() { close(s.closed) })
	s.end()
	_ = s.srv.Close() // the listener is closed: the error does not matter
	s.Transport.CloseIdleConnections()
}

type listener Server

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }
