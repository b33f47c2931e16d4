package httpstore_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/internal/pipetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
)

// nth answers request n with h[n-1], and later ones well.
func nth(h ...http.HandlerFunc) http.HandlerFunc {
	var n atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		if i := int(n.Add(1)); i <= len(h) {
			h[i-1](w, r)
			return
		}
		steady(w, r)
	}
}

func after(d time.Duration, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
			h(w, r)
		case <-r.Context().Done():
		}
	}
}

// TestSlowOnce: a server that is slow once costs a second and one request more.
func TestSlowOnce(t *testing.T) {
	never := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	busy := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	lost := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	const most = 1100 * time.Millisecond
	for name, c := range map[string]struct {
		h                         http.HandlerFunc
		least, most               time.Duration
		requests, retries, hedged int64
	}{
		"well":                     {steady, 0, 100 * time.Millisecond, 2, 0, 0},
		"no answer, once":          {nth(never), time.Second, most, 3, 0, 1},
		"no answer to a read":      {nth(steady, never), time.Second, most, 3, 0, 1},
		"stalls, once":             {nth(stalling(5000, time.Hour)), time.Second, most, 3, 1, 1},
		"a read stalls":            {nth(steady, stalling(5000, time.Hour)), time.Second, most, 3, 1, 1},
		"no answer, and a stall":   {nth(never, stalling(5000, time.Hour)), 2 * time.Second, time.Second + most, 4, 1, 2},
		"the second try is busy":   {nth(after(3*time.Second, steady), busy), 3 * time.Second, 2*time.Second + most, 3, 0, 1},
		"the second try is lost":   {nth(after(3*time.Second, steady), lost), 3 * time.Second, 2*time.Second + most, 3, 0, 1},
		"lost, and then no answer": {nth(lost, never), time.Second, 1300 * time.Millisecond, 4, 1, 1},
		"busy, and then no answer": {nth(busy, never), 10 * time.Second, 11 * time.Second, 4, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var n objstore.Counter
			took, err := pipetest.Virtual(t, c.h, func(t *testing.T, srv *pipetest.Server) error {
				t.Helper()
				b, err := httpstore.New(httpstore.Config{Base: "http://store/data", Transport: srv.Transport, Counter: &n})
				if err != nil {
					t.Fatal(err)
				}
				defer b.CloseIdleConnections()
				ob, err := objstore.Open(t.Context(), objstore.Hedge(&objstore.Pace{})(b), "k", objstore.OpenOptions{Counter: &n})
				if err == nil {
					_, err = ob.ReadAt(make([]byte, 1000), 90_000)
				}
				return err
			})
			s := n.Stats()
			if err != nil || took < c.least || took > c.most || s.Requests != c.requests || s.Retries != c.retries || s.Hedged != c.hedged {
				t.Errorf("after %v: %v; %+v", took, err, s)
			}
		})
	}
}
