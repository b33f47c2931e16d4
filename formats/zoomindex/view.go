package zoomindex

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
)

// A Point sums up a span of samples.
type Point struct {
	Entry, Exit int64 // offsets of the first and the last sample
	Count       int64 // samples of each channel
	// Channels have Min and Max of the samples, exactly; Mean and RMS, rounded if they
	// come from an index; and First and Last if they are known. NaN do not count. An
	// index has no mean and no RMS of numbers beyond float32: then Mean is the middle
	// between Min and Max, and RMS is NaN. For Bool, the numbers are Expected, Mean
	// (the share of true values) and RMS. Unit has only a count. If the file has no
	// packets, the numbers are those of its summaries.
	Channels []zoomcache.Stats
}

// A View shows a track from afar, in a few points.
type View struct {
	Points []Point
	// Level is the level of the spans or summaries from which the View was made. 0
	// means that it was made from samples, or, if Bin is not 0, from bins of Bin
	// samples.
	Level int
	Bin   int64
	// Indexed says that an index was used.
	Indexed bool
	// Start is the offset at which the first pixel begins, in a View of Pixels.
	Start int64
}

// MaxWidth bounds the width of a View.
const MaxWidth = 1 << 20

// mostRaw is how many bytes of the file a view at constant rate reads if spans would
// give it three quarters of its points. With both ends of the file, and the end of an
// index beside it, that is half a MiB.
const mostRaw = 440 << 10

// View sums up the samples of a track with offsets in [from, to] in about width points.
// It divides the range into width equal parts. The spans that begin in a part make one
// point, so a point may begin before from or end behind to. No sample in the range is
// left out, and none counts twice. If no span begins in a part, or the part lies in a
// gap of variable rate, it has no point. The range from FirstOffset to LastOffset has
// all samples. The View belongs to the caller.
//
// With an index, View reads the coarsest level of at least width spans. If there is
// none, it reads bins finer than packets, and if these are too few, packets. After
// Open, the first View costs one planned read of the end of the file; each View costs
// at most one more, rarely two. Without an index, View reads the packets of the track
// as EachPacket does; if the range has no bounds, it makes another pass before. For a
// file without packets it reads the stored summaries. An index that proves to be wrong
// counts as none.
//
// If there is no such track, the error is ErrNoEntry. If width is below 1 or above
// MaxWidth, it is ErrUnsupported. Damage is an error as in EachBlock.
func (f *File) View(ctx context.Context, track int32, from, to int64, width int) (View, error) {
	t, err := f.Track(track)
	if err != nil {
		return View{}, err
	}
	if width < 1 || width > MaxWidth {
		return View{}, fail(fmt.Sprintf("track %d", track), formats.ErrUnsupported, "a width of %d", width)
	}
	if from > to {
		return View{}, nil
	}
	for {
		ix, err := f.ix.open(ctx, f)
		if err != nil {
			return View{}, err
		}
		m := ix.about(t)
		if m == nil || !m.part {
			break
		}
		v := &indexView{f: f, t: t, ix: ix, from: from, to: to, width: width}
		out, err := v.view(ctx)
		if err == nil || !errors.Is(err, index.ErrUnusable) {
			return out, err
		}
		f.ix.drop(ix)
	}
	return f.viewSamples(ctx, t, from, to, width)
}

// parts divides offsets from a to b into width equal parts.
type parts struct {
	a, b  int64
	width uint64
}

// of is the part that has an offset. An offset outside of [a, b] is in the first or the
// last part.
func (p parts) of(off int64) int {
	off = min(max(off, p.a), p.b)
	hi, lo := bits.Mul64(uint64(off-p.a), p.width)
	span := uint64(p.b-p.a) + 1
	if span == 0 {
		return int(hi)
	}
	q, _ := bits.Div64(hi, lo, span)
	return int(q)
}

// until is the last offset of the part that has off.
func (p parts) until(off int64) int64 {
	k := uint64(p.of(off)) + 1
	if k == p.width {
		return p.b
	}
	span := uint64(p.b-p.a) + 1
	hi, lo := bits.Mul64(k, span)
	if span == 0 {
		hi, lo = k, 0
	}
	q, rest := bits.Div64(hi, lo, p.width)
	if rest > 0 {
		q++
	}
	return p.a + int64(q) - 1
}

// viewSamples makes a view of samples, which it reads in one pass.
func (f *File) viewSamples(ctx context.Context, t *zoomcache.Track, from, to int64, width int) (View, error) {
	if from == zoomcache.FirstOffset || to == zoomcache.LastOffset {
		entry, exit, err := f.bounds(ctx, t)
		if err != nil {
			return View{}, err
		}
		if f.plan == nil {
			from, to = max(from, entry), min(to, exit)
		}
		if from > to {
			return View{}, nil
		}
	}
	g := newSampleGroups(t, from, to, width)
	err := f.EachPacket(ctx, t.Number, from, to, func(p *zoomcache.Packet) error {
		g.add(p)
		return nil
	})
	if err != nil {
		return View{}, err
	}
	if points := g.points(); len(points) > 0 || f.plan != nil {
		return View{Points: points}, nil
	}
	c, err := f.total(ctx, t)
	if err != nil || c.Samples > 0 { // the samples are outside of the range
		return View{}, err
	}
	return f.viewSummaries(ctx, t, from, to, width)
}

