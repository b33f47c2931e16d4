package zoom

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/formats/zoomindex"
	"github.com/farread/farread/functions/internal/kit"
	"github.com/farread/farread/rangeio"
)

// AppendOptions are the options of Append. The zero value is right for most.
type AppendOptions struct {
	Rate zoomcache.Rate // rate of the source, if it does not say its own
	// Origin is the UTC of time 0 of a source of constant rate, if it does not say its own.
	// Its first sample must then follow the last one that is there.
	Origin    zoomcache.Origin
	Watermark int              // as in WriteOptions; 0: as many as the packets that are there have
	Parallel  int              // as in WriteOptions
	Limits    formats.Limits   // of the file that is there
	Progress  formats.Progress // is told how many bytes of the source are read, of About.Bytes
}

// Appended is the result of Append.
type Appended struct {
	Tracks  int
	Added   int64 // samples that were added, of all tracks together
	Samples int64 // samples that were read of what is there and written again, of all tracks together
	Kept    int64 // bytes of the old file that stay as they are, in front of the new ones
	Size    int64 // bytes of the whole file
	// Whole says why the whole old file was read; "": only its head, its index and its last packets.
	Whole string
	Index bool // the whole file has an index inside
}

// Append writes the samples of a series behind those of the zoom-cache file in old. to is
// the same file, which Append cuts behind its last full packets and goes on with; the caller
// then makes the changes valid, or drops them after an error. The result has the samples,
// summaries and index of a file that Write made of all at once: the last packet of each track
// is written again with what follows it.
//
// The tracks must be the same, by name, of types that hold the new samples; so must the rate
// be, or the stamps must be whole ticks of the file's; a source that tells no rate has the
// file's. Stamps that go back, among the new ones or behind the last one that is there, and
// a start of a series of constant rate that is not the end of the other one, are
// formats.ErrUnsupported, and so is all else that does not fit together.
//
// Of the old file Append reads the head, the index and the last packets, or, where the index
// does not tell how to go on, all once, in requests of 8 MiB; the source once (a CSV twice).
// Memory is that of Write, and the index of what is there, up to 256 MiB; a longer one loses
// its finest level. The seal of a Job is dropped, the record of a file of many uploads stays.
func Append(ctx context.Context, old rangeio.Reader, to formats.File, s Series, o AppendOptions) (Appended, error) {
	f, err := zoomcache.Open(ctx, old, zoomcache.Options{Limits: o.Limits})
	if err != nil {
		return Appended{}, err
	}
	about := s.About()
	g := &grower{h: f.Header(), about: about, o: o}
	if err := g.match(); err != nil {
		return Appended{}, kit.Fail(about.Format, "", -1, err)
	}
	if err := g.resume(ctx, f, old, to); err != nil {
		return Appended{}, err
	}
	err = g.each(ctx, s)
	if err == nil {
		err = g.finish() //nolint:contextcheck // as above
	}
	if err != nil {
		return Appended{}, err
	}
	return Appended{Tracks: len(g.h.Tracks), Added: g.added, Samples: g.again, Kept: g.kept, Size: g.p.w.Offset(), Whole: g.whole, Index: g.sink.index != nil}, nil
}

// each takes the samples of the source.
func (g *grower) each(ctx context.Context, s Series) error {
	return s.Each(ctx, g.p.window, func(b *Block) error {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := g.block(b); err != nil { //nolint:contextcheck // the writer computes; its goroutines end before it returns
			return kit.Fail(g.about.Format, "", -1, err)
		}
		g.o.Progress.Tell(b.Done, g.about.Bytes)
		return nil
	})
}

// A grower appends a series to a file.
type grower struct {
	h     *zoomcache.Header
	about About
	o     AppendOptions
	from  []int // the column of the source for each track of the file
	ticks ticks
	p     *pump
	sink  *sealSink
	out   tail
	kept  int64
	again int64
	added int64
	any   bool
	last  int64    // stamp behind which the next ones lie, if any
	whole string   // why the file was read whole
	have  []Column // at variable rate: what is not written yet
	conv  []converter
	pass  func(times int64) error // if set, fails if the file may not be read so many times
}

// A tail is written behind what is kept of a file.
type tail struct {
	f   formats.File
	off int64
}

