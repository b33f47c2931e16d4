package zoomindex

import (
	"slices"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/par"
)

// A Builder works a batch behind the Writer, since the bins of many windows take less time
// together: it gathers the bins of windows, or copies those for which it has no columns, and
// headers, and takes a batch of them at once. With WriteOptions.Behind a goroutine takes it, on the
// other processor, while the Writer makes the next one. There is at most one such goroutine, which
// ends with its batch, whatever becomes of the Writer. Without Behind batches are only made where all
// tracks have columns.
//
// What goes into the file between its blocks depends on how much memory the pages take
// behind each flush. So a Builder is behind only while they cannot reach the bound in what is
// not taken yet; near the bound it takes everything at once. Thus the bytes are the same.

const (
	// batchValues is how many values are worth a goroutine: about 300 us of work.
	batchValues = 128 << 10
	// binValues is how many values are as much work as a bin that is gathered already.
	binValues = 24
	// mostValues and mostWindows are how many are kept: a longer flush is done at once.
	mostValues  = 2 * batchValues
	mostWindows = 1024
	// longCopy is how many values of a copy of a window keep their memory for another.
	longCopy = 8 << 10
)

// A batch is what a Builder is told between two flushes, or several.
type batch struct {
	list    []event
	blocks  []zoomcache.Block // of packets and summaries
	windows int               // in the list
	values  int               // of windows that were copied, and binValues for each bin of others
	growth  int64             // by how much pages may grow for the windows
	flush   int               // number of the flush that the last window belongs to, from 1
	ended   bool              // that flush has ended
	done    chan error        // one, of the goroutine that takes it
	// Copies of windows, and the bins of others, in memory that is used again: so many of
	// them are in use.
	copies  []zoomcache.Window
	copied  int
	runs    []*windowRun
	running int
	last    []int // of each track the number of its last run, from 1, that may go on
	_       cacheLine
}

// A windowRun has the bins of windows of a track that follow each other.
type windowRun struct {
	track int // its place
	entry int64
	bands channels
	n     int // windows
	seen  int // those whose calls were done
	done  int // those that are taken
	// Those in front of the flush with the last window, of that number. They are taken together,
	// since nothing has to be known of what was so between them.
	before int
	flush  int
	_      cacheLine
}

// next is where the next window of a run has to begin.
func (r *windowRun) next() int64 { return r.entry + int64(r.n)*int64(r.bands[0].n) }

// An event is a call of a Sink.
type event struct {
	kind eventKind
	run  *windowRun // of a window; nil: it was copied
}

type eventKind uint8

const (
	eventWindow eventKind = iota
	eventPacket
	eventSummary
	eventFlush
)

// behind is the state of a Builder that is not the goroutine's. Nothing of it lies in a cache
// line with something that the goroutine writes, which would cost a round between the
// processors for each window.
type behind struct {
	_       cacheLine
	on      bool   // calls go into fill
	fill    *batch // what comes in
	busy    *batch // what the goroutine takes; nil: there is none
	free    *batch
	tracks  []lookahead // by their places
	apart   apart
	room    int64 // by how much pages may grow in what is not taken yet
	worth   int   // batchValues, or less for tests
	batches int   // for tests: those that a goroutine took
	_       cacheLine
}

// lookahead is what is known of a track without the goroutine.
type lookahead struct {
	gaps  bool
	bins  int     // samples of the bins that are gathered before the goroutine takes them; 0: none are
	begun bool    // there were samples, so that the sizes are known
	sizes []int64 // of all bins that are kept
}

// A cacheLine is as long as two lines of any processor here.
type cacheLine [128]byte

