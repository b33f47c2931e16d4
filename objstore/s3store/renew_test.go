package s3store_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/s3store"
	"github.com/farread/farread/rangeio"
)

// sessions is a source of credentials as containers have it, and a store that takes
// those of one session. The n-th session that was asked for has the key ASIA<n>.
type sessions struct {
	asked atomic.Int64
	valid atomic.Int64 // session that the store takes
	stuck bool         // the source has one session, whoever asks

	refused atomic.Int64 // requests that have come after the session ended
}

func (s *sessions) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	n := s.asked.Add(1)
	if s.stuck {
		n = 1
	}
	fmt.Fprintf(w, `{"AccessKeyId":"ASIA%d","SecretAccessKey":"S","Token":"T%d","Expiration":%q}`, n, n, time.Now().Add(time.Hour).Format(time.RFC3339))
}

// taken reports whether a request was signed in the present session; if not, it refuses it.
func (s *sessions) taken(w http.ResponseWriter, r *http.Request) bool {
	if strings.Contains(r.Header.Get("Authorization"), fmt.Sprintf("Credential=ASIA%d/", s.valid.Load())) {
		return true
	}
	fault(400, "ExpiredToken")(w, r)
	return false
}

// TestExpiredCredentials: if the store takes a session no more, the source is asked for
// another one, once for all requests side by side, and the read goes on, for a first Get as
// for its hedge. A source that has no other one ends the read.
func TestExpiredCredentials(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	late := func(s *sessions, d time.Duration, w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(d):
			if s.taken(w, r) {
				goodLong(w, r)
			}
		case <-r.Context().Done():
		}
	}
	const wait = 1300 * time.Millisecond // longer than the second after which a Get is hedged
	for name, c := range map[string]struct {
		stuck bool
		two   bool                                                                    // reads side by side
		nth   func(s *sessions, n int64, w http.ResponseWriter, r *http.Request) bool // answers request n after the session ended; false: as usual
		err   error
		// of the read after the session ended
		requests, retries, hedged, asked int64
	}{
		"two side by side": {two: true, nth: func(s *sessions, n int64, _ http.ResponseWriter, r *http.Request) bool {
			for n <= 2 && s.refused.Load() < 2 && r.Context().Err() == nil { // both were signed before either was refused
				s.refused.CompareAndSwap(n-1, n)
				time.Sleep(time.Millisecond)
			}
			return false
		}, requests: 4, retries: 2, asked: 1},
		"no other one": {stuck: true, err: objstore.ErrDenied, requests: 1, asked: 1},
		"of the hedge": {nth: func(s *sessions, n int64, w http.ResponseWriter, r *http.Request) bool { // the first was sent in time
			if n == 1 {
				<-r.Context().Done()
			}
			return n == 1
		}, requests: 3, retries: 1, hedged: 1, asked: 1},
		"of both": {nth: func(s *sessions, n int64, w http.ResponseWriter, r *http.Request) bool {
			switch n {
			case 1: // refused after its hedge
				late(s, wait, w, r)
			case 2, 3, 4: // the hedge, and its repetition, are slower
				late(s, wait, w, r)
			default:
				return false
			}
			return true
		}, requests: 4, retries: 2, hedged: 1, asked: 1},
		"of the rest of a body": {nth: func(_ *sessions, n int64, w http.ResponseWriter, r *http.Request) bool {
			if n == 1 {
				w.Header().Set("ETag", `"v1"`)
				w.Header().Set("Last-Modified", changed.Format(http.TimeFormat))
				w.Header().Set("Content-Range", "bytes 1000-1999/100000")
				w.Header().Set("Content-Length", "1000")
				w.WriteHeader(http.StatusPartialContent)
				_, _ = w.Write(bytes.Repeat([]byte("x"), 300))
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}
			return n == 1
		}, requests: 3, retries: 2, hedged: 1, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sessions{stuck: c.stuck}
			s.valid.Store(1)
			source := httptest.NewServer(s)
			defer source.Close()
			t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", source.URL)
			var n atomic.Int64
			var ended atomic.Bool
			store := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if ended.Load() && c.nth != nil && c.nth(s, n.Add(1), w, r) {
					return
				}
				if s.taken(w, r) {
					goodLong(w, r)
				}
			}))
			defer store.Close()
			var count objstore.Counter
			b, err := s3store.New(t.Context(), s3store.Config{Bucket: "one", Endpoint: store.URL, Counter: &count, MaxWait: time.Nanosecond})
			if err != nil {
				t.Fatal(err)
			}
			defer b.CloseIdleConnections()
			ob, err := objstore.Open(t.Context(), objstore.Hedge(&objstore.Pace{})(b), "k", objstore.OpenOptions{Head: 1, Counter: &count, Policy: rangeio.Policy{}})
			if err != nil {
				t.Fatal(err)
			}
			before := count.Stats()
			s.valid.Store(2)
			ended.Store(true)
			spans := []rangeio.Span{{Off: 1000, P: make([]byte, 1000)}}
			if c.two {
				spans = append(spans, rangeio.Span{Off: 50_000, P: make([]byte, 1000)})
			}
			err = ob.ReadRanges(t.Context(), spans)
			after := count.Stats()
			if !errors.Is(err, c.err) || err == nil && !bytes.Equal(spans[0].P, bytes.Repeat([]byte("x"), 1000)) {
				t.Errorf("%v", err)
			}
			got := [4]int64{after.Requests - before.Requests, after.Retries - before.Retries, after.Hedged - before.Hedged, s.asked.Load() - 1}
			if want := [4]int64{c.requests, c.retries, c.hedged, c.asked}; got != want {
				t.Errorf("requests, retries, hedges, sessions: %d, want %d", got, want)
			}
		})
	}
}
