package zoomindex

import (
	"context"
	"errors"
	"math"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
)

// A Known is what an index says exactly of the samples of a span.
type Known struct {
	Entry, Exit int64 // offsets of the first and the last sample
	Count       int64 // samples of each channel
	Channels    []KnownChannel

	spans int64 // of the index
}

// A KnownChannel is what an index says exactly of one channel in a span.
type KnownChannel struct {
	NaN      int64            // samples that are NaN
	Min, Max zoomcache.Number // of the samples that are not; absent if there are none, and for Unit
	// Sum is the sum, if Summed. Floats have none: the mean in the index is rounded. That of
	// integers gives the sum back if it is so small that no other integer is as near.
	Sum    int64
	Summed bool
}

// A Range is the offsets from From to To, both included.
type Range struct{ From, To int64 }

// ExactOptions say which spans of an index serve.
type ExactOptions struct {
	// Until returns the last offset of the window that an offset lies in. Spans that reach
	// into the next one do not serve.
	Until func(off int64) int64
	// Sums says that only spans with sums serve.
	Sums bool
	// Longest is how many offsets a span has at most, about; 0: any number. Whoever looks for few
	// samples wants short spans.
	Longest int64
	// None says that no span serves: all samples are wanted.
	None bool
}

// An Exactly says what File.Exact has found.
type Exactly struct {
	Rest    []Range // ascending, without those in which the track has no sample
	Spans   int64   // spans of the index that serve
	Read    int64   // bytes of pages that were read, or were there already
	Indexed bool    // EachPacket of a range reads only the packets in it
}

// Exact calls fn for spans of a track in [from, to] of which the index tells minimum,
// maximum and counts, those of all samples with offsets from Entry to Exit, and returns the ranges that are left: their samples and the spans are
// all samples in [from, to], and no sample is in both. It takes spans of the level, or the
// bins, with which pages and samples that are left are about the fewest bytes. If spans have
// no exact sum, and sums are asked for, it looks once more, at a level that may have them.
// Without an index all is left.
//
// To find the index costs as much as for the first View, and then Exact makes one planned
// read, rarely more. If the error matches index.ErrUnusable, the index is wrong and no
// longer used: what fn was told does not count, and Exact can be called again.
func (f *File) Exact(ctx context.Context, track int32, from, to int64, o ExactOptions, fn func(k *Known) error) (Exactly, error) {
	all := Exactly{Rest: []Range{{from, to}}}
	t, err := f.Track(track)
	if err != nil || from > to {
		return Exactly{}, err
	}
	ix, err := f.ix.open(ctx, f)
	if err != nil {
		return Exactly{}, err
	}
	m := ix.about(t)
	if m == nil || !m.part {
		return all, nil
	}
	x := &exactly{v: &indexView{f: f, t: t, ix: ix}, o: o, fn: fn, bytes: sampleBytes(t, m)}
	levels := x.v.levels()
	if len(levels) == 0 {
		return all, nil
	}
	top := levels[0].Pages
	all.Rest[0] = Range{max(from, top[0].First), min(to, top[len(top)-1].Last)}
	all.Indexed = x.v.section(sectionRuns, 0) != nil
	if all.Rest[0].From > all.Rest[0].To {
		all.Rest = nil
		return all, nil
	}
	x.out = all
	if o.None {
		return all, nil
	}
	if err = x.look(ctx, levels); errors.Is(err, index.ErrUnusable) {
		f.ix.drop(ix)
	}
	return x.out, err
}

// sampleBytes is about how many bytes the samples of an offset take.
func sampleBytes(t *zoomcache.Track, m *trackMeta) float64 {
	size := t.Codec.Size()
	if size < 0 {
		size = 4 // as for binSizes
	}
	n := float64(max(size, 1) * t.Codec.Width())
	if t.Variable {
		n += stampBytes
	}
	return n * float64(m.count.Samples) / (float64(m.count.Exit) - float64(m.count.Entry) + 1)
}

// exactly makes one call of Exact.
type exactly struct {
	v     *indexView
	o     ExactOptions
	fn    func(k *Known) error
	bytes float64 // of the samples of an offset
	out   Exactly

	// Of the section that is looked at.
	l       layout
	ranges  []Range // where it is looked at
	rest    []Range
	of      int     // number of the range that the last one of rest is in
	apart   bool    // spans behind the last one of rest were told
	wait    []Known // those that were not: what is left may begin again so soon that their samples are read, too
	unsumed float64 // the greatest sum that was too great
	group   []knownSpan
	free    [][]stat
}

