package objstore

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"iter"

	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// ReadOptions says which part of an object NewReader reads, and how far ahead.
type ReadOptions struct {
	Off   int64
	Len   int64 // 0: to the end
	Part  int64 // bytes of one request; 0: a quarter of what is read, but 1 MiB or more, and at most 8 MiB
	Ahead int   // parts in flight or read, besides the one that is being consumed; 0: 3, or 15 (policy few: 7) if Part is 0, too
}

// Defaults of ReadOptions. Sixteen connections of 80 MB/s each fill a machine's link. 8 MiB
// take 105 ms at that rate, so 16 parts bring 1 GB/s in spite of the round trip before
// each: in order, the next ones are asked for when the slowest has come. Parts of half the
// length would do so with half the memory, but each request takes processor time on both
// sides. A policy that saves requests has 8 parts: they fit a worker of 256 MiB.
const (
	leastPart    = 1 << 20
	defaultPart  = 8 << 20
	defaultParts = 16
	fewParts     = 8
	defaultAhead = 3 // of parts of the caller's length
)

func (r ReadOptions) withDefaults(size int64, p rangeio.Policy) ReadOptions {
	if r.Part > 0 {
		if r.Ahead <= 0 {
			r.Ahead = defaultAhead
		}
		return r
	}
	from, to := Range{r.Off, r.Len}.Resolve(size)
	r.Part = min(max((to-from)/4, leastPart), defaultPart)
	switch {
	case r.Ahead > 0:
	case p.Parallel == 1:
		r.Ahead = fewParts - 1
	default:
		r.Ahead = defaultParts - 1
	}
	return r
}

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
	r = r.withDefaults(o.info.Size, o.o.Policy)
	from, to := Range{r.Off, r.Len}.Resolve(o.info.Size)
	ctx, cancel := context.WithCancel(ctx)
	p := pull.Pull[struct{}]{From: oneRequest{o.object}, Window: r.Part, Memory: r.Part * int64(r.Ahead+1)}
	p.Stretch(from, to, r.Part)
	s := &stream{o: o, cancel: cancel}
	s.next, s.stop = iter.Pull2(p.Windows(ctx))
	if r.Off < 0 || r.Len < 0 {
		s.err = o.fail(o.info.Key, Range{r.Off, r.Len}, fmt.Errorf("negative offset or length: %w", ErrInvalid))
	}
	if from == 0 && to == o.info.Size {
		s.sum = o.info.Checksum.start()
	}
	return s
}

// A oneRequest reader makes one request for all spans of a call, and none for bytes that
// Open has kept. If a Keeper has parts of the spans, each gap between them is a request.
type oneRequest struct{ *object }

func (r oneRequest) Size() int64 { return r.info.Size }

func (r oneRequest) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	return r.ReadEach(ctx, spans, nil)
}

func (r oneRequest) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	if rest, _ := r.kept(spans); len(rest) > 0 {
		defer r.begin(ctx)()
		if err := rangeio.Do(ctx, rest, rangeio.Policy{}, len(rest), r.fetch, nil); err != nil {
			return err
		}
	}
	for i := 0; done != nil && i < len(spans); i++ {
		if err := done(i); err != nil {
			return err
		}
	}
	return nil
}

// A stream gives the parts of an object as an io.Reader.
type stream struct {
	o      *Object
	cancel context.CancelFunc
	next   func() (*pull.Window[struct{}], error, bool)
	stop   func()
	now    []byte    // rest of the current part
	sum    hash.Hash // hash of the parts so far; nil: cannot be compared at the end
	err    error
}

// turn makes the next part current.
func (s *stream) turn() error {
	if s.err != nil {
		return s.err
	}
	w, err, ok := s.next()
	switch {
	case !ok:
		s.err = io.EOF
		if s.sum != nil {
			if err := s.o.info.Checksum.compare(s.sum); err != nil {
				s.o.forget(err)
				s.err = s.o.fail(s.o.info.Key, Range{}, err)
			}
		}
		return s.err
	case err != nil:
		if _, placed := errors.AsType[*Error](err); !placed { // the end of a context
			err = s.o.fail(s.o.info.Key, Range{}, err)
		}
		s.err = err
		return err
	}
	s.now = w.Bytes(0)
	if s.sum != nil {
		_, _ = s.sum.Write(s.now) // a hash returns no error
	}
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

// Close cancels the requests in flight and waits for them.
func (s *stream) Close() error {
	s.cancel()
	s.stop()
	s.now = nil
	if s.err == nil {
		s.err = fmt.Errorf("read after close: %w", ErrInvalid)
	}
	return nil
}
