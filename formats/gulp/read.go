package gulp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/rangeio"
)

// ErrIndex is matched, together with formats.ErrNoEntry, by errors for a frame
// that an existing id does not have. The error of Writer.Reorder for an order
// that is not a permutation also matches it.
var ErrIndex = errors.New("index out of bounds")

// errNoFrame matches ErrIndex and formats.ErrNoEntry.
var errNoFrame = fmt.Errorf("%w: %w", ErrIndex, formats.ErrNoEntry)

// A Buffer is memory for the result of ReadFrames. Later calls use it again, so
// that they allocate nothing. The zero value is ready to use. Two calls must not
// use a Buffer at the same time.
type Buffer struct {
	data   []byte
	frames [][]byte
	sel    []frame // frames to read, in index order
	spans  []rangeio.Span
}

// AppendFrames appends the encoded frames from, from+step, … of id to dst. Frame
// to itself is not included. Padding is cut off. step may be negative; then to
// may be -1, so that frame 0 is the last one. Slice.Resolve computes the three
// from a Python slice. The frames share one new buffer: to keep one frame keeps
// the memory of all.
//
// It is one planned read, hence one phase: frames that follow each other in the
// data object make one span, the pads between them included; the others one span
// each. If from or to lies beyond the frames of id, or step is 0, the error
// matches ErrIndex and formats.ErrNoEntry; an unknown id matches the latter
// only. More bytes than Limits.MaxDecoded are formats.ErrTooLarge; EachFrame
// reads any amount. Dst is not changed on error.
func (c *Chunk) AppendFrames(ctx context.Context, dst [][]byte, id string, from, to, step int) ([][]byte, error) {
	var b Buffer
	frames, err := c.ReadFrames(ctx, &b, id, from, to, step)
	if err != nil {
		return dst, err
	}
	return append(dst, frames...), nil
}

// ReadFrames is AppendFrames with the memory of b, which grows as needed. The
// result is valid until b is used again. When b is large enough, ReadFrames
// allocates nothing.
func (c *Chunk) ReadFrames(ctx context.Context, b *Buffer, id string, from, to, step int) ([][]byte, error) {
	if err := c.choose(b, id, from, to, step); err != nil {
		return nil, err
	}
	if err := b.read(ctx, c.data, c.o.Limits.MaxDecoded); err != nil {
		return nil, wrap(id, err)
	}
	if step < 0 {
		slices.Reverse(b.frames)
	}
	return b.frames, nil
}

// AppendFrame appends frame i of id, without its padding, to dst. The frame is one
// span. If the capacity of dst is large enough, nothing is allocated; if not, a frame
// larger than Limits.MaxDecoded is ErrTooLarge. For a missing id or frame the error is
// as from Frame. If AppendFrame fails, it returns dst; the bytes between its length
// and its capacity are then undefined.
func (c *Chunk) AppendFrame(ctx context.Context, dst []byte, id string, i int) ([]byte, error) {
	f, err := c.frame(id, i)
	if err != nil {
		return nil, err
	}
	at, n := len(dst), f.size()
	if n > int64(cap(dst)-at) {
		if n > c.o.Limits.MaxDecoded || n > int64(math.MaxInt-at) {
			return nil, tooLarge(id, n, c.o.Limits.MaxDecoded)
		}
		dst = slices.Grow(dst, int(n))
	}
	dst = dst[:at+int(n)]
	spans := c.spans.Get().(*[1]rangeio.Span) //nolint:forcetypeassert // only New fills the pool
	spans[0] = rangeio.Span{Off: f.off, P: dst[at:]}
	err = c.data.ReadRanges(ctx, spans[:])
	spans[0].P = nil
	c.spans.Put(spans)
	if err != nil {
		return nil, wrap(id, err)
	}
	return dst, nil
}

// choose puts the frames [from, to) of id, step apart, into b.sel. They are in index
// order for either sign of step.
func (c *Chunk) choose(b *Buffer, id string, from, to, step int) error {
	it, err := c.find(id)
	if err != nil {
		return err
	}
	n, err := selected(it.count(), from, to, step)
	if err != nil {
		return &formats.Error{Format: Format, Part: partOf(id), Off: -1, Err: err}
	}
	b.sel = slices.Grow(b.sel[:0], n)
	if n == 0 {
		return nil
	}
	if step < 0 {
		from, step = from+(n-1)*step, -step
	}
	if err := it.holds(from, from+(n-1)*step); err != nil {
		return err
	}
	from -= it.before
	if step == 1 {
		b.sel = append(b.sel, it.frames[from:from+n]...)
		return nil
	}
	for i := range n {
		b.sel = append(b.sel, it.frames[from+i*step])
	}
	return nil
}

// selected returns the number of the frames from, from+step, … before to. All
// of them must be in [0, n).
func selected(n, from, to, step int) (int, error) {
	switch {
	case step > 0 && 0 <= from && from <= n && 0 <= to && to <= n:
		if from >= to {
			return 0, nil
		}
		return (to-from-1)/step + 1, nil
	case step < 0 && -1 <= from && from < n && -1 <= to && to < n:
		if from <= to {
			return 0, nil
		}
		return -((from - to - 1) / step) + 1, nil
	case step == 0:
		return 0, fmt.Errorf("step 0 of %d frames: %w", n, errNoFrame)
	}
	return 0, fmt.Errorf("frames %d:%d:%d of %d: %w", from, to, step, n, errNoFrame)
}

// stretch returns how many frames from sel[0] on are adjacent in the data
// object. size is the number of bytes from the first to the end of the last of
// them.
func stretch(sel []frame) (n int, size int64) {
	for n = 1; n < len(sel) && sel[n].off == sel[n-1].end(); n++ {
	}
	return n, sel[n-1].dataEnd() - sel[0].off
}

// read reads the frames b.sel into b.frames as one planned read.
func (b *Buffer) read(ctx context.Context, r rangeio.Reader, limit int64) error {
	var total int64
	for i := 0; i < len(b.sel); {
		n, size := stretch(b.sel[i:])
		total += size // no overflow: frames lie apart inside one object
		i += n
	}
	if total > limit || total > math.MaxInt {
		return fmt.Errorf("%d bytes in one read, %d allowed: %w", total, limit, formats.ErrTooLarge)
	}
	if have := int64(cap(b.data)); have < total {
		grown := total
		if have > 0 { // b is used again: leave room for a slightly longer read
			grown = min(total+total/8, limit, math.MaxInt)
		}
		b.data = make([]byte, grown)
	}
	b.frames, b.spans = slices.Grow(b.frames[:0], len(b.sel)), b.spans[:0]
	free := b.data[:total]
	for i := 0; i < len(b.sel); {
		n, size := stretch(b.sel[i:])
		p := free[:size:size]
		free = free[size:]
		b.spans = append(b.spans, rangeio.Span{Off: b.sel[i].off, P: p})
		for _, f := range b.sel[i : i+n] {
			at, end := f.off-b.sel[i].off, f.dataEnd()-b.sel[i].off
			b.frames = append(b.frames, p[at:end:end])
		}
		i += n
	}
	if len(b.spans) == 0 {
		return nil
	}
	return r.ReadRanges(ctx, b.spans)
}

func tooLarge(id string, n, limit int64) error {
	return &formats.Error{Format: Format, Part: partOf(id), Off: -1,
		Err: fmt.Errorf("%d bytes in one read, %d allowed: %w", n, limit, formats.ErrTooLarge)}
}

// wrap adds the id to an error of a read. errors.Is still finds err.
func wrap(id string, err error) error {
	return &formats.Error{Format: Format, Part: partOf(id), Off: -1, Err: err}
}
