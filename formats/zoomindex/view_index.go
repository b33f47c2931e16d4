package zoomindex

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/rangeio"
)

// An indexView makes one View.
type indexView struct {
	f        *File
	t        *zoomcache.Track
	ix       *openIndex
	from, to int64
	width    int
	long     bool // a span covers several points
	u        unpacker
}

func (v *indexView) section(kind, level int64) *index.Section {
	return v.ix.Section(index.Name{Kind: kind, Of: int64(v.t.Number), Level: level})
}

func (v *indexView) view(ctx context.Context) (View, error) {
	levels := v.levels() // coarsest first
	if len(levels) == 0 {
		return View{}, index.ErrUnusable
	}
	// Cut the range to the offsets of the track.
	top := levels[0].Pages
	v.from, v.to = max(v.from, top[0].First), min(v.to, top[len(top)-1].Last)
	if v.from > v.to {
		return View{Indexed: true}, nil
	}
	if v.t.Variable {
		return v.uneven(ctx, levels)
	}
	for _, s := range levels {
		if v.estimate(s) >= float64(v.width) {
			return v.spans(ctx, s)
		}
	}
	if v.section(sectionRuns, 0) == nil {
		return v.spans(ctx, levels[len(levels)-1])
	}
	return v.packets(ctx, levels[len(levels)-1])
}

// levels lists the sections of the track, the coarsest first.
func (v *indexView) levels() []*index.Section {
	var out []*index.Section
	for level := int64(zoomcache.MaxLevel); level >= 1; level-- {
		if s := v.section(sectionLevel, level); s != nil && len(s.Pages) > 0 {
			out = append(out, s)
		}
	}
	var bins []*index.Section
	for i := range v.ix.Sections {
		s := &v.ix.Sections[i]
		if s.Kind == sectionBins && s.Of == int64(v.t.Number) && len(s.Pages) > 0 {
			bins = append(bins, s)
		}
	}
	for len(bins) > 0 {
		k := 0
		for i := range bins {
			if bins[i].Level > bins[k].Level {
				k = i
			}
		}
		out = append(out, bins[k])
		bins = append(bins[:k], bins[k+1:]...)
	}
	return out
}

// estimate is about how many spans of a section lie in the range.
func (v *indexView) estimate(s *index.Section) float64 {
	i, j := s.Over(v.from, v.to)
	n := 0.0
	for _, p := range s.Pages[i:j] {
		lo, hi := max(p.First, v.from), min(p.Last, v.to)
		n += float64(p.Count) * (float64(hi) - float64(lo) + 1) / (float64(p.Last) - float64(p.First) + 1)
	}
	return n
}

// spans makes a view of the spans of a section.
func (v *indexView) spans(ctx context.Context, s *index.Section) (View, error) {
	out := View{Indexed: true}
	l := layout{kind: indexKind(v.t.Codec), width: v.t.Codec.Width(), bin: s.Kind == sectionBins}
	i, j := v.over(s)
	var ends [][]byte
	why := fmt.Sprintf("bins of %d", s.Level)
	if out.Bin = s.Level; !l.bin {
		out.Level, out.Bin = int(s.Level), 0
		why = fmt.Sprintf("pages of level %d", s.Level)
		if e := v.section(sectionEnds, s.Level); e != nil && len(e.Pages) == len(s.Pages) && v.ix.Held(e, i, j) {
			var err error
			if ends, err = v.ix.Pages(ctx, index.Parts{Section: e, I: i, J: j}); err != nil {
				return out, err
			}
		}
	}
	if total := size(s, i, j); total > min(v.f.Limits().MaxMeta, v.ix.Trailer.Len) {
		return out, fail("index", formats.ErrTooLarge, "%d bytes of pages", total)
	}
	c := &cells{width: l.width}
	err := v.ix.Each(ctx, v.payload(), index.Parts{Section: s, I: i, J: j}, why, func(k int, page []byte) error {
		n := c.len()
		if n == 0 {
			c.grow(min(spansOf(s, i, j), 4*v.width, mostStats/max(c.width, 1)))
		}
		if err := v.u.page(l, page, &s.Pages[k], c); err != nil || ends == nil {
			return err
		}
		return v.u.ends(l, ends[k-i], c, c.len()-n)
	})
	if err != nil {
		return out, v.wrap(err)
	}
	g := &spanGroups{t: v.t, parts: parts{v.from, v.to, uint64(v.width)}, keeps: true}
	lo, hi, err := v.inside(c)
	g.list = make([]group, 0, min(hi-lo, v.width))
	long := longColumns * v.column()
	for i := lo; i < hi; i++ {
		v.long = v.long || c.n[i] > 1 && float64(c.exit[i])-float64(c.entry[i]) > long
		g.add(&group{entry: c.entry[i], exit: c.exit[i], n: c.n[i], st: c.at(i)})
	}
	out.Points = g.points(ends != nil)
	return out, err
}

