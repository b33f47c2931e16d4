package zoomindex

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/rangeio"
)

// PixelOptions are options of Pixels.
type PixelOptions struct {
	// MaxRead is the most stored bytes that Pixels reads for the points: pages of spans, or
	// samples, or without an index the file. If it had to read more, the error is
	// formats.ErrTooLarge, and they are not read. 0 means no limit.
	MaxRead int64
	// MaxPixels is the most pixels that a range may have, or the error is
	// formats.ErrTooLarge. 0 means MaxWidth.
	MaxPixels int
}

// Pixels sums up the samples of a track of constant rate in points of exactly span
// offsets each, as waveforms have them. Point 0 begins at from, or, if the track begins
// later, as many whole spans later; View.Start is where. The point that has the offset to
// is the last one, and is whole. The first and the last point have what samples there are;
// a point without samples is left out. Point.Entry less View.Start, divided by span, tells
// which pixel a point is.
//
// With an index, Pixels reads the coarsest level, or bins, whose spans lie in one pixel
// each; the pages of the index tell which. If there are none, it reads the samples, and
// so it does without an index. Costs are those of View.
//
// If there is no such track, the error is ErrNoEntry. If its rate varies or span is below
// 1, it is ErrUnsupported.
func (f *File) Pixels(ctx context.Context, track int32, from, to, span int64, o PixelOptions) (View, error) {
	t, err := f.Track(track)
	if err != nil {
		return View{}, err
	}
	where := fmt.Sprintf("track %d", track)
	if t.Variable || span < 1 {
		return View{}, fail(where, formats.ErrUnsupported, "pixels of %d samples, rate varies: %v", span, t.Variable)
	}
	ix, err := f.ix.open(ctx, f)
	if err != nil {
		return View{}, err
	}
	if m := ix.about(t); m == nil || !m.part {
		if err := o.limit(where, f.r.Size(), span); err != nil {
			return View{}, err
		}
		if f.plan != nil { // where the track begins is not known in a plan
			return f.viewSamples(ctx, t, from, to, 1)
		}
	}
	entry, exit, err := f.bounds(ctx, t)
	if err != nil {
		return View{}, err
	}
	from, to = cutPixels(from, to, entry, exit, span)
	if from > to {
		return View{}, nil
	}
	n := uint64(to-from)/uint64(span) + 1
	most := MaxWidth
	if o.MaxPixels > 0 {
		most = min(most, o.MaxPixels)
	}
	if n > uint64(most) {
		return View{}, fail(where, formats.ErrTooLarge, "%d pixels of %d samples, %d allowed", n, span, most)
	}
	last := from + int64((n-1)*uint64(span)) // where the last pixel begins
	if span-1 > math.MaxInt64-last {
		return View{}, fail(where, formats.ErrUnsupported, "pixels of %d samples: the last one ends beyond all offsets", span)
	}
	grid := parts{from, last + span - 1, n}
	out, err := f.pixels(ctx, t, grid, span, o)
	out.Start = grid.a
	return out, err
}

func (f *File) pixels(ctx context.Context, t *zoomcache.Track, grid parts, span int64, o PixelOptions) (View, error) {
	for {
		ix, err := f.ix.open(ctx, f)
		if err != nil {
			return View{}, err
		}
		m := ix.about(t)
		if m == nil || !m.part {
			return f.viewSamples(ctx, t, grid.a, grid.b, int(grid.width))
		}
		v := &indexView{f: f, t: t, ix: ix, from: grid.a, to: grid.b, width: int(grid.width)}
		out, err := v.pixels(ctx, span, o)
		if err == nil || !errors.Is(err, index.ErrUnusable) {
			return out, err
		}
		f.ix.drop(ix)
	}
}

// cutPixels cuts a range to the offsets of a track. The grid of pixels stays where it is.
func cutPixels(from, to, entry, exit, span int64) (a, b int64) {
	switch {
	case from == zoomcache.FirstOffset:
		from = entry
	case from < entry:
		from += int64(uint64(entry-from) / uint64(span) * uint64(span))
	}
	return from, min(to, exit)
}

// pixels makes a view of spans that lie in one part each, or else of samples.
func (v *indexView) pixels(ctx context.Context, span int64, o PixelOptions) (View, error) {
	levels, where := v.levels(), fmt.Sprintf("track %d", v.t.Number)
	unit := unitOf(levels, uint64(span))
	for _, s := range levels {
		if !v.fits(s, unit.of(s), uint64(span)) {
			continue
		}
		i, j := v.over(s)
		if err := o.limit(where, size(s, i, j), span); err != nil {
			return View{}, err
		}
		out, err := v.pixelSpans(ctx, s, span)
		if !errors.Is(err, errAcross) {
			return out, err
		}
		break
	}
	if o.MaxRead > 0 {
		list, err := v.f.ExplainPackets(ctx, v.t.Number, v.from, v.to)
		if err == nil {
			err = o.limit(where, planned(list), span)
		}
		if err != nil {
			return View{}, err
		}
	}
	if v.section(sectionRuns, 0) == nil {
		return v.f.viewSamples(ctx, v.t, v.from, v.to, v.width)
	}
	return v.gathered(rangeio.OnePhase(ctx), v.lister())
}