// queue notes a call, or returns false if it has to be done at once.
func (x *Builder) queue(kind eventKind, w *zoomcache.Window, b *zoomcache.Block) (bool, error) {
	d := &x.behind
	if !d.on {
		return false, nil
	}
	q, grows := d.fill, int64(0)
	switch kind {
	case eventWindow:
		grows = x.growth(w)
	case eventPacket:
		grows = mostRun
	case eventSummary, eventFlush:
	}
	d.room -= grows
	if d.room < 0 && d.busy != nil { // less may be held than was feared
		if err := x.wait(); err != nil {
			return false, err
		}
		d.room = x.roomBeside(q) - grows
	}
	if d.room < 0 || w != nil && (q.values+w.Values.N > mostValues || q.windows == mostWindows) {
		return false, x.settle()
	}
	e := event{kind: kind}
	switch {
	case w != nil:
		q.growth += grows
		e.run = x.keep(w)
	case b != nil:
		q.blocks = append(q.blocks, *b)
	default:
		q.ended = true
	}
	q.list = append(q.list, e)
	return true, nil
}

// keep adds a window to the batch, and returns the run that has its bins, if one has.
func (x *Builder) keep(w *zoomcache.Window) *windowRun {
	q := x.behind.fill
	if q.ended || q.flush == 0 {
		q.flush++
		q.ended = false
	}
	q.windows++
	if i, ok := slices.BinarySearch(x.numbers, w.Track.Number); ok && x.behind.tracks[i].bins > 0 {
		if r := q.run(i, x.behind.tracks[i].bins, w); r != nil && r.bands.add(&w.Values, &x.behind.apart) {
			if r.flush != q.flush {
				r.flush, r.before = q.flush, r.n
			}
			r.n++
			q.values += binValues * r.bands[0].per * len(r.bands)
			return r
		}
		q.last[i] = 0
	}
	if q.copied == len(q.copies) {
		q.copies = append(q.copies, zoomcache.Window{})
	}
	q.values += w.Values.N
	copyWindow(&q.copies[q.copied], w)
	q.copied++
	return nil
}

// run is the run that a window of a track may go on with, or begins, with bins of size. It is
// nil if the window needs a copy.
func (q *batch) run(track, size int, w *zoomcache.Window) *windowRun {
	width := w.Track.Codec.Width()
	n := w.Values.N / width
	if n == 0 || !even(w, n) {
		return nil
	}
	if k := q.last[track]; k > 0 {
		if r := q.runs[k-1]; r.next() == w.Entry && r.bands[0].n == n {
			return r
		}
	}
	if q.running == len(q.runs) {
		q.runs = append(q.runs, &windowRun{})
	}
	r := q.runs[q.running]
	q.running++
	q.last[track] = q.running
	*r = windowRun{track: track, entry: w.Entry, bands: r.bands}
	r.bands.begin(w.Values.Kind, width, size, n)
	return r
}

func copyWindow(to, w *zoomcache.Window) {
	v, stamps := to.Values, to.Stamps
	*to = *w
	to.Values = zoomcache.Values{Kind: w.Values.Kind, N: w.Values.N,
		F32: append(v.F32[:0], w.Values.F32...), F64: append(v.F64[:0], w.Values.F64...),
		I8: append(v.I8[:0], w.Values.I8...), I16: append(v.I16[:0], w.Values.I16...),
		I32: append(v.I32[:0], w.Values.I32...), I64: append(v.I64[:0], w.Values.I64...),
		U8: append(v.U8[:0], w.Values.U8...), U16: append(v.U16[:0], w.Values.U16...),
		U32: append(v.U32[:0], w.Values.U32...), U64: append(v.U64[:0], w.Values.U64...),
		Bool: append(v.Bool[:0], w.Values.Bool...), Big: append(v.Big[:0], w.Values.Big...)}
	if w.Stamps != nil {
		to.Stamps = append(stamps[:0], w.Stamps...)
	}
}

// lookAhead says, while there is no goroutine, of which tracks bins can be gathered in
// front of it, and of what size. They stay so: nothing is given up before the bound. It returns
// whether it is so of all.
func (x *Builder) lookAhead() bool {
	all := true
	list := slices.Grow(x.behind.tracks[:0], len(x.tracks))[:len(x.tracks)]
	for i, t := range x.tracks {
		l := lookahead{gaps: t.gaps, begun: t.any, sizes: list[i].sizes[:0]}
		for _, b := range t.bins {
			if !b.given {
				l.sizes = append(l.sizes, b.size)
			}
		}
		if live := t.finest(); live != nil && !t.gaps && !loses(t.t) && !x.stats && columnar(t.t.Codec.Kind, live.size) {
			l.bins = int(live.size)
		}
		list[i] = l
		all = all && l.bins > 0
	}
	x.behind.tracks = list
	return all
}

