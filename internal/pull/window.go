package pull

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

// A Window is a group of parts that are read together. The caller of Pull.Windows
// may use a Window and its bytes until it asks for the next Window.
type Window[T any] struct {
	Parts []Part[T]
	// Note is for the caller's Came. It stays when the Pull reuses the Window, so
	// that Came can reuse its memory.
	Note any

	cost int64 // bytes of the parts, of the gaps that are read, and of More
	made int64 // bytes that are made of the parts
	near int64 // Pull.Near, or its default
	into func(T) []byte

	buf     []byte // borrowed memory, with room before the first byte; kept if the Window is reused
	room    int
	size    int   // length of buf
	offsets []int // offset of each part in buf
	order   []int // numbers of the parts, sorted by their offset in the object; nil: Parts are sorted
	spans   []rangeio.Span
	first   []int // for each span, the position of its first part in order

	err   error         // error of the read, after its end
	done  chan struct{} // closed at the end of the read; nil: the read has not begun
	share int64         // bytes of the budget that the Window takes

	few few[T] // lists of a window of few parts
}

// few holds the lists of a window of few parts, so that a short read needs only
// one allocation for them.
type few[T any] struct {
	parts          [fewParts]Part[T]
	offsets, first [fewParts]int
	spans          [fewParts]rangeio.Span
}

const fewParts = 16

// newWindow returns an empty window with room for about the given number of
// parts.
func (p *Pull[T]) newWindow(parts int) *Window[T] {
	w := &Window[T]{room: p.Room, near: p.near(), into: p.Into}
	if w.Parts = w.few.parts[:0]; parts > fewParts {
		w.Parts = make([]Part[T], 0, parts)
	}
	w.offsets, w.first, w.spans = w.few.offsets[:0], w.few.first[:0], w.few.spans[:0]
	return w
}

// Bytes returns the bytes of part i.
func (w *Window[T]) Bytes(i int) []byte {
	if b := w.ownMemory(&w.Parts[i]); b != nil {
		return b
	}
	at, n := w.offsets[i], int(w.Parts[i].Len)
	return w.buf[at : at+n : at+n]
}

// ownMemory returns the caller's memory for p, or nil if the bytes of p lie in buf.
func (w *Window[T]) ownMemory(p *Part[T]) []byte {
	if w.into == nil {
		return nil
	}
	if b := w.into(p.For); b != nil {
		return b[:p.Len:p.Len]
	}
	return nil
}

// Room returns n bytes of undefined content and after them the bytes of all parts, in
// the order of the parts. n is at most Pull.Room. Use Room only if the parts follow
// each other in the object, and Pull.Into gives none of them memory.
func (w *Window[T]) Room(n int) []byte { return w.buf[w.room-n:] }

// reader returns the reader of all parts of w.
func (w *Window[T]) reader() rangeio.Reader { return w.Parts[0].From }

// quick reports whether a read of w has nothing to wait for.
func (w *Window[T]) quick() bool { return quick(w.reader()) }

func quick(r rangeio.Reader) bool { return rangeio.Local(r) && !rangeio.Slow(r) }

// partOverhead is about the number of bytes that a part takes besides its
// content.
const partOverhead = 128

// held returns the bytes that w counts for in Memory.
func (w *Window[T]) held() int64 { return w.cost + int64(len(w.Parts)-1)*partOverhead }

// reset empties w. w keeps its memory.
func (w *Window[T]) reset() {
	clear(w.Parts)
	w.Parts, w.offsets, w.order, w.spans, w.first = w.Parts[:0], w.offsets[:0], nil, w.spans[:0], w.first[:0]
	w.cost, w.made, w.size, w.err, w.done, w.share = 0, 0, 0, nil, nil, 0
}

// fits reports whether p may join w, which has one part or more, if a window has at most
// limit bytes, as much work as one of pull may have, and so many parts.
func (w *Window[T]) fits(p *Part[T], limit int64, pull *Pull[T]) bool {
	if pull.Work > 0 && w.made+p.Made > pull.Work {
		return false
	}
	return len(w.Parts) < pull.most() && w.Parts[0].sameReader(p) && w.cost+w.needs(p) <= limit
}

// sameReader reports whether p and q have the same reader. Readers of callers may not be
// comparable; if two parts name such readers, these count as different.
func (p *Part[T]) sameReader(q *Part[T]) bool {
	if p.own && q.own {
		return true
	}
	return reflect.ValueOf(p.From).Comparable() && reflect.ValueOf(q.From).Comparable() && p.From == q.From
}

