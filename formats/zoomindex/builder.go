package zoomindex

import (
	"cmp"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
)

const (
	// TrackNumber is the number of the undeclared track that an index inside a file
	// lies on; if the header declares it, the next number that is free.
	TrackNumber = 0x7A696478

	// The kinds of sections. In their names, Of is the track, and Level is the level of
	// the summaries or the number of samples in a bin.
	sectionLevel = 1 // spans with minimum, maximum, mean and rms
	sectionEnds  = 2 // their first and last values
	sectionBins  = 3 // spans finer than a packet
	sectionRuns  = 4 // packets
	sectionPlace = 5 // about where packets lie, for those with long lists of them
	sectionState = 6 // one page: what a Builder needs to go on (state.go)

	// rawView is how many bytes of samples a view of 2000 points may read for each
	// point. A bin has as many bytes of samples: for fewer samples it is better to read
	// them than to sum them up.
	rawView    = 200
	stampBytes = 8 // bytes of the stamp of a sample at variable rate
	// pageSpans is the number of spans in a page, so that a page is a few KiB; for wide
	// values it is half. If there are many channels a page has fewer spans, down to
	// leastSpans, so that the unfinished pages of one level take at most rowBytes.
	pageSpans  = 1024
	leastSpans = 16
	rowBytes   = 512 << 10
	tailOfRuns = 8 << 10
	// leastExtent is the least size of a part of the index that is worth a packet in
	// the middle of the file.
	leastExtent = 32 << 10
)

// WriteOptions tune a Builder and BuildIndex. The zero value is right for most.
type WriteOptions struct {
	// MaxMemory bounds the pages that are held. If they are more, a Writer puts the
	// longest sections into the file between its blocks: wherever so many values have come
	// that pages may have grown by a tenth of it, so a very long flush may take more. If
	// that is not enough, and in BuildIndex, the finest bins or levels of all tracks are
	// given up, one after another. 0 means 24 MiB, which is enough for some 300 MB of samples.
	MaxMemory int64
	NoBins    bool // no level finer than level 1
	// Behind makes the index on a goroutine beside the Writer. It is for programs that may
	// use two processors; the bytes are the same. The index is made for many packets at a
	// time, with and without Behind: up to 768 Ki values or their bins wait for it, with
	// Behind twice as many, and an error may come with a later call.
	Behind bool
	// Progress is called by BuildIndex with the number of bytes of the file that it has
	// read.
	Progress formats.Progress
}

const defaultIndexMemory = 24 << 20

// A Builder makes the index of a file. It gets the windows and blocks from a Writer,
// whose Sink it is, or from a scan (File.BuildIndex). It computes minima, maxima, means
// and rms from the samples that readers get, even if the summaries of the file have
// other values; NaN do not count. A Builder is for one file, and not for concurrent
// use. It leaves out tracks whose stamps go backwards, tracks with integers of more
// than 64 bits (32 bits for PCM), and tracks with packets whose headers have other
// first or last offsets than their samples.
type Builder struct {
	o       WriteOptions
	tracks  []*trackIndex // ascending numbers
	numbers []int32
	decoded bool     // windows already have the samples as readers of the file get them
	against *against // an index to compare pages with, instead of keeping them
	long    int64    // size from which a list of packets is long
	stats   bool     // for tests: no columns
	behind  behind
	b       index.Builder
	k       packer
	coarse  int      // number of finest bins and levels that were given up
	sheets  int64    // memory of unfinished pages
	spilled int64    // bytes of index packets written so far
	whole   []stat   // stats of a window
	fine    []stat   // stats of its bins
	bands   channels // or columns of them
	part    channels
	parts   partsRoom
	apart   apart
	marks   marks  // what was so in front of the last flush
	note    []byte // page of sectionState
	grace   int64  // memory that the pages may take until the next checkpoint
	checks  bool   // there are checkpoints, where levels are given up if need be
}

// A trackIndex gathers the index of one track.
type trackIndex struct {
	t     *zoomcache.Track
	out   bool // the track has no section in the index
	any   bool
	shown bool  // the window of the next packet
	last  int64 // offset so far
	gaps  bool  // spans end at gaps: true at variable rate, except in older indexes
	joins []*joiner
	bins  []*levelIndex
	level []*levelIndex // levels from 1 on
	runs  *index.SectionBuilder
	check *cursor // compares runs with an existing index
	place *placeCheck
	guess guess
	run   []packetRun
	at    places    // stretches of all packets
	end   packetRun // the last packet
	seen  int64     // packets in pages
	page  int       // number of spans in a page
	full  int       // number of packets in a page
	ints  []int64
	f32   []float32
	f64   []float64
	count zoomcache.TrackCount // totals of all blocks
	was   trackState           // what was so in front of flush gen, without levels
	gen   int
	sums  []sumMark // the last summary of each level of the file
}

