package farread

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/rangeio"
)

// TestStatsOfAnyClient: a client counts what it costs though nobody gave it a
// Counter, and what others have in a Counter that was given.
func TestStatsOfAnyClient(t *testing.T) {
	t.Parallel()
	data := payload("a", 1, 300_000)
	var sent atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent.Add(1)
		http.ServeContent(w, r, "x.bin", time.Unix(1, 0), bytes.NewReader(data))
	}))
	t.Cleanup(srv.Close)
	file := filepath.Join(t.TempDir(), "x.bin")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	shared := &objstore.Counter{}
	for uri, counter := range map[string]*objstore.Counter{srv.URL + "/x.bin": nil, file: nil, "file://" + file: shared} {
		c := New(Config{NoHedge: true, Counter: counter})
		t.Cleanup(c.CloseIdleConnections)
		if s := c.Stats(); s != (rangeio.Stats{}) {
			t.Errorf("%s: %+v before the first request", uri, s)
		}
		o, err := c.Open(t.Context(), uri)
		if err != nil {
			t.Fatal(err)
		}
		opened := c.Stats()
		if opened.Requests != 1 || opened.Phases != 1 || opened.Bytes == 0 {
			t.Errorf("%s: open: %+v", uri, opened)
		}
		p := make([]byte, 5000)
		if _, err := o.WithContext(t.Context()).ReadAt(p, 200_000); err != nil || !bytes.Equal(p, data[200_000:205_000]) {
			t.Fatal(err)
		}
		if s := c.Stats(); s.Requests != 2 || s.Phases != 2 || s.Bytes-opened.Bytes < 5000 {
			t.Errorf("%s: open and a read: %+v", uri, s)
		}
		if counter != nil && counter.Stats() != c.Stats() {
			t.Errorf("the counter has %+v, the client %+v", counter.Stats(), c.Stats())
		}
	}
	if n := sent.Load(); n != 2 {
		t.Errorf("the server saw %d requests", n)
	}
	if New(Config{NoHedge: true}).Stats() != (rangeio.Stats{}) {
		t.Error("clients share a counter")
	}
}
