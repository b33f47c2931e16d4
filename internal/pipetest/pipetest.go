// Package pipetest is an HTTP server in memory: without sockets, so that tests of time
// run in a bubble of testing/synctest, where time moves on once everybody waits.
package pipetest

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
)

// A Server answers on pipes. Its Transport reaches it, whatever the host is.
type Server struct {
	Transport *http.Transport

	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
	srv    http.Server
	end    context.CancelFunc // of the handlers' contexts: who reads nothing does not see that a client has gone
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

// Close ends the server and all connections.
func (s *Server) Close() {
	s.once.Do(func() { close(s.closed) })
	s.end()
	_ = s.srv.Close() // of a listener that is closed
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
