package sdkhttp_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/farread/farread/internal/sdkhttp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// body is like the bodies of the SDK: safe to close while it is read, and with a
// WriteTo.
type body struct {
	mu     sync.Mutex
	r      *strings.Reader
	closed bool
}

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, io.EOF
	}
	return b.r.Read(p)
}

func (b *body) WriteTo(w io.Writer) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, io.EOF
	}
	return b.r.WriteTo(w)
}

func (b *body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// slow is a connection whose writes return late: the other end has read the bytes,
// and may have answered.
type slow struct {
	net.Conn
	end  string // of what is written late
	late chan struct{}
}

func (c *slow) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	if strings.HasSuffix(string(p), c.end) {
		<-c.late
	}
	return n, err
}

// TestGuard: if a body is closed before the request counts as written, the connection
// still takes the next request. Without the guard it does not.
func TestGuard(t *testing.T) {
	const text = "a whole request"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.Write(p)
	}))
	defer srv.Close()
	for _, guarded := range []bool{true, false} {
		dials := 0
		late := make(chan struct{}, 2)
		tr := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			dials++
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			return &slow{c, text, late}, err
		}}
		var d sdkhttp.Doer = &http.Client{Transport: tr}
		if guarded {
			d = sdkhttp.Guard(d)
		}
		for range 2 {
			b := &body{r: strings.NewReader(text)}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, b)
			if err != nil {
				t.Fatal(err)
			}
			r.ContentLength = int64(len(text))
			resp, err := d.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if r.Body != io.ReadCloser(b) {
				t.Error("the request was changed")
			}
			r.Body.Close() // as the SDK does at once
			late <- struct{}{}
			p, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if guarded && (err != nil || string(p) != text) {
				t.Errorf("%q, %v", p, err)
			}
		}
		if want := map[bool]int{true: 1, false: 2}[guarded]; dials != want {
			t.Errorf("guarded %t: %d connections, want %d", guarded, dials, want)
		}
		tr.CloseIdleConnections()
	}
}
