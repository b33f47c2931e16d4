package zoomindex

import (
	"context"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/rangeio"
)

const (
	// rawLimit is how many bytes of spans or packets of variable rate a view reads
	// before it gives fewer points than asked for. If rawView bytes for each point are
	// more, they are the limit.
	rawLimit = 384 << 10
	// rawUnbinned is the limit for samples if the index has nothing finer than level 1,
	// as older ones have.
	rawUnbinned = 4 << 20
	// enough is the share of the points for which a level must have spans. Other points
	// may lie where pages meet, or in gaps.
	enough = 0.95
	// longColumns is how many points a span may cover before a finer level is tried.
	// Spans get so long if they have few samples and others have many.
	longColumns = 3
)

// uneven makes a view of a track of variable rate. It takes the coarsest level, or
// bins, whose spans begin in each of the view's points. If each such level takes too
// many bytes, it takes samples, and if these are too many, too, the finest level that
// is small enough. Where spans begin is known only once they are read. If they leave
// points empty, uneven tries the levels that it has already, and then makes one more
// request, for samples or the finest level.
func (v *indexView) uneven(ctx context.Context, levels []*index.Section) (View, error) {
	limit := max(rawLimit, int64(v.width)*rawView)
	best, bins := levels[0], false
	for _, s := range levels {
		i, j := v.over(s)
		if s != best && (size(s, i, j) > limit || v.long && !v.ix.Held(s, i, j)) {
			break
		}
		if best = s; v.columns(s) < enough*float64(v.width) {
			continue
		}
		v.long = false
		if out, err := v.spans(ctx, s); err != nil || !v.long {
			return out, err
		}
	}
	for _, s := range levels {
		if i, j := v.over(s); size(s, i, j) <= limit {
			best = s
		}
	}
	for _, s := range levels {
		bins = bins || s.Kind == sectionBins
	}
	if v.section(sectionRuns, 0) == nil {
		return v.spans(ctx, best)
	}
	pages, l := rangeio.OnePhase(ctx), v.lister()
	few, err := v.few(pages, l, limit)
	if err == nil && !few && !bins {
		var n int64
		l = v.lister()
		n, err = l.extent(pages)
		few = n > 0 && n <= rawUnbinned
	}
	switch {
	case err != nil:
		return View{Indexed: true}, err
	case !few:
		return v.spans(ctx, best)
	}
	return v.gathered(pages, l)
}

// columns estimates in how many points of a view spans of a section begin. The spans of
// a page count for no more points than the page covers.
func (v *indexView) columns(s *index.Section) float64 {
	i, j := s.Over(v.from, v.to)
	each := v.column()
	n := 0.0
	for _, p := range s.Pages[i:j] {
		lo, hi := max(p.First, v.from), min(p.Last, v.to)
		in := float64(hi) - float64(lo) + 1
		n += min(float64(p.Count)*in/(float64(p.Last)-float64(p.First)+1), max(in/each, 1))
	}
	return n
}

// column is the width of a point in offsets.
func (v *indexView) column() float64 {
	return (float64(v.to) - float64(v.from) + 1) / float64(v.width)
}

// few reports whether the packets of the range take at most limit bytes.
func (v *indexView) few(ctx context.Context, l *runLister, limit int64) (bool, error) {
	if r := l.byPlaces(ctx); r != nil {
		return r.own <= limit, nil
	}
	return l.below(ctx, limit)
}
