package zoomcache

import (
	"cmp"
	"context"
	"slices"

	"github.com/farread/farread/formats/index"
)

const (
	// IndexTrack is the number of the undeclared track that an index inside a file
	// lies on, or the next one that no header declares.
	IndexTrack = 0x7A696478

	// What the sections of an index are about: their kind. Of is the track; Level
	// is that of the summaries, or how many samples a bin has.
	sectionLevel = 1 // spans with minimum, maximum, mean and rms
	sectionEnds  = 2 // their first and last values
	sectionBins  = 3 // spans finer than a packet
	sectionRuns  = 4 // packets

	// rawView is how many bytes of samples a view of 2000 points may take for each
	// of its points: a bin holds as many samples, so that fewer of them are better
	// read than summed up.
	rawView = 200
	// pageSpans is how many spans make a page. It is less where there are many
	// channels, and half of it for wide values, so that a page is a few KiB.
	pageSpans  = 1024
	allSpans   = 1 << 15
	tailOfRuns = 8 << 10
)

// IndexOptions tune an Indexer. The zero value is right for most.
type IndexOptions struct {
	// MaxMemory bounds the pages that are held until the end. Where it is passed
	// the finest bins or levels of all tracks are given up, one after another.
	// 0 means 24 MiB, which is enough for some 300 MB of samples.
	MaxMemory int64
	NoBins    bool // nothing finer than level 1
}

const defaultIndexMemory = 24 << 20

// An Indexer makes the index of a file from what passes through a Writer, whose
// Sink it is, or from a scan (File.BuildIndex). Minima, maxima, means and rms are
// those of the samples, also where the summaries of the file have others, but NaN
// do not count. It is not for concurrent use.
//
// Tracks whose stamps go backwards, and those with integers of more than 64 bits,
// have no part in it.
type Indexer struct {
	o      IndexOptions
	b      index.Builder
	k      packer
	tracks []*trackIndex // ascending numbers
	coarse int           // how many of the finest bins and levels are given up
	whole  []stat        // of a window
}

// A trackIndex gathers what is known of one track.
type trackIndex struct {
	t     *Track
	out   bool // it has no part
	any   bool
	last  int64 // offset so far
	bins  []*levelIndex
	level []*levelIndex // from 1
	runs  *index.SectionBuilder
	run   []packetRun
	seen  int64 // packets in pages
	page  int   // spans in a page
	ints  []int64
	count TrackCount // of all blocks
}

// A levelIndex gathers the spans of one level or of one size of bins.
type levelIndex struct {
	l     layout
	core  *index.SectionBuilder
	ends  *index.SectionBuilder // nil: bins
	c     cells
	size  int64 // of bins
	given bool  // up
	// The first of a pair.
	carry       []stat
	full        bool
	entry, exit int64
	n           int64
}

// NewIndexer makes an Indexer for a file with these tracks.
func NewIndexer(tracks []Track, o IndexOptions) *Indexer {
	if o.MaxMemory <= 0 {
		o.MaxMemory = defaultIndexMemory
	}
	x := &Indexer{o: o}
	width := 0
	for i := range tracks {
		width += tracks[i].Codec.width()
	}
	for _, t := range tracks {
		per := pageSpans
		if t.Codec.Kind.keyWidth() == 8 {
			per /= 2
		}
		x.tracks = append(x.tracks, &trackIndex{t: &t, page: max(min(per, allSpans/width), 1), count: TrackCount{Track: t.Number, Exit: -1}})
	}
	slices.SortStableFunc(x.tracks, func(a, b *trackIndex) int { return cmp.Compare(a.t.Number, b.t.Number) })
	return x
}

func (x *Indexer) track(number int32) *trackIndex {
	i, ok := slices.BinarySearchFunc(x.tracks, number, func(t *trackIndex, n int32) int { return cmp.Compare(t.t.Number, n) })
	if !ok {
		return nil
	}
	return x.tracks[i]
}

