//go:build peers

package peers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/rangeio"
)

// A seriesJob is a file for analyze_series.py with questions about its tracks.
type seriesJob struct {
	Path   string            `json:"path"`
	Codecs map[string]string `json:"codecs"`
	Asked  []seriesAsked     `json:"asked"`
}

type seriesAsked struct {
	Track   int32      `json:"track"`
	Type    string     `json:"type"`
	Rate    [2]int64   `json:"rate"`
	From    string     `json:"from"`
	To      string     `json:"to"`
	Every   string     `json:"every"`
	Stats   string     `json:"stats"`
	Shape   []int64    `json:"shape"`
	Answers []answered `json:"answers"`

	spans int64
}

// TestAnalyzeSeries: NumPy is the judge of what analyze finds in series of all codecs, with an
// index and without, in the samples of a reader that others wrote.
func TestAnalyzeSeries(t *testing.T) {
	const short, long = 66, 12
	dir := t.TempDir()
	codecs := zoomCodecs(t)
	var jobs []seriesJob
	spans := int64(0)
	for i := range short + long {
		path := filepath.Join(dir, fmt.Sprintf("%d.zoom", i))
		r := seeded(uint64(7_000 + i))
		if i < short {
			zoomWrite(t, path, codecs, i, false)
		} else {
			longSeries(t, r, path, codecs[i%len(codecs)])
		}
		job := seriesJob{Path: path, Codecs: map[string]string{}, Asked: []seriesAsked{}}
		p, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := zoomindex.Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(p), int64(len(p))), zoomcache.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range f.Header().Tracks {
			job.Codecs[strconv.Itoa(int(k.Number))] = k.Codec.String()
			for range 3 {
				if q, ok := askSeries(t, r, f, &k, i >= short); ok {
					spans += q.spans
					job.Asked = append(job.Asked, q)
				}
			}
		}
		jobs = append(jobs, job)
	}
	text, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Checked int
		Faults  []string
	}
	runIn(t.Context(), t, bytes.NewReader(text), &got, "analyze_series.py")
	for _, f := range got.Faults {
		t.Error(f)
	}
	if got.Checked < 1000 || spans < 100 {
		t.Errorf("%d answers, from %d spans", got.Checked, spans)
	}
}

// longSeries writes a track that is so long that summaries serve.
func longSeries(t *testing.T, r random, path string, c zoomcache.Codec) {
	t.Helper()
	o := zoomcache.WriteOptions{Watermark: -1, Tracks: []zoomcache.Track{{Number: 1, Codec: c, Zlib: r.IntN(2) == 0, Rate: zoomcache.Rate{Num: 30000, Den: 1001}}}}
	o.Sink = zoomindex.NewBuilder(o.Tracks, zoomindex.WriteOptions{NoBins: r.IntN(2) == 0})
	var b bytes.Buffer
	w, err := zoomcache.NewWriter(&b, o)
	if err != nil {
		t.Fatal(err)
	}
	s := &series{track: o.Tracks[0]}
	for range 40 {
		if err := errors.Join(s.write(r, w.Track(1), 500+r.IntN(3)*500), w.Flush()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	saved(t, path, b.Bytes())
}

// askSeries asks something about a track.
func askSeries(t *testing.T, r random, f *zoomindex.File, k *zoomcache.Track, long bool) (q seriesAsked, ok bool) {
	t.Helper()
	q = seriesAsked{Track: k.Number, Type: k.Codec.Kind.ItemType(), Rate: [2]int64{k.Rate.Num, k.Rate.Den}}
	c, err := f.Extent(t.Context(), k.Number)
	if err != nil {
		t.Fatal(err)
	}
	if c.Samples == 0 {
		return q, false
	}
	lo, hi := k.Rate.Seconds(c.Entry), k.Rate.Seconds(c.Exit)
	at := func() string { return strconv.FormatFloat(lo+(hi-lo)*r.Float64(), 'f', r.IntN(4), 64) }
	if r.IntN(3) == 0 {
		q.From = at()
	}
	if r.IntN(3) == 0 {
		q.To = at()
	}
	if n := 1 + r.IntN(9); r.IntN(2) == 0 {
		if long {
			n = 2
		}
		q.Every = strconv.FormatFloat((hi-lo)/float64(n)+0.01, 'f', 3, 64)
	}
	q.Stats = []string{"count,nan,min,max", "min,max,count", "argmin,argmax,count,std,quantiles(0,0.3,1),hist(5,-100:100)", "sum,mean", "mean,max"}[r.IntN(5)]
	if long { // fractions take long
		q.Stats = strings.Replace(q.Stats, "std,", "", 1)
	}
	wide := []zoomcache.Kind{zoomcache.I64, zoomcache.Int, zoomcache.U64, zoomcache.Word}
	if k.Codec.Kind == zoomcache.Unit {
		q.Stats = "count"
	} else if q.Stats == "sum,mean" && slices.Contains(wide, k.Codec.Kind) { // a sum may take more than 64 bits
		q.Stats = "mean,min"
	}
	o := analyze.SeriesOptions{Track: k.Number, PartBytes: int64(2000 + r.IntN(20_000)), BySamples: r.IntN(4) == 0}
	for _, m := range []struct {
		text string
		to   **zoomcache.Moment
	}{{q.From, &o.From}, {q.To, &o.To}, {q.Every, &o.Every}} {
		if m.text == "" {
			continue
		}
		v, err := zoomcache.ParseMoment(m.text)
		if err != nil {
			t.Fatal(err)
		}
		*m.to = &v
	}
	if o.Stats, err = analyze.ParseStats(q.Stats); err != nil {
		t.Fatal(err)
	}
	s, err := analyze.NewSeries(t.Context(), f, o)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	a, err := s.Run(t.Context(), analyze.Options{Jobs: 1 + r.IntN(4)})
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	q.Shape, q.spans = a.Shape, s.Report().Spans
	for _, x := range a.Results {
		q.Answers = append(q.Answers, answered{x.Stat.Key(), x.Type.String(), x.Shape, x.Items, x.None})
	}
	return q, true
}