// NewBuilder makes a Builder for a file with these tracks, those of its
// WriteOptions.
func NewBuilder(tracks []zoomcache.Track, o WriteOptions) *Builder {
	if o.MaxMemory <= 0 {
		o.MaxMemory = defaultIndexMemory
	}
	x := &Builder{o: o, behind: behind{most: batchValues}}
	row := 0 // bytes of one span of each track
	for i := range tracks {
		c := tracks[i].Codec
		row += spanBytes + c.Width()*(4*max(keyWidth(c.Kind), 0)+meanBytes)
	}
	runs := max(min(runsPage, rowBytes/runBytes/max(len(tracks), 1)), leastRuns)
	for _, t := range tracks {
		per := pageSpans
		if keyWidth(t.Codec.Kind) == 8 {
			per /= 2
		}
		x.tracks = append(x.tracks, &trackIndex{t: &t, gaps: t.Variable, page: max(min(per, rowBytes/row), leastSpans), full: runs, count: zoomcache.TrackCount{Track: t.Number, Exit: -1}, at: places{most: mostPlaces(len(tracks))}})
	}
	x.long = tailOfRuns / int64(max(len(x.tracks), 1))
	slices.SortStableFunc(x.tracks, func(a, b *trackIndex) int { return cmp.Compare(a.t.Number, b.t.Number) })
	for _, t := range x.tracks {
		x.numbers = append(x.numbers, t.t.Number)
	}
	x.behind.fill = x.newBatch()
	return x
}

const (
	spanBytes = 4 // least bytes of the place of a span
	meanBytes = 8 // mean and rms
)

func (x *Builder) track(number int32) *trackIndex {
	i, ok := slices.BinarySearch(x.numbers, number)
	if !ok {
		return nil
	}
	return x.tracks[i]
}

// Window implements zoomcache.Sink.
func (x *Builder) Window(w *zoomcache.Window) error {
	if n := w.Values.N / w.Track.Codec.Width(); n > 0 {
		x.passes(w.Track, 1, int64(n))
	}
	if queued, err := x.queue(eventWindow, w, nil); queued || err != nil {
		return err
	}
	return x.window(w)
}

// window takes in a window.
func (x *Builder) window(w *zoomcache.Window) (err error) {
	t := x.track(w.Track.Number)
	if t == nil || t.out {
		return nil
	}
	t.shown = true
	x.marks.window(t.t.Number)
	t.save(x.marks.gen)
	width := t.t.Codec.Width()
	n := w.Values.N / width
	if n == 0 {
		return nil
	}
	if !t.follows(w) {
		x.drop(t)
		return nil
	}
	v := t.plain(&w.Values, x.decoded)
	if v == nil {
		x.drop(t)
		return nil
	}
	if !t.any {
		t.any = true
		x.plan(t, n)
	}
	t.last = w.Exit
	live := t.finest()
	if live != nil && !t.gaps && !x.stats && columnar(v.Kind, live.size) && even(w, n) {
		if x.bands.begin(v.Kind, width, int(live.size), n); x.bands.add(v, &x.apart) {
			return x.banded(t, w.Entry, x.bands)
		}
	}
	x.whole = slices.Grow(x.whole[:0], width)[:width]
	clear(x.whole)
	switch {
	case t.gaps:
		return x.cut(t, w.Stamps, v, n)
	case live == nil:
		gatherBins(x.whole, v, width, n, n)
	default:
		err = x.bin(t, live, w.Entry, v, n)
	}
	if err != nil {
		return err
	}
	return x.push(t, w.Entry, w.Exit, int64(n), x.whole)
}

// even reports whether the n samples of a window are one offset from each other.
func even(w *zoomcache.Window, n int) bool { return w.Exit-w.Entry == int64(n)-1 }