// Window implements Sink.
func (x *Indexer) Window(w *Window) error {
	t := x.track(w.Track.Number)
	if t == nil || t.out {
		return nil
	}
	width := t.t.Codec.width()
	n := w.Values.N / width
	if n == 0 {
		return nil
	}
	if !t.follows(w) {
		t.drop()
		return nil
	}
	v := t.plain(&w.Values)
	if v == nil {
		t.drop()
		return nil
	}
	if !t.any {
		t.any = true
		x.plan(t, n)
	}
	t.last = w.Exit
	x.whole = slices.Grow(x.whole[:0], width)[:width]
	clear(x.whole)
	if live := t.finest(); live == nil {
		for c := range x.whole {
			x.whole[c] = gather(v, c, width, 0, n)
		}
	} else if err := x.bin(t, live, w.Entry, v, n); err != nil {
		return err
	}
	return x.push(t, w.Entry, w.Exit, int64(n), x.whole)
}

// follows says whether the window lies behind those before it, in order.
func (t *trackIndex) follows(w *Window) bool {
	last, ok := t.last, t.any
	if w.Stamps == nil {
		return !ok || w.Entry > last
	}
	for _, s := range w.Stamps {
		if ok && s < last {
			return false
		}
		last, ok = s, true
	}
	return true
}

// plain gives the values as those of the kind that the index has for them, or nil
// where the file holds others.
func (t *trackIndex) plain(v *Values) *Values {
	c := t.t.Codec
	switch {
	case v.Kind == Integer:
		t.ints = t.ints[:0]
		for _, b := range v.Big {
			if !b.IsInt64() {
				return nil
			}
			t.ints = append(t.ints, b.Int64())
		}
	case c.PCM && v.Kind == Int: // stored in 32 bits
		for _, i := range v.I64 {
			if int64(int32(i)) != i { //nolint:gosec // that is what it finds out
				return nil
			}
		}
		return v
	case c.PCM && v.Kind == I32: // told by no reader from PCM Int
		t.ints = t.ints[:0]
		for _, i := range v.I32 {
			t.ints = append(t.ints, int64(i))
		}
	default:
		return v
	}
	return &Values{Kind: Int, N: v.N, I64: t.ints}
}

// indexKind is the kind of the values that an index has of a track.
func (c Codec) indexKind() Kind {
	if c.Kind == Integer || c.PCM && c.Kind == I32 {
		return Int
	}
	return c.Kind
}

// drop lets a track go.
func (t *trackIndex) drop() {
	t.out = true
	for _, l := range slices.Concat(t.bins, t.level) {
		l.give()
	}
	if t.runs != nil {
		t.runs.Drop()
	}
	t.bins, t.level, t.run = nil, nil, nil
}

// plan chooses bins for windows of n samples.
func (x *Indexer) plan(t *trackIndex, n int) {
	c := t.t.Codec
	t.runs = x.b.Section(index.Name{Kind: sectionRuns, Of: int64(t.t.Number)})
	if x.o.NoBins || t.t.Variable || c.Kind == Unit {
		return
	}
	size := c.size()
	if size < 0 {
		size = 4 // most small integers take less than half of it
	}
	for b := int64(rawView / size); b <= int64(n)*4/5; b *= 2 {
		l := &levelIndex{l: layout{kind: c.indexKind(), width: c.width(), bin: true}, size: b, c: cells{width: c.width()}}
		l.core = x.b.Section(index.Name{Kind: sectionBins, Of: int64(t.t.Number), Level: b})
		t.bins = append(t.bins, l)
	}
	for i := range min(x.coarse, len(t.bins)) {
		t.bins[i].give()
	}
}

// finest is the finest size of bins that is not given up.
func (t *trackIndex) finest() *levelIndex {
	for _, l := range t.bins {
		if !l.given {
			return l
		}
	}
	return nil
}

// bin adds the bins of a window, and sums it up as a whole.
func (x *Indexer) bin(t *trackIndex, fine *levelIndex, entry int64, v *Values, n int) error {
	width := fine.l.width
	for at := int64(0); at < int64(n); at += fine.size {
		end := min(at+fine.size, int64(n))
		for _, l := range t.bins {
			if !l.given && at%l.size == 0 {
				stop := min(at+l.size, int64(n))
				if err := x.room(t, l); err != nil {
					return err
				}
				l.c.add(entry+at, entry+stop-1, stop-at)
			}
		}
		for c := range width {
			s := gather(v, c, width, int(at), int(end))
			x.whole[c].join(&s)
			for _, l := range t.bins {
				if !l.given {
					l.c.at(l.c.len() - 1)[c].join(&s)
				}
			}
		}
	}
	return nil
}

