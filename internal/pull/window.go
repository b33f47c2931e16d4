package pull

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

// A Window is parts that are read together. It and its bytes belong to whoever it is
// given to until the next one is asked for.
type Window[T any] struct {
	Parts []Part[T]
	// Note is what Came makes of it, and is there to be used again when a window is.
	Note any

	cost int64 // bytes of its parts, between them, and what else these need
	near int64 // see Pull

	buf   []byte // lent, with room before the first byte; kept while the Window is used again
	room  int
	size  int   // of buf
	at    []int // where each part begins in buf
	order []int // of the parts in the object; nil: as they are
	spans []rangeio.Span
	first []int // of each span: its first part in that order

	err   error         // of the read, once it has ended
	done  chan struct{} // closed when it has; nil: it was not begun
	share int64         // of the budget

	few few[T] // what a window of few parts needs
}

// few is room for the lists of a window, so that a short read allocates but one.
type few[T any] struct {
	parts     [fewParts]Part[T]
	at, first [fewParts]int
	spans     [fewParts]rangeio.Span
}

const fewParts = 16

// newWindow is an empty window, which will have about so many parts.
func newWindow[T any](parts, room int, near int64) *Window[T] {
	w := &Window[T]{room: room, near: near}
	if w.Parts = w.few.parts[:0]; parts > fewParts {
		w.Parts = make([]Part[T], 0, parts)
	}
	w.at, w.first, w.spans = w.few.at[:0], w.few.first[:0], w.few.spans[:0]
	return w
}

// Bytes are those of part i.
func (w *Window[T]) Bytes(i int) []byte {
	at, n := w.at[i], int(w.Parts[i].Len)
	return w.buf[at : at+n : at+n]
}

// Room is the bytes of all parts, in the order of the parts, with n bytes before
// them whose content is undefined; n is at most Pull.Room. It is for parts that follow
// each other in the object.
func (w *Window[T]) Room(n int) []byte { return w.buf[w.room-n:] }

// reader is where all of its parts lie.
func (w *Window[T]) reader() rangeio.Reader { return w.Parts[0].From }

// quick says that there is nothing to wait for when it is read.
func (w *Window[T]) quick() bool { return quick(w.reader()) }

func quick(r rangeio.Reader) bool { return rangeio.Local(r) && !rangeio.Slow(r) }

// books is about what each part takes besides its bytes.
const books = 128

// held is what it counts for in Memory.
func (w *Window[T]) held() int64 { return w.cost + int64(len(w.Parts)-1)*books }

// reset makes it an empty one, with the memory that it has.
func (w *Window[T]) reset() {
	clear(w.Parts)
	w.Parts, w.at, w.order, w.spans, w.first = w.Parts[:0], w.at[:0], nil, w.spans[:0], w.first[:0]
	w.cost, w.size, w.err, w.done, w.share = 0, 0, nil, nil, 0
}

// fits tells whether a window of so many bytes and parts, one or more, may have another.
func (w *Window[T]) fits(p *Part[T], limit int64, most int) bool {
	n := len(w.Parts)
	return n < most && w.Parts[0].with(p) && w.cost+w.between(p)+p.Len+p.More <= limit
}

// with tells whether two parts lie in one reader. Readers that cannot be compared, as a
// caller's may be, count as two if parts name them.
func (p *Part[T]) with(q *Part[T]) bool {
	if p.own && q.own {
		return true
	}
	return reflect.ValueOf(p.From).Comparable() && reflect.ValueOf(q.From).Comparable() && p.From == q.From
}

// between is how many bytes are dropped between the last part and p, if they share a
// span.
func (w *Window[T]) between(p *Part[T]) int64 {
	if n := len(w.Parts); n > 0 {
		if gap := p.Off - w.Parts[n-1].end(); 0 < gap && gap <= w.near {
			return gap
		}
	}
	return 0
}

// add puts a part behind the others.
func (w *Window[T]) add(p Part[T]) {
	if n := len(w.Parts); n > 0 && w.order == nil && p.Off < w.Parts[n-1].Off {
		w.order = make([]int, 0, 2*n) // to be sorted
	}
	w.cost += w.between(&p) + p.Len + p.More
	w.Parts = append(w.Parts, p)
}

// lay says where each part will lie: as in the object, so that one which begins where
// another ends, or a little after, shares its span.
func (w *Window[T]) lay() {
	if w.order != nil {
		for i := range w.Parts {
			w.order = append(w.order, i)
		}
		slices.SortStableFunc(w.order, func(a, b int) int { return cmp.Compare(w.Parts[a].Off, w.Parts[b].Off) })
	}
	w.at = slices.Grow(w.at, len(w.Parts))[:len(w.Parts)]
	w.size = w.room
	var last *Part[T]
	for k := range w.Parts {
		i := w.nth(k)
		p := &w.Parts[i]
		if gap := p.Off - end(last); last != nil && 0 <= gap && gap <= w.near {
			w.size += int(gap)
		} else {
			w.first = append(w.first, k)
		}
		w.at[i] = w.size
		w.size += int(p.Len)
		last = p
	}
}

// nth is the number of the k-th part in the object.
func (w *Window[T]) nth(k int) int {
	if w.order == nil {
		return k
	}
	return w.order[k]
}

func end[T any](p *Part[T]) int64 {
	if p == nil {
		return 0
	}
	return p.end()
}

// lend gives it memory, and its spans their places in that.
func (w *Window[T]) lend(get func(n int) []byte) {
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
			end = w.at[w.nth(w.first[k+1])]
		}
		w.spans = append(w.spans, rangeio.Span{Off: w.Parts[i].Off, P: w.buf[w.at[i]:end:end]})
	}
}

// release gives its memory back.
func (w *Window[T]) release() {
	if w.buf != nil {
		bufpool.Put(w.buf)
		w.buf = nil
	}
}

// each calls took for each part.
func (w *Window[T]) each(took func(i int) error) error {
	for k := range w.Parts {
		if err := took(w.nth(k)); err != nil {
			return err
		}
	}
	return nil
}

// read fills it, and calls took, if given, for each part once its bytes are there.
func (w *Window[T]) read(ctx context.Context, took func(i int) error) error {
	w.lend(bufpool.Get)
	switch {
	case w.size > w.room && took == nil:
		return w.reader().ReadRanges(ctx, w.spans)
	case took == nil: // nothing to read
		return nil
	case w.size == w.room:
		return w.each(took)
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