// flushed is called behind each flush. It takes the batch, or hands it over, if it is worth it.
func (x *Builder) flushed() (queued bool, err error) {
	if queued, err = x.queue(eventFlush, nil, nil); err != nil || !queued {
		return false, err
	}
	d := &x.behind
	q := d.fill
	if q.values < d.worth && q.windows < mostWindows/2 {
		return true, nil
	}
	if d.running() && q.values <= mostValues*3/4 && q.windows <= mostWindows*3/4 {
		return true, nil // there is time until the goroutine ends
	}
	if err := x.wait(); err != nil {
		return true, err
	}
	if !x.o.Behind {
		err := x.take(q)
		q.reset()
		if err == nil {
			d.room = x.roomBeside(q)
			x.lookAhead()
		}
		return true, err
	}
	d.room = x.roomBeside(q)
	d.fill, d.free = d.free, nil
	if d.fill == nil {
		d.fill = x.newBatch()
	}
	x.lookAhead()
	d.busy = q
	d.batches++
	q.done = make(chan error, 1)
	go func() { q.done <- x.take(q) }()
	par.Offer()
	return true, nil
}

func (x *Builder) newBatch() *batch { return &batch{last: make([]int, len(x.tracks))} }

// running reports whether the goroutine has not ended.
func (d *behind) running() bool { return d.busy != nil && len(d.busy.done) == 0 }

// wait ends when the goroutine has.
func (x *Builder) wait() error {
	d := &x.behind
	if d.busy == nil {
		return nil
	}
	err := <-d.busy.done
	d.busy.reset()
	d.free, d.busy = d.busy, nil
	return err
}

func (q *batch) reset() {
	q.list, q.blocks = q.list[:0], q.blocks[:0]
	q.windows, q.values, q.growth, q.flush, q.ended = 0, 0, 0, 0, false
	for i := range q.copies[:q.copied] {
		if w := &q.copies[i]; w.Values.N > longCopy { // memory of long windows would add up
			*w = zoomcache.Window{}
		}
	}
	q.copied, q.running = 0, 0
	clear(q.last)
}

// settle does what is not done yet. From now on calls are done at once.
func (x *Builder) settle() error {
	d := &x.behind
	if !d.on {
		return nil
	}
	d.on = false
	if err := x.wait(); err != nil {
		return err
	}
	defer d.fill.reset()
	return x.take(d.fill)
}

// goBehind begins to queue calls if the pages are far enough from the bound.
func (x *Builder) goBehind() {
	if all := x.lookAhead(); !all && !x.o.Behind { // to copy samples gains nothing without a goroutine
		return
	}
	d, enough := &x.behind, x.o.MaxMemory/32
	if x.o.MaxMemory-x.held() < enough {
		return
	}
	if d.fill == nil {
		d.fill = x.newBatch()
	}
	if d.room = x.roomBeside(d.fill); d.room < enough {
		return
	}
	d.on = true
}