// push adds a span of level 1, and joins pairs upwards.
func (x *Indexer) push(t *trackIndex, entry, exit, n int64, st []stat) error {
	for i := 0; ; i++ {
		if i == len(t.level) {
			l := &levelIndex{l: layout{kind: t.t.Codec.indexKind(), width: len(st)}, c: cells{width: len(st)}, carry: make([]stat, len(st))}
			name := index.Name{Kind: sectionLevel, Of: int64(t.t.Number), Level: int64(i + 1)}
			l.core = x.b.Section(name)
			if name.Kind = sectionEnds; l.l.kind.Numeric() {
				l.ends = x.b.Section(name)
			}
			t.level = append(t.level, l)
			if len(t.bins)+i < x.coarse {
				l.give()
			}
		}
		l := t.level[i]
		if !l.given {
			if err := x.room(t, l); err != nil {
				return err
			}
			copy(l.c.add(entry, exit, n), st)
		}
		if !l.full {
			l.full, l.entry, l.exit, l.n = true, entry, exit, n
			copy(l.carry, st)
			return nil
		}
		l.full = false
		for c := range st {
			l.carry[c].join(&st[c])
			st[c] = l.carry[c]
		}
		entry, n = l.entry, l.n+n
	}
}

// room makes a page where there are enough spans for one.
func (x *Indexer) room(t *trackIndex, l *levelIndex) error {
	if l.c.len() < t.page {
		return nil
	}
	if err := x.flush(l); err != nil {
		return err
	}
	for x.b.Held() > x.o.MaxMemory && x.coarsen() {
		continue
	}
	return nil
}

// flush makes a page of the spans of a level.
func (x *Indexer) flush(l *levelIndex) error {
	n := l.c.len()
	if n == 0 || l.given {
		l.c.reset()
		return nil
	}
	p, err := x.k.page(l.l, &l.c)
	if err != nil {
		return err
	}
	l.core.Add(l.c.entry[0], l.c.exit[n-1], int64(n), p)
	if l.ends != nil {
		if p, err = x.k.ends(l.l, &l.c); err != nil {
			return err
		}
		l.ends.Add(l.c.entry[0], l.c.exit[n-1], int64(n), p)
	}
	l.c.reset()
	return nil
}

// coarsen gives up what is finest, and says whether anything was left.
func (x *Indexer) coarsen() bool {
	left := false
	for _, t := range x.tracks {
		all := slices.Concat(t.bins, t.level)
		if x.coarse+1 < len(all) { // the coarsest stays
			all[x.coarse].give()
			left = true
		}
	}
	if left {
		x.coarse++
	}
	return left
}

func (l *levelIndex) give() {
	l.given = true
	l.core.Drop()
	if l.ends != nil {
		l.ends.Drop()
	}
	l.c.reset()
}

// Packet implements Sink.
func (x *Indexer) Packet(b *Block) error {
	t := x.track(b.Track)
	if t == nil {
		return nil
	}
	t.count.add(b)
	if t.out || b.Count == 0 || t.runs == nil {
		return nil
	}
	if b.Exit < b.Entry {
		t.drop()
		return nil
	}
	t.run = append(t.run, packetRun{entry: b.Entry, exit: b.Exit, count: int64(b.Count), off: b.Off, len: b.Len})
	if len(t.run) == runsPage {
		return x.flushRuns(t)
	}
	return nil
}

func (x *Indexer) flushRuns(t *trackIndex) error {
	if len(t.run) == 0 {
		return nil
	}
	p, err := x.k.runs(t.run, t.seen+1)
	if err != nil {
		return err
	}
	t.runs.Add(t.run[0].entry, t.run[len(t.run)-1].exit, int64(len(t.run)), p)
	t.seen += int64(len(t.run))
	t.run = t.run[:0]
	return nil
}

// Summary implements Sink. The summaries of the file are counted only.
func (x *Indexer) Summary(s *Summary) error {
	if t := x.track(s.Track); t != nil {
		t.count.add(&s.Block)
	}
	return nil
}

