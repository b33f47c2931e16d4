package zoomcache

import (
	"context"
	"io"
	"slices"

	"github.com/farread/farread/formats"
)

// A Resumed is what Resume found.
type Resumed struct {
	// Kept is where the file is to be cut: what the Writer writes belongs there.
	Kept int64
	// Last are the samples behind Kept, one Packet for each track that has some there, in
	// ascending order of tracks. They are to be written again, in front of all others, so
	// that the packets of a file that grows often are as long as those of one that was
	// written at once. They are nil where storing samples once more would change them.
	Last []*Packet
	// Window is the number of values of a track in the longest packet in front of Kept; 0: there is none.
	Window int64
	// Ends are the greatest offsets of samples in front of Kept, of the tracks that have some.
	Ends map[int32]int64
	// Other are the places of the packets of undeclared tracks in front of Kept. They stay
	// in the file.
	Other []Block
	// Behind are such packets behind Kept, which are lost.
	Behind []Block
}

// ResumeOptions are the options of Resume.
type ResumeOptions struct {
	Watermark int // as in WriteOptions
	Parallel  int // as in WriteOptions
	// Sink, if not nil, gets the windows and headers of all that is kept while Resume runs,
	// with values as readers get them, and then those of what the Writer writes.
	Sink BlockSink
	// Progress is told the bytes of the file that are read.
	Progress formats.Progress
}

// Resume goes on with a file that is there: the Writer that it returns makes the bytes
// behind Resumed.Kept of the file that a Writer would have made of the samples in front of it,
// of Resumed.Last and of what is written. It knows the summaries of all levels, and the offset
// of the last sample of each track. The caller cuts the file at Kept, and appends the bytes that w got.
//
// Resume makes one pass like EachBlock, and holds two windows of it and one packet of each
// track. Damage is an error, even with Options.Resync, and so is a file with summaries and
// without packets: formats.ErrUnsupported.
func Resume(ctx context.Context, f *File, w io.Writer, o ResumeOptions) (*Writer, Resumed, error) {
	wo := WriteOptions{Tracks: f.h.Tracks, Watermark: o.Watermark, Parallel: o.Parallel}
	if o.Sink != nil {
		wo.Sink = o.Sink
	}
	z, err := NewWriter(w, wo)
	if err != nil {
		return nil, Resumed{}, err
	}
	strict := *f
	strict.o.Resync = false
	r := &resumer{f: &strict, z: z, sink: o.Sink, out: Resumed{Kept: f.body, Ends: map[int32]int64{}}}
	want := func(b *Block, _ *Track) bool { return !b.Summary && b.Count > 0 }
	err = strict.walk(ctx, &walker{pos: f.body, want: want, fn: func(b Block, t *Track, content []byte) (bad, err error) {
		o.Progress.Tell(b.Off+b.Size(), f.Size())
		if t != nil {
			return nil, r.block(b, t, content)
		}
		if r.other = append(r.other, b); len(r.other) > maxHeld {
			return nil, unsupported(b.part(), b.Off, "more than %d packets of tracks that are not declared", maxHeld)
		}
		return nil, nil
	}})
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return nil, Resumed{}, err
	}
	for _, b := range r.other {
		if b.Off < r.out.Kept {
			r.out.Other = append(r.out.Other, b)
		} else {
			r.out.Behind = append(r.out.Behind, b)
		}
	}
	z.buf, z.off = z.buf[:0], r.out.Kept
	return z, r.out, nil
}

// maxHeld bounds the blocks behind the last samples, and the packets of undeclared tracks:
// real files have a few of each.
const maxHeld = 1 << 20

// A resumer brings a Writer to where it was when it had made the blocks of a file. The
// blocks from the last flush with samples on are held back until it is known that it is
// not the last one.
type resumer struct {
	f     *File
	z     *Writer
	sink  BlockSink // nil: nobody watches
	out   Resumed
	held  []heldBlock
	some  bool  // held has samples
	start int   // where the blocks of this flush begin in held
	last  int32 // track of the last packet
	any   bool  // last is set
	sums  bool  // this flush has summaries
	bare  bool  // the file has summaries
	other []Block
	free  []*Packet
	win   Window
}

type heldBlock struct {
	b Block
	p *Packet // its samples; nil: none
}

