package zoomindex

import (
	"slices"

	"github.com/farread/farread/formats/zoomcache"
	"github.com/farread/farread/internal/par"
)

// A Builder works a batch behind the Writer, since the bins of many windows take less time
// together: it gathers the bins of windows, or copies those for which it has no columns, and
// headers, and takes all that came between two checkpoints (spill.go) at once. With
// WriteOptions.Behind a goroutine takes it, on the other processor, while the Writer makes the next
// one. There is at most one such goroutine, which ends with its batch, whatever becomes of the
// Writer.
//
// What goes into the file between its blocks depends on how much memory the pages take at a
// checkpoint, without the batch that has just ended there. So the bytes are the same with a
// goroutine and without.

const (
	// batchValues is the most values between two checkpoints: some 0.5 ms of work.
	batchValues = 768 << 10
	// mostValues is how many values of windows are copied. A longer flush is done at once.
	mostValues = 1 << 20
	// mostCalls is how many calls wait, about: packets may have no values.
	mostCalls = 32 << 10
	// longCopy is how many values of a copy of a window keep their memory for another.
	longCopy = 8 << 10
)

// A batch is what a Builder is told between two checkpoints.
type batch struct {
	list   []event
	blocks []zoomcache.Block // of packets and summaries
	values int               // of windows that were copied
	flush  int               // flushes with samples: the last window belongs to the last of them
	ended  bool              // that flush has ended
	done   chan error        // one, of the goroutine that takes it
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
	bins    []int // of each track, by its place, the samples of the bins that are gathered in front of the goroutine; 0: none are
	apart   apart
	values  int64 // of the file so far, as checkpoints count them
	most    int64 // of them between two checkpoints: batchValues, or less for tests
	checked int64 // number of the last checkpoint; -1: the next flush is one
	batches int   // for tests: those that a goroutine took
	_       cacheLine
}

// A cacheLine is as long as two lines of any processor here.
type cacheLine [128]byte

// queue notes a call, or returns false if it has to be done at once.
func (x *Builder) queue(kind eventKind, w *zoomcache.Window, b *zoomcache.Block) (bool, error) {
	d := &x.behind
	if !d.on {
		return false, nil
	}
	q := d.fill
	if w != nil && q.values+w.Values.N > mostValues {
		return false, x.settle()
	}
	e := event{kind: kind}
	if w != nil {
		e.run = x.keep(w)
	} else {
		q.blocks = append(q.blocks, *b)
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
	if i, ok := slices.BinarySearch(x.numbers, w.Track.Number); ok && x.behind.bins[i] > 0 {
		if r := q.run(i, x.behind.bins[i], w); r != nil && r.bands.add(&w.Values, &x.behind.apart) {
			if r.flush != q.flush {
				r.flush, r.before = q.flush, r.n
			}
			r.n++
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

// lookAhead says, while there is no goroutine, of which tracks bins can be gathered in front of
// it, and of what size.
func (x *Builder) lookAhead() {
	d := &x.behind
	d.bins = slices.Grow(d.bins[:0], len(x.tracks))[:len(x.tracks)]
	for i, t := range x.tracks {
		d.bins[i] = 0
		if live := t.finest(); live != nil && !t.gaps && !loses(t.t) && !x.stats && columnar(t.t.Codec.Kind, live.size) {
			d.bins[i] = int(live.size)
		}
	}
}

// handOver takes what came since the last checkpoint, or has a goroutine take it, while there is no other.
func (x *Builder) handOver() error {
	d := &x.behind
	x.lookAhead()
	q := d.fill
	switch {
	case !d.on: // everything is taken: what follows is not
		d.on = true
		return nil
	case !x.o.Behind:
		defer q.reset()
		return x.take(q)
	}
	d.fill, d.free = d.free, nil
	if d.fill == nil {
		d.fill = x.newBatch()
	}
	d.busy = q
	d.batches++
	q.done = make(chan error, 1)
	go func() { q.done <- x.take(q) }()
	par.Offer()
	return nil
}

func (x *Builder) newBatch() *batch { return &batch{last: make([]int, len(x.tracks))} }

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
	q.values, q.flush, q.ended = 0, 0, false
	for i := range q.copies[:q.copied] {
		if w := &q.copies[i]; w.Values.N > longCopy { // memory of long windows would add up
			*w = zoomcache.Window{}
		}
	}
	q.copied, q.running = 0, 0
	clear(q.last)
}

// settle does what is not done yet. From now on calls are done at once, until the next flush ends.
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