// finish makes the index.
func (x *Indexer) finish(bind index.Binding) ([]byte, error) {
	var ends, levels, runs, small []*index.SectionBuilder
	top := 0
	for _, t := range x.tracks {
		if t.out || !t.any {
			continue
		}
		if err := x.last(t); err != nil {
			return nil, err
		}
		if t.runs.Len() > tailOfRuns/int64(len(x.tracks)) {
			runs = append(runs, t.runs)
		} else {
			small = append(small, t.runs)
		}
		top = max(top, len(t.bins)+len(t.level))
	}
	// What is fine lies in front, the tracks of one level beside each other.
	for i := range top {
		for _, t := range x.tracks {
			all := slices.Concat(t.bins, t.level)
			if t.out || i >= len(all) || all[i].given {
				continue
			}
			levels = append(levels, all[i].core)
			if all[i].ends != nil {
				ends = append(ends, all[i].ends) // asked for last
			}
		}
	}
	return x.b.Finish(slices.Concat(runs, ends, levels, small), bind, x.meta())
}

// last makes the pages that are not full.
func (x *Indexer) last(t *trackIndex) error {
	if err := x.rise(t); err != nil {
		return err
	}
	for _, l := range slices.Concat(t.bins, t.level) {
		if err := x.flush(l); err != nil {
			return err
		}
	}
	return x.flushRuns(t)
}

// rise adds what waits for a partner to the levels above, so that each level has
// all samples.
func (x *Indexer) rise(t *trackIndex) error {
	var st []stat
	var entry, exit, n int64
	for _, l := range t.level {
		if st != nil && !l.given {
			if err := x.room(t, l); err != nil {
				return err
			}
			copy(l.c.add(entry, exit, n), st)
		}
		switch {
		case !l.full:
			continue
		case st == nil:
			st, exit = slices.Clone(l.carry), l.exit
		default:
			for c := range st {
				l.carry[c].join(&st[c])
				st[c] = l.carry[c]
			}
		}
		entry, n = l.entry, l.n+n
	}
	return nil
}

// Finish implements Sink: it appends the index and its trailer, each in a packet
// of a track that no header declares.
func (x *Indexer) Finish(end int64, add func(track int32, payload []byte) (int64, error)) error {
	p, err := x.finish(index.Binding{})
	if err != nil {
		return err
	}
	number := int32(IndexTrack)
	for x.track(number) != nil {
		number++
	}
	off, err := add(number, p)
	if err != nil {
		return err
	}
	t := index.Trailer{Off: off + BlockHeaderLen, Len: int64(len(p)), Plain: end, SHA256: index.Hash(p)}
	_, err = add(number, t.Append(nil))
	return err
}

// BuildIndex makes the index of a file from one pass over it, to stand beside it
// under its name and index.Suffix. etag is that of the file.
func (f *File) BuildIndex(ctx context.Context, etag string, o IndexOptions) ([]byte, error) {
	x := NewIndexer(f.h.Tracks, o)
	var p Packet
	end := f.body
	err := f.walk(ctx, f.body, func(b *Block, _ *Track) bool { return !b.Summary }, func(b Block, t *Track, content []byte) (bad, err error) {
		if t == nil {
			return nil, nil
		}
		if end = b.Off + b.Size(); content == nil {
			x.track(b.Track).count.add(&b)
			return nil, nil
		}
		if bad := t.DecodePacket(&p, b, content, f.o.Limits); bad != nil {
			return bad, nil
		}
		if b.Count == 0 {
			return nil, x.Packet(&b)
		}
		w := Window{Track: t, Entry: p.Offset(0), Exit: p.Offset(int(p.Count) - 1), Values: p.Values, Stamps: p.Stamps}
		if w.Entry != b.Entry || w.Exit != b.Exit { // the header lies
			x.track(b.Track).drop()
			return nil, x.Packet(&b)
		}
		if err := x.Window(&w); err != nil {
			return nil, err
		}
		return nil, x.Packet(&b)
	})
	if err != nil {
		return nil, err
	}
	ix, err := x.finish(index.Binding{Size: f.size, ETag: etag})
	if err != nil {
		return nil, err
	}
	return index.Beside(ix, end), nil
}

var _ Sink = (*Indexer)(nil)
