package zoomcache

import (
	"context"
	"errors"

	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/rangeio"
)

// Scan goes once over all blocks of the file, in its order, and calls fn with
// each header and its content as stored, which is valid during the call only.
// Track.DecodePacket and Track.DecodeSummary decode it. Blocks of tracks that the
// header does not declare come with t and content nil: nothing is known of them
// but their length. An error of fn ends it and is returned as it is.
//
// The file is read in windows of up to Options.Window, the next one while one is
// gone through: one planned read each, all of one phase. A block of an undeclared
// track that is longer than two windows is jumped, which begins another phase.
//
// Bytes that are no block, and a block that ends behind the file, end it with
// ErrCorrupt after all blocks before them, a block beyond the limits with
// ErrTooLarge; Options.Resync passes over them.
func (f *File) Scan(ctx context.Context, fn func(b Block, t *Track, content []byte) error) error {
	return f.walk(ctx, f.body, all, func(b Block, t *Track, content []byte) (bad, err error) {
		return nil, fn(b, t, content)
	})
}

func all(*Block, *Track) bool { return true }

// errStop ends a walk early, without an error.
var errStop = errors.New("enough")

// A visit takes a block. bad says that its content breaks the rules of the
// format, which Resync forgives; err ends the walk, with errStop quietly.
type visit func(b Block, t *Track, content []byte) (bad, err error)

// walk goes over the blocks from off on. Blocks of declared tracks that want
// turns down are passed to fn with no content, as are those of other tracks,
// whose t is nil; want is not asked about these.
func (f *File) walk(ctx context.Context, off int64, want func(*Block, *Track) bool, fn visit) error {
	w := &walker{f: f, pos: off, want: want, fn: fn}
	defer w.release()
	for {
		err := w.windows(ctx, min(firstWindow, f.o.Window))
		switch {
		case errors.Is(err, errJump):
			w.release() // the next bytes are those at w.pos
		case errors.Is(err, errStop):
			return nil
		default:
			return err
		}
	}
}

// errJump says that what comes next is too long to be read through.
var errJump = errors.New("jump")

// windows reads from w.pos to the end of the file and takes blocks from what it
// reads.
func (w *walker) windows(ctx context.Context, size int64) error {
	f := w.f
	at := w.pos
	if at < int64(len(f.first)) { // Open has read it
		w.take(buffer{p: f.first[at:]})
		at = int64(len(f.first))
		if err := w.steps(ctx); err != nil {
			return err
		}
		if w.pos > at+2*f.o.Window {
			return errJump
		}
	}
	if at >= f.size {
		return nil
	}
	one := rangeio.OnePhase(ctx)
	produce := func(ctx context.Context) (buffer, bool, error) {
		n := min(size, f.size-at)
		if n <= 0 {
			return buffer{}, false, nil
		}
		b := lend(n)
		if err := f.r.ReadRanges(ctx, []rangeio.Span{{Off: at, P: b.p}}); err != nil {
			b.release()
			return buffer{}, false, wrapRead(at, err)
		}
		at += n
		size = min(2*size, f.o.Window)
		return b, true, nil
	}
	end := at
	return par.Ahead(one, produce, buffer.release, func(b buffer) error {
		end += int64(len(b.p))
		w.take(b)
		if err := w.steps(ctx); err != nil {
			return err
		}
		if w.pos > end+2*f.o.Window {
			return errJump
		}
		return nil
	})
}

// Windows lists the bytes that Scan reads after Open if nothing is jumped: a
// planned read each, all of one phase. Samples and Summaries may need fewer of
// them.
func (f *File) Windows() []Range {
	var out []Range
	size := min(firstWindow, f.o.Window)
	for at := int64(len(f.first)); at < f.size; {
		n := min(size, f.size-at)
		out = append(out, Range{at, n})
		at += n
		size = min(2*size, f.o.Window)
	}
	return out
}

// A Range is Len bytes of a file from Off on.
type Range struct{ Off, Len int64 }

// A buffer is bytes of the file, with room in front for what is left of those
// before them.
type buffer struct {
	p    []byte
	lent []byte // nil: the bytes belong to the File
}

// headroom takes the rest of most blocks.
const headroom = 16 << 10

func lend(n int64) buffer {
	p := bufpool.Get(headroom + int(n))
	return buffer{p: p[headroom:], lent: p}
}

func (b buffer) release() {
	if b.lent != nil {
		bufpool.Put(b.lent)
	}
}