// block takes the next block of a declared track.
func (r *resumer) block(b Block, t *Track, content []byte) error {
	if len(r.held) >= maxHeld {
		return unsupported(b.part(), b.Off, "more than %d blocks without samples", maxHeld)
	}
	if b.Summary {
		r.sums, r.bare = true, true
		r.held = append(r.held, heldBlock{b: b})
		return nil
	}
	if r.sums || r.any && b.Track <= r.last {
		r.start, r.sums = len(r.held), false
	}
	r.any, r.last = true, b.Track
	h := heldBlock{b: b}
	if content != nil {
		if r.start > 0 { // what is held belongs to flushes before this one
			if err := r.give(r.start); err != nil {
				return err
			}
		}
		h.p = r.packet()
		if err := t.DecodePacket(h.p, b, content, r.f.o.Limits); err != nil {
			return err
		}
		r.some = true
	}
	r.held = append(r.held, h)
	return nil
}

func (r *resumer) packet() *Packet {
	n := len(r.free)
	if n == 0 {
		return &Packet{}
	}
	p := r.free[n-1]
	r.free = r.free[:n-1]
	return p
}

// give passes on the first n blocks that are held.
func (r *resumer) give(n int) error {
	for i := range r.held[:n] {
		h := &r.held[i]
		var err error
		switch {
		case h.b.Summary && r.sink != nil:
			err = r.sink.SummaryBlock(&h.b)
		case !h.b.Summary:
			err = r.samples(h)
		}
		if err != nil {
			return err
		}
	}
	r.held = append(r.held[:0], r.held[n:]...)
	r.start, r.some = 0, false
	return nil
}

// samples passes on a packet.
func (r *resumer) samples(h *heldBlock) error {
	if p := h.p; p != nil {
		t := r.z.Track(h.b.Track)
		n := int(p.Count)
		t.entry, t.exit = p.Offset(0), p.Offset(n-1)
		end := t.exit
		if p.Stamps != nil {
			end = slices.Max(p.Stamps)
		}
		if was, ok := r.out.Ends[h.b.Track]; !ok || was < end {
			r.out.Ends[h.b.Track] = end
		}
		t.lane.load(&p.Values, p.Stamps)
		t.lane.push()
		t.lane.made().reset()
		t.lane.clear()
		t.entry = t.exit
		r.out.Window = max(r.out.Window, int64(n))
		r.free = append(r.free, p)
		if r.sink != nil && p.Offset(0) == p.Entry && p.Offset(n-1) == p.Exit {
			r.win = Window{Track: &t.t, Entry: p.Entry, Exit: p.Exit, Values: p.Values, Stamps: p.Stamps}
			if err := r.sink.Window(&r.win); err != nil {
				return err
			}
		}
	}
	if r.sink == nil {
		return nil
	}
	return r.sink.Packet(&h.b)
}

// end sets where the file is cut, and what has to be written again.
func (r *resumer) end() error {
	switch {
	case !r.some && r.bare:
		return unsupported("file", -1, "it has summaries and no samples")
	case !r.some:
		return nil
	}
	// What is held begins with the last flush with samples.
	own := r.flush()
	again := true
	for i := range r.z.tracks {
		again = again && !r.z.tracks[i].t.rounds()
	}
	if !again {
		r.out.Kept = r.held[own-1].b.Off + r.held[own-1].b.Size()
		return r.give(own)
	}
	r.out.Kept = r.held[0].b.Off
	for i := range r.held[:own] {
		p := r.held[i].p
		if p == nil {
			continue
		}
		r.out.Last = append(r.out.Last, p)
		if t := r.z.Track(p.Track); !t.t.Variable {
			t.exit = p.Entry - 1
		}
	}
	return nil
}

// flush is how many of the blocks that are held belong to the first flush.
func (r *resumer) flush() int {
	sums, last := false, int32(0)
	for i := range r.held {
		b := &r.held[i].b
		if !b.Summary && i > 0 && (sums || b.Track <= last) {
			return i
		}
		if sums = sums || b.Summary; !b.Summary {
			last = b.Track
		}
	}
	return len(r.held)
}

// rounds reports whether samples change if they are stored once more.
func (t *Track) rounds() bool {
	return t.deltas() && (t.Codec.Kind.Float() || t.Codec.PCM && (t.Codec.Kind == Int || t.Codec.Kind == I32))
}
