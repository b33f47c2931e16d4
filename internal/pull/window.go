package pull

import (
	"context"

	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

// A Window is parts that are read together. It and its bytes belong to whoever it is
// given to until the next one is asked for.
type Window[T any] struct {
	Parts []Part[T]

	at    []int // where each part begins in buf
	room  int   // bytes of buf before the first part
	size  int   // of buf
	buf   []byte
	spans []rangeio.Span
	first []int // the first part of each span

	err  error         // of the read, once it has ended
	done chan struct{} // closed when it has; nil: it was not begun
}

// Bytes are those of part i.
func (w *Window[T]) Bytes(i int) []byte {
	at, n := w.at[i], int(w.Parts[i].Len)
	return w.buf[at : at+n : at+n]
}

// Room is the bytes of all parts, in the order of the parts, with n bytes before
// them whose content is undefined; n is at most Pull.Room. Parts that overlap or lie
// close together in the object do so here.
func (w *Window[T]) Room(n int) []byte { return w.buf[w.room-n:] }

// reader is where all of its parts lie.
func (w *Window[T]) reader() rangeio.Reader { return w.Parts[0].From }

func (w *Window[T]) reset(room int) {
	clear(w.Parts)
	*w = Window[T]{Parts: w.Parts[:0], at: w.at[:0], room: room, size: room, spans: w.spans[:0], first: w.first[:0]}
}

// fits tells whether a window of so many bytes may have one more part.
func (w *Window[T]) fits(p *Part[T], limit int64) bool {
	n := len(w.Parts)
	return n == 0 || n < most && w.Parts[0].From == p.From && int64(w.size-w.room)+p.Len <= limit
}

// add puts a part behind the others. One that begins where the last one ends, or a
// little after it, shares its span.
func (w *Window[T]) add(p Part[T]) {
	if k := len(w.Parts); k > 0 {
		last := &w.Parts[k-1]
		if gap := p.Off - last.end(); last.Len > 0 && p.Len > 0 && 0 <= gap && gap <= near {
			w.size += int(gap)
			w.grow(p)
			return
		}
	}
	w.first = append(w.first, len(w.Parts))
	w.grow(p)
}

func (w *Window[T]) grow(p Part[T]) {
	w.at = append(w.at, w.size)
	w.Parts = append(w.Parts, p)
	w.size += int(p.Len)
}

// lend gives it memory, and its spans their places in that.
func (w *Window[T]) lend(get func(n int) []byte) {
	w.buf = get(w.size)
	for k, i := range w.first {
		end := w.size
		if k+1 < len(w.first) {
			end = w.at[w.first[k+1]]
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

// read fills it, and calls took, if given, for each part once its bytes are there.
func (w *Window[T]) read(ctx context.Context, took func(i int) error) error {
	w.lend(bufpool.Get)
	if took == nil {
		return w.reader().ReadRanges(ctx, w.spans)
	}
	return w.reader().ReadEach(ctx, w.spans, func(k int) error {
		end := len(w.Parts)
		if k+1 < len(w.first) {
			end = w.first[k+1]
		}
		for i := w.first[k]; i < end; i++ {
			if err := took(i); err != nil {
				return err
			}
		}
		return nil
	})
}
