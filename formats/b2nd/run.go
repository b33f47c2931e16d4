package b2nd

import (
	"context"
	"io"

	"github.com/farread/farread/formats/cframe"
)

// A Layout says what a writer makes of a Meta: shapes that were left out are chosen.
type Layout struct {
	Meta       Meta
	ItemSize   int
	Chunks     int64 // in the order of the frame
	ChunkBytes int   // of a decoded chunk, with its padding
}

// LayoutOf returns the layout of an array that is written with these options. Errors are
// those of NewWriter.
func LayoutOf(m Meta, o WriteOptions) (Layout, error) {
	out, _, err := planOutput(m, o, boxBuffers)
	if err != nil {
		return Layout{}, err
	}
	m, item, err := m.withDefaults(o.ItemSize)
	return Layout{m, item, out.g.chunks.Total, out.g.chunkBytes}, err
}

// WriteRun encodes the chunks from one to before another as WriteFrom does, and writes their
// bytes to w, one behind the other. A Composer makes the frame of all runs. An array of no
// bytes has none: it is cframe.ErrRefused.
func WriteRun(ctx context.Context, w io.Writer, m Meta, read ReadBox, o WriteOptions, from, to int64) (*cframe.Run, error) {
	out, wo, err := planOutput(m, o, boxBuffers)
	if err != nil {
		return nil, err
	}
	fw, err := cframe.NewRunWriter(w, wo)
	if err != nil {
		return nil, err
	}
	if from < 0 || to < from || to > out.g.chunks.Total {
		return nil, fail("writer", cframe.ErrRefused, "chunks %d to %d of %d", from, to, out.g.chunks.Total)
	}
	out.fw = fw
	if err := out.boxes(ctx, read, from, to); err != nil {
		return nil, err
	}
	return fw.Run(), nil
}

// A Composer makes the frame of runs: all of its bytes but those of the chunks. The frame is
// the one that WriteFrom writes with the same options.
type Composer struct {
	out  *output
	tape tape
}

// A tape is an Output in memory, of a frame without its chunks.
type tape struct {
	p    []byte
	head int // length of the header
}

func (t *tape) Write(p []byte) (int, error) {
	if t.p = append(t.p, p...); t.head == 0 {
		t.head = len(p)
	}
	return len(p), nil
}

func (t *tape) Patch(off int64, p []byte) error {
	copy(t.p[off:t.head], p)
	return nil
}

// NewComposer begins a frame. Errors are those of NewWriter.
func NewComposer(m Meta, o WriteOptions) (*Composer, error) {
	c := &Composer{}
	var err error
	c.out, err = newOutput(&c.tape, m, o, boxBuffers)
	return c, err
}

// Add takes the chunks of the next run.
func (c *Composer) Add(r *cframe.Run) error { return c.out.frame.AddRun(r) }

// Close returns what lies before the chunks of all runs, and what lies behind them. It
// returns cframe.ErrRefused if runs are missing.
func (c *Composer) Close() (head, tail []byte, err error) {
	if have := int64(c.out.frame.Chunks()); have != c.out.g.chunks.Total {
		return nil, nil, fail("writer", cframe.ErrRefused, "runs of %d chunks of %d", have, c.out.g.chunks.Total)
	}
	if err := c.out.close(); err != nil {
		return nil, nil, err
	}
	return c.tape.p[:c.tape.head:c.tape.head], c.tape.p[c.tape.head:], nil
}