// follows reports whether the window lies behind those before it and is in
// order.
func (t *trackIndex) follows(w *zoomcache.Window) bool {
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

// plain returns the values in the kind that the index uses for them, or nil if the
// file holds values of another kind. decoded says that they have the file's kind
// already.
func (t *trackIndex) plain(v *zoomcache.Values, decoded bool) *zoomcache.Values {
	c := t.t.Codec
	switch {
	case loses(t.t):
		if decoded {
			return v
		}
		return t.stored(v)
	case v.Kind == zoomcache.Integer:
		t.ints = t.ints[:0]
		for _, b := range v.Big {
			if !b.IsInt64() {
				return nil
			}
			t.ints = append(t.ints, b.Int64())
		}
	case c.PCM && v.Kind == zoomcache.Int: // a codec that stores 32 bits
		for _, i := range v.I64 {
			if int64(int32(i)) != i {
				return nil
			}
		}
		return v
	case c.PCM && v.Kind == zoomcache.I32: // readers cannot distinguish it from PCM Int
		t.ints = t.ints[:0]
		for _, i := range v.I32 {
			t.ints = append(t.ints, int64(i))
		}
	default:
		return v
	}
	return &zoomcache.Values{Kind: zoomcache.Int, N: v.N, I64: t.ints}
}

// indexKind is the kind that the index uses for the values of a track.
func indexKind(c zoomcache.Codec) zoomcache.Kind {
	if c.Kind == zoomcache.Integer || c.PCM && c.Kind == zoomcache.I32 {
		return zoomcache.Int
	}
	return c.Kind
}

// drop leaves a track out of the index.
func (x *Builder) drop(t *trackIndex) {
	t.out = true
	for _, l := range slices.Concat(t.bins, t.level) {
		x.give(l)
	}
	if t.runs != nil {
		t.runs.Drop()
	}
	t.bins, t.level, t.run, t.at.list = nil, nil, nil, nil
}

// plan chooses the sizes of bins for windows of n samples.
func (x *Builder) plan(t *trackIndex, n int) {
	name := index.Name{Kind: sectionRuns, Of: int64(t.t.Number)}
	t.runs = x.b.Section(name)
	sizes := binSizes
	if x.against != nil {
		t.check, t.place = x.against.cursor(name), x.against.placeCheck(t.t.Number)
		if !t.gaps {
			sizes = func(*zoomcache.Track, int) []int64 { return x.against.bins(t.t.Number) }
		}
	}
	if !t.gaps && (x.o.NoBins || t.t.Variable || t.t.Codec.Kind == zoomcache.Unit) {
		return
	}
	for _, size := range sizes(t.t, n) {
		l := x.newLevel(t, index.Name{Kind: sectionBins, Level: size})
		if t.bins = append(t.bins, l); x.o.NoBins { // level 1 is still made of them
			x.give(l)
		}
	}
	for i := range min(x.coarse, len(t.bins)) {
		x.give(t.bins[i])
	}
}

// Packet implements zoomcache.Sink.
func (x *Builder) Packet(b *zoomcache.Block) error {
	if queued, err := x.queue(eventPacket, nil, b); queued || err != nil {
		return err
	}
	return x.packet(b)
}

func (x *Builder) packet(b *zoomcache.Block) error {
	t := x.track(b.Track)
	if t == nil {
		return nil
	}
	x.marks.packet(b)
	t.count.Add(b)
	if t.out || b.Count == 0 {
		return nil
	}
	if !t.shown || b.Exit < b.Entry {
		x.drop(t)
		return nil
	}
	t.shown = false
	t.run = append(t.run, packetRun{entry: b.Entry, exit: b.Exit, count: int64(b.Count), off: b.Off, len: b.Len})
	if len(t.run) == t.fullRuns() {
		return x.flushRuns(t)
	}
	return nil
}

// fullRuns is how many packets fill a page.
func (t *trackIndex) fullRuns() int {
	if t.check != nil {
		return t.check.full()
	}
	return t.full
}

func (x *Builder) flushRuns(t *trackIndex) error {
	if len(t.run) == 0 {
		return nil
	}
	if x.against != nil {
		run := t.run
		t.run = t.run[:0]
		if err := x.against.places(t.place, run); err != nil || t.check == nil {
			return err
		}
		return x.against.runs(t.check, run)
	}
	if t.at.most > 0 {
		for i := range t.run {
			t.at.add(&t.run[i])
		}
		t.end = t.run[len(t.run)-1]
	}
	p, err := x.k.runs(t.run, t.seen+1, &t.guess)
	if err != nil {
		return err
	}
	t.runs.Add(t.run[0].entry, t.run[len(t.run)-1].exit, int64(len(t.run)), p)
	t.seen += int64(len(t.run))
	t.run = t.run[:0]
	return nil
}

// Summary implements zoomcache.Sink. The summaries of the file are counted only.
func (x *Builder) Summary(s *zoomcache.Summary) error { return x.SummaryBlock(&s.Block) }

// SummaryBlock implements zoomcache.BlockSink.
func (x *Builder) SummaryBlock(b *zoomcache.Block) error {
	if queued, err := x.queue(eventSummary, nil, b); queued || err != nil {
		return err
	}
	x.summary(b)
	return nil
}

func (x *Builder) summary(b *zoomcache.Block) {
	if t := x.track(b.Track); t != nil {
		x.marks.summary = true
		t.mark(b, x.marks.gen)
		t.count.Add(b)
	}
}

var (
	_ zoomcache.Sink        = (*Builder)(nil)
	_ zoomcache.Interleaver = (*Builder)(nil)
	_ zoomcache.BlockSink   = (*Builder)(nil)
)
