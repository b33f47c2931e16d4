package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
)

// TestServeJoins: clients that ask for neighbouring chunks at about the same time share
// requests to the source. Which requests fall into the same 2 ms is up to the scheduler, so
// there are rounds.
func TestServeJoins(t *testing.T) {
	t.Parallel()
	const clients, rounds, row = 16, 40, 4096
	var o patchedFile
	w, err := b2nd.NewWriter(&o, b2nd.Meta{Shape: []int64{clients * rounds, row}, ChunkShape: []int{1, row}, DType: "|u1"}, b2nd.WriteOptions{Encode: blosc.EncodeOptions{Level: blosc.LevelStore}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range clients * rounds {
		if _, err := w.Write(bytes.Repeat([]byte{byte(i)}, row)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("ETag", `"one"`)
		http.ServeContent(w, r, "a.b2nd", time.Time{}, bytes.NewReader(o.Bytes()))
	}))
	defer source.Close()
	p, url := serving(t, source.URL+"/a.b2nd", "--as", "a", "--quiet")
	if status, text := fetched(t, url+"/info/a"); status != http.StatusOK {
		t.Fatal(status, text)
	}
	defer func() {
		p.signal(os.Interrupt)
		if code := p.wait(); code != exitOK {
			t.Errorf("exit %d", code)
		}
	}()
	most := int64(clients)
	for round := 2; round < rounds-10 && most >= clients; round++ { // head and tail of the file come with its opening
		before := asked.Load()
		var wg sync.WaitGroup
		for i := range clients {
			wg.Go(func() {
				k := round*clients + (i*7)%clients // in no order, so that nothing is read ahead
				if status, got := fetched(t, fmt.Sprintf("%s/slice/a?s=%d&format=raw", url, k)); status != http.StatusOK || got != string(bytes.Repeat([]byte{byte(k)}, row)) {
					t.Errorf("row %d: %d, %d bytes", k, status, len(got))
				}
			})
		}
		wg.Wait()
		if n := asked.Load() - before; n > 0 {
			most = min(most, n)
		}
	}
	if most >= clients {
		t.Errorf("%d clients made %d requests to the source in every round", clients, most)
	}
}