func (t *tail) Write(p []byte) (int, error) {
	n, err := t.f.WriteAt(p, t.off)
	t.off += int64(n)
	return n, err
}

// match checks that the series can follow the tracks of the file.
func (g *grower) match() error {
	have, more := g.h.Tracks, g.about.Tracks
	if len(have) == 0 {
		return kit.Unsupported("a series without tracks cannot grow")
	}
	if len(have) != len(more) {
		return kit.Unsupported("it has %d tracks (%s), the series that is there %d (%s)", len(more), names(more), len(have), names(have))
	}
	for i := range have {
		t := &have[i]
		k := slices.IndexFunc(more, func(m zoomcache.Track) bool { return m.Name == t.Name })
		if more[i].Name == t.Name { // names may be the same
			k = i
		}
		if k < 0 || slices.Contains(g.from, k) {
			return kit.Unsupported("it has other tracks (%s) than the series that is there (%s)", names(more), names(have))
		}
		g.from = append(g.from, k)
		m := &more[k]
		switch {
		case t.Codec.Width() != 1 || t.Codec.Kind == zoomcache.Unit || t.Codec.Kind == zoomcache.Integer:
			return kit.Unsupported("track %q is of codec %s, which does not grow", t.Name, t.Codec)
		case t.Variable != m.Variable:
			return kit.Unsupported("track %q has %s, the series that is there %s", t.Name, ticking(m), ticking(t))
		case !t.Variable && !converts(m.Codec.Kind, t.Codec.Kind):
			return otherKind(t, m.Codec.Kind)
		}
		if err := g.rate(t, m); err != nil {
			return err
		}
	}
	return nil
}

func otherKind(t *zoomcache.Track, k zoomcache.Kind) error {
	return kit.Unsupported("track %q has samples of %s, those that are there are %s: pack all of it again, with --codec", t.Name, k, t.Codec.Kind)
}

func ticking(t *zoomcache.Track) string {
	if t.Variable {
		return "a stamp for each sample"
	}
	return "a rate"
}

