package analyze_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/tracetest"
	"github.com/farread/farread/objstore"
	"github.com/farread/farread/objstore/memstore"
	"github.com/farread/farread/rangeio"
)

// hours is a file of 500 s of noise at 1 kHz, in i16 and f64.
func hours(t *testing.T) []byte {
	t.Helper()
	rate := zoomcache.Rate{Num: 1000, Den: 1}
	o := zoomcache.WriteOptions{Watermark: -1, Tracks: []zoomcache.Track{
		{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I16}, Rate: rate}, {Number: 2, Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: rate}}}
	o.Sink = zoomindex.NewBuilder(o.Tracks, zoomindex.WriteOptions{})
	var out bytes.Buffer
	w, err := zoomcache.NewWriter(&out, o)
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(7, 8))
	ints, floats := make([]int16, 1000), make([]float64, 1000)
	for at := range 500 {
		for i := range ints {
			ints[i] = int16(rnd.IntN(200) + at)
			floats[i] = float64(ints[i]) / 3
		}
		if err := errors.Join(zoomcache.WriteSamples(w.Track(1), ints), zoomcache.WriteSamples(w.Track(2), floats), w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestSeriesRequests: answers over long windows of a long series read summaries, and samples
// at the windows' edges; and Explain lists those before.
func TestSeriesRequests(t *testing.T) {
	t.Parallel()
	p := hours(t)
	var log tracetest.Log
	mem := memstore.New(memstore.Config{Name: "s3://b"})
	if _, err := objstore.Put(t.Context(), mem, "x.zoom", bytes.NewReader(p), objstore.PutOptions{}); err != nil {
		t.Fatal(err)
	}
	b := objstore.Chain(mem, log.Middleware())
	o, err := objstore.Open(t.Context(), b, "x.zoom", objstore.OpenOptions{Head: 8 << 10, Tail: 32 << 10, Policy: rangeio.Lean()})
	if err != nil {
		t.Fatal(err)
	}
	f, err := zoomindex.Open(t.Context(), o, zoomcache.Options{Head: 8 << 10})
	if err != nil {
		t.Fatal(err)
	}
	log.Step("open")
	for _, c := range []struct {
		title string
		q     seriesQuestion
	}{
		{"extremes of all floats: from what was read with the index", seriesQuestion{2, "", "", "", "count,nan,min,max"}},
		{"means of all integers: from a level whose sums are exact", seriesQuestion{1, "", "", "", "count,mean,min,max"}},
		{"extremes by windows: samples at the edges", seriesQuestion{2, "", "", "100s", "min,max"}},
		{"means of integers by windows", seriesQuestion{1, "0.001", "", "250", "mean"}},
		{"means of floats: all samples", seriesQuestion{2, "", "", "250", "mean"}},
	} {
		s, err := analyze.NewSeries(t.Context(), f, c.q.options(t))
		if err != nil {
			t.Fatal(err)
		}
		log.Step(c.title + ", planned")
		plan, err := s.Explain(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		a, err := s.Run(t.Context(), analyze.Options{Jobs: 1})
		if err != nil {
			t.Fatal(err)
		}
		local := c.q.options(t)
		local.BySamples = true
		got := fmt.Sprint(a.Shape, a.Axes, "\n", text(a.Results))
		if want, _ := ofSeries(t, zoom(t, p), local, analyze.Options{}); got != want {
			t.Errorf("%s: %s, by samples %s", c.title, got, want)
		}
		r := s.Report()
		log.Note(fmt.Sprintf("%d of %d samples, %d spans in %d bytes, %d parts, %d requests planned", r.Read, r.Samples, r.Spans, r.SpansBytes, s.Parts(), len(plan)))
		log.Note(text(a.Results[:1]))
		log.Step(c.title)
	}
	log.Golden(t, "testdata/series.trace")
}
