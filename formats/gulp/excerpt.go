package gulp

import (
	"errors"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/rangeio"
)

// An Excerpt is what an index beside a gulp chunk tells of one id: the number of its
// frames, and the places of a run of them.
type Excerpt struct {
	ID     string
	Frames int         // number of all frames of the id
	From   int         // number of the first frame of Known
	Known  []FrameInfo // places of the frames From, From+1, …
}

// errExcerpt is the error for a frame of an id that an excerpt leaves out.
var errExcerpt = errors.New("a frame that the excerpt leaves out")

// NewExcerpt returns a Chunk that has one id and no meta_data. It reads frames as a
// Chunk of Open does; frames that are not known are an error. Totals and Item count the
// bytes of the known frames only. NewExcerpt does not keep e.Known. It makes no request.
//
// If a known frame lies outside of data or has an impossible padding, or if the numbers
// do not fit each other, the error matches ErrCorrupt.
func NewExcerpt(data rangeio.Reader, e Excerpt, o Options) (*Chunk, error) {
	o = o.withDefaults()
	bad := func(text string, args ...any) error {
		return &formats.Error{Format: Format, Part: partOf(e.ID), Off: -1, Err: fmt.Errorf(text+": %w", append(args, formats.ErrCorrupt)...)}
	}
	n := len(e.Known)
	if e.From < 0 || n > e.Frames || e.From > e.Frames-n {
		return nil, bad("frames %d to %d of %d", e.From, e.From+n, e.Frames)
	}
	it := item{id: e.ID, frames: make([]frame, n), before: e.From, after: e.Frames - e.From - n}
	c := &Chunk{data: data, o: o, byID: map[string]int{e.ID: 0}, kept: int64(idCost + len(e.ID) + frameCost*n)}
	for i, f := range e.Known {
		total := f.Size + int64(f.Pad)
		if f.Off < 0 || f.Size <= 0 || f.Pad < 0 || f.Pad > 3 || f.Off > data.Size() || f.Size > data.Size() || total > data.Size()-f.Off {
			return nil, bad("frame %d: [%d, +%d, padding %d) in a data object of %d bytes", e.From+i, f.Off, f.Size, f.Pad, data.Size())
		}
		it.frames[i] = newFrame(f.Off, int64(f.Pad), total)
		c.totals.Bytes += f.Size
		c.totals.Padding += int64(f.Pad)
	}
	c.items = []item{it}
	c.totals.IDs, c.totals.Frames, c.totals.DataBytes = 1, int64(e.Frames), data.Size()
	c.spans.New = newSpan
	return c, nil
}

func newSpan() any { return new([1]rangeio.Span) }

// holds returns an error if frame i or j of the id is not known. Both are frames of the
// id.
func (it *item) holds(i, j int) error {
	if min(i, j) >= it.before && max(i, j) < it.before+len(it.frames) {
		return nil
	}
	return &formats.Error{Format: Format, Part: partOf(it.id), Off: -1,
		Err: fmt.Errorf("frames %d to %d, of which %d to %d are known: %w", i, j, it.before, it.before+len(it.frames), errExcerpt)}
}
