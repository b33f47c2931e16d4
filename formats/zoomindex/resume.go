package zoomindex

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/rangeio"
)

// ErrNoResume is matched by the error of Resume for a file of which its index does not tell
// enough, or that is not what its index says. Such a file goes on by one pass over it
// (Builder.Replay, zoomcache.Resume).
var ErrNoResume = errors.New("it has to be read whole")

func noResume(format string, a ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, a...), ErrNoResume)
}

// maxTail bounds what is read of the end of a file.
const maxTail = 256 << 20

// Resume is zoomcache.Resume by the index inside the file: x, a new Builder for its tracks,
// and the Writer go on from the last flush with samples. It reads the directory of the index,
// a page that tells the state of the one who made it, and then, side by side, the end of the file
// from that flush on, index included, the summaries that wait for the second of
// their pair, some 100 bytes each (one for each bit of the number of packets), and the list of packets where it lies
// between them. Parts of the index between the blocks stay where they are, and in use.
//
// Each page that is read is compared with its checksum, and the blocks with what the index says of
// them. If it does not tell enough, or something is wrong, the error matches ErrNoResume, and x is of no use.
func Resume(ctx context.Context, f *zoomcache.File, r rangeio.Reader, x *Builder, w io.Writer, o zoomcache.ResumeOptions) (*zoomcache.Writer, zoomcache.Resumed, error) {
	z := &resumption{f: f, x: x, held: &held{Reader: r}}
	out, is, err := z.resume(ctx, w, o)
	if errors.Is(err, index.ErrUnusable) {
		err = noResume("its index is not usable: %s", index.Reason(err))
	}
	return out, is, err
}

// A resumption brings a Builder to where it was.
type resumption struct {
	f    *zoomcache.File
	x    *Builder
	held *held
	ix   *index.Index
	s    *state
	told map[int32]*trackMeta
	runs [][]packetRun // of each track, in front of the cut
	next [][]packetRun // of each track, behind it: one, or none
	u    unpacker
}

func (z *resumption) resume(ctx context.Context, w io.Writer, o zoomcache.ResumeOptions) (*zoomcache.Writer, zoomcache.Resumed, error) {
	none := zoomcache.Resumed{}
	if err := z.open(ctx); err != nil {
		return nil, none, err
	}
	if err := z.read(ctx); err != nil {
		return nil, none, err
	}
	m := zoomcache.Mark{From: z.held, Cut: z.s.cut, End: z.ix.Trailer.Off - zoomcache.BlockHeaderLen}
	z.x.coarse = z.s.coarse
	if err := z.x.b.Resume(z.ix, z.s.cut, z.s.sum); err != nil {
		return nil, none, err
	}
	for i, t := range z.x.tracks {
		if err := z.list(ctx, i); err != nil {
			return nil, none, err
		}
		if err := z.track(ctx, t, &z.s.tracks[i], z.runs[i]); err != nil {
			return nil, none, err
		}
		m.Tracks = append(m.Tracks, z.mark(i))
	}
	out, is, dropped, err := zoomcache.ResumeAt(ctx, z.f, w, m, o)
	switch {
	case errors.Is(err, formats.ErrCorrupt), errors.Is(err, formats.ErrTooLarge), errors.Is(err, formats.ErrUnsupported):
		return nil, none, noResume("its index does not fit it (%s)", err)
	case err != nil:
		return nil, none, err
	}
	if !z.last(is.Last) {
		return nil, none, noResume("its index does not fit its last packets")
	}
	for i, t := range z.x.tracks {
		if err := z.counts(t, z.runs[i], dropped[t.t.Number]); err != nil {
			return nil, none, err
		}
	}
	for _, e := range z.ix.Extents() {
		if e.Off < z.s.cut {
			z.x.spilled += zoomcache.BlockHeaderLen + e.Len
		}
	}
	z.x.grace = z.x.held()
	z.x.checks, z.x.behind.checked = true, z.x.interval()
	return out, is, nil
}

