package zoomcache

import (
	"math/big"
	"slices"
)

// A lane gathers the values of a track, of whatever type.
type lane interface {
	count() int                         // values of each channel gathered
	show(w *Window)                     // lends the gathered values to w
	payload(dst []byte) ([]byte, error) // appends the payload of the packet of these values
	squeezes(values int) bool           // reports whether compressing the payload is worth a goroutine
	squeeze(p *piece) error             // makes the payload in p, before payload is called
	push()                              // makes the summaries of the values
	finish()                            // makes the last summaries
	made() *cascade                     // the summary blocks that push or finish made
	clear()                             // drops the gathered values
	load(v *Values, stamps []int64)     // replaces the gathered values by v, without a copy
	wait(b *Block, body []byte) bool    // takes a summary that waits for the second of its pair; false: it is damaged
}

func newLane(t *TrackWriter) lane {
	switch t.t.Codec.Kind {
	case Bool:
		return newTypedLane[bool](t)
	case F32:
		return newTypedLane[float32](t)
	case F64:
		return newTypedLane[float64](t)
	case Int, I64:
		return newTypedLane[int64](t)
	case Integer:
		return newTypedLane[*big.Int](t)
	case Word, U64:
		return newTypedLane[uint64](t)
	case I8:
		return newTypedLane[int8](t)
	case I16:
		return newTypedLane[int16](t)
	case I32:
		return newTypedLane[int32](t)
	case U8:
		return newTypedLane[uint8](t)
	case U16:
		return newTypedLane[uint16](t)
	case U32:
		return newTypedLane[uint32](t)
	default:
		return newTypedLane[struct{}](t)
	}
}

// A slot keeps one level's summary until the second of its pair comes.
type slot[T any] struct {
	full        bool
	entry, exit int64
	accs        []acc[T] // an acc for each channel
}

type typedLane[T Value] struct {
	tw       *TrackWriter
	k        kernel[T]
	width    int
	keep     []T     // values of an unfinished window
	keepAt   []int64 // their stamps
	cur      []T     // the gathered values: keep, or the caller's slice
	curAt    []int64 // nil at constant rate
	one      []T     // see summarise
	batch    batch[T]
	raw      [4]T // memory for the accs of one summary
	accs     []acc[T]
	slots    []slot[T] // slot of each level, from 1
	squeezed *piece
	out      cascade
}

func newTypedLane[T Value](t *TrackWriter) *typedLane[T] {
	w := t.t.Codec.Width()
	return &typedLane[T]{tw: t, k: kernelOf[T](t.t.Codec), width: w, accs: make([]acc[T], w)}
}

func (l *typedLane[T]) count() int     { return len(l.cur) / l.width }
func (l *typedLane[T]) made() *cascade { return &l.out }

func (l *typedLane[T]) clear() {
	clear(l.keep) // frees big integers
	l.keep, l.keepAt = l.keep[:0], l.keepAt[:0]
	l.cur, l.curAt = nil, nil
}

func (l *typedLane[T]) show(w *Window) {
	w.Values.lend(l.tw.t.Codec.Kind, &l.cur)
	w.Stamps = l.curAt
}