// A knownSpan is a span whose partners are not known yet.
type knownSpan struct {
	entry, exit, n int64
	st             []stat
}

// look looks at the best section, and at finer ones for the sums that it does not have.
func (x *exactly) look(ctx context.Context, levels []*index.Section) error {
	s := x.best(levels)
	if s == nil {
		return nil
	}
	for {
		if err := x.section(ctx, s); err != nil {
			return err
		}
		if s = x.finer(s); s == nil {
			return nil
		}
	}
}

// finer is the level in which the spans may have the sums that those of a section had not. It
// is nil if there is none, or the samples alone take less.
func (x *exactly) finer(s *index.Section) *index.Section {
	if x.unsumed == 0 || s.Kind == sectionBins {
		return nil
	}
	// Spans of half the length have sums of about half the size.
	halves := min(math.Ceil(math.Log2(x.unsumed/mostSum)+0.5), zoomcache.MaxLevel)
	level := max(s.Level-int64(halves), 1)
	fine := x.v.section(sectionLevel, level)
	if level == s.Level || fine == nil {
		return nil
	}
	pages, samples := 0.0, 0.0
	for _, p := range x.pages(fine, x.out.Rest) {
		pages += float64(size(fine, p.I, p.J))
	}
	for _, r := range x.out.Rest {
		samples += float64((float64(r.To) - float64(r.From) + 1) * x.bytes)
	}
	if pages*2 > samples {
		return nil
	}
	return fine
}

// edgeCost is how many bytes a further request is worth.
const edgeCost = 64 << 10

// best is the section that takes the fewest bytes, with those of the samples that it
// leaves. It is nil if the samples alone take less.
func (x *exactly) best(levels []*index.Section) (best *index.Section) {
	r := x.out.Rest[0]
	least := float64((float64(r.To)-float64(r.From)+1)*x.bytes) + edgeCost
	for _, s := range levels {
		if p := s.Pages[0]; x.o.Longest > 0 && (p.Count < 1 || (p.Last-p.First)/p.Count >= x.o.Longest) {
			continue
		}
		cost := x.left(s, r)
		for _, p := range x.pages(s, x.out.Rest) {
			if !x.v.ix.Held(s, p.I, p.J) {
				cost += float64(size(s, p.I, p.J)) + edgeCost
			}
		}
		if cost < least {
			best, least = s, cost
		}
	}
	return best
}

// left estimates what the samples cost that lie in spans of a section across the ends of
// windows, as if the spans of a page were of one length.
func (x *exactly) left(s *index.Section, r Range) float64 {
	cost := 0.0
	i, j := s.Over(r.From, r.To)
	for _, p := range s.Pages[i:j] {
		if n := p.Last - p.First; n < 0 || n > 1<<62 || p.Count < 1 {
			return math.Inf(1)
		}
		step := (p.Last-p.First)/p.Count + 1
		each, last := float64(float64(step)*x.bytes)+edgeCost, int64(-1)
		across := func(next int64) { // a window begins at next
			if at := uint64(next - p.First); next <= p.Last && (x.v.t.Variable || at%uint64(step) != 0) && int64(at/uint64(step)) != last {
				last = int64(at / uint64(step))
				cost += each
			}
		}
		lo, hi := max(p.First, r.From), min(p.Last, r.To)
		if lo == r.From && lo > p.First {
			across(lo)
		}
		for off := lo; off <= hi; {
			end := x.o.Until(off)
			if end >= hi {
				if end = hi; hi == p.Last {
					break
				}
			}
			if across(end + 1); end == hi {
				break
			}
			if off = end + 1; (last+1)*step > hi-p.First {
				break
			}
			off = max(off, p.First+(last+1)*step) // spans in which several windows begin count once
		}
	}
	return cost
}