// payload is the Reader for pages of spans.
func (v *indexView) payload() rangeio.Reader {
	switch {
	case v.f.plan == nil:
		return v.ix.r
	case v.ix.beside:
		return v.f.plan.Over(v.ix.r, index.Suffix)
	}
	return v.f.plan.Over(v.ix.r, "")
}

// over returns the pages with spans that touch the range, and the pages with spans
// that share an offset with those.
func (v *indexView) over(s *index.Section) (i, j int) {
	i, j = s.Over(v.from, v.to)
	for i > 0 && i < j && s.Pages[i-1].Last >= s.Pages[i].First {
		i--
	}
	for j > i && j < len(s.Pages) && s.Pages[j].First <= s.Pages[j-1].Last {
		j++
	}
	return i, j
}

// inside returns the spans [lo, hi) that touch the range, and the spans that share
// an offset with those: a point must cover all samples of its offsets.
func (v *indexView) inside(c *cells) (lo, hi int, err error) {
	for i := 1; i < c.len(); i++ {
		if c.entry[i] < c.exit[i-1] {
			return 0, 0, index.ErrUnusable
		}
	}
	lo = sort.Search(c.len(), func(i int) bool { return c.exit[i] >= v.from })
	hi = lo + sort.Search(c.len()-lo, func(i int) bool { return c.entry[lo+i] > v.to })
	if lo == hi {
		return lo, hi, nil
	}
	for lo > 0 && c.exit[lo-1] >= c.entry[lo] {
		lo--
	}
	for hi < c.len() && c.exit[hi-1] >= c.entry[hi] {
		hi++
	}
	return lo, hi, nil
}

// mostStats bounds the room that is made before pages are read, by what they say.
const mostStats = 1 << 16

// spansOf is how many spans pages [i, j) say they have, or mostStats if that is less.
func spansOf(s *index.Section, i, j int) int {
	n := int64(0)
	for k := i; k < j && n < mostStats; k++ {
		n += min(s.Pages[k].Count, mostStats)
	}
	return int(min(n, mostStats))
}

func size(s *index.Section, i, j int) (n int64) {
	for k := i; k < j; k++ {
		n += s.Pages[k].Len()
	}
	return n
}

func (v *indexView) wrap(err error) error {
	if errors.Is(err, index.ErrUnusable) {
		return err
	}
	return wrapRead(-1, err)
}

// packets makes a view of the samples in the range. If the samples would be too many
// bytes, and the finest spans are nearly as many as the points, it takes the spans.
func (v *indexView) packets(ctx context.Context, finest *index.Section) (View, error) {
	pages, l := rangeio.OnePhase(ctx), v.lister()
	if v.estimate(finest) >= float64(v.width)*3/4 {
		n, err := l.extent(pages)
		if err != nil {
			return View{Indexed: true}, err
		}
		if n > mostRaw { // short packets, or many tracks
			return v.spans(ctx, finest)
		}
	}
	return v.gathered(pages, l)
}

// gathered makes a view of the samples in the range.
func (v *indexView) gathered(pages context.Context, l *runLister) (View, error) {
	out := View{Indexed: true}
	g := newSampleGroups(v.t, v.from, v.to, v.width)
	err := v.samples(pages, l, func(p *zoomcache.Packet) error {
		g.add(p)
		return nil
	})
	out.Points = g.points()
	return out, err
}