// put takes values and flushes whenever they reach the watermark.
func (l *typedLane[T]) put(v []T, stamps []int64) error {
	t := l.tw
	for len(v) > 0 {
		n := len(v) / l.width
		have := len(l.keep) / l.width
		whole := t.watermark >= 1 && have+n >= t.watermark
		if whole {
			n = max(t.watermark-have, 1)
		}
		if have+n > maxWindow {
			return tooLarge("packet", -1, "more than %d values: choose a lower watermark", maxWindow)
		}
		if whole && have == 0 && l.batch.next >= l.batch.until {
			if err := l.prepare(v, stamps, n); err != nil {
				return err
			}
		}
		if have == 0 {
			t.entry = t.exit + 1
			if stamps != nil {
				t.entry = stamps[0]
			}
		}
		var at []int64
		t.exit += int64(n)
		if stamps != nil {
			at, stamps = stamps[:n], stamps[n:]
			t.exit = at[n-1]
		}
		l.take(v[:n*l.width], at, whole)
		v = v[n*l.width:]
		if whole {
			if err := t.w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// take appends v to the window. If v is the whole window and is flushed at once, take
// does not copy.
func (l *typedLane[T]) take(v []T, stamps []int64, whole bool) {
	if whole && len(l.keep) == 0 {
		l.cur, l.curAt = v, stamps
		return
	}
	l.keep = append(l.keep, v...)
	l.cur = l.keep
	if stamps != nil {
		l.keepAt = append(l.keepAt, stamps...)
		l.curAt = l.keepAt
	}
}

func (l *typedLane[T]) payload(dst []byte) ([]byte, error) {
	if p, ok := l.ready(); ok {
		return append(dst, p...), nil
	}
	if p := l.squeezed; p != nil {
		l.squeezed = nil
		return append(dst, p.payload...), nil
	}
	return l.encode(dst, l.cur, l.curAt, &l.tw.w.pieces[0])
}

// encode appends the payload of a window.
func (l *typedLane[T]) encode(dst []byte, v []T, stamps []int64, p *piece) ([]byte, error) {
	t := &l.tw.t
	if !t.Zlib {
		return encodeStamps(l.k.encode(dst, v, t.deltas()), stamps), nil
	}
	p.plain = encodeStamps(l.k.encode(p.plain[:0], v, t.deltas()), stamps)
	return p.z.deflate(dst, p.plain)
}

// summarise makes the level-1 summary of a window: one acc for each channel. one is
// scratch memory for the values of a channel; summarise returns it.
func (l *typedLane[T]) summarise(accs []acc[T], v []T, stamps []int64, dur int64, one []T) []T {
	if l.width == 1 {
		accs[0] = l.k.window(v, stamps, dur)
		return one
	}
	for c := range accs {
		one = slices.Grow(one[:0], len(v)/l.width)
		for i := c; i < len(v); i += l.width {
			one = append(one, v[i])
		}
		accs[c] = l.k.window(one, stamps, dur)
	}
	return one
}

// push makes the level-1 summary of the window and joins pairs into higher levels.
func (l *typedLane[T]) push() {
	if len(l.cur) == 0 {
		return
	}
	entry, exit := l.tw.entry, l.tw.exit
	if b := &l.batch; b.next < b.until {
		copy(l.accs, b.accs[b.next*l.width:])
		b.next++
	} else {
		l.one = l.summarise(l.accs, l.cur, l.curAt, exit-entry, l.one)
	}
	l.out.first = 1
	for level := int32(1); ; level++ {
		l.block(level, entry, exit)
		if int(level) > len(l.slots) {
			l.slots = append(l.slots, slot[T]{accs: make([]acc[T], l.width)})
		}
		s := &l.slots[level-1]
		if !s.full {
			s.full, s.entry, s.exit = true, entry, exit
			copy(s.accs, l.accs)
			return
		}
		l.join(s, entry, exit)
		entry = s.entry
	}
}

// join merges the summary that waits in s into the accs, which are later, and empties
// s.
func (l *typedLane[T]) join(s *slot[T], entry, exit int64) {
	for c := range l.accs {
		l.accs[c] = l.k.merge(&s.accs[c], &l.accs[c], s.exit-s.entry, exit-entry)
	}
	s.full = false
}

// finish empties the slots, lowest level first. It joins each one with the summary from
// below and writes the result one level higher.
func (l *typedLane[T]) finish() {
	var entry, exit int64
	rising := false
	level := int32(1)
	for i := range l.slots {
		s := &l.slots[i]
		level++
		switch {
		case !s.full && !rising:
			continue
		case s.full && rising:
			l.join(s, entry, exit)
			entry = s.entry
		case s.full:
			copy(l.accs, s.accs)
			entry, exit, s.full = s.entry, s.exit, false
		}
		if !rising {
			l.out.first, rising = level, true
		}
		l.block(level, entry, exit)
	}
}

// block appends a summary block of the accs.
func (l *typedLane[T]) block(level int32, entry, exit int64) {
	at := len(l.out.p)
	b := Block{Summary: true, Track: l.tw.t.Number, Level: level, Entry: entry, Exit: exit}
	l.out.p = b.append(l.out.p)
	for c := range l.accs {
		l.out.p = l.body(l.out.p, &l.accs[c])
	}
	putLen(l.out.p, at)
	l.out.ends = append(l.out.ends, len(l.out.p))
}

// body appends the bytes of one channel in a summary block.
func (l *typedLane[T]) body(dst []byte, a *acc[T]) []byte {
	if l.k.body != nil {
		return l.k.body(dst, a)
	}
	l.raw = [4]T{a.first, a.last, a.min, a.max}
	raw := l.raw[:]
	if l.tw.t.Codec.PCM {
		raw = raw[2:]
	}
	return appendF64(appendF64(l.k.encode(dst, raw, false), a.mean), a.rms)
}
