package zoomindex

import (
	"context"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/rangeio"
)

const (
	// rawLimit is how many bytes of spans or of packets of variable rate a view reads
	// before it is content with fewer points than asked for; rawView for each of its
	// points, where that is more.
	rawLimit = 384 << 10
	// rawUnbinned is how many bytes of samples are read where the index has nothing finer
	// than level 1, as those of before had.
	rawUnbinned = 4 << 20
	// enough is which part of its points a level must serve: the rest lies where pages
	// meet, or in gaps between them.
	enough = 0.95
	// longColumns is how many points a span may go over before something finer is looked
	// at: so long are those of few samples between others of many.
	longColumns = 3
)

// uneven makes a view of a track of variable rate: of the coarsest level, or bins, with a
// span for each of its points, wherever in the range they lie. Where there is none that
// takes few enough bytes it is of samples, or where these are too many, too, of the
// finest that does. Whether the spans lie so is known once they are read: where they do
// not, those that are at hand are tried, and then it is the samples or the finest, by
// one request more.
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

// columns says in about how many of the points of a view spans of a section begin: of
// those of one page at most in as many as it goes over.
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

// column is how many offsets a point has.
func (v *indexView) column() float64 {
	return (float64(v.to) - float64(v.from) + 1) / float64(v.width)
}

// few says whether the packets of the range take at most limit bytes.
func (v *indexView) few(ctx context.Context, l *runLister, limit int64) (bool, error) {
	if r := l.byPlaces(ctx); r != nil {
		return r.own <= limit, nil
	}
	return l.below(ctx, limit)
}
