package httpstore_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
	"github.com/farread/farread/rangeio"
)

// TestRangeIgnored: of a server that ignores ranges, an object of up to 256 KiB is read
// whole by the answer that opens it, however it is opened. A longer one is refused once
// bytes behind the head are wanted.
func TestRangeIgnored(t *testing.T) {
	for _, size := range []int{0, 1, 64 << 10, 64<<10 + 1, 256 << 10, 256<<10 + 1, 1 << 20} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i>>8) ^ byte(i*7)
		}
		var requests atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests.Add(1)
			w.Header().Set("Content-Length", strconv.Itoa(size))
			w.Header().Set("Last-Modified", time.Unix(1e9, 0).UTC().Format(http.TimeFormat))
			_, _ = w.Write(data)
		}))
		for name, o := range map[string]objstore.OpenOptions{
			"head":       {},
			"short head": {Head: 10},
			"into":       {Head: 256 << 10, Buf: make([]byte, 256<<10)},
			"short into": {Head: 1000, Buf: make([]byte, 1000)},
		} {
			b, err := httpstore.New(httpstore.Config{Base: s.URL})
			if err != nil {
				t.Fatal(err)
			}
			requests.Store(0)
			ob, err := objstore.Open(t.Context(), b, "k", o)
			if err != nil || ob.Size() != int64(size) || ob.Info().Whole {
				t.Fatalf("%s of %d: %v, %+v", name, size, err, ob.Info())
			}
			got := make([]byte, size)
			err = ob.ReadRanges(t.Context(), []rangeio.Span{{P: got}})
			switch fits := size <= max(int(o.Head), 256<<10); {
			case fits && (err != nil || !bytes.Equal(got, data) || requests.Load() != 1):
				t.Errorf("%s of %d: %v, or wrong bytes, %d requests", name, size, err, requests.Load())
			case !fits && !errors.Is(err, objstore.ErrBadRange):
				t.Errorf("%s of %d: %v", name, size, err)
			}
			b.CloseIdleConnections()
		}
		for name, o := range map[string]objstore.OpenOptions{"tail": {Tail: 100}, "tail alone": {Head: -1, Tail: 100}, "also": {Also: objstore.Range{Off: 5, Len: 1000}}} {
			b, err := httpstore.New(httpstore.Config{Base: s.URL})
			if err != nil {
				t.Fatal(err)
			}
			ob, err := objstore.Open(t.Context(), b, "k", o)
			if size > 256<<10 {
				continue
			}
			if err != nil {
				t.Fatalf("%s of %d: %v", name, size, err)
			}
			got := make([]byte, size)
			if err := ob.ReadRanges(t.Context(), []rangeio.Span{{P: got}}); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s of %d: %v, or wrong bytes", name, size, err)
			}
			b.CloseIdleConnections()
		}
		s.Close()
	}
}
