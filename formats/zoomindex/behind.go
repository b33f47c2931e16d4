package zoomindex

import (
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/formats/zoomcache"
)

// With WriteOptions.Behind a Builder works a batch behind the Writer, on the other
// processor: it gathers the bins of windows, or copies those for which it has no columns, and
// headers, and a goroutine takes a batch of them while the Writer makes the next one. There is at most one such goroutine, which ends with its batch,
// whatever becomes of the Writer.
//
// What goes into the file between its blocks depends on how much memory the pages take
// behind each flush. So a Builder is behind only while they cannot reach the bound in what is
// not taken yet; near the bound it takes everything at once. Thus the bytes are the same.

const (
	// batchValues is how many values are worth a goroutine: about 300 us of work.
	batchValues = 64 << 10
	// mostValues and mostWindows are how many are kept: a longer flush is done at once.
	mostValues  = 4 * batchValues
	mostWindows = 160
)

// A batch is what a Builder is told between two flushes, or several.
type batch struct {
	list    []event
	windows []waiting // those of the list, in memory that is used again
	n       int       // windows in use
	values  int
	done    chan error // one, of the goroutine that takes it
}

// A waiting window has its values, or their bins.
type waiting struct {
	zoomcache.Window
	banded bool
	bands  channels
}

// An event is a call of a Sink.
type event struct {
	kind  eventKind
	block zoomcache.Block
}

type eventKind uint8

const (
	eventWindow eventKind = iota
	eventPacket
	eventSummary
	eventFlush
)

// behind is the state of a Builder with WriteOptions.Behind.
type behind struct {
	on    bool   // calls go into fill
	fill  *batch // what comes in
	busy  *batch // what the goroutine takes; nil: there is none
	free  *batch
	apart apart
	room  int64 // by how much pages may grow in what is not taken yet
	// For tests: batches that a goroutine took, and whether the pages have passed the bound
	// meanwhile, which room excludes.
	batches int
	late    bool
}

// queue notes a call, or returns false if it has to be done at once.
func (x *Builder) queue(kind eventKind, w *zoomcache.Window, b *zoomcache.Block) (bool, error) {
	d := &x.behind
	if !d.on {
		return false, nil
	}
	q := d.fill
	switch kind {
	case eventWindow:
		d.room -= x.growth(w)
	case eventPacket:
		d.room -= mostRun
	case eventSummary, eventFlush:
	}
	if d.room < 0 || w != nil && (q.values+w.Values.N > mostValues || q.n == mostWindows) {
		return false, x.settle()
	}
	e := event{kind: kind}
	if w != nil {
		x.keep(w)
	} else if b != nil {
		e.block = *b
	}
	q.list = append(q.list, e)
	return true, nil
}

// keep adds a window to the batch.
func (x *Builder) keep(w *zoomcache.Window) {
	q := x.behind.fill
	if q.n == len(q.windows) {
		q.windows = append(q.windows, waiting{})
	}
	to := &q.windows[q.n]
	q.n++
	q.values += w.Values.N
	t, width := x.track(w.Track.Number), w.Track.Codec.Width()
	if to.banded = t != nil && t.ahead > 0 && to.bands.gather(&w.Values, width, t.ahead, w.Values.N/width, &x.behind.apart); !to.banded {
		to.copy(w)
		return
	}
	to.Track, to.Entry, to.Exit, to.Stamps = w.Track, w.Entry, w.Exit, nil
	to.Values.Kind, to.Values.N = w.Values.Kind, w.Values.N
}

func (to *waiting) copy(w *zoomcache.Window) {
	v, stamps := to.Values, to.Stamps
	to.Window = *w
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
// front of it, and of what size. They stay so: nothing is given up before the bound.
func (x *Builder) lookAhead() {
	for _, t := range x.tracks {
		t.ahead = 0
		if live := t.finest(); live != nil && !t.gaps && !loses(t.t) && !x.stats && columnar(t.t.Codec.Kind) {
			t.ahead = int(live.size)
		}
	}
}

// flushed is called behind each flush. It hands the batch over if it is worth it.
func (x *Builder) flushed() (queued bool, err error) {
	if queued, err = x.queue(eventFlush, nil, nil); err != nil || !queued {
		return false, err
	}
	d := &x.behind
	if d.fill.values < batchValues && d.fill.n < mostWindows/2 {
		return true, nil
	}
	if err := x.wait(); err != nil {
		return true, err
	}
	room := x.spare(d.fill.values+mostValues, d.fill.n+mostWindows)
	for i := range d.fill.windows[:d.fill.n] {
		room -= x.growth(&d.fill.windows[i].Window)
	}
	d.room = room - int64(len(d.fill.list))*mostRun
	q := d.fill
	d.fill, d.free = d.free, nil
	if d.fill == nil {
		d.fill = &batch{}
	}
	x.lookAhead()
	d.busy = q
	d.batches++
	q.done = make(chan error, 1)
	go func() { q.done <- x.take(q) }()
	return true, nil
}

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

func (q *batch) reset() { q.list, q.n, q.values = q.list[:0], 0, 0 }

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
	if !x.o.Behind {
		return
	}
	d, enough := &x.behind, x.o.MaxMemory/32
	if x.o.MaxMemory-x.held() < enough {
		return
	}
	if d.room = x.spare(mostValues, mostWindows); d.room < enough {
		return
	}
	if d.fill == nil {
		d.fill = &batch{}
	}
	x.lookAhead()
	d.on = true
}

// take does the calls of a batch.
func (x *Builder) take(q *batch) error {
	windows := q.windows
	for i := range q.list {
		e := &q.list[i]
		var err error
		switch e.kind {
		case eventWindow:
			w := &windows[0]
			var b channels
			if w.banded {
				b = w.bands
			}
			err = x.window(&w.Window, b)
			windows = windows[1:]
		case eventPacket:
			err = x.packet(&e.block)
		case eventSummary:
			x.summary(&e.block)
		case eventFlush:
			x.grace = 0
			x.behind.late = x.behind.late || x.held() > x.o.MaxMemory
		}
		if err != nil {
			return err
		}
	}
	return nil
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
	if t := x.track(w.Track.Number); t != nil && !t.gaps {
		size := int64(rawView)
		if key > 0 {
			size = max(rawView/(key*width), 1)
		}
		all += 2*(n/size+mostSizes)*(mostBin+6+width*(mostPart+2*key)) + mostSizes*mostSpan // a gap may precede the first
	} else {
		all += 2 * (n + mostSizes) * span // each sample may be a span of its own
	}
	return 2 * all
}

// spare is by how much the pages may grow before they reach the bound, while no more than
// that many values and windows come: without what the unfinished pages have, what those
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
			level(t, l, values/int(l.size)+windows) // a window ends with a short one
		}
		for i, l := range t.level {
			level(t, l, windows>>i+2)
		}
	}
	return left
}