// limit refuses to read more than MaxRead bytes for pixels of a length.
func (o PixelOptions) limit(where string, n, span int64) error {
	if o.MaxRead > 0 && n > o.MaxRead {
		return fail(where, formats.ErrTooLarge, "%d bytes to read for pixels of %d samples, %d allowed", n, span, o.MaxRead)
	}
	return nil
}

func planned(list []rangeio.Planned) (n int64) {
	for _, r := range list {
		n += r.Len
	}
	return n
}

// A spanUnit is how many samples the spans of a level have if all have as many.
type spanUnit struct {
	level int64
	size  uint64 // 0: not known
}

// of is how many samples the spans of a section should have.
func (u spanUnit) of(s *index.Section) uint64 {
	if s.Kind == sectionBins {
		return uint64(s.Level)
	}
	return u.size << uint64(s.Level-u.level)
}

// unitOf finds the length of the spans of the finest level that is no bins. If the level
// has but one page, whose last span may be shorter, it is the longest of which a pixel is
// a multiple; few spans may have many such lengths, and then it is not known.
func unitOf(levels []*index.Section, pixel uint64) (u spanUnit) {
	const most = 4096
	for _, s := range levels {
		if s.Kind == sectionBins {
			break
		}
		u.level, u.size = s.Level, 0
		p := &s.Pages[0]
		n, count := uint64(p.Last-p.First)+1, uint64(max(p.Count, 1))
		switch {
		case len(s.Pages) > 1:
			u.size = n / count
		case count > 1:
			for k := (n - 1) / (count - 1); k >= (n+count-1)/count && k+most > (n-1)/(count-1); k-- {
				if pixel%k == 0 {
					u.size = k
					break
				}
			}
		}
	}
	return u
}

// fits reports whether, as its pages tell, the spans of a section in the range have size
// samples, of which a pixel is a multiple, and begin where a pixel begins or a whole
// number of them later. What pages tell is a mean; the spans themselves are looked at when
// they are there.
func (v *indexView) fits(s *index.Section, size, pixel uint64) bool {
	if size == 0 || pixel%size != 0 {
		return false
	}
	i, j := v.over(s)
	for k := i; k < j; k++ {
		p := &s.Pages[k]
		n, count := uint64(p.Last-p.First)+1, uint64(p.Count)
		spans := n / size
		if n%size != 0 {
			if spans++; k < len(s.Pages)-1 && s.Kind != sectionBins { // bins begin anew with each packet
				return false
			}
		}
		if spans != count || uint64(p.First-v.from)%size != 0 {
			return false
		}
	}
	return i < j
}

// errAcross tells that a span lies across pixels.
var errAcross = errors.New("a span lies across pixels")

// pixelSpans makes a view of the spans of a section, page by page. They may be many more
// than the points.
func (v *indexView) pixelSpans(ctx context.Context, s *index.Section, span int64) (View, error) {
	out := View{Indexed: true, Level: int(s.Level)}
	l := layout{kind: indexKind(v.t.Codec), width: v.t.Codec.Width(), bin: s.Kind == sectionBins}
	why := fmt.Sprintf("pages of level %d", s.Level)
	if l.bin {
		out.Level, out.Bin = 0, s.Level
		why = fmt.Sprintf("bins of %d", s.Level)
	}
	i, j := v.over(s)
	if total := size(s, i, j); total > min(v.f.Limits().MaxMeta, v.ix.Trailer.Len) {
		return out, fail("index", formats.ErrTooLarge, "%d bytes of pages", total)
	}
	g := &spanGroups{t: v.t, parts: parts{v.from, v.to, uint64(v.width)}}
	c := &cells{width: l.width}
	var last *int64
	err := v.ix.Each(ctx, v.payload(), index.Parts{Section: s, I: i, J: j}, why, func(k int, page []byte) error {
		c.entry, c.exit, c.n, c.st = c.entry[:0], c.exit[:0], c.n[:0], c.st[:0]
		if err := v.u.page(l, page, &s.Pages[k], c); err != nil {
			return err
		}
		for n := range c.len() {
			entry, exit := c.entry[n], c.exit[n]
			switch {
			case last != nil && entry <= *last || exit < entry:
				return index.ErrUnusable
			case exit < v.from || entry > v.to:
			case entry < v.from || uint64(entry-v.from)/uint64(span) != uint64(exit-v.from)/uint64(span):
				return errAcross
			default:
				g.add(&group{entry: entry, exit: exit, n: c.n[n], st: c.at(n)})
			}
			last = &exit
		}
		return nil
	})
	if err != nil {
		if errors.Is(err, errAcross) {
			return out, errAcross
		}
		return out, v.wrap(err)
	}
	out.Points = g.points(false)
	return out, nil
}

// ExplainPixels lists the requests that Pixels would make, as ExplainView does. If the
// spans of an index prove to lie across pixels, Pixels reads samples besides, which the
// list has not got.
func (f *File) ExplainPixels(ctx context.Context, track int32, from, to, span int64, o PixelOptions) ([]rangeio.Planned, error) {
	dry := f.dry()
	o.MaxRead = 0
	_, err := dry.Pixels(ctx, track, from, to, span, o)
	return dry.plan.Requests(), err
}
