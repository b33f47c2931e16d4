package zoomcache

import (
	"context"
	"errors"

	"github.com/farread/farread/internal/pull"
)

// EachBlock makes one pass over the blocks of the file, in the order of the file. It
// calls fn with each header and its content as stored. The content is valid during the
// call only; Track.DecodePacket and Track.DecodeSummary decode it. If the header does
// not declare the track of a block, t and content are nil: only the length of such a
// block is known. An error of fn ends EachBlock and is returned as it is.
//
// EachBlock reads the file in windows of up to Options.Window, each by one planned
// read. It reads the next window while fn gets the blocks of a window. All reads are
// one phase. If a block of an undeclared track is longer than two windows, EachBlock
// jumps over it and begins another phase.
//
// If bytes are no block, or a block ends behind the end of the file, EachBlock returns
// ErrCorrupt after all blocks before them. If a block is beyond the limits, it returns
// ErrTooLarge. With Options.Resync it skips such bytes and blocks.
func (f *File) EachBlock(ctx context.Context, fn func(b Block, t *Track, content []byte) error) error {
	return f.walk(ctx, &walker{pos: f.body, want: all, fn: func(b Block, t *Track, content []byte) (bad, err error) {
		return nil, fn(b, t, content)
	}})
}

func all(*Block, *Track) bool { return true }

// errStop ends a walk early. The walk then returns no error.
var errStop = errors.New("enough")

// A visit is called for each block. It returns bad if the content of the block
// breaks the rules of the format; Resync tolerates that. err ends the walk;
// errStop ends it without an error.
type visit func(b Block, t *Track, content []byte) (bad, err error)

// walk visits the blocks from w.pos on. If w.want refuses a block of a declared track,
// w.fn gets it without its content. w.fn also gets blocks of other tracks without
// content, with t nil; w.want is not asked about these.
func (f *File) walk(ctx context.Context, w *walker) error {
	w.f = f
	for {
		err := w.windows(ctx)
		switch {
		case errors.Is(err, errJump):
			w.tail = w.tail[:0] // the next bytes are those at w.pos
		case errors.Is(err, errStop):
			return nil
		default:
			return err
		}
	}
}

// errJump says that the next block is too long to be read through.
var errJump = errors.New("jump")

// windows takes blocks from w.pos to the end of the file: first from the bytes that
// Open has read, then window by window.
func (w *walker) windows(ctx context.Context) error {
	f, at := w.f, w.pos
	if head := int64(len(f.first)); at < head {
		if err := w.over(ctx, f.first[at:], at); err != nil {
			return err
		}
		at = head
	}
	p := pull.Pull[struct{}]{From: f.r, Window: f.o.Window, Ahead: 1, Room: headroom,
		Failed: func(parts []pull.Part[struct{}], err error) error { return wrapRead(parts[0].Off, err) },
		Why:    func([]pull.Part[struct{}]) (string, bool) { return "blocks", w.early }}
	p.Stretch(at, f.size, min(firstWindow, f.o.Window))
	for win, err := range p.Windows(ctx) {
		if err != nil {
			return err
		}
		if err := w.over(ctx, w.behindTail(win), win.Parts[0].Off-int64(len(w.tail))); err != nil {
			return err
		}
	}
	return nil
}

// over visits the blocks in b, which are the bytes of the file from off on. The bytes
// of an incomplete last block become the tail.
func (w *walker) over(ctx context.Context, b []byte, off int64) error {
	w.buf, w.at = b, off
	if err := w.steps(ctx); err != nil {
		return err
	}
	rest, _ := w.rest()
	w.tail = append(w.tail[:0], rest...)
	w.buf, w.at = nil, off+int64(len(b))
	if w.pos > w.at+2*w.f.o.Window {
		return errJump
	}
	return nil
}

// behindTail returns the tail and the bytes of a window in one slice.
func (w *walker) behindTail(win *pull.Window[struct{}]) []byte {
	if n := len(w.tail); n <= headroom {
		b := win.Room(n)
		copy(b, w.tail)
		return b
	}
	w.joined = append(append(w.joined[:0], w.tail...), win.Bytes(0)...)
	return w.joined
}

// headroom is the space in front of a window. The tail of the window before fits in it
// for most blocks.
const headroom = 16 << 10