// open reads the directory and the state.
func (z *resumption) open(ctx context.Context) (err error) {
	z.ix, err = index.Open(ctx, z.held, index.Options{Gap: zoomcache.BlockHeaderLen, Limits: z.f.Limits()})
	switch {
	case errors.Is(err, index.ErrUnusable):
		return noResume("it has no index inside that can be used (%s)", index.Reason(err))
	case err != nil:
		return err
	}
	plain := File{File: z.f}
	if !plain.around(z.ix) {
		return noResume("its index is about another file")
	}
	told, ok := parseMeta(z.ix.Meta)
	if !ok || len(told) != len(z.x.tracks) {
		return noResume("its index is about other tracks")
	}
	z.told = told
	for _, t := range z.x.tracks {
		if m := told[t.t.Number]; m == nil || !m.is(t.t) || !grows(t.t) {
			return noResume("its index is about other tracks")
		}
	}
	s := z.ix.Section(index.Name{Kind: sectionState})
	if s == nil || len(s.Pages) != 1 {
		return noResume("its index does not say how it goes on")
	}
	pages, err := z.ix.Pages(ctx, index.Parts{Section: s, I: 0, J: 1})
	if err != nil {
		return err
	}
	if err := z.u.open(pages[0]); err != nil {
		return err
	}
	if z.s, ok = parseState(append([]byte(nil), z.u.p...), len(z.x.tracks)); !ok {
		return noResume("its index does not say how it goes on")
	}
	if z.s.cut < z.f.Body() || z.s.cut >= z.ix.Trailer.Plain {
		return noResume("its index is about another file")
	}
	return nil
}

// read reads what is needed, side by side: all from the cut on, the summaries that wait, and
// of the pages in front of the cut the lists of packets and those that say how others are packed.
func (z *resumption) read(ctx context.Context) error {
	at, tail := z.ix.Tail()
	z.held.list = append(z.held.list, rangeio.Span{Off: at, P: tail})
	var spans []rangeio.Span
	want := func(off, n int64) {
		if n = min(n, z.f.Size()-off); off >= 0 && n > 0 && off < min(at, z.s.cut) {
			spans = append(spans, rangeio.Span{Off: off, P: make([]byte, n)})
		}
	}
	if long := at - z.s.cut; long > maxTail {
		return noResume("%d bytes follow its last samples", long)
	} else if long > 0 {
		spans = append(spans, rangeio.Span{Off: z.s.cut, P: make([]byte, long)})
	}
	for i, t := range z.x.tracks {
		s := &z.s.tracks[i]
		for _, off := range s.sums {
			if off > 0 {
				want(zoomcache.SummaryAt{Off: off}.Place(z.f.Size()))
			}
		}
		name := index.Name{Kind: sectionRuns, Of: int64(t.t.Number)}
		if sec := z.ix.Section(name); sec != nil {
			for k := range sec.Pages {
				want(sec.Pages[k].Place())
			}
		}
		for _, l := range s.level {
			name.Kind, name.Level = sectionLevel, name.Level+1
			z.fresh(name, l.core, want)
			name.Kind = sectionEnds
			z.fresh(name, l.ends, want)
		}
		name.Kind = sectionBins
		for _, l := range s.bins {
			name.Level = l.size
			z.fresh(name, l.core, want)
		}
	}
	if len(spans) == 0 {
		return nil
	}
	if err := z.held.Reader.ReadRanges(ctx, spans); err != nil {
		return wrapRead(z.s.cut, err)
	}
	z.held.list = append(z.held.list, spans...)
	return nil
}

// fresh wants the page for which a guess was made.
func (z *resumption) fresh(n index.Name, g guessMark, want func(off, n int64)) {
	if s := z.ix.Section(n); s != nil && g.fresh > 0 && g.fresh <= len(s.Pages) {
		want(s.Pages[g.fresh-1].Place())
	}
}

