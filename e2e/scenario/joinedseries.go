package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/farread/farread"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/objstore"
)

// CSVs that are uploaded below joinSeriesPrefix become one series.
const (
	joinSeriesPrefix = "minutes/"
	joinedSeriesKey  = "minutes.zoom"
)

// joinedSeries is joined of minutes that are CSVs: they become one series in the order of
// their names, and one that is replaced has its new samples there.
func joinedSeries(t *testing.T, r *session) {
	t.Helper()
	const minutes = 4
	values := make([][]float64, minutes)
	put := func(n, rows int, step float64) {
		t.Helper()
		var text strings.Builder
		text.WriteString("time,level\n")
		values[n] = nil
		for i := range rows {
			v := float64(100*n) + float64(i)*step
			values[n] = append(values[n], v)
			fmt.Fprintf(&text, "2026-11-27T07:%02d:%02dZ,%g\n", n, i, v)
		}
		r.put(t, fmt.Sprintf("%s%02d.csv", joinSeriesPrefix, n), []byte(text.String()))
	}
	for _, n := range []int{2, 0, 3, 1} {
		put(n, 20+n, 1)
	}
	r.wantSeries(t, values)
	put(1, 30, 0.5)
	r.wantSeries(t, values)
	var got struct{ Unchanged, Uploads int }
	text := r.cli(t, "backfill", "s3://"+r.Uploads+"/"+joinSeriesPrefix, "--rules", r.rulesFile(t), "--json")
	if err := json.Unmarshal(text, &got); err != nil || got.Unchanged != minutes {
		t.Errorf("%s, %v", text, err)
	}
	r.wantSeries(t, values)
	r.cli(t, "verify", "s3://"+r.Datasets+"/"+joinedSeriesKey)
}

// wantSeries waits for the series of all uploads, and reads it.
func (r *session) wantSeries(t *testing.T, values [][]float64) {
	t.Helper()
	uri, want := "s3://"+r.Datasets+"/"+joinedSeriesKey, slices.Concat(values...)
	until(t, func() (bool, string, error) {
		for n := range values {
			if text, err := read(t.Context(), r.datasets, functions.ErrorKey(fmt.Sprintf("%s%02d.csv", joinSeriesPrefix, n))); err == nil {
				return false, uri, errors.New(text)
			}
		}
		f, err := r.client.OpenZoom(t.Context(), uri, farread.ZoomOptions{})
		if errors.Is(err, objstore.ErrNotFound) || errors.Is(err, objstore.ErrChanged) {
			return false, uri, nil
		}
		if err != nil {
			return false, uri, err
		}
		var got []float64
		err = f.EachPacket(t.Context(), 1, zoomcache.FirstOffset, zoomcache.LastOffset, func(p *zoomcache.Packet) error {
			got = append(got, p.Values.F64...)
			return nil
		})
		if err != nil && !errors.Is(err, objstore.ErrChanged) {
			return false, uri, err
		}
		return slices.Equal(got, want), fmt.Sprintf("%s has %d samples, which are not those of all uploads, %d", uri, len(got), len(want)), nil
	})
}
