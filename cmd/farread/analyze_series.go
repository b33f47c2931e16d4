package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/farread/farread"
	"github.com/farread/farread/analyze"
	"github.com/farread/farread/formats/predicate"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/human"
)

const seriesLong = `Of a series (.zoom) the samples of a --track are asked about, of all its time or --from
and --to. --every 1h cuts the time into windows, which remain and are called by their
beginning; so do channels. Counts and extremes, and sums and means of integers, come
from the file's index where it tells them exactly, with samples at the windows' edges;
samples are read for all else.`

// A periodFlag is --every: lengths of windows in items, or in time for a series.
type periodFlag struct {
	items *[]int
	text  string
	bad   error // the text is not lengths in items
}

func (p *periodFlag) String() string { return p.text }
func (p *periodFlag) Type() string   { return "LENGTHS" }

// Set takes any text; what it means depends on what is analyzed.
func (p *periodFlag) Set(text string) error {
	*p.items, p.text, p.bad = nil, text, nil
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil {
			*p.items, p.bad = nil, usagef("--every %s: want numbers of items, such as 24 or 4,4", human.Printable(text))
			return nil
		}
		*p.items = append(*p.items, n)
	}
	return nil
}

// onlySeries refuses flags that are for series.
func (x *analysis) onlySeries(format string) error {
	for _, name := range []string{"track", "from", "to"} {
		if x.sel.has(name) {
			return usagef("--%s is for series, and this is a %s", name, format)
		}
	}
	return x.period.bad
}

// series plans the analysis of a track of a zoom-cache file.
func (x *analysis) series(ctx context.Context, t *zoomContent, list []analyze.Stat) (analyze.Work, error) {
	if err := x.sel.only(zoomcache.Format, "track", "from", "to", "where"); err != nil {
		return nil, err
	}
	if err := x.unfit(append([]string{"coarsen", "nearest"}, onlyItems...), "series"); err != nil {
		return nil, err
	}
	if x.over != nil {
		return nil, usagef("--over is for arrays: of a series the time is reduced, and channels are kept")
	}
	z, ok := t.d.Handle().(*farread.Zoom)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	k, err := t.track(x.sel)
	if err != nil {
		return nil, err
	}
	r, err := t.within(ctx, k, x.sel)
	if err != nil {
		return nil, err
	}
	if err := x.identify(ctx, t.d); err != nil {
		return nil, err
	}
	o := analyze.SeriesOptions{
		Track: k.Number, From: x.sel.fromTime, To: x.sel.toTime, Stats: list, PartBytes: int64(x.part), Memory: int64(x.a.flags.maxMemory) / 2,
		Source: x.source.String(),
	}
	if x.sel.has("where") {
		if o.Where, err = predicate.Parse(x.sel.where); err != nil {
			return nil, ofWhere(err)
		}
	}
	if x.period.text != "" {
		m, err := zoomcache.ParseMoment(x.period.text)
		if err != nil {
			return nil, usagef("--every: %s", human.Printable(err.Error()))
		}
		o.Every = &m
	}
	s, err := analyze.NewSeries(ctx, z.File, o)
	var where *predicate.Error
	switch {
	case errors.As(err, &where):
		return nil, ofWhere(err)
	case errors.Is(err, analyze.ErrQuestion), errors.Is(err, zoomcache.ErrNoRate):
		return nil, usagef("--every %s: %s", human.Printable(x.period.text), human.Printable(strings.TrimPrefix(err.Error(), analyze.ErrQuestion.Error()+": ")))
	case err != nil:
		return nil, err
	case s.Report().Samples == 0:
		return s, t.beside(ctx, k, r)
	}
	return s, nil
}

// seriesText says where the answers come from.
func seriesText(r *analyze.SeriesReport) string {
	text := human.Count(r.Read) + " of " + human.Plural(r.Samples, "sample")
	if r.Spans > 0 {
		text += fmt.Sprintf(", the others from %s of the index (%s), in ", human.Plural(r.Spans, "span"), human.Size(r.SpansBytes))
	} else {
		text += ", in "
	}
	return text
}
