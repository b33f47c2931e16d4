package gulp

import (
	"context"

	"github.com/farread/farread/rangeio"
)

// A source hands out an object in order, window by window. While one window is
// scanned the next is read, so at most two are in memory.
type source struct {
	r      rangeio.Reader
	window int64
	off    int64     // of the next window to be asked for
	bufs   [2][]byte // used in turn
	turn   int
	ahead  chan window // the read in flight, nil when there is none
}

type window struct {
	p   []byte
	err error
}

func newSource(r rangeio.Reader, size int64) *source {
	// Up to two windows, the memory is the same and one phase is saved.
	if r.Size() <= 2*size {
		size = r.Size()
	}
	return &source{r: r, window: size}
}

// next returns the next window, valid until the call after the next, or errEnd.
func (s *source) next(ctx context.Context) ([]byte, error) {
	if s.ahead == nil {
		s.start(ctx)
	}
	if s.ahead == nil {
		return nil, errEnd
	}
	w := <-s.ahead
	s.ahead = nil
	if w.err != nil {
		return nil, w.err
	}
	s.start(ctx)
	return w.p, nil
}

// start reads the next window in the background, unless all was read.
func (s *source) start(ctx context.Context) {
	n := min(s.window, s.r.Size()-s.off)
	if n <= 0 {
		return
	}
	if s.bufs[s.turn] == nil {
		s.bufs[s.turn] = make([]byte, n)
	}
	span := rangeio.Span{Off: s.off, P: s.bufs[s.turn][:n]}
	s.turn = 1 - s.turn
	s.off += n
	done := make(chan window, 1)
	s.ahead = done
	r := s.r
	go func() {
		done <- window{span.P, r.ReadRanges(ctx, []rangeio.Span{span})}
	}()
}

// wait returns when no read is in flight.
func (s *source) wait() {
	if s.ahead != nil {
		<-s.ahead
		s.ahead = nil
	}
}
