package analyze_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/internal/racetest"
	"github.com/farread/farread/rangeio"
)

// A recording is a file with tracks of all sorts: 1 f64, 2 i16 of two channels, 3 f32 at
// variable rate with gaps, 4 bool, 5 events, 6 u64.
func recording(tb testing.TB, n int, indexed bool) []byte {
	tb.Helper()
	rate := zoomcache.Rate{Num: 100, Den: 1}
	o := zoomcache.WriteOptions{Watermark: -1, Origin: zoomcache.Origin{Day: 60000, Num: 0, Den: 1}, Tracks: []zoomcache.Track{
		{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.F64}, Rate: rate},
		{Number: 2, Codec: zoomcache.Codec{Kind: zoomcache.I16, Channels: 2}, Rate: rate},
		{Number: 3, Codec: zoomcache.Codec{Kind: zoomcache.F32}, Rate: zoomcache.Rate{Num: 1000, Den: 3}, Variable: true},
		{Number: 4, Codec: zoomcache.Codec{Kind: zoomcache.Bool}, Rate: rate},
		{Number: 5, Codec: zoomcache.Codec{Kind: zoomcache.Unit}, Rate: rate, Variable: true},
		{Number: 6, Codec: zoomcache.Codec{Kind: zoomcache.U64}, Rate: rate},
	}}
	if indexed {
		o.Sink = zoomindex.NewBuilder(o.Tracks, zoomindex.WriteOptions{})
	}
	var out bytes.Buffer
	w, err := zoomcache.NewWriter(&out, o)
	if err != nil {
		tb.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	stamp := int64(0)
	for at := 0; at < n; at += 200 {
		k := min(200, n-at)
		f, pairs, g, is, stamps, big := make([]float64, k), make([]int16, 2*k), make([]float32, k), make([]bool, k), make([]int64, k), make([]uint64, k)
		for i := range k {
			f[i], g[i] = math.Ldexp(r.NormFloat64(), r.IntN(40)-20), float32(r.IntN(5))-2
			pairs[2*i], pairs[2*i+1] = int16(r.IntN(2000)-1000), int16(r.IntN(1<<16)-1<<15)
			is[i], big[i] = r.IntN(3) == 0, r.Uint64()>>(10+r.IntN(50))
			if r.IntN(90) == 0 {
				f[i], g[i] = math.NaN(), float32(math.Inf(1))
			}
			if stamp += r.Int64N(7); r.IntN(900) == 0 {
				stamp += 60_000
			}
			stamps[i] = stamp
		}
		err := errors.Join(zoomcache.WriteSamples(w.Track(1), f), zoomcache.WriteSamples(w.Track(2), pairs), zoomcache.WriteSamplesAt(w.Track(3), stamps, g),
			zoomcache.WriteSamples(w.Track(4), is), zoomcache.WriteSamplesAt(w.Track(5), stamps, make([]struct{}, k)), zoomcache.WriteSamples(w.Track(6), big), w.Flush())
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func zoom(tb testing.TB, p []byte) *zoomindex.File {
	tb.Helper()
	f, err := zoomindex.Open(tb.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), zoomcache.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// A seriesQuestion is SeriesOptions as a test writes them.
type seriesQuestion struct {
	track                  int32
	from, to, every, stats string
}

func (q seriesQuestion) options(tb testing.TB) analyze.SeriesOptions {
	tb.Helper()
	moment := func(text string) *zoomcache.Moment {
		if text == "" {
			return nil
		}
		m, err := zoomcache.ParseMoment(text)
		if err != nil {
			tb.Fatal(err)
		}
		return &m
	}
	o := analyze.SeriesOptions{Track: q.track, From: moment(q.from), To: moment(q.to), Every: moment(q.every)}
	var err error
	if o.Stats, err = analyze.ParseStats(q.stats); err != nil {
		tb.Fatal(err)
	}
	return o
}

// ofSeries returns the answers as text, and where they come from.
func ofSeries(tb testing.TB, f *zoomindex.File, o analyze.SeriesOptions, run analyze.Options) (string, analyze.SeriesReport) {
	tb.Helper()
	s, err := analyze.NewSeries(tb.Context(), f, o)
	if err != nil {
		tb.Fatal(err)
	}
	a, err := s.Run(tb.Context(), run)
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprint(a.Shape, a.Axes, "\n", text(a.Results)), s.Report()
}

// TestSeriesSame: the answers are the same bytes from summaries and from samples, with an
// index and without, for parts of any size, in any number of jobs, and in pieces.
func TestSeriesSame(t *testing.T) {
	t.Parallel()
	const n = 80_123
	plain, indexed := recording(t, n, false), recording(t, n, true)
	for i, q := range []struct {
		seriesQuestion
		few bool // most of it comes from the index
	}{
		{seriesQuestion{1, "13.37", "60", "7", everything}, false},
		{seriesQuestion{1, "", "", "200s", "count,nan,min,max"}, true},
		{seriesQuestion{2, "", "", "", "count,min,max,mean,sum"}, true},
		{seriesQuestion{2, "", "", "260.01s", "mean,max"}, true},
		{seriesQuestion{2, "2023-02-25T00:13:00Z", "", "15", everything}, false},
		{seriesQuestion{3, "", "", "", "min,max,nan,count"}, true},
		{seriesQuestion{3, "", "", "5000", "min,max,nan,count"}, true},
		{seriesQuestion{3, "7", "500", "11", everything}, false},
		{seriesQuestion{4, "", "", "", "mean,sum,count"}, true},
		{seriesQuestion{5, "", "", "10000", "count"}, true},
		{seriesQuestion{6, "", "", "300", "min,max,mean"}, false},
		{seriesQuestion{6, "", "9", "", "argmax,argmin,std"}, false},
		{seriesQuestion{1, "1e6", "", "9", "min,count"}, false},
		{seriesQuestion{1, "1e6", "", "", "min,count,mean,argmin"}, false},
	} {
		if racetest.On && i%3 != 0 {
			continue
		}
		want, report := ofSeries(t, zoom(t, plain), q.options(t), analyze.Options{Jobs: 1})
		if report.Spans != 0 || report.Read != report.Samples {
			t.Errorf("%+v: without an index: %+v", q, report)
		}
		o := q.options(t)
		got, report := ofSeries(t, zoom(t, indexed), o, analyze.Options{Jobs: 2})
		if got != want {
			t.Errorf("%+v: by the index %s, want %s", q, got, want)
		}
		if q.few && report.Read*2 > report.Samples {
			t.Errorf("%+v: %+v", q, report)
		}
		for _, size := range []int64{20 << 10, 90 << 10} {
			o.BySamples, o.PartBytes = size > 50_000, size
			if got, _ := ofSeries(t, zoom(t, indexed), o, analyze.Options{Jobs: 3}); got != want {
				t.Errorf("%+v: in parts of %d %s, want %s", q, size, got, want)
			}
		}
		if got := seriesInPieces(t, indexed, o); got != want {
			t.Errorf("%+v: in pieces %s, want %s", q, got, want)
		}
	}
}

// seriesInPieces answers as machines do that share the parts.
func seriesInPieces(t *testing.T, p []byte, o analyze.SeriesOptions) string {
	t.Helper()
	a := pieces(t, func() (analyze.Work, error) { return analyze.NewSeries(t.Context(), zoom(t, p), o) })
	return fmt.Sprint(a.Shape, a.Axes, "\n", text(a.Results))
}

// TestSeriesRefused: what a series does not have is told, with the name of what was asked.
func TestSeriesRefused(t *testing.T) {
	t.Parallel()
	f := zoom(t, recording(t, 1000, true))
	for _, c := range []struct {
		q    seriesQuestion
		memo int64
		want error
		text string
	}{
		{seriesQuestion{9, "", "", "", "count"}, 0, formats.ErrNoEntry, "track 9"},
		{seriesQuestion{1, "", "", "", "min(.a)"}, 0, formats.ErrNoEntry, "min(.a): samples have no member"},
		{seriesQuestion{5, "", "", "", "count,mean"}, 0, formats.ErrUnsupported, "mean: events have no values"},
		{seriesQuestion{1, "", "", "-1", "min"}, 0, analyze.ErrQuestion, "a length of time"},
		{seriesQuestion{1, "", "", "0", "min"}, 0, analyze.ErrQuestion, "a length of time"},
		{seriesQuestion{1, "", "", "2024-01-01", "min"}, 0, analyze.ErrQuestion, "a length of time"},
		{seriesQuestion{1, "", "", "1ns", "min"}, 0, formats.ErrTooLarge, "windows"},
		{seriesQuestion{1, "", "", "1e-30", "min"}, 0, formats.ErrTooLarge, "windows"},
		{seriesQuestion{1, "", "", "0.1", "quantiles(0.5)"}, 1 << 18, formats.ErrTooLarge, "cells of about"},
	} {
		o := c.q.options(t)
		o.Memory = c.memo
		_, err := analyze.NewSeries(t.Context(), f, o)
		if !errors.Is(err, c.want) || err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v, want %v with %q", c.q, err, c.want, c.text)
		}
	}
}

// TestSeriesPlans: another file, time, windows, stats or parts are another plan.
func TestSeriesPlans(t *testing.T) {
	t.Parallel()
	f := zoom(t, recording(t, 3000, true))
	var ids []string
	for _, q := range []seriesQuestion{
		{1, "", "", "", "mean"}, {1, "1", "", "", "mean"}, {1, "", "9", "", "mean"}, {1, "", "", "7", "mean"}, {1, "0.001", "", "7", "mean"}, {6, "", "", "", "mean"}, {1, "", "", "", "sum"},
	} {
		for _, other := range []func(*analyze.SeriesOptions){
			func(*analyze.SeriesOptions) {}, func(o *analyze.SeriesOptions) { o.Source = "x" }, func(o *analyze.SeriesOptions) { o.PartBytes = 2000 },
		} {
			o := q.options(t)
			other(&o)
			s, err := analyze.NewSeries(t.Context(), f, o)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains(ids, s.ID()) {
				t.Errorf("%+v: the same plan as another", q)
			}
			ids = append(ids, s.ID())
		}
	}
}
