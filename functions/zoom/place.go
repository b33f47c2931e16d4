package zoom

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/functions"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/rangeio"
)

// A placer puts a series in place of some samples of a file. What lies in front of them
// stays as it is, but for the last packet there; what lies behind is written again. If
// nothing lies in front, time 0 of the file becomes that of the series.
type placer struct {
	f    *zoomindex.File
	old  rangeio.Reader // f's file
	to   formats.File   // the same file, which is changed
	row  []int64        // number of samples of each track in front of the place
	drop []int64        // number of samples of each track there
	// record is that of the changed file.
	record []byte
	most   int64 // if not 0, how many bytes may be written
	// pass fails if the file may not be read so many times.
	pass func(times int64) error

	total  []int64
	at     int64   // where the flush begins that the place is in
	before []int64 // number of samples of each track in front of that
	seen   []int64 // number of samples of each track up to where the last copy ended
}

// put writes the samples of s, and those behind its place.
func (p *placer) put(ctx context.Context, s Series, o AppendOptions) error {
	list, ok, err := p.f.Totals(ctx)
	if err != nil || !ok { // it was there at Open
		return errors.Join(err, kit.Corrupt("no index"))
	}
	end := true
	for i := range list {
		p.total = append(p.total, list[i].Samples)
		end = end && p.row[i] == p.total[i]
	}
	p.at, p.before = p.old.Size(), p.total
	if !end {
		if err := p.find(ctx); err != nil {
			return err
		}
	}
	about := s.About()
	g := &grower{h: p.f.Header(), about: about, o: o, pass: p.pass}
	if p.most > 0 && about.Bytes > p.most-min(p.old.Size()-p.at, p.most) {
		return fmt.Errorf("%d bytes, and %d behind them, over %d bytes to write: %w", about.Bytes, p.old.Size()-p.at, p.most, functions.ErrTooLong)
	}
	if err := g.match(); err != nil {
		return kit.Fail(about.Format, "", -1, err)
	}
	mine, err := p.begin(ctx, g)
	if err != nil {
		return err
	}
	g.sink.record = p.record
	if err := p.copy(ctx, g, mine, p.before, p.row); err != nil {
		return err
	}
	if err := g.each(ctx, s); err != nil {
		return err
	}
	behind := make([]int64, len(p.row))
	for i := range behind {
		behind[i] = p.row[i] + p.drop[i]
	}
	if err := p.copy(ctx, g, mine, behind, p.total); err != nil {
		return err
	}
	if p.seen != nil && !slices.Equal(p.seen, p.total) {
		return kit.Fail(zoomcache.Format, "", p.at, kit.Corrupt("its index counts other samples than there are: farread verify tells more"))
	}
	return g.finish() //nolint:contextcheck // the writer computes
}

// begin makes g write behind what stays of the file, and returns how the stamps of the file
// become those of the new one.
func (p *placer) begin(ctx context.Context, g *grower) (ticks, error) {
	h := p.f.Header()
	mine := sameTicks()
	if slices.Max(p.row) > 0 {
		front := p.front()
		f, err := zoomcache.Open(ctx, front, zoomcache.Options{})
		if err != nil {
			return mine, err
		}
		return mine, g.resume(ctx, f, front, p.to)
	}
	if t := &h.Tracks[0]; t.Variable && g.about.Origin.Den != 0 {
		var err error
		if mine, err = newTicks(g.about.Origin, h.Origin, t.Rate, t.Rate); err != nil {
			return mine, err
		}
		if g.ticks, err = newTicks(g.about.Origin, g.about.Origin, t.Rate, g.about.Tracks[0].Rate); err != nil {
			return mine, err
		}
		g.h = &zoomcache.Header{Major: h.Major, Minor: h.Minor, Origin: g.about.Origin, Tracks: h.Tracks}
	}
	return mine, g.fresh(p.to) //nolint:contextcheck // the writer computes
}

// front is what lies in front of the flush with the place, or all of the file.
func (p *placer) front() rangeio.Reader {
	if p.at == p.old.Size() {
		return p.old
	}
	return rangeio.Section(p.old, 0, p.at)
}

// find looks for the last flush in front of which no track has samples of the place, or
// behind it: the index tells where it begins, or else the blocks up to there.
func (p *placer) find(ctx context.Context) (err error) {
	ok := false
	if p.at, p.before, ok, err = p.f.FlushBefore(ctx, p.row); err != nil {
		return err
	}
	if ok {
		return p.pass(1)
	}
	if err := p.pass(2); err != nil {
		return err
	}
	return p.findByPass(ctx)
}