// pages are the pages of a section that have spans in some of the ranges.
func (x *exactly) pages(s *index.Section, ranges []Range) (out []index.Parts) {
	for _, r := range ranges {
		x.v.from, x.v.to = r.From, r.To
		i, j := x.v.over(s)
		switch n := len(out); {
		case i == j:
		case n > 0 && i <= out[n-1].J:
			out[n-1].J = max(out[n-1].J, j)
		default:
			out = append(out, index.Parts{Section: s, I: i, J: j})
		}
	}
	return out
}

// exactRead bounds the pages that are read together.
const exactRead = 8 << 20

// section takes spans of a section in the ranges that are left, and leaves the others.
func (x *exactly) section(ctx context.Context, s *index.Section) error {
	x.l = layout{kind: indexKind(x.v.t.Codec), width: x.v.t.Codec.Width(), bin: s.Kind == sectionBins}
	x.ranges, x.rest, x.of, x.apart, x.unsumed = x.out.Rest, nil, -1, false, 0
	var some []index.Parts
	bytes := int64(0)
	for _, p := range x.pages(s, x.ranges) {
		for i := p.I; i < p.J; i++ {
			n := s.Pages[i].Len()
			if bytes+n > exactRead && bytes > 0 {
				if err := x.read(ctx, some); err != nil {
					return err
				}
				some, bytes = nil, 0
			}
			if k := len(some); k > 0 && some[k-1].J == i {
				some[k-1].J++
			} else {
				some = append(some, index.Parts{Section: s, I: i, J: i + 1})
			}
			bytes += n
		}
	}
	err := x.read(ctx, some)
	if err == nil {
		err = x.close()
	}
	if err == nil {
		err = x.tell()
	}
	x.out.Rest = x.rest
	return err
}

