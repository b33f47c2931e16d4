package zoom_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions/zoom"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
)

// hum is a series of f64 at 1 kHz with noise in every bit.
type hum struct{ from, to int }

func (h hum) About() zoom.About {
	return zoom.About{Format: "test", Bytes: int64(h.to-h.from) * 8, Tracks: []zoomcache.Track{
		{Number: 1, Name: "hum", Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: zoomcache.Rate{Num: 1000, Den: 1}}}}
}

func (h hum) Each(_ context.Context, rows int, fn func(*zoom.Block) error) error {
	v := make([]float64, rows)
	for at := h.from; at < h.to; at += rows {
		n := min(rows, h.to-at)
		for i := range n {
			x := uint64(at+i)*0x9E3779B97F4A7C15 + 1
			x ^= x >> 29
			v[i] = float64(int64(x*0xBF58476D1CE4E5B9)) / math.MaxInt64
		}
		err := fn(&zoom.Block{Columns: []zoom.Column{{Values: zoomcache.Values{Kind: zoomcache.F64, N: n, F64: v[:n]}}}, Done: int64(at+n-h.from) * 8})
		if err != nil {
			return err
		}
	}
	return nil
}

// TestAppendTrace: a minute behind a series of 200 MB and of 25 MB: what is read is the index that
// ends the file, the last packet and the summaries that wait, not the file. What is over 6 MiB
// of the index lies between the packets, and is neither read nor sent.
func TestAppendTrace(t *testing.T) {
	var log tracetest.Log
	most := map[bool]int64{true: 11 << 20, false: 5 << 20} // of a long series 6 MiB of index and a quarter more
	for _, mb := range []int{25, 200} {
		c, a, size := minute(t, &log, racetest.Share(mb<<17, 16))
		did := c.Stats()
		sent := a.Size - a.Kept
		log.Note(fmt.Sprintf("%d bytes, %d kept, %d new", size, a.Kept, sent))
		log.Step(fmt.Sprintf("a minute behind %d MB", mb))
		if a.Whole != "" || did.Requests > 20 || did.Bytes > most[mb > 100] || sent > most[mb > 100]+(2<<20) {
			t.Errorf("%d MB: %+v: %d requests, %d phases, %d bytes read, %d new", mb, a, did.Requests, did.Phases, did.Bytes, sent)
		}
		t.Logf("%d MB: %d requests, %d phases, %d bytes read, %d new", mb, did.Requests, did.Phases, did.Bytes, sent)
	}
	if !racetest.On {
		log.Golden(t, "testdata/append.trace")
	}
}

// minute appends a minute to a series of n samples.
func minute(t *testing.T, log *tracetest.Log, n int) (*objstore.Counter, zoom.Appended, int64) {
	t.Helper()
	m := memstore.New(memstore.Config{Name: "s3://b"})
	w, err := m.Create(t.Context(), "x.zoom", objstore.PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	if _, err := zoom.Write(t.Context(), w, hum{0, n}, zoom.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := &objstore.Counter{}
	b := objstore.Chain(m, log.Middleware(), objstore.Count(c))
	o, err := objstore.Open(t.Context(), b, "x.zoom", objstore.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "tail"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a, err := zoom.Append(t.Context(), o, f, hum{n, n + 60_000}, zoom.AppendOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c, a, o.Size()
}
