package httplimit

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/farread/farread/internal/silence"
)

// trip is a round trip in so many words.
type trip func(r *http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// pair is a connection and its other end, by way of the system.
func pair(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err = net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	far, err = l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	_ = far.SetReadBuffer(4 << 10) // else the system takes megabytes by itself
	return near, far
}

// TestSlowUpload: a body that the system took at once, and that a slow server takes
// bit by bit, is not silence. A body of which the server takes nothing more is.
func TestSlowUpload(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells what is unsent")
	}
	const limit = 20 * time.Second
	synctest.Test(t, func(t *testing.T) {
		near, far := pair(t)
		defer near.Close()
		defer far.Close()
		clock := silence.With(t.Context(), limit)
		defer clock.Stop()
		slow := trip(func(r *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{Conn: near})
			p, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			_ = near.SetWriteBuffer(2 * len(p))
			if _, err := near.Write(p); err != nil {
				return nil, err
			}
			for range 8 {
				time.Sleep(limit / 4)
				if err := r.Context().Err(); err != nil {
					return nil, err
				}
				before, _ := unsent(near)
				if before < 16<<10 {
					t.Fatalf("%d bytes are unsent: the other end took them by itself", before)
				}
				for now := before; now > before-silence.Unit; now, _ = unsent(near) { // the system takes its own time
					_ = far.SetReadDeadline(time.Time{})
					if _, err := io.ReadFull(far, make([]byte, 1<<10)); err != nil {
						return nil, err
					}
				}
			}
			time.Sleep(limit / 4)
			if err := r.Context().Err(); err != nil {
				t.Errorf("cut, though bytes were taken: %v", err)
			}
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		r, err := http.NewRequestWithContext(clock.Context(), http.MethodPut, "http://host/", bytes.NewReader(make([]byte, 150<<10)))
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		resp, err := New(slow, Options{}).RoundTrip(r)
		if err == nil {
			resp.Body.Close()
		}
		if took := time.Since(start); !silence.Is(err) || took < 9*limit/4 || took > 3*limit {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// TestPlain: if a connection does not lie on one of the system, it has no plain
// connection.
func TestPlain(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if c := plain(a); c != nil {
		t.Errorf("%T", c)
	}
	near, far := pair(t)
	far.Close()
	near.Close()
	if n, ok := unsent(syscall.Conn(near)); ok {
		t.Errorf("%d of a closed connection", n)
	}
}