// read reads pages and takes their spans.
func (x *exactly) read(ctx context.Context, parts []index.Parts) error {
	pages, err := x.v.ix.Pages(ctx, parts...)
	if err != nil {
		return x.v.wrap(err)
	}
	c := &cells{width: x.l.width}
	for _, p := range parts {
		for i := p.I; i < p.J; i++ {
			page := pages[0]
			pages = pages[1:]
			x.out.Read += p.Pages[i].Len()
			c.entry, c.exit, c.n, c.st = c.entry[:0], c.exit[:0], c.n[:0], c.st[:0]
			if err := x.v.u.page(x.l, page, &p.Pages[i], c); err != nil {
				return err
			}
			for k := range c.len() {
				if err := x.span(knownSpan{c.entry[k], c.exit[k], c.n[k], c.at(k)}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// span takes in the next span. Spans that share an offset are taken together, or not at all.
func (x *exactly) span(k knownSpan) error {
	if n := len(x.group); n > 0 {
		switch exit := x.group[n-1].exit; {
		case k.entry < exit:
			return index.ErrUnusable
		case k.entry > exit:
			if err := x.close(); err != nil {
				return err
			}
		}
	}
	var room []stat
	if n := len(x.free); n > 0 {
		room, x.free = x.free[n-1], x.free[:n-1]
	}
	k.st = append(room[:0], k.st...)
	x.group = append(x.group, k)
	return nil
}

// close takes the group of spans, or leaves it.
func (x *exactly) close() error {
	n := len(x.group)
	if n == 0 {
		return nil
	}
	entry, exit := x.group[0].entry, x.group[n-1].exit
	for len(x.ranges) > 0 && x.ranges[0].To < entry {
		x.ranges = x.ranges[1:]
		x.of--
	}
	if len(x.ranges) > 0 && x.ranges[0].From <= exit {
		r := x.ranges[0]
		switch {
		case r.From <= entry && exit <= r.To && x.o.Until(entry) >= exit && x.serves():
			x.wait = append(x.wait, x.known(entry, exit))
			if n := len(x.rest); n == 0 || x.of != 0 || x.apart || (float64(exit)-float64(x.rest[n-1].To))*x.bytes > edgeCost {
				if err := x.tell(); err != nil {
					return err
				}
			}
		default:
			if err := x.leave(entry, exit); err != nil {
				return err
			}
		}
	}
	for i := range x.group {
		x.free = append(x.free, x.group[i].st)
	}
	x.group = x.group[:0]
	return nil
}

// leave adds offsets to those that are left. There is no sample between the spans of a
// section, so that spans of which one follows the other are left as one range.
func (x *exactly) leave(entry, exit int64) error {
	for i, r := range x.ranges {
		if r.From > exit {
			break
		}
		from, to := max(r.From, entry), min(r.To, exit)
		if n := len(x.rest); n > 0 && x.of == i && !x.apart {
			x.rest[n-1].To, x.wait = to, x.wait[:0]
			continue
		}
		if err := x.tell(); err != nil {
			return err
		}
		x.rest = append(x.rest, Range{from, to})
		x.of, x.apart = i, false
	}
	return nil
}

// serves reports whether the spans of the group have what is asked for.
func (x *exactly) serves() bool {
	if !x.o.Sums {
		return true
	}
	ok := true
	for i := range x.group {
		for c := range x.group[i].st {
			s := &x.group[i].st[c]
			if _, is := s.whole(x.l); !is {
				if ok = false; math.Abs(s.sum) > x.unsumed {
					x.unsumed = math.Abs(s.sum)
				}
				x.unsumed = max(x.unsumed, mostSum)
			}
		}
	}
	return ok
}

// known makes one span of the group.
func (x *exactly) known(entry, exit int64) Known {
	k := Known{Entry: entry, Exit: exit, Channels: make([]KnownChannel, x.l.width), spans: int64(len(x.group))}
	for i := range x.group {
		k.Count += x.group[i].n
	}
	for c := range k.Channels {
		all := x.group[0].st[c]
		to := &k.Channels[c]
		to.Sum, to.Summed = all.whole(x.l)
		for i := range x.group[1:] {
			st := &x.group[i+1].st[c]
			sum, ok := st.whole(x.l)
			to.Sum, to.Summed = to.Sum+sum, to.Summed && ok
			all.join(st)
		}
		to.NaN = all.n - all.valid
		if all.valid > 0 && x.l.kind != zoomcache.Unit {
			to.Min, to.Max = number(x.l.kind, all.min), number(x.l.kind, all.max)
		}
	}
	return k
}

// tell tells the spans that wait.
func (x *exactly) tell() error {
	for i := range x.wait {
		x.out.Spans += x.wait[i].spans
		if err := x.fn(&x.wait[i]); err != nil {
			return err
		}
	}
	x.apart, x.wait = true, x.wait[:0]
	return nil
}

const (
	// mostSum is how great the sum of a span may be that is told by its mean: a float32 is
	// off by one part of 2^24 at most, so the sum by a quarter.
	mostSum = 1 << 22
	// mostBand is the same for bins, of the number of samples times their band, of which the
	// mean is off by one part of 2^17.
	mostBand = 1 << 14
	// mostSize bounds the number of samples times the greatest, so that the sum was exact
	// when the index was made, and is in what follows.
	mostSize = 1 << 50
)

// whole is the sum of integers, if the index tells it exactly.
func (s *stat) whole(l layout) (sum int64, ok bool) {
	if l.kind.Float() || l.kind == zoomcache.Unit || s.valid == 0 {
		return 0, false
	}
	lo, hi, n := keyFloat(l.kind, s.min), keyFloat(l.kind, s.max), float64(s.valid)
	switch {
	case !(max(math.Abs(lo), math.Abs(hi))*n < mostSize):
		return 0, false
	case lo == hi:
		return int64(lo * n), true
	case l.bin && !((hi-lo)*n < mostBand), !l.bin && !(math.Abs(s.sum) < mostSum):
		return 0, false
	}
	r := math.Round(s.sum)
	if !(math.Abs(s.sum-r) < 0.375 && lo*n <= r && r <= hi*n) { // not of an index that was made so
		return 0, false
	}
	return int64(r), true
}

// Extent returns the counts of a track. Other than in Totals, Entry and Exit are the least and
// the greatest offset of its samples even where headers of packets do not tell. It costs
// what Totals costs; without an index, or if stamps go backwards, it makes passes over the
// file.
func (f *File) Extent(ctx context.Context, track int32) (zoomcache.TrackCount, error) {
	t, err := f.Track(track)
	if err != nil {
		return zoomcache.TrackCount{}, err
	}
	c, err := f.total(ctx, t)
	if err != nil || c.Samples == 0 {
		return c, err
	}
	ix, err := f.ix.open(ctx, f)
	if m := ix.about(t); err != nil || m != nil && m.part || !t.Variable {
		return c, err
	}
	c.Entry, c.Exit, err = f.bounds(ctx, t)
	return c, err
}
