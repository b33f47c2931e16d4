package analyze_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
)

func parsed(tb testing.TB, text string) *predicate.Expr {
	tb.Helper()
	e, err := predicate.Parse(text)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// TestSeriesWhere: the answers about samples that match are the same whether the index says where
// they may be, or all samples are looked at.
func TestSeriesWhere(t *testing.T) {
	t.Parallel()
	const n = 40_123
	plain, indexed := recording(t, n, false), recording(t, n, true)
	for _, c := range []struct {
		q     seriesQuestion
		where string
	}{
		{seriesQuestion{1, "13.37", "60", "7", everything}, "v > 0.5"},
		{seriesQuestion{1, "", "", "50s", "count,nan,min,max"}, "v < -1e5 or v > 1e5"},
		{seriesQuestion{2, "", "", "", "count,min,max,mean,sum"}, "v < -990 or v > 32000"},
		{seriesQuestion{2, "", "", "100.01s", "count,max"}, "not v > 5"},
		{seriesQuestion{3, "", "", "5000", "min,max,nan,count"}, "v >= 2"},
		{seriesQuestion{3, "", "", "", everything}, "v == 1"},
		{seriesQuestion{4, "", "", "", "mean,sum,count"}, "v == true"},
		{seriesQuestion{6, "", "9", "", "argmax,argmin,std"}, "v > 1e12"},
		{seriesQuestion{1, "", "", "", "count,min"}, "v > 1e300"},
		{seriesQuestion{6, "", "", "", "count,min,max"}, "v >= 0"},
	} {
		o := c.q.options(t)
		o.Where = parsed(t, c.where)
		want, _ := ofSeries(t, zoom(t, plain), o, analyze.Options{Jobs: 1})
		got, _ := ofSeries(t, zoom(t, indexed), o, analyze.Options{Jobs: 2})
		if got != want {
			t.Errorf("%+v: by the index %s, want %s", c, got, want)
		}
		o.PartBytes = 20 << 10
		if got, _ := ofSeries(t, zoom(t, indexed), o, analyze.Options{Jobs: 3}); got != want {
			t.Errorf("%+v: in parts %s, want %s", c, got, want)
		}
	}
	o := seriesQuestion{5, "", "", "", "count"}.options(t)
	o.Where = parsed(t, "v > 1")
	if _, err := analyze.NewSeries(t.Context(), zoom(t, indexed), o); !errors.Is(err, formats.ErrUnsupported) || !strings.Contains(err.Error(), "events have no values") {
		t.Error(err)
	}
	o = seriesQuestion{1, "", "", "", "count"}.options(t)
	var bad *predicate.Error
	o.Where = parsed(t, ".x > 1")
	if _, err := analyze.NewSeries(t.Context(), zoom(t, indexed), o); !errors.As(err, &bad) {
		t.Error(err)
	}
}

// TestSeriesWhereReads: of numbers that ascend only those near the edge are read, and another
// comparison is another plan.
func TestSeriesWhereReads(t *testing.T) {
	t.Parallel()
	const n = 1 << 18
	values := make([]int32, n)
	for i := range values {
		values[i] = int32(i)
	}
	o := zoomcache.WriteOptions{Tracks: []zoomcache.Track{{Number: 1, Codec: zoomcache.Codec{Kind: zoomcache.I32}, Rate: zoomcache.Rate{Num: 100, Den: 1}}}}
	o.Sink = zoomindex.NewBuilder(o.Tracks, zoomindex.WriteOptions{})
	var out bytes.Buffer
	w, err := zoomcache.NewWriter(&out, o)
	if err == nil {
		err = errors.Join(zoomcache.WriteSamples(w.Track(1), values), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, c := range []struct {
		where, stats, want string
		most               int64
	}{
		{"v > 200000", "count,min,max", "bff2000000000000", 40_000},
		{"v >= 200000 and v < 200010", "count,sum,std", "0a00000000000000", 40_000},
		{"v < 0", "count,quantiles(0.5)", "0000000000000000", 0},
	} {
		q := seriesQuestion{1, "", "", "", c.stats}.options(t)
		q.Where = parsed(t, c.where)
		got, report := ofSeries(t, zoom(t, out.Bytes()), q, analyze.Options{})
		if !strings.Contains(got, c.want) || report.Read > c.most || report.Samples != n {
			t.Errorf("%+v: %s, %+v", c, got, report)
		}
		s, err := analyze.NewSeries(t.Context(), zoom(t, out.Bytes()), q)
		if err != nil || ids[s.ID()] {
			t.Error(err, "or the same plan as another")
		} else {
			ids[s.ID()] = true
		}
	}
}