// bounds are the least and the greatest offset of a track.
func (f *File) bounds(ctx context.Context, t *zoomcache.Track) (entry, exit int64, err error) {
	if t.Variable { // stamps may go back inside a packet; its header does not tell
		entry, exit = math.MaxInt64, math.MinInt64
		err := f.EachPacket(ctx, t.Number, zoomcache.FirstOffset, zoomcache.LastOffset, func(p *zoomcache.Packet) error {
			entry, exit = min(entry, slices.Min(p.Stamps)), max(exit, slices.Max(p.Stamps))
			return nil
		})
		if err != nil || entry <= exit || f.plan != nil {
			return entry, exit, err
		}
	}
	c, err := f.total(ctx, t)
	return c.Entry, c.Exit, err
}

// sampleGroups gathers samples in the parts of a range, in any order.
type sampleGroups struct {
	t     *zoomcache.Track
	parts parts
	of    map[int]*group
}

type group struct {
	entry, exit int64
	n           int64
	st          []stat
}

func newSampleGroups(t *zoomcache.Track, from, to int64, width int) *sampleGroups {
	return &sampleGroups{t: t, parts: parts{from, to, uint64(width)}, of: make(map[int]*group)}
}

// add takes in the samples of a packet. All of them lie in the range.
func (g *sampleGroups) add(p *zoomcache.Packet) {
	for i := 0; i < int(p.Count); {
		off := p.Offset(i)
		end := g.parts.until(off)
		j := i + 1
		lo, hi := off, off
		if p.Stamps == nil {
			j = i + int(min(int64(p.Count)-int64(i), end-off+1))
			hi = p.Offset(j - 1)
		} else {
			k := g.parts.of(off)
			for ; j < int(p.Count) && g.parts.of(p.Stamps[j]) == k; j++ {
				lo, hi = min(lo, p.Stamps[j]), max(hi, p.Stamps[j])
			}
		}
		g.gather(g.parts.of(off), lo, hi, &p.Values, i, j)
		i = j
	}
}

func (g *sampleGroups) gather(k int, lo, hi int64, v *zoomcache.Values, i, j int) {
	x := g.of[k]
	if x == nil {
		x = &group{entry: lo, exit: hi, st: make([]stat, g.t.Codec.Width())}
		g.of[k] = x
	}
	x.entry, x.exit = min(x.entry, lo), max(x.exit, hi)
	x.n += int64(j - i)
	for c := range x.st {
		s := gather(v, c, len(x.st), i, j)
		x.st[c].join(&s)
	}
}

// points returns the points in order.
func (g *sampleGroups) points() []Point {
	out := make([]Point, 0, len(g.of))
	for k := 0; len(out) < len(g.of); k++ {
		if x := g.of[k]; x != nil {
			out = append(out, point(g.t.Codec.Kind, x, true))
		}
	}
	return out
}

// point makes a point of a group, for a track of that kind.
func point(k zoomcache.Kind, x *group, ends bool) Point {
	return pointIn(make([]zoomcache.Stats, len(x.st)), k, x, ends)
}

// pointIn is point with memory for its channels.
func pointIn(room []zoomcache.Stats, k zoomcache.Kind, x *group, ends bool) Point {
	p := Point{Entry: x.entry, Exit: x.exit, Count: x.n, Channels: room}
	for c := range x.st {
		p.Channels[c] = x.st[c].stats(k, ends)
	}
	return p
}

func (s *stat) stats(k zoomcache.Kind, ends bool) zoomcache.Stats {
	var o zoomcache.Stats
	switch {
	case k == zoomcache.Unit:
		o.Count = int32(min(s.n, math.MaxInt32))
		return o
	case k == zoomcache.Bool:
		o.Mean, o.RMS = s.means()
		o.Expected = o.Mean
		return o
	case s.big != nil:
		o.Min, o.Max, o.First, o.Last = zoomcache.NewBig(s.big.min), zoomcache.NewBig(s.big.max), zoomcache.NewBig(s.big.first), zoomcache.NewBig(s.big.last)
	default:
		o.Min, o.Max = number(k, s.min), number(k, s.max)
		if s.valid == 0 {
			o.Min, o.Max = zoomcache.NewFloat(k, math.NaN()), zoomcache.NewFloat(k, math.NaN())
		}
		if ends {
			o.First, o.Last = number(k, s.first), number(k, s.last)
		}
	}
	o.Mean, o.RMS = s.means()
	lo, hi := o.Min.Float(), o.Max.Float()
	switch {
	case o.Mean != o.Mean:
		o.Mean = lo + float64((hi-lo)/2)
		if math.IsInf(hi-lo, 0) {
			o.Mean = float64(lo/2) + float64(hi/2)
		}
	default:
		o.Mean = min(max(o.Mean, lo), hi) // rounding may move it outside
	}
	if size := max(math.Abs(lo), math.Abs(hi)); o.RMS == 0 && o.Mean != 0 || math.IsInf(o.RMS, 0) && !math.IsInf(size, 0) {
		o.RMS = math.NaN() // the squares are beyond the range of floats
	}
	return o
}

