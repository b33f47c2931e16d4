package b2nd

import (
	"context"

	"github.com/farread/farread/formats"
)

// A ReadBox fills dst with the items of a box of the source, in row-major order.
// It is called from several goroutines at a time, each with a dst of its own, and
// must not keep it.
type ReadBox func(ctx context.Context, box Box, dst []byte) error

// WriteFrom writes an array whose items can be read in any order: a .npy file in
// Fortran order, an array in other chunks. Each chunk's box is read once, several
// side by side; chunks are written in their order. Any shape of chunks is written
// in o.MaxMemory, as long as one chunk with its buffers fits, else WriteFrom fails
// with formats.ErrTooLarge before anything is written. Shapes that m leaves out,
// and the other errors, are as in NewWriter. If WriteFrom returns nil the frame is
// complete, and the caller commits the Output. Errors of read are returned as they
// are; no call of read goes on after WriteFrom has returned.
func WriteFrom(ctx context.Context, w formats.Output, m Meta, read ReadBox, o WriteOptions) error {
	const buffers = 2 // the box and the tile
	out, err := newOutput(w, m, o, buffers)
	if err != nil {
		return err
	}
	defer out.abort()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before abort waits for the reads
	g := out.g
	out.slots(out.o.MaxMemory / g.chunkMemory(buffers))
	d := len(g.shape)
	for k := range g.chunks.Total {
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
	return out.close()
}
