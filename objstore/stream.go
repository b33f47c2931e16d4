package objstore

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"

	"github.com/farread/farread/rangeio"
)

// ReadOptions says which part of an object NewReader reads, and how far ahead.
type ReadOptions struct {
	Off   int64
	Len   int64 // 0: to the end
	Part  int64 // bytes of one request; 0: 8 MiB
	Ahead int   // parts in flight or read, besides the one that is being consumed; 0: 3
}

// Defaults of ReadOptions: three parts of 8 MiB keep a connection busy at 80
// MB/s while the reader works, and fit a worker of 256 MiB many times over.
const (
	defaultPart  = 8 << 20
	defaultAhead = 3
)

// NewReader reads a part of the object from front to end with bounded memory:
// Part x (Ahead + 1) bytes. Parts are fetched ahead from the first Read on, side by
// side, each by one request unless Open or the cache has its bytes; they do not enter
// the cache. A range that reaches beyond the object is cut; a negative Off or Len is
// ErrInvalid at the first Read. If the Info has a Checksum and the whole object is
// read, other bytes end in ErrCorrupt instead of io.EOF.
//
// The reader obeys ctx, implements io.WriterTo, and is not safe for concurrent use.
// Close it: that ends the requests in flight.
func (o *Object) NewReader(ctx context.Context, r ReadOptions) io.ReadCloser {
	if r.Part <= 0 {
		r.Part = defaultPart
	}
	if r.Ahead <= 0 {
		r.Ahead = defaultAhead
	}
	from, to := Range{r.Off, r.Len}.Resolve(o.info.Size)
	ctx, cancel := context.WithCancel(rangeio.OnePhase(ctx)) // no part depends on another's bytes
	s := &stream{o: o, ctx: ctx, cancel: cancel, next: from, end: to, part: r.Part}
	if r.Off < 0 || r.Len < 0 {
		s.err = o.fail(o.info.Key, Range{r.Off, r.Len}, fmt.Errorf("negative offset or length: %w", ErrInvalid))
	}
	if from == 0 && to == o.info.Size {
		s.sum = o.info.Checksum.start()
	}
	s.queue = make([]*ahead, 0, r.Ahead)
	return s
}

// A stream owns Ahead + 1 buffers, made as they are needed and used in turn.
type stream struct {
	o          *Object
	ctx        context.Context //nolint:containedctx // io.Reader has no room for one; lives as long as the stream
	cancel     context.CancelFunc
	next, end  int64 // to be asked for
	part       int64
	queue      []*ahead // in order of offset
	free       [][]byte
	whole, now []byte    // the part that is being consumed, and what is left of it
	sum        hash.Hash // of the parts so far, where it can be compared in the end; else nil
	err        error
}

type ahead struct {
	buf  []byte
	err  error
	done chan struct{}
}

// fill asks for parts until as many are under way as wanted.
func (s *stream) fill() {
	for s.next < s.end && len(s.queue) < cap(s.queue) {
		n := min(s.part, s.end-s.next)
		var buf []byte
		if k := len(s.free); k > 0 && int64(cap(s.free[k-1])) >= n {
			buf, s.free = s.free[k-1][:n], s.free[:k-1]
		} else {
			buf = make([]byte, n)
		}
		a := &ahead{buf: buf, done: make(chan struct{})}
		span := rangeio.Span{Off: s.next, P: buf}
		s.next += n
		s.queue = append(s.queue, a)
		go func() {
			defer close(a.done)
			a.err = s.fetch(span)
		}()
	}
}

// fetch gets one part as one request, but for what Open kept.
func (s *stream) fetch(span rangeio.Span) error {
	rest, _ := s.o.kept([]rangeio.Span{span})
	if len(rest) == 0 {
		return nil
	}
	end := s.o.begin(s.ctx)
	defer end()
	return rangeio.Do(s.ctx, rest, rangeio.Policy{}, 1, s.o.fetch, nil)
}

// turn makes the next part current.
func (s *stream) turn() error {
	if s.err != nil {
		return s.err
	}
	if s.whole != nil {
		s.free, s.whole = append(s.free, s.whole), nil
	}
	s.fill()
	if len(s.queue) == 0 {
		s.err = io.EOF
		if s.sum != nil {
			if err := s.o.info.Checksum.compare(s.sum); err != nil {
				s.err = s.o.fail(s.o.info.Key, Range{}, err)
			}
		}
		return s.err
	}
	a := s.queue[0]
	<-a.done // ends with ctx, too: fetch obeys it
	s.queue = append(s.queue[:0], s.queue[1:]...)
	if a.err != nil {
		s.err = a.err
		s.cancel()
		return s.err
	}
	if s.sum != nil {
		_, _ = s.sum.Write(a.buf) // of a hash: never an error
	}
	s.whole, s.now = a.buf, a.buf
	s.fill()
	return nil
}

func (s *stream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(s.now) == 0 {
		if err := s.turn(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.now)
	s.now = s.now[n:]
	return n, nil
}

// WriteTo implements io.WriterTo without another copy.
func (s *stream) WriteTo(w io.Writer) (int64, error) {
	var total int64
	for {
		if len(s.now) > 0 {
			n, err := w.Write(s.now)
			total += int64(n)
			s.now = s.now[n:]
			if err != nil {
				return total, err
			}
		}
		if err := s.turn(); errors.Is(err, io.EOF) {
			return total, nil
		} else if err != nil {
			return total, err
		}
	}
}

// Close ends what is in flight and waits for it.
func (s *stream) Close() error {
	s.cancel()
	for _, a := range s.queue {
		<-a.done
	}
	s.queue, s.now, s.whole, s.free = nil, nil, nil, nil
	if s.err == nil {
		s.err = fmt.Errorf("read after close: %w", ErrInvalid)
	}
	return nil
}
