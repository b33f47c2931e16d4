package zoomcache

import (
	"context"

	"github.com/farread/farread/formats"
)

// A Watcher is called for the blocks of a file in one pass over it, as a Sink is
// called for the blocks that a Writer makes. For each packet it gets the window of
// its samples, if there are any, and then its header; for each summary it gets the
// header. It also gets blocks of tracks that the header does not declare. If the
// header of a packet has other first and last offsets than its samples, the packet
// comes without a window. Arguments are valid until the call returns. An error
// ends the pass.
type Watcher interface {
	Window(w *Window) error
	Packet(b *Block) error
	SummaryBlock(b *Block) error
}

// Watch calls w for the blocks of the file, in one pass like EachBlock, with damage
// as in EachBlock. It returns the end of the last block of a declared track.
// progress is told the bytes of the file that are done.
func (f *File) Watch(ctx context.Context, w Watcher, progress formats.Progress) (end int64, err error) {
	var p Packet
	var win Window
	end = f.body
	want := func(b *Block, _ *Track) bool { return !b.Summary }
	err = f.walk(ctx, &walker{pos: f.body, want: want, fn: func(b Block, t *Track, content []byte) (bad, err error) {
		progress.Tell(b.Off+b.Size(), f.Size())
		if t != nil {
			end = b.Off + b.Size()
		}
		if content == nil {
			return nil, b.showTo(w)
		}
		if bad := t.DecodePacket(&p, b, content, f.o.Limits); bad != nil {
			return bad, nil
		}
		return nil, p.showTo(w, t, &win)
	}})
	return end, err
}

// showTo passes a header to a Watcher.
func (b *Block) showTo(w Watcher) error {
	if b.Summary {
		return w.SummaryBlock(b)
	}
	return w.Packet(b)
}

// showTo passes a packet with its samples to a Watcher. win is memory for the
// window.
func (p *Packet) showTo(w Watcher, t *Track, win *Window) error {
	if n := int(p.Count); n > 0 && p.Offset(0) == p.Entry && p.Offset(n-1) == p.Exit {
		*win = Window{Track: t, Entry: p.Entry, Exit: p.Exit, Values: p.Values, Stamps: p.Stamps}
		if err := w.Window(win); err != nil {
			return err
		}
	}
	return w.Packet(&p.Block)
}
