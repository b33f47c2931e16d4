// Package rangeio reads scattered byte ranges of one immutable object.
//
// It is the seam of farread: formats ask for spans, a store turns the spans
// into few requests, and the bytes land once, in the caller's buffers. The
// package holds the two sides of that contract ([Span] and [Reader]), the pure
// planner between them ([Plan]), and adapters to and from [io.ReaderAt].
package rangeio

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// ErrOutside is matched by the error for a span outside [0, Size): a bug of
// the caller, reported before any request is made.
var ErrOutside = errors.New("span outside the object")

// A Span asks for len(P) bytes at Off, which are stored in P.
type Span struct {
	Off int64
	P   []byte
}

// End is the offset of the first byte after the span.
func (s Span) End() int64 { return s.Off + int64(len(s.P)) }

// A Reader reads one object whose bytes do not change while it is open.
// Its methods are safe for concurrent use.
type Reader interface {
	// ReadRanges fills every span, in any order and in as few requests as pay
	// off. It is all or nothing: after an error no buffer may be used. Spans
	// may overlap in the object, but not in memory. The list and its buffers
	// are the caller's again when ReadRanges returns. A span outside [0, Size)
	// fails with ErrOutside and no request; an empty span at Size is inside.
	ReadRanges(ctx context.Context, spans []Span) error
	// ReadEach is ReadRanges that calls done(i) once span i is full, perhaps
	// from several goroutines at once, so that decoding starts as requests end.
	// Every buffer whose done was called holds the right bytes, also if another
	// read fails later. The first error, from a read or from done, cancels the
	// rest and is returned after all calls of done have ended.
	ReadEach(ctx context.Context, spans []Span, done func(i int) error) error
	// Size is the length of the object in bytes.
	Size() int64
}

// Check reports the first span that does not lie inside an object of the
// given size. The error matches ErrOutside.
func Check(spans []Span, size int64) error {
	for i, s := range spans {
		if s.Off < 0 || s.Off > size || int64(len(s.P)) > size-s.Off {
			return fmt.Errorf("span %d: [%d, +%d) of %d bytes: %w", i, s.Off, len(s.P), size, ErrOutside)
		}
	}
	return nil
}

// FromReaderAt serves a local file or a byte slice as a Reader. Each span is one
// ReadAt, in order; nothing is joined, since local reads have no round trip. If
// reads turn out to wait for a slow disk, 64 are made at a time; see Disk. size
// must not exceed the bytes that r has: a short read is io.ErrUnexpectedEOF.
func FromReaderAt(r io.ReaderAt, size int64) Reader {
	return &readerAt{size, NewDisk(), func(s Span) error {
		if n, err := r.ReadAt(s.P, s.Off); n < len(s.P) {
			if err == nil || err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return fmt.Errorf("read [%d, +%d): %w", s.Off, len(s.P), err)
		}
		return nil
	}}
}

// Local reports whether r reads memory or a file of this machine. A request then
// costs a system call and no round trip, so parallel reads are not faster. A Reader
// tells that it is local by a method Local() bool. Readers of FromReaderAt, and
// sections of local Readers, are local.
func Local(r Reader) bool {
	l, ok := r.(interface{ Local() bool })
	return ok && l.Local()
}

// Slow reports whether reads of a local r wait for a disk at present. Then parallel
// reads are faster, as for a store. A Reader tells that it is slow by a method
// Slow() bool.
func Slow(r Reader) bool {
	l, ok := r.(interface{ Slow() bool })
	return ok && l.Slow()
}

type readerAt struct {
	size int64
	disk *Disk
	read func(Span) error
}

func (r *readerAt) Size() int64 { return r.size }
func (*readerAt) Local() bool   { return true }
func (r *readerAt) Slow() bool  { return r.disk.Slow() }

func (r *readerAt) ReadRanges(ctx context.Context, spans []Span) error {
	return r.ReadEach(ctx, spans, nil)
}

func (r *readerAt) ReadEach(ctx context.Context, spans []Span, done func(int) error) error {
	if err := Check(spans, r.size); err != nil {
		return err
	}
	return r.disk.Read(ctx, spans, r.read, done)
}

// Section is the part of r in [off, off+n): a chunk, or a frame inside a
// file. It panics if that part does not lie inside r, as slicing does.
func Section(r Reader, off, n int64) Reader {
	if off < 0 || n < 0 || off > r.Size() || n > r.Size()-off {
		panic(fmt.Sprintf("rangeio: section [%d, +%d) of %d bytes", off, n, r.Size()))
	}
	return section{r, off, n}
}

type section struct {
	r      Reader
	off, n int64
}

func (s section) Size() int64 { return s.n }
func (s section) Local() bool { return Local(s.r) }
func (s section) Slow() bool  { return Slow(s.r) }

func (s section) ReadRanges(ctx context.Context, spans []Span) error {
	moved, err := s.move(spans)
	if err != nil {
		return err
	}
	return s.r.ReadRanges(ctx, moved)
}

func (s section) ReadEach(ctx context.Context, spans []Span, done func(int) error) error {
	moved, err := s.move(spans)
	if err != nil {
		return err
	}
	return s.r.ReadEach(ctx, moved, done)
}

// Plan implements Planner, with offsets of the section.
func (s section) Plan(spans []Span) []Request {
	moved, err := s.move(spans)
	if err != nil {
		return nil
	}
	requests := PlanOf(s.r, moved)
	for i := range requests {
		requests[i].Off -= s.off
		for k := range requests[i].Spans {
			requests[i].Spans[k].Off -= s.off
		}
	}
	return requests
}

func (s section) move(spans []Span) ([]Span, error) {
	if err := Check(spans, s.n); err != nil {
		return nil, err
	}
	moved := make([]Span, len(spans))
	for i, sp := range spans {
		moved[i] = Span{sp.Off + s.off, sp.P}
	}
	return moved, nil
}

// WithContext binds ctx to r for code that wants a plain io.ReaderAt, which is
// safe for concurrent use, as r is. Do not keep it longer than ctx lives.
func WithContext(ctx context.Context, r Reader) io.ReaderAt { return bound{ctx, r} }

//nolint:containedctx // the purpose of the type: io.ReaderAt has no room for a context
type bound struct {
	ctx context.Context
	r   Reader
}

func (b bound) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("read at %d: %w", off, ErrOutside)
	}
	size := b.r.Size()
	if off >= size {
		return 0, io.EOF
	}
	n := min(int64(len(p)), size-off)
	if err := b.r.ReadRanges(b.ctx, []Span{{Off: off, P: p[:n]}}); err != nil {
		return 0, err
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

type inOrderKey struct{}

// InOrder marks the reads under the returned context as reads of one sequence: the bytes
// of one are needed before those of reads that begin after it, which all wait for it. So a
// store may ask again sooner if an answer is slow. See WaitedFor.
func InOrder(ctx context.Context) context.Context { return context.WithValue(ctx, inOrderKey{}, true) }

// WaitedFor reports whether InOrder marked ctx.
func WaitedFor(ctx context.Context) bool { return ctx.Value(inOrderKey{}) != nil }
