package zoomcache

import (
	"context"
	"encoding/binary"
	"io"
	"math"

	"github.com/farread/farread/rangeio"
)

// A Mark is what ResumeAt has to know of a file. The index inside the file tells it
// (zoomindex.Resume).
type Mark struct {
	// From reads the same bytes as the Reader of the File. A caller that has read some of
	// them has them here. nil is the Reader of the File.
	From   rangeio.Reader
	Cut    int64       // where the last flush with samples begins
	End    int64       // where the blocks end
	Tracks []TrackMark // all that the header declares
}

// A TrackMark is what ResumeAt has to know of a track.
type TrackMark struct {
	Number  int32
	Windows int64       // packets with samples in front of Mark.Cut
	Exit    int64       // the offset of their last sample, which is the greatest
	Longest int64       // values of the longest of them
	Waiting []SummaryAt // the summaries that wait for the second of their pair, one for each bit of Windows
}

// A SummaryAt says where a summary lies, and what it must be of.
type SummaryAt struct {
	Off         int64
	Level       int32
	Entry, Exit int64
}

// summaryBytes are enough for any summary of one channel that is no Integer.
const summaryBytes = BlockHeaderLen + 4*binary.MaxVarintLen64 + 16

// Place returns the range of the file in which the summary lies.
func (s SummaryAt) Place(size int64) (off, n int64) {
	return s.Off, max(min(summaryBytes, size-s.Off), 0)
}

// ResumeAt is Resume for a file of which m tells enough: it reads the summaries that wait
// (by one planned read), and the blocks from m.Cut on. The sink gets only what the Writer writes.
// Tracks are of one channel, with numbers of at most 64 bits. If the file is not as m says,
// the error is formats.ErrCorrupt: Resume may still go on with it. dropped counts the blocks of each track behind
// Resumed.Kept, which is m.Cut.
func ResumeAt(ctx context.Context, f *File, w io.Writer, m Mark, o ResumeOptions) (_ *Writer, _ Resumed, dropped map[int32]*TrackCount, err error) {
	z, err := NewWriter(w, WriteOptions{Tracks: f.h.Tracks, Watermark: o.Watermark, Parallel: o.Parallel, Sink: sinkOf(o.Sink)})
	if err != nil {
		return nil, Resumed{}, nil, err
	}
	strict := *f
	strict.o.Resync = false
	if m.From != nil {
		strict.r = m.From
	}
	if m.Cut < f.body || m.End < m.Cut || m.End > f.size || len(m.Tracks) != len(z.tracks) {
		return nil, Resumed{}, nil, stale(m.Cut, "no block of the file")
	}
	r := &resumer{f: &strict, z: z, out: Resumed{Ends: map[int32]int64{}}}
	if err := r.restore(ctx, m.Tracks); err != nil {
		return nil, Resumed{}, nil, err
	}
	dropped = map[int32]*TrackCount{}
	for i := range m.Tracks {
		dropped[m.Tracks[i].Number] = &TrackCount{Exit: -1}
	}
	strict.size = m.End
	strict.first = f.first[:min(int64(len(f.first)), m.End)]
	want := func(b *Block, _ *Track) bool { return !b.Summary && b.Count > 0 }
	err = strict.walk(ctx, &walker{pos: m.Cut, want: want, fn: func(b Block, t *Track, content []byte) (bad, err error) {
		if t == nil {
			if len(r.out.Behind) >= maxHeld {
				return nil, unsupported(b.part(), b.Off, "more than %d packets of tracks that are not declared", maxHeld)
			}
			r.out.Behind = append(r.out.Behind, b)
			return nil, nil
		}
		dropped[b.Track].Add(&b)
		return nil, r.block(b, t, content)
	}})
	if err == nil && !r.some {
		err = stale(m.Cut, "no samples follow")
	}
	if err == nil {
		err = r.end()
	}
	if err == nil && r.out.Kept != m.Cut {
		err = stale(m.Cut, "another flush begins at %d", r.out.Kept)
	}
	if err != nil {
		return nil, Resumed{}, nil, err
	}
	z.buf, z.off = z.buf[:0], r.out.Kept
	return z, r.out, dropped, nil
}

