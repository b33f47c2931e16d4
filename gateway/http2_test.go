package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/simstore"
)

// secure serves a ground over HTTP/2, and returns its URL and a client.
func secure(t *testing.T, g *ground) (string, *http.Client) {
	t.Helper()
	s := httptest.NewUnstartedServer(g)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL, s.Client()
}

// opened begins a request.
func opened(ctx context.Context, t *testing.T, c *http.Client, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	must(err)
	a, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestHTTP2: many answers on one connection; one that fails in the middle ends with an
// error, and leaves the others alone; a client that takes nothing is given up, and those
// beside it on the same connection are not.
func TestHTTP2(t *testing.T) {
	want := longObject()
	g := newGround(t, Config{Stall: time.Second}, simstore.Replace(func(_ context.Context, c simstore.Call) error {
		if strings.HasSuffix(c.Key, "broken") && c.Op == "get" && c.Range.Off >= 2*rawPart {
			return objstore.ErrDenied
		}
		return nil
	}))
	g.put(t, "long", want)
	g.put(t, "broken", want)
	url, c := secure(t, g)
	stalled := opened(t.Context(), t, c, url+"/raw/d/long") // nobody reads it
	var wg sync.WaitGroup
	for n := range 16 {
		wg.Go(func() {
			path := []string{"/raw/d/broken", "/raw/d/v.npy", fmt.Sprintf("/slice/d/v.b2nd?s=%d", n), "/raw/d/none"}[n%4]
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+path, nil)
			must(err)
			a, err := c.Do(r)
			if err != nil {
				if n%4 > 0 { // the header of what is broken may be lost with it
					t.Errorf("%s: %v", path, err)
				}
				return
			}
			defer a.Body.Close()
			p, err := io.ReadAll(a.Body)
			switch {
			case a.ProtoMajor != 2:
				t.Errorf("%s over %s", path, a.Proto)
			case n%4 == 0 && (err == nil || !bytes.HasPrefix(want, p)):
				t.Errorf("%s: %d bytes of %d, %v", path, len(p), len(want), err)
			case n%4 == 1 && (err != nil || !bytes.Equal(p, samples()["v.npy"])), n%4 == 2 && (err != nil || a.StatusCode != 200), n%4 == 3 && a.StatusCode != 404:
				t.Errorf("%s: %s, %d bytes, %v", path, a.Status, len(p), err)
			}
		})
	}
	wg.Wait()
	until(t, "the end of the one that stalls", func() bool { return g.meter.active.Load() == 0 && g.memory.used.Load() == 0 })
	if p, err := io.ReadAll(stalled.Body); err == nil {
		t.Errorf("the one that stalled has %d bytes of %d", len(p), len(want))
	}
	stalled.Body.Close()
}

// TestHTTP2Cancel: a client that cancels an answer on a connection ends its reads at the
// source, and no other's.
func TestHTTP2Cancel(t *testing.T) {
	var x gate
	g := newGround(t, Config{}, x.middleware())
	url, c := secure(t, g)
	g.get(t, "/info/d/v.b2nd")
	x.shut()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/slice/d/v.b2nd?s=20", nil)
		must(err)
		a, err := c.Do(r)
		if err == nil {
			a.Body.Close()
		}
		done <- err
	}()
	until(t, "the read", func() bool { return x.held.Load() > 0 })
	cancel()
	if err := <-done; err == nil {
		t.Error("an answer")
	}
	until(t, "the end of the read", func() bool { return x.dropped.Load() > 0 && g.meter.active.Load() == 0 })
	x.lift()
	a := opened(t.Context(), t, c, url+"/slice/d/v.b2nd?s=20")
	if a.Body.Close(); a.StatusCode != 200 {
		t.Error(a.Status)
	}
}

// TestHTTP2SlowSource: a source that is slower than a client may be ends no answer.
func TestHTTP2SlowSource(t *testing.T) {
	want := longObject()
	g := newGround(t, Config{Stall: 500 * time.Millisecond}, simstore.Latency(700*time.Millisecond))
	g.put(t, "long", want)
	url, c := secure(t, g)
	var wg sync.WaitGroup
	for _, path := range []string{"/raw/d/long", "/slice/d/v.b2nd?s=1&format=raw"} {
		wg.Go(func() {
			a := opened(t.Context(), t, c, url+path)
			defer a.Body.Close()
			if p, err := io.ReadAll(a.Body); err != nil || int64(len(p)) != a.ContentLength || a.ProtoMajor != 2 {
				t.Errorf("%s: %s, %d bytes of %d, %v", path, a.Status, len(p), a.ContentLength, err)
			}
		})
	}
	wg.Wait()
}
