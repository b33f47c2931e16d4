package zoomindex

import (
	"context"
	"sort"

	"github.com/farread/farread/rangeio"
)

// held is a Reader that has some of the bytes of another one.
type held struct {
	rangeio.Reader
	list []rangeio.Span // in order, apart from each other
}

// add takes bytes that were read.
func (h *held) add(spans ...rangeio.Span) {
	h.list = append(h.list, spans...)
	sort.Slice(h.list, func(i, j int) bool { return h.list[i].Off < h.list[j].Off })
}

// has fills p from the bytes at off, if they are there.
func (h *held) has(off int64, p []byte) bool {
	i := sort.Search(len(h.list), func(i int) bool { return h.list[i].Off > off }) - 1
	for ; i >= 0; i-- { // what begins before may be shorter
		if s := &h.list[i]; off-s.Off <= int64(len(s.P)) && int64(len(p)) <= int64(len(s.P))-(off-s.Off) {
			copy(p, s.P[off-s.Off:])
			return true
		}
		if i > 0 && h.list[i-1].Off+int64(len(h.list[i-1].P)) <= off {
			return false
		}
	}
	return false
}

// ReadRanges implements rangeio.Reader.
func (h *held) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	if err := rangeio.Check(spans, h.Size()); err != nil {
		return err
	}
	var rest []rangeio.Span
	for _, s := range spans {
		if !h.has(s.Off, s.P) {
			rest = append(rest, s)
		}
	}
	if len(rest) == 0 {
		return ctx.Err()
	}
	return h.Reader.ReadRanges(ctx, rest)
}

// ReadEach implements rangeio.Reader.
func (h *held) ReadEach(ctx context.Context, spans []rangeio.Span, done func(i int) error) error {
	if err := h.ReadRanges(ctx, spans); err != nil {
		return err
	}
	for i := range spans {
		if err := done(i); err != nil {
			return err
		}
	}
	return nil
}
