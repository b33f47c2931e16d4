package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
)

func longSeries() []byte {
	rate := zoomcache.Rate{Num: 1000, Den: 1}
	o := zoomcache.WriteOptions{Watermark: -1, Tracks: []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.F32}, Rate: rate, Name: "left"}}}
	o.Sink = zoomindex.NewBuilder(o.Tracks, zoomindex.WriteOptions{})
	var b bytes.Buffer
	w, err := zoomcache.NewWriter(&b, o)
	must(err)
	p := make([]float32, 1024)
	for at := range 86400 * 1000 / 1024 / 8 {
		for i := range p {
			p[i] = float32(at*31%1000) + float32(i*i%1013)/7
		}
		must(zoomcache.WriteSamples(w.Track(1), p))
		must(w.Flush())
	}
	must(w.Close())
	return b.Bytes()
}

// BenchmarkView makes a view of 2,000 points of three hours at 1 kHz anew each time.
func BenchmarkView(b *testing.B) {
	g := newGround(b, Config{})
	g.put(b, "long.zoom", longSeries())
	for _, format := range []string{"npy", "json"} {
		b.Run(format, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				r, err := http.NewRequestWithContext(b.Context(), "GET", fmt.Sprintf("http://localhost/view/d/long.zoom?track=1&width=2000&format=%s&to=%d", format, 9000+i%1000), nil)
				must(err)
				g.ServeHTTP(nowhere{http.Header{}}, r)
			}
		})
	}
}