// names lists the first names of tracks.
func names(list []zoomcache.Track) string {
	var b strings.Builder
	for i := range list {
		if i == 8 {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%.40q", list[i].Name)
	}
	return b.String()
}

// rate checks the rate of a track, or how its stamps become those of the file.
func (g *grower) rate(t, m *zoomcache.Track) error {
	if t.Variable {
		if g.o.Rate.Num != 0 || g.o.Origin.Den != 0 {
			return kit.Unsupported("every sample has a stamp: no other rate and origin")
		}
		x, err := newTicks(g.h.Origin, g.about.Origin, t.Rate, m.Rate)
		g.ticks = x
		return err
	}
	is := m.Rate
	if g.o.Rate.Num != 0 {
		is = g.o.Rate
	} else if g.about.Format != "wav" && is == (zoomcache.Rate{Num: 1, Den: 1}) {
		return nil // it says none
	}
	if is.Den != 0 && t.Rate.Den != 0 && big.NewRat(is.Num, is.Den).Cmp(big.NewRat(t.Rate.Num, t.Rate.Den)) != 0 {
		return kit.Unsupported("track %q has %d/%d samples a second, the series that is there %d/%d", t.Name, is.Num, is.Den, t.Rate.Num, t.Rate.Den)
	}
	return nil
}

// resume reads the file and begins to write behind what is kept.
func (g *grower) resume(ctx context.Context, f *zoomcache.File, old rangeio.Reader, to formats.File) error {
	g.p = &pump{list: g.h.Tracks, conv: make([]converter, len(g.h.Tracks))}
	g.conv = make([]converter, len(g.h.Tracks))
	g.out.f = to
	is, err := g.byIndex(ctx, f, old)
	if errors.Is(err, zoomindex.ErrNoResume) {
		g.whole = strings.TrimSuffix(err.Error(), ": "+zoomindex.ErrNoResume.Error())
		if g.pass != nil {
			if err := g.pass(1); err != nil {
				return err
			}
		}
		is, err = g.byPass(ctx, f, old)
	}
	if err != nil {
		return err
	}
	for _, b := range is.Behind {
		if b.Track == RecordTrack && g.sink.record == nil {
			if g.sink.record, err = readRecord(ctx, old, b); err != nil {
				return err
			}
		}
		if b.Track != RecordTrack && b.Track != SealTrack && (g.sink.index == nil || b.Track != g.sink.index.Track()) && b.Track != zoomindex.TrackNumber {
			return kit.Fail(zoomcache.Format, "", b.Off, kit.Unsupported("behind the last samples lies a packet of the undeclared track %d, which would be lost", b.Track))
		}
	}
	g.kept, g.out.off = is.Kept, is.Kept
	if err := to.Truncate(is.Kept); err != nil {
		return err
	}
	g.window(is.Window)
	return g.reopen(&is) //nolint:contextcheck // the writer computes
}

// byIndex goes on where the index inside the file says.
func (g *grower) byIndex(ctx context.Context, f *zoomcache.File, old rangeio.Reader) (is zoomcache.Resumed, err error) {
	g.sink = &sealSink{index: newIndex(WriteOptions{}, g.h.Tracks)}
	if g.sink.index == nil {
		return is, fmt.Errorf("a file of %d tracks has no index: %w", len(g.h.Tracks), zoomindex.ErrNoResume)
	}
	g.p.w, is, err = zoomindex.Resume(ctx, f, old, g.sink.index, &g.out, g.resumeOptions())
	return is, err
}

func (g *grower) resumeOptions() zoomcache.ResumeOptions {
	return zoomcache.ResumeOptions{Watermark: -1, Parallel: g.o.Parallel, Sink: g.sink}
}

// byPass goes on after one pass over the file.
func (g *grower) byPass(ctx context.Context, f *zoomcache.File, old rangeio.Reader) (is zoomcache.Resumed, err error) {
	g.sink = &sealSink{index: newIndex(WriteOptions{}, g.h.Tracks)}
	replay := func() error {
		g.p.w, is, err = zoomcache.Resume(ctx, f, &g.out, g.resumeOptions())
		return err
	}
	x := g.sink.index
	if x == nil {
		return is, replay()
	}
	if err := x.Replay(replay); err != nil {
		return is, err
	}
	return is, dropSpilled(ctx, x, old, is.Other)
}

// fresh begins to write the file from its first byte on.
func (g *grower) fresh(to formats.File) error {
	g.p = &pump{list: g.h.Tracks, conv: make([]converter, len(g.h.Tracks))}
	g.conv = make([]converter, len(g.h.Tracks))
	g.out.f = to
	g.sink = &sealSink{index: newIndex(WriteOptions{}, g.h.Tracks)}
	if err := to.Truncate(0); err != nil {
		return err
	}
	var err error
	g.p.w, err = zoomcache.NewWriter(&g.out, zoomcache.WriteOptions{Origin: g.h.Origin, Tracks: g.h.Tracks, Watermark: -1, Parallel: g.o.Parallel, Sink: g.sink})
	if err != nil {
		return err
	}
	g.window(0)
	return g.reopen(&zoomcache.Resumed{})
}

// dropSpilled tells the index which bytes of the file are parts of the old one.
func dropSpilled(ctx context.Context, x *zoomindex.Builder, old rangeio.Reader, other []zoomcache.Block) error {
	for _, b := range other {
		if b.Track != x.Track() {
			continue
		}
		if err := x.Lose(ctx, old, b); err != nil {
			return err
		}
	}
	return nil
}

// window chooses the length of packets. longest is that of the longest one that is kept.
func (g *grower) window(longest int64) {
	p := g.p
	p.window = WriteOptions{Watermark: g.o.Watermark}.window(len(p.list))
	if g.o.Watermark == 0 && longest > 0 && longest <= maxWindow/int64(len(p.list)) && (!p.list[0].Variable || longest > int64(p.window)) {
		p.window = int(longest)
	}
	for i := range p.list {
		p.tracks = append(p.tracks, p.w.Track(p.list[i].Number))
	}
	if p.alone = len(p.list) == 1 && !p.list[0].Variable; p.alone {
		p.tracks[0].SetWatermark(p.window)
	}
}

// reopen writes the last samples of the file once more.
func (g *grower) reopen(is *zoomcache.Resumed) error {
	g.have = make([]Column, len(g.p.list))
	rows := 0
	for i := range g.p.list {
		t := &g.p.list[i]
		g.have[i].Values.Kind = t.Codec.Kind
		if end, ok := is.Ends[t.Number]; ok {
			g.see(end)
		}
		k := slices.IndexFunc(is.Last, func(p *zoomcache.Packet) bool { return p.Track == t.Number })
		if k < 0 {
			continue
		}
		n := is.Last[k].Values.N
		rows, g.again = max(rows, n), g.again+int64(n)
		if t.Variable {
			g.see(slices.Max(is.Last[k].Stamps))
		} else {
			g.see(is.Last[k].Offset(n - 1))
		}
		g.have[i] = Column{Values: is.Last[k].Values, Stamps: is.Last[k].Stamps}
	}
	if g.p.list[0].Variable {
		return nil
	}
	if err := g.continues(); err != nil {
		return err
	}
	for i := range g.have {
		if g.have[i].Values.N != rows || g.p.tracks[i].Offset() != g.p.tracks[0].Offset() {
			return kit.Fail(zoomcache.Format, "", -1, kit.Unsupported("its tracks do not end at the same sample"))
		}
	}
	return g.p.block(&Block{Columns: g.have})
}

// see notes the offset of a sample that is there.
func (g *grower) see(stamp int64) {
	if !g.any || stamp > g.last {
		g.last = stamp
	}
	g.any = true
}

// continues checks that a series of constant rate that tells its times begins where the
// file ends.
func (g *grower) continues() error {
	o := g.about.Origin
	if g.o.Origin.Den != 0 {
		o = g.o.Origin
	}
	r := g.h.Tracks[0].Rate
	if o.Den == 0 || g.h.Origin.Den == 0 || r.Num == 0 || r.Den == 0 {
		return nil
	}
	gap, err := apart(g.h.Origin, o)
	if err != nil {
		return kit.Fail(g.about.Format, "", -1, err)
	}
	end := new(big.Rat).Mul(big.NewRat(g.last, 1), big.NewRat(r.Den, r.Num))
	off := new(big.Rat).Sub(gap, end)
	off.Mul(off, big.NewRat(r.Num, r.Den))
	if off.Abs(off).Cmp(big.NewRat(1, 2)) > 0 {
		at, _ := gap.Float64()
		ends, _ := end.Float64()
		return kit.Fail(g.about.Format, "", -1, kit.Unsupported("its time 0 is %g s behind that of the series that is there, which ends after %g s: samples of a constant rate have to follow each other", at, ends))
	}
	return nil
}

// block takes some rows of the source.
func (g *grower) block(b *Block) error {
	cols := make([]Column, len(g.from))
	for i, k := range g.from {
		c, t := &b.Columns[k], &g.p.list[i]
		if c.Values.N == 0 { // of a column of empty cells nobody knows the type
			cols[i].Values.Kind = t.Codec.Kind
			continue
		}
		if !converts(c.Values.Kind, t.Codec.Kind) {
			return otherKind(t, c.Values.Kind)
		}
		v, err := g.conv[i].to(&c.Values, t.Codec)
		if err != nil {
			return fmt.Errorf("track %q: %w", t.Name, err)
		}
		cols[i] = Column{Values: *v, Stamps: c.Stamps}
		g.added += int64(v.N)
	}
	if !g.p.list[0].Variable {
		return g.p.block(&Block{Columns: cols})
	}
	return g.stamped(cols)
}

// stamped takes rows with stamps.
func (g *grower) stamped(cols []Column) error {
	last, known := g.last, g.any
	for i := range cols {
		before, some := last, known
		for _, stamp := range cols[i].Stamps {
			at, err := g.ticks.of(stamp)
			if err != nil {
				return fmt.Errorf("track %q: %w", g.p.list[i].Name, err)
			}
			if some && at < before {
				return kit.Unsupported("track %q: its times go back, %s comes behind %s%s", g.p.list[i].Name, g.when(i, at), g.when(i, before), g.about.back())
			}
			before, some = at, true
			g.have[i].Stamps = append(g.have[i].Stamps, at)
		}
		join(&g.have[i].Values, &cols[i].Values)
		if some {
			g.see(before)
		}
	}
	return g.full(false)
}