// page returns a page of a section.
func (z *resumption) page(ctx context.Context, s *index.Section, k int) ([]byte, error) {
	pages, err := z.ix.Pages(ctx, index.Parts{Section: s, I: k, J: k + 1})
	if err != nil {
		return nil, err
	}
	return pages[0], nil
}

// list reads the list of packets of track i, as far as they lie in front of the cut.
func (z *resumption) list(ctx context.Context, i int) error {
	s := z.ix.Section(index.Name{Kind: sectionRuns, Of: int64(z.x.tracks[i].t.Number)})
	var runs, next []packetRun
	if s != nil {
		for k := range s.Pages {
			p, err := z.page(ctx, s, k)
			if err != nil {
				return err
			}
			more, err := z.u.runs(p, &s.Pages[k], z.ix.Trailer.Plain)
			if err != nil {
				return err
			}
			for _, r := range more {
				switch n := len(runs); {
				case n > 0 && (r.off < runs[n-1].end() || r.entry < runs[n-1].exit):
					return noResume("its list of packets is not in order")
				case r.end() > z.s.cut:
					next = append(next, r)
				default:
					runs = append(runs, r)
				}
			}
		}
	}
	if z.runs, z.next = append(z.runs, runs), append(z.next, next); int64(len(runs)) != z.s.tracks[i].windows || len(next) > 1 {
		return noResume("its list of packets is another")
	}
	return nil
}

// mark is what the Writer has to know of track i.
func (z *resumption) mark(i int) zoomcache.TrackMark {
	runs, s := z.runs[i], &z.s.tracks[i]
	m := zoomcache.TrackMark{Number: z.x.tracks[i].t.Number, Windows: int64(len(runs))}
	if len(runs) == 0 {
		return m
	}
	m.Exit = runs[len(runs)-1].exit
	for k := range runs {
		m.Longest = max(m.Longest, runs[k].count)
	}
	for b, off := range s.sums {
		if off == 0 {
			continue
		}
		last := len(runs) >> b << b // it waits since this packet, from 1
		m.Waiting = append(m.Waiting, zoomcache.SummaryAt{Off: off, Level: int32(b + 1), Entry: runs[last-1<<b].entry, Exit: runs[last-1].exit})
	}
	return m
}

// last reports whether the list of packets says the same of the last ones as they do.
func (z *resumption) last(list []*zoomcache.Packet) bool {
	for i, t := range z.x.tracks {
		var own []packetRun
		for _, p := range list {
			if p.Track == t.t.Number {
				own = append(own, packetRun{entry: p.Entry, exit: p.Exit, count: int64(p.Count), off: p.Off, len: p.Len})
			}
		}
		if !slices.Equal(own, z.next[i]) {
			return false
		}
	}
	return true
}

// counts sets the totals of a track, without what lies behind the cut.
func (z *resumption) counts(t *trackIndex, runs []packetRun, behind *zoomcache.TrackCount) error {
	c := z.told[t.t.Number].count
	c.Levels = append([]int64(nil), c.Levels...)
	c.Packets, c.Empty, c.Samples = c.Packets-behind.Packets, c.Empty-behind.Empty, c.Samples-behind.Samples
	for i, n := range behind.Levels {
		if i < len(c.Levels) {
			c.Levels[i] -= n
		}
	}
	for n := len(c.Levels); n > 0 && c.Levels[n-1] == 0; n-- {
		c.Levels = c.Levels[:n-1]
	}
	samples := int64(0)
	for i := range runs {
		samples += runs[i].count
	}
	ok := c.Packets-c.Empty == int64(len(runs)) && c.Empty >= 0 && c.Samples == samples && len(c.Levels) == bitLen(int64(len(runs)))
	for i, n := range c.Levels {
		ok = ok && n == int64(len(runs))>>i
	}
	if !ok {
		return noResume("its counts of blocks are others")
	}
	if c.Entry, c.Exit = 0, -1; len(runs) > 0 {
		c.Entry, c.Exit = runs[0].entry, runs[len(runs)-1].exit
	}
	t.count = c
	z.x.passes(t.t, int64(len(runs)), samples)
	return nil
}
