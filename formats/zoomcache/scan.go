package zoomcache

import (
	"context"
	"errors"

	"github.com/farread/farread/internal/pull"
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
	for {
		err := w.windows(ctx, min(firstWindow, f.o.Window))
		switch {
		case errors.Is(err, errJump):
			w.buf, w.tail = nil, w.tail[:0] // the next bytes are those at w.pos
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
		w.take(f.first[at:], at)
		at = int64(len(f.first))
		if err := w.steps(ctx); err != nil {
			return err
		}
		if w.pos > at+2*f.o.Window {
			return errJump
		}
		w.leave()
	}
	p := pull.Pull[struct{}]{From: f.r, Window: f.o.Window, Ahead: 1, Room: headroom,
		Failed: func(parts []pull.Part[struct{}], err error) error { return wrapRead(parts[0].Off, err) }}
	p.Stretch(at, f.size, size)
	for win, err := range p.Windows(ctx) {
		if err != nil {
			return err
		}
		off := win.Parts[0].Off
		if n := len(w.tail); n <= headroom {
			b := win.Room(n)
			copy(b, w.tail)
			w.take(b, off-int64(n))
		} else {
			w.joined = append(append(w.joined[:0], w.tail...), win.Bytes(0)...)
			w.take(w.joined, off-int64(n))
		}
		if err := w.steps(ctx); err != nil {
			return err
		}
		if w.pos > off+win.Parts[0].Len+2*f.o.Window {
			return errJump
		}
		w.leave()
	}
	return nil
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

// headroom takes the rest of most blocks.
const headroom = 16 << 10