// sinkOf is s as a Sink that is nil if s is.
func sinkOf(s BlockSink) Sink {
	if s == nil {
		return nil
	}
	return s
}

func stale(off int64, format string, a ...any) error {
	return corrupt("mark", off, format, a...)
}

// restore brings the tracks to where they were in front of the cut.
func (r *resumer) restore(ctx context.Context, marks []TrackMark) error {
	var spans []rangeio.Span
	for i := range marks {
		for _, s := range marks[i].Waiting {
			off, n := s.Place(r.f.size)
			spans = append(spans, rangeio.Span{Off: off, P: make([]byte, n)})
		}
	}
	if err := rangeio.Check(spans, r.f.size); err != nil {
		return stale(-1, "%s", err)
	}
	if len(spans) > 0 {
		if err := r.f.r.ReadRanges(ctx, spans); err != nil {
			return wrapRead(spans[0].Off, err)
		}
	}
	for i := range marks {
		m := &marks[i]
		t := r.z.Track(m.Number)
		if t == nil || m.Windows < 0 || t.t.Codec.Width() != 1 || t.t.Codec.Kind == Integer || t.t.Codec.Kind == Unit || t.t.rounds() {
			return stale(-1, "track %d", m.Number)
		}
		if m.Windows == 0 {
			continue
		}
		t.entry, t.exit = m.Exit, m.Exit
		r.out.Ends[m.Number] = m.Exit
		r.out.Window = max(r.out.Window, m.Longest)
		rest := m.Windows
		for _, s := range m.Waiting {
			if s.Level < 1 || s.Level > MaxLevel-1 || rest>>(s.Level-1)&1 == 0 {
				return stale(s.Off, "a summary of level %d of track %d", s.Level, m.Number)
			}
			rest &^= 1 << (s.Level - 1)
			if err := t.wait(s, spans[0].P, r.f); err != nil {
				return err
			}
			spans = spans[1:]
		}
		if rest != 0 {
			return stale(-1, "summaries of track %d", m.Number)
		}
	}
	return nil
}

// wait takes the summary at the start of p, which waits for the second of its pair.
func (t *TrackWriter) wait(s SummaryAt, p []byte, f *File) error {
	b, err := f.ParseBlock(p, s.Off)
	switch {
	case err != nil:
		return err
	case !b.Summary || b.Track != t.t.Number || b.Level != s.Level || b.Entry != s.Entry || b.Exit != s.Exit || b.Size() > int64(len(p)):
		return stale(s.Off, "no summary of level %d of track %d, of %d to %d, lies there", s.Level, t.t.Number, s.Entry, s.Exit)
	case !t.lane.wait(&b, p[BlockHeaderLen:b.Size()]):
		return corrupt(b.part(), s.Off, "a body of %d bytes", b.Len)
	}
	return nil
}

// wait implements lane.
func (l *typedLane[T]) wait(b *Block, body []byte) bool {
	var a acc[T]
	c := l.tw.t.Codec
	if c.Kind == Bool {
		if len(body) != 8 {
			return false
		}
		a.mean = math.Float64frombits(binary.BigEndian.Uint64(body))
	} else {
		n := 4
		if c.PCM {
			n = 2
		}
		var v Values
		if size := c.Size(); size >= 0 && len(body) < n*size {
			return false
		}
		used := v.decode(c, body, n, false)
		if used < 0 || len(body) != used+16 {
			return false
		}
		var raw []T
		if v.slice(&raw); len(raw) != n {
			return false
		}
		if !c.PCM {
			a.first, a.last = raw[0], raw[1]
		}
		a.min, a.max = raw[n-2], raw[n-1]
		a.mean = math.Float64frombits(binary.BigEndian.Uint64(body[used:]))
		a.rms = math.Float64frombits(binary.BigEndian.Uint64(body[used+8:]))
	}
	for len(l.slots) < int(b.Level) {
		l.slots = append(l.slots, slot[T]{accs: make([]acc[T], l.width)})
	}
	s := &l.slots[b.Level-1]
	s.full, s.entry, s.exit = true, b.Entry, b.Exit
	s.accs[0] = a
	return true
}