func (p *placer) findByPass(ctx context.Context) error {
	tracks := p.f.Header().Tracks
	have := make([]int64, len(tracks))
	p.at, p.before = p.f.Body(), slices.Clone(have)
	var fl flushes
	err := p.f.EachBlock(ctx, func(b zoomcache.Block, t *zoomcache.Track, _ []byte) error {
		if t == nil {
			return nil
		}
		if fl.begins(&b) {
			for i := range have {
				if have[i] > p.row[i] {
					return errEnough
				}
			}
			p.at, p.before = b.Off, slices.Clone(have)
		}
		if !b.Summary {
			have[place(tracks, b.Track)] += int64(b.Count)
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}

// copy gives g the samples [from, to) of each track of the file.
func (p *placer) copy(ctx context.Context, g *grower, mine ticks, from, to []int64) error {
	p.seen = nil
	if p.at == p.old.Size() || slices.Equal(from, to) {
		return nil
	}
	rest, err := zoomcache.Open(ctx, &gapped{p.old, p.f.Body(), p.at - p.f.Body()}, zoomcache.Options{})
	if err != nil {
		return err
	}
	c := &copier{g: g, mine: mine, pos: slices.Clone(p.before), from: from, to: to, packets: make([]zoomcache.Packet, len(from)), cols: make([]Column, len(from))}
	c.clear()
	err = rest.EachBlock(ctx, c.block)
	p.seen = c.pos
	if errors.Is(err, errEnough) {
		return nil
	}
	if err != nil {
		return err
	}
	return c.flush() //nolint:contextcheck // the writer computes
}

// place is the number of a declared track in the list.
func place(tracks []zoomcache.Track, number int32) int {
	return slices.IndexFunc(tracks, func(t zoomcache.Track) bool { return t.Number == number })
}

// flushes tell where the blocks of a flush begin: packets of ascending tracks, and then
// summaries.
type flushes struct {
	last      int32
	any, sums bool
}

// begins reports whether the block is the first one of a flush behind another one.
func (f *flushes) begins(b *zoomcache.Block) bool {
	if b.Summary {
		f.sums = true
		return false
	}
	is := f.sums || f.any && b.Track <= f.last
	f.last, f.any, f.sums = b.Track, true, false
	return is
}

// A copier passes samples of a file on to a grower, flush by flush.
type copier struct {
	g        *grower
	mine     ticks
	pos      []int64 // number of the next sample of each track
	from, to []int64
	fl       flushes
	packets  []zoomcache.Packet
	cols     []Column
}

func (c *copier) clear() {
	for i := range c.cols {
		c.cols[i] = Column{Values: zoomcache.Values{Kind: c.g.p.list[i].Codec.Kind}}
	}
}

func (c *copier) block(b zoomcache.Block, t *zoomcache.Track, content []byte) error {
	if t == nil {
		return nil
	}
	if c.fl.begins(&b) {
		if err := c.flush(); err != nil {
			return err
		}
		done := true
		for i := range c.pos {
			done = done && c.pos[i] >= c.to[i]
		}
		if done {
			return errEnough
		}
	}
	if b.Summary || b.Count == 0 {
		return nil
	}
	i, n := place(c.g.p.list, b.Track), int64(b.Count)
	lo, hi := max(c.from[i]-c.pos[i], 0), min(c.to[i]-c.pos[i], n)
	c.pos[i] += n
	if lo >= hi {
		return nil
	}
	p := &c.packets[i]
	if err := t.DecodePacket(p, b, content, formats.Limits{}); err != nil {
		return err
	}
	col := Column{Values: head(&p.Values, int(hi)), Stamps: first(p.Stamps, int(hi))}
	drop(&col, int(lo))
	c.cols[i] = col
	return nil
}

// flush passes on what is gathered.
func (c *copier) flush() error {
	g := c.g
	some := slices.ContainsFunc(c.cols, func(c Column) bool { return c.Values.N > 0 })
	if !some {
		return nil
	}
	defer c.clear()
	if g.p.list[0].Variable {
		theirs := g.ticks
		g.ticks = c.mine
		defer func() { g.ticks = theirs }()
		if err := g.stamped(c.cols); err != nil {
			return kit.Fail(g.about.Format, "", -1, fmt.Errorf("in front of what lies behind it: %w", err))
		}
		return nil
	}
	for i := range c.cols {
		if c.cols[i].Values.N != c.cols[0].Values.N {
			return kit.Fail(zoomcache.Format, "", -1, kit.Unsupported("its tracks do not end at the same sample"))
		}
	}
	return g.p.block(&Block{Columns: c.cols})
}

// A gapped is a file without the bytes [at, at+cut).
type gapped struct {
	r       rangeio.Reader
	at, cut int64
}

func (g *gapped) Size() int64 { return g.r.Size() - g.cut }

func (g *gapped) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	if err := rangeio.Check(spans, g.Size()); err != nil {
		return err
	}
	var out []rangeio.Span
	for _, s := range spans {
		if s.Off < g.at {
			n := min(g.at-s.Off, int64(len(s.P)))
			out = append(out, rangeio.Span{Off: s.Off, P: s.P[:n]})
			s = rangeio.Span{Off: s.Off + n, P: s.P[n:]}
		}
		if len(s.P) > 0 {
			out = append(out, rangeio.Span{Off: s.Off + g.cut, P: s.P})
		}
	}
	return g.r.ReadRanges(ctx, out)
}

func (g *gapped) ReadEach(ctx context.Context, spans []rangeio.Span, done func(i int) error) error {
	if err := g.ReadRanges(ctx, spans); err != nil {
		return err
	}
	for i := range spans {
		if err := done(i); err != nil {
			return err
		}
	}
	return nil
}
