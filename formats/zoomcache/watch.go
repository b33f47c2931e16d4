package zoomcache

import (
	"context"

	"github.com/farread/farread/formats"
)

// A Watcher is shown what a file holds in one pass over it, as a Sink is told of
// what a Writer makes: of each packet the window of its samples, if there are any,
// and then its header; of summaries the header. Blocks of tracks that no header
// declares are among them. A packet whose header names other ends than its samples
// have comes without a window. Arguments are valid until the call returns. An error
// ends the pass.
type Watcher interface {
	Window(w *Window) error
	Packet(b *Block) error
	SummaryBlock(b *Block) error
}

// Watch shows w the blocks of the file in one pass like EachBlock, with damage as in
// EachBlock, and gives where the last block of a declared track ends. progress is
// told the bytes of the file that were gone through so far.
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

// showTo gives a header to a Watcher.
func (b *Block) showTo(w Watcher) error {
	if b.Summary {
		return w.SummaryBlock(b)
	}
	return w.Packet(b)
}

// showTo gives a packet with its samples to a Watcher. win is memory for the window.
func (p *Packet) showTo(w Watcher, t *Track, win *Window) error {
	if n := int(p.Count); n > 0 && p.Offset(0) == p.Entry && p.Offset(n-1) == p.Exit {
		*win = Window{Track: t, Entry: p.Entry, Exit: p.Exit, Values: p.Values, Stamps: p.Stamps}
		if err := w.Window(win); err != nil {
			return err
		}
	}
	return w.Packet(&p.Block)
}