// take does the calls of a batch.
func (x *Builder) take(q *batch) error {
	copies, blocks := q.copies, q.blocks
	for _, e := range q.list {
		var err error
		switch e.kind {
		case eventWindow:
			if e.run != nil {
				err = x.takeRun(q, e.run)
				break
			}
			err = x.window(&copies[0])
			copies = copies[1:]
		case eventPacket:
			err = x.packet(&blocks[0])
			blocks = blocks[1:]
		case eventSummary:
			x.summary(&blocks[0])
			blocks = blocks[1:]
		case eventFlush:
			x.grace = 0
			x.late = x.late || x.held() > x.o.MaxMemory
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// takeRun takes in the next window of a run, and those behind it that may be taken with it,
// unless it was taken with one before.
func (x *Builder) takeRun(q *batch, r *windowRun) error {
	i := r.seen
	r.seen++
	t := x.tracks[r.track]
	if t.out {
		return nil
	}
	t.shown = true
	x.marks.window(t.t.Number)
	t.save(x.marks.gen)
	if i < r.done {
		return nil
	}
	j := r.n
	if r.flush == q.flush {
		j = max(r.before, i+1)
	}
	n := int64(r.bands[0].n)
	entry := r.entry + int64(i)*n
	if entry <= t.last {
		x.drop(t)
		return nil
	}
	r.done, t.last = j, r.entry+int64(j)*n-1
	return x.banded(t, entry, r.bands.part(&x.part, i, j))
}

const (
	// mostSpan is the most bytes of a span in a page without its values, and mostChannel
	// those of a channel with values of no width; mostBin and mostPart are those of bins that
	// follow each other.
	mostSpan    = 3 * 10
	mostChannel = 10 + 8
	mostBin     = 1 + 3 + 1
	mostPart    = 3 + 4
	mostSizes   = 8          // of bins
	mostRun     = 2 * 6 * 10 // most bytes of a packet in its list
	mostGrowth  = 64 << 10   // by which a section may grow for a page, beyond its bytes
)

// growth is the most by which held grows for a window, but for what spare leaves: twice the
// bytes of its spans, since the memory of pages is in pieces.
func (x *Builder) growth(w *zoomcache.Window) int64 {
	width := int64(w.Track.Codec.Width())
	n := int64(w.Values.N) / width
	key := int64(max(keyWidth(w.Values.Kind), keyWidth(indexKind(w.Track.Codec))))
	span := mostSpan + 6 + width*(mostChannel+4*key)
	all := 4 * span // of levels, two a window
	look := lookahead{gaps: true}
	if i, ok := slices.BinarySearch(x.numbers, w.Track.Number); ok {
		look = x.behind.tracks[i]
	}
	bin, size := mostBin+6+width*(mostPart+2*key), int64(rawView)
	switch {
	case look.gaps:
		return 2 * (all + 2*(n+mostSizes)*span) // each sample may be a span of its own
	case !look.begun:
		if key > 0 {
			size = max(rawView/(key*width), 1)
		}
		return 2 * (all + 2*(n/size+mostSizes)*bin + mostSizes*mostSpan)
	}
	for _, size := range look.sizes {
		all += (n/size+1)*bin + mostSpan // a gap may precede the first
	}
	return 2 * all
}

// roomBeside is by how much the pages may grow for another batch beside one that is not taken yet.
func (x *Builder) roomBeside(q *batch) int64 {
	return x.spare(q.values+mostValues, q.windows+mostWindows) - q.growth - int64(len(q.list))*mostRun
}

// spare is by how much the pages may grow before they reach the bound, while no more than
// that many values, as batches count them, and windows come: without what the unfinished pages have, what those
// sections set aside that may get a page, and the directory.
func (x *Builder) spare(values, windows int) int64 {
	left := x.o.MaxMemory - x.held() - mostGrowth
	section := func(s *index.SectionBuilder) {
		left -= min(s.Waiting(), mostGrowth) + s.Entries()
	}
	level := func(t *trackIndex, l *levelIndex, spans int) {
		if l.given {
			return
		}
		left -= l.sheet.grows()
		if !t.gaps && l.sheet.n+spans < t.page {
			return
		}
		section(l.core)
		if l.ends != nil {
			section(l.ends)
		}
	}
	for _, t := range x.tracks {
		if t.runs != nil && len(t.run)+windows >= t.full {
			left -= int64(len(t.run)) * mostRun
			section(t.runs)
		}
		for _, l := range t.bins {
			level(t, l, values/min(int(l.size), binValues)+windows) // a window ends with a short one
		}
		for i, l := range t.level {
			level(t, l, windows>>i+2)
		}
	}
	return left
}
