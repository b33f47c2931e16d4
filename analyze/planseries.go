package analyze

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
)

// A SeriesPlan is the part of a Plan that says what is asked of a series: SeriesOptions.
// Moments are as zoomcache.ParseMoment reads them.
type SeriesPlan struct {
	Track     int32   `json:"track"`
	From      *string `json:"from,omitempty"`
	To        *string `json:"to,omitempty"`
	Every     *string `json:"every,omitempty"`
	Stats     string  `json:"stats"`
	Where     string  `json:"where,omitempty"`
	BySamples bool    `json:"by_samples,omitempty"`
	PartBytes int64   `json:"part_bytes"`
	Memory    int64   `json:"memory"`
}

// Plan returns the plan as data. src is what NewSeries was given as a string.
func (s *Series) Plan(src Source) *Plan {
	o := &s.o
	text := func(m *zoomcache.Moment) *string {
		if m == nil {
			return nil
		}
		t := m.String()
		return &t
	}
	p := newPlan(KindSeries, src, s)
	p.Series = &SeriesPlan{
		Track: o.Track, From: text(o.From), To: text(o.To), Every: text(o.Every), Stats: spelledStats(o.Stats), Where: whereText(o.Where),
		BySamples: o.BySamples, PartBytes: o.PartBytes, Memory: o.Memory,
	}
	return p
}

// OpenSeries plans again what the plan is of, as OpenArray does. It asks the index of the
// file once more.
func (p *Plan) OpenSeries(ctx context.Context, f *zoomindex.File, now Source, memory int64) (*Series, error) {
	if err := p.suits(KindSeries, now); err != nil {
		return nil, err
	}
	q := p.Series
	list, err := p.stats(q.Stats)
	if err != nil {
		return nil, err
	}
	o := SeriesOptions{Track: q.Track, Stats: list, BySamples: q.BySamples, PartBytes: q.PartBytes, Memory: q.Memory, Source: now.String(), room: max(memory, 1)}
	if q.Where != "" {
		if o.Where, err = predicate.Parse(q.Where); err != nil {
			return nil, err
		}
	}
	for _, m := range []struct {
		text *string
		to   **zoomcache.Moment
	}{{q.From, &o.From}, {q.To, &o.To}, {q.Every, &o.Every}} {
		if m.text == nil {
			continue
		}
		at, err := zoomcache.ParseMoment(*m.text)
		if err != nil {
			return nil, fmt.Errorf("%.80q: %w: %w", *m.text, zoomcache.ErrMoment, formats.ErrCorrupt)
		}
		*m.to = &at
	}
	s, err := NewSeries(ctx, f, o)
	if err != nil {
		return nil, err
	}
	return s, p.same(s)
}
