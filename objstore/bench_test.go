package objstore_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/httpstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// BenchmarkRead64 reads 64 small ranges by 64 requests, of memory and over HTTP: what an
// Object adds to each.
func BenchmarkRead64(b *testing.B) {
	data := randomBytes(32 << 20)
	mem := memstore.New(memstore.Config{})
	put(b, mem, "k", data)
	content := string(data)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v"`)
		http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(strings.NewReader(content), 0, int64(len(content))))
	}))
	defer srv.Close()
	web, err := httpstore.New(httpstore.Config{Base: srv.URL})
	if err != nil {
		b.Fatal(err)
	}
	defer web.CloseIdleConnections()
	for name, bucket := range map[string]objstore.Bucket{"memory": mem, "http": web} {
		b.Run(name, func(b *testing.B) {
			ob, err := objstore.Open(b.Context(), objstore.Hedge(&objstore.Pace{})(bucket), "k", objstore.OpenOptions{Head: 1, Pace: &objstore.Pace{}})
			if err != nil {
				b.Fatal(err)
			}
			spans := make([]rangeio.Span, 64)
			for i := range spans {
				spans[i] = rangeio.Span{Off: int64(i) << 19, P: make([]byte, 4096)}
			}
			before := ob.Stats().Requests
			b.ReportAllocs()
			for b.Loop() {
				if err := ob.ReadRanges(b.Context(), spans); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(ob.Stats().Requests-before)/float64(b.N), "requests/op")
		})
	}
}
