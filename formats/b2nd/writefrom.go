package b2nd

import (
	"context"

	"github.com/farread/farread/formats"
)

// A ReadBox reads the items of a box of the source into dst, in row-major order.
// WriteFrom calls it from several goroutines at a time, each with its own dst. It
// must not keep dst.
type ReadBox func(ctx context.Context, box Box, dst []byte) error

// WriteFrom writes an array from a source that can be read in any order, for
// example a .npy file in Fortran order or an array in other chunks. It reads the
// box of each chunk once, several boxes at a time, and writes chunks in order. It
// writes chunks of any shape within o.MaxMemory; if not even one chunk with its
// buffers fits, it returns formats.ErrTooLarge before it writes anything.
// NewWriter says what shapes are chosen if m has none, and which other errors
// there are. If WriteFrom returns nil, the frame is complete, and the caller
// commits the Output. Errors of read are returned as they are. No call of read
// goes on after WriteFrom has returned.
func WriteFrom(ctx context.Context, w formats.Output, m Meta, read ReadBox, o WriteOptions) error {
	out, err := newOutput(w, m, o, boxBuffers)
	if err != nil {
		return err
	}
	defer out.abort()
	if err := out.boxes(ctx, read, 0, out.g.chunks.Total); err != nil {
		return err
	}
	return out.close()
}

// boxBuffers are those of a chunk that is read as a box: one for the box, and slot.tile.
const boxBuffers = 2

// boxes reads the boxes of the chunks from one to before another, and writes the chunks.
// No call of read goes on after boxes has returned.
func (out *output) boxes(ctx context.Context, read ReadBox, from, to int64) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		if err != nil {
			out.abort()
		}
	}()
	g := out.g
	out.slots(out.o.MaxMemory / g.chunkMemory(boxBuffers))
	out.pushed = from
	d := len(g.shape)
	for k := from; k < to; k++ {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		err := out.push(func(s *slot) ([]byte, error) {
			lo, hi, n := make([]int64, d), make([]int64, d), make([]int64, d)
			g.origin(lo, k)
			g.end(hi, lo)
			size := int64(g.item)
			for i := range n {
				n[i] = hi[i] - lo[i]
				size *= n[i]
			}
			if s.raw == nil {
				s.raw = make([]byte, g.chunkBytes)
			}
			if err := read(ctx, Sub(lo, hi), s.raw[:size]); err != nil {
				return nil, err
			}
			return g.chunkOf(s, s.raw[:size], n, make([]int64, d), n), nil
		}, func() {})
		if err != nil {
			return err
		}
	}
	return out.drain()
}