// needs returns the bytes that p would add to w: its content, its More, and the gap
// after the last part if the two share a span.
func (w *Window[T]) needs(p *Part[T]) int64 {
	if w.ownMemory(p) != nil {
		return p.More
	}
	if n := len(w.Parts); n > 0 {
		if last := &w.Parts[n-1]; p.Off > last.end() && w.joins(last, p) {
			return p.Off - last.end() + p.Len + p.More
		}
	}
	return p.Len + p.More
}

// joins reports whether p shares a span with last, the part before it in the
// object.
func (w *Window[T]) joins(last, p *Part[T]) bool {
	gap := p.Off - last.end()
	return 0 <= gap && gap <= w.near && (w.into == nil || w.ownMemory(last) == nil && w.ownMemory(p) == nil)
}

// add appends p to the parts of w.
func (w *Window[T]) add(p Part[T]) {
	if n := len(w.Parts); n > 0 && w.order == nil && p.Off < w.Parts[n-1].Off {
		w.order = make([]int, 0, 2*n) // layOut fills and sorts it
	}
	w.cost += w.needs(&p)
	w.made += p.Made
	w.Parts = append(w.Parts, p)
}

// layOut sets the offset of each part in buf. The parts lie in buf in the order of the
// object, so that a part shares the span of the part before it if their gap is short.
func (w *Window[T]) layOut() {
	if w.order != nil {
		for i := range w.Parts {
			w.order = append(w.order, i)
		}
		slices.SortStableFunc(w.order, func(a, b int) int { return cmp.Compare(w.Parts[a].Off, w.Parts[b].Off) })
	}
	w.offsets = slices.Grow(w.offsets, len(w.Parts))[:len(w.Parts)]
	w.size = w.room
	var last *Part[T]
	for k := range w.Parts {
		i := w.nth(k)
		p := &w.Parts[i]
		if last != nil && w.joins(last, p) {
			w.size += int(p.Off - last.end())
		} else {
			w.first = append(w.first, k)
		}
		if w.offsets[i] = w.size; w.ownMemory(p) == nil {
			w.size += int(p.Len)
		}
		last = p
	}
}

// nth returns the number of the part that is the k-th in the order of the
// object.
func (w *Window[T]) nth(k int) int {
	if w.order == nil {
		return k
	}
	return w.order[k]
}

// allocate gets memory for w, and makes its spans. get returns n bytes of
// memory.
func (w *Window[T]) allocate(get func(n int) []byte) {
	if have := cap(w.buf); w.buf != nil && (have < w.size || have > 2*w.size) {
		w.release()
	}
	if w.buf == nil {
		w.buf = get(w.size)
	}
	w.buf = w.buf[:w.size]
	w.spans = slices.Grow(w.spans, len(w.first))
	for k, first := range w.first {
		i, end := w.nth(first), w.size
		if k+1 < len(w.first) {
			end = w.offsets[w.nth(w.first[k+1])]
		}
		b := w.ownMemory(&w.Parts[i])
		if b == nil {
			b = w.buf[w.offsets[i]:end:end]
		}
		w.spans = append(w.spans, rangeio.Span{Off: w.Parts[i].Off, P: b})
	}
}

// release returns the memory of w to the pool.
func (w *Window[T]) release() {
	if w.buf != nil {
		bufpool.Put(w.buf)
		w.buf = nil
	}
}

// each calls took with the number of each part, in the order of the object.
func (w *Window[T]) each(took func(i int) error) error {
	for k := range w.Parts {
		if err := took(w.nth(k)); err != nil {
			return err
		}
	}
	return nil
}

// read reads the bytes of w. If took is not nil, read calls it with the number of
// each part once the bytes of the part are there.
func (w *Window[T]) read(ctx context.Context, took func(i int) error) error {
	w.allocate(bufpool.Get)
	switch {
	case w.empty() && took == nil:
		return nil
	case w.empty():
		return w.each(took)
	case took == nil:
		return w.reader().ReadRanges(ctx, w.spans)
	}
	return w.reader().ReadEach(ctx, w.spans, func(k int) error {
		end := len(w.Parts)
		if k+1 < len(w.first) {
			end = w.first[k+1]
		}
		for i := w.first[k]; i < end; i++ {
			if err := took(w.nth(i)); err != nil {
				return err
			}
		}
		return nil
	})
}

// empty reports whether w has no bytes to read.
func (w *Window[T]) empty() bool {
	return w.size == w.room && (w.into == nil || !slices.ContainsFunc(w.spans, func(s rangeio.Span) bool { return len(s.P) > 0 }))
}
