package zoomindex

import (
	"context"

	"github.com/farread/farread/rangeio"
)

// held is a Reader that has some of the bytes of another one.
type held struct {
	rangeio.Reader
	list []rangeio.Span
}

// has fills p from the bytes at off, if all are there.
func (h *held) has(off int64, p []byte) bool {
	for len(p) > 0 {
		n := 0
		for i := range h.list {
			if s := &h.list[i]; off >= s.Off && off-s.Off < int64(len(s.P)) {
				n = copy(p, s.P[off-s.Off:])
				break
			}
		}
		if n == 0 {
			return false
		}
		off, p = off+int64(n), p[n:]
	}
	return true
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
