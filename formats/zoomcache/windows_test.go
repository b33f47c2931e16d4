package zoomcache

import (
	"errors"
	"math"
	"testing"
)

// TestWindows: window k has the samples that Offsets chooses for its time, and is called so.
func TestWindows(t *testing.T) {
	t.Parallel()
	utc := Origin{Day: 60000, Num: 1, Den: 2}
	for _, c := range []struct {
		rate         Rate
		origin       Origin
		begin, every string
		first        int64
		k            int64
		text         string
		offset       int64 // the first one of window k
	}{
		{Rate{1000, 1}, Origin{}, "", "1h", 1, 1, "3600", 3_600_000},
		{Rate{1000, 1}, utc, "", "1h", 1, 1, "2023-02-25T01:00:00.5Z", 3_600_000},
		{Rate{44100, 1}, Origin{}, "", "0.01", 1, 3, "0.03", 1323},
		{Rate{44100, 7}, Origin{}, "", "0.1", 1_000_000, 0, "158.7", 999_810},
		{Rate{1, 3}, Origin{}, "1", "3", 7, 1, "4", 2},
		{Rate{1000, 1}, Origin{}, "", "2s", -1, 0, "-2", -2000},
		{Rate{1000, 1}, utc, "2023-02-25", "1d", 5, 1, "2023-02-26T00:00:00Z", 86_399_500},
		{Rate{1, 1}, utc, "", "1e12", 5, 1, "1000000000000", 1_000_000_000_000},
	} {
		h := &Header{Origin: c.origin}
		k := &Track{Rate: c.rate}
		every, err := ParseMoment(c.every)
		if err != nil {
			t.Fatal(err)
		}
		var begin *Moment
		if c.begin != "" {
			m, err := ParseMoment(c.begin)
			if err != nil {
				t.Fatal(err)
			}
			begin = &m
		}
		w, err := h.Windows(k, begin, every, c.first)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
			continue
		}
		if got, text := w.First(c.k), w.Text(c.k); got != c.offset || text != c.text {
			t.Errorf("%+v: from %d on, %s", c, got, text)
		}
		if w.Of(c.offset) != c.k || w.Of(c.offset-1) != c.k-1 {
			t.Errorf("%+v: offsets around %d are in %d and %d", c, c.offset, w.Of(c.offset-1), w.Of(c.offset))
		}
		if c.begin == "" && w.Of(c.first) != 0 {
			t.Errorf("%+v: the first is in window %d", c, w.Of(c.first))
		}
		from, err := ParseMoment(w.Text(c.k))
		if err != nil {
			t.Fatal(err)
		}
		if first, _, err := h.Offsets(k, &from, nil); err != nil || first != c.offset {
			t.Errorf("%+v: Offsets begins at %d, %v", c, first, err)
		}
		if w.First(math.MaxInt64) < c.offset || w.Of(math.MinInt64) > 0 {
			t.Errorf("%+v: ends are %d, %d", c, w.First(math.MaxInt64), w.Of(math.MinInt64))
		}
	}
	h := &Header{}
	for _, c := range []struct {
		begin, every string
		rate         Rate
		want         error
	}{
		{"", "0", Rate{1, 1}, ErrMoment}, {"", "-1s", Rate{1, 1}, ErrMoment}, {"", "2024-01-01", Rate{1, 1}, ErrMoment},
		{"2024-01-01", "1", Rate{1, 1}, ErrNoOrigin}, {"", "1", Rate{0, 1}, ErrNoRate}, {"", "1", Rate{}, ErrNoRate},
	} {
		every, err := ParseMoment(c.every)
		if err != nil {
			t.Fatal(err)
		}
		var begin *Moment
		if c.begin != "" {
			m, _ := ParseMoment(c.begin)
			begin = &m
		}
		if _, err := h.Windows(&Track{Rate: c.rate}, begin, every, 1); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