// viewSummaries makes a view of the stored summaries of a file without samples.
func (f *File) viewSummaries(ctx context.Context, t *zoomcache.Track, from, to int64, width int) (View, error) {
	levels := make(map[int]int)
	best := func() int {
		level := 0
		for l, n := range levels {
			if n >= width && l > level {
				level = l
			}
		}
		if level == 0 && levels[1] > 0 {
			return 1
		}
		return level
	}
	err := f.EachSummary(ctx, t.Number, zoomcache.EveryLevel, from, to, func(s *zoomcache.Summary) error {
		levels[int(s.Level)]++
		return nil
	})
	level := best()
	if err != nil || level == 0 {
		return View{}, err
	}
	g := &spanGroups{t: t, parts: parts{from, to, uint64(width)}}
	err = f.EachSummary(ctx, t.Number, level, from, to, func(s *zoomcache.Summary) error {
		x := group{entry: s.Entry, exit: max(s.Entry, s.Exit), n: s.Exit - s.Entry + 1}
		for i := range s.Channels {
			x.st = append(x.st, storedStat(t.Codec, &s.Channels[i], x.n))
		}
		g.add(&x)
		return nil
	})
	return View{Points: g.points(!t.Codec.PCM), Level: level}, err
}

// storedStat makes a stat of a summary in the file.
func storedStat(c zoomcache.Codec, s *zoomcache.Stats, n int64) stat {
	x := stat{n: max(n, 1), valid: max(n, 1)}
	switch c.Kind {
	case zoomcache.Unit:
		x.n = int64(s.Count)
		return x
	case zoomcache.Bool:
		x.sum = s.Expected * float64(x.n)
		x.sq = x.sum
		return x
	case zoomcache.Integer:
		x.big = &bigStat{s.Min.Big(), s.Max.Big(), s.First.Big(), s.Last.Big()}
	default:
		x.min, x.max = keyOf(c.Kind, s.Min), keyOf(c.Kind, s.Max)
		x.first, x.last = keyOf(c.Kind, s.First), keyOf(c.Kind, s.Last)
	}
	x.sum, x.sq = s.Mean*float64(x.n), s.RMS*s.RMS*float64(x.n)
	return x
}

// keyOf is the opposite of number.
func keyOf(k zoomcache.Kind, v zoomcache.Number) uint64 {
	switch k {
	case zoomcache.F64:
		return f64Key(v.Float())
	case zoomcache.F32:
		return f32Key(float32(v.Float()))
	default:
		if k.Unsigned() {
			x, _ := v.Uint()
			return intKey(x, keyWidth(k), false)
		}
		x, _ := v.Int()
		return intKey(x, keyWidth(k), true)
	}
}

// spanGroups joins spans that come in order into points.
type spanGroups struct {
	t     *zoomcache.Track
	parts parts
	list  []group
	part  int
	keeps bool   // the stats of spans that are added are not used again, and need no copy
	stats []stat // for copies
}

// add takes in a span. Spans that begin in the same part, or touch each other, become
// one point.
func (g *spanGroups) add(x *group) {
	k := g.parts.of(x.entry)
	if n := len(g.list); n > 0 {
		last := &g.list[n-1]
		if k == g.part || x.entry <= last.exit {
			last.exit = max(last.exit, x.exit)
			last.n += x.n
			for c := range last.st {
				last.st[c].join(&x.st[c])
			}
			return
		}
	}
	g.part = k
	y := *x
	if !g.keeps {
		const atATime = 256
		n := len(x.st)
		if len(g.stats) < n {
			g.stats = make([]stat, atATime*n)
		}
		y.st, g.stats = g.stats[:n:n], g.stats[n:]
		copy(y.st, x.st)
	}
	g.list = append(g.list, y)
}

func (g *spanGroups) points(ends bool) []Point {
	out, n := make([]Point, len(g.list)), 0
	for i := range g.list {
		n += len(g.list[i].st)
	}
	room := make([]zoomcache.Stats, n)
	for i := range g.list {
		x := &g.list[i]
		n := len(x.st)
		out[i] = pointIn(room[:n:n], g.t.Codec.Kind, x, ends)
		room = room[n:]
	}
	return out
}
