package httpstore_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/internal/flawedtest"
	"github.com/farread/farread/internal/pipetest"
	"github.com/farread/farread/internal/silence"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
)

// virtual opens an object on a server with h and reads its end, in virtual time.
func virtual(t *testing.T, h http.HandlerFunc, o objstore.OpenOptions) (took time.Duration, err error) {
	t.Helper()
	return pipetest.Virtual(t, h, func(t *testing.T, srv *pipetest.Server) error {
		t.Helper()
		b, err := httpstore.New(httpstore.Config{Base: "http://store/data", Transport: srv.Transport})
		if err != nil {
			t.Fatal(err)
		}
		defer b.CloseIdleConnections()
		ob, err := objstore.Open(t.Context(), b, "k", o)
		if err == nil {
			_, err = ob.ReadAt(make([]byte, 1000), 90_000)
		}
		return err
	})
}

func steady(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Etag", `"v"`)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(strings.Repeat("x", 100_000)))
}

// stalling sends n bytes of a body, and then pieces of n bytes, d apart.
func stalling(n int, d time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		steady(rec, r)
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		pipetest.Slowly(r.Context(), w, rec.Body.String(), n, d)
	}
}

func TestSilence(t *testing.T) {
	never := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, c := range map[string]struct {
		h  http.HandlerFunc
		o  objstore.OpenOptions
		ok bool
		// what it takes
		least, most time.Duration
	}{
		"never":                 {never, objstore.OpenOptions{}, false, silence.Default, silence.Default},
		"never, other patience": {never, objstore.OpenOptions{Stall: time.Minute}, false, time.Minute, time.Minute},
		"bodies that stall":     {stalling(100, time.Hour), objstore.OpenOptions{}, false, silence.Default, silence.Default},
		"a byte a second":       {stalling(1, time.Second), objstore.OpenOptions{}, false, silence.Default, silence.Default + time.Second},
		"slow, but steady":      {stalling(700, 9*time.Second), objstore.OpenOptions{Head: 20_000}, true, 4 * time.Minute, time.Hour},
		"late refusals": {func() http.HandlerFunc {
			n := 0
			return func(w http.ResponseWriter, r *http.Request) {
				if n++; n > 4 {
					steady(w, r)
					return
				}
				time.Sleep(9 * time.Second)
				w.Header().Set("Retry-After", "10")
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}(), objstore.OpenOptions{}, true, 56 * time.Second, 60 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			took, err := virtual(t, c.h, c.o)
			if c.ok != (err == nil) || !c.ok && (!errors.Is(err, objstore.ErrUnavailable) || !silence.Is(err)) || took < c.least || took > c.most+time.Millisecond {
				t.Errorf("after %v: %v", took, err)
			}
		})
	}
}

// TestUnreachable: if waiting cannot help, there are two tries at most.
func TestUnreachable(t *testing.T) {
	const refused = "http://127.0.0.1:1" // a port that was free a moment ago may be another test's server by now
	secure := httptest.NewTLSServer(http.HandlerFunc(steady))
	defer secure.Close()
	unknown := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.DNSError{Err: "no such host", Name: "nowhere.example", IsNotFound: true}
	}}
	for name, c := range map[string]struct {
		base string
		t    http.RoundTripper
		say  string
		most int64
	}{
		"refused":      {refused, nil, "connection refused", 2},
		"not trusted":  {secure.URL, nil, "SSL_CERT_FILE", 1},
		"unknown host": {"http://nowhere.example", unknown, "unknown host nowhere.example", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var n objstore.Counter
			b, err := httpstore.New(httpstore.Config{Base: c.base, Counter: &n, Transport: c.t})
			if err != nil {
				t.Fatal(err)
			}
			defer b.CloseIdleConnections()
			_, err = b.Head(t.Context(), "k")
			if s := n.Stats(); !errors.Is(err, objstore.ErrUnavailable) || !strings.Contains(err.Error(), c.say) || s.Requests > c.most {
				t.Errorf("%v, %+v", err, s)
			}
		})
	}
}

// TestEndlessError: 64 KiB of it are read.
func TestEndlessError(t *testing.T) {
	srv := httptest.NewServer(pipetest.Endless(http.StatusForbidden, "", "<a>"))
	defer srv.Close()
	var n objstore.Counter
	b, err := httpstore.New(httpstore.Config{Base: srv.URL, Counter: &n})
	if err != nil {
		t.Fatal(err)
	}
	defer b.CloseIdleConnections()
	_, _, err = b.Get(t.Context(), "k", objstore.GetOptions{})
	if s := n.Stats(); !errors.Is(err, objstore.ErrDenied) || s.Bytes > 64<<10 {
		t.Errorf("%v, %+v", err, s)
	}
}

// TestStallsAgainAndAgain: bodies of which each brings something, and then stalls for ever,
// end within the time that the option names, in one request and in one after the other.
// Those that stall now and then, and are quick in between, do not.
func TestStallsAgainAndAgain(t *testing.T) {
	flawedtest.Stalls(t, func(t *testing.T, h http.HandlerFunc, f func(ctx context.Context, b objstore.Bucket) error) (time.Duration, error) {
		t.Helper()
		return pipetest.Virtual(t, h, func(t *testing.T, srv *pipetest.Server) error {
			t.Helper()
			b, err := httpstore.New(httpstore.Config{Base: "http://store/data", Transport: srv.Transport})
			if err != nil {
				t.Fatal(err)
			}
			defer b.CloseIdleConnections()
			return f(t.Context(), b)
		})
	})
}
