package b2nd_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/rangeio"
)

// TestVerifyReadsIndexOnce: Verify compares block starts and statistics of an index beside an
// array with its chunks and items, and reads each byte of the index once, with the opening.
func TestVerifyReadsIndexOnce(t *testing.T) {
	t.Parallel()
	const n = 1 << 18
	p := build(t, b2nd.Meta{Shape: []int64{n}, ChunkShape: []int{512}, BlockShape: []int{16}, DType: "<i4"}, numbers(n, 4),
		b2nd.WriteOptions{Encode: blosc.EncodeOptions{Codec: blosc.LZ4, Level: 1}})
	side, err := open(t, p).BuildIndex(t.Context(), "e", nil)
	if err != nil {
		t.Fatal(err)
	}
	a := open(t, p)
	c := &counted{Reader: reader(side)}
	a.Frame().Sidecar(func(context.Context) (rangeio.Reader, string, error) { return c, "e", nil })
	r, err := a.Verify(t.Context(), nil)
	if err != nil || r.Statistics != 1 || r.Index.Size == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := c.bytes.Load(); got != int64(len(side)) || len(side) < 100<<10 {
		t.Errorf("%d bytes were read of an index of %d", got, len(side))
	}
}

// A counted reader counts the bytes that are read.
type counted struct {
	rangeio.Reader
	bytes atomic.Int64
}

func (c *counted) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	for _, s := range spans {
		c.bytes.Add(int64(len(s.P)))
	}
	return c.Reader.ReadRanges(ctx, spans)
}

func (c *counted) ReadEach(ctx context.Context, spans []rangeio.Span, done func(i int) error) error {
	for _, s := range spans {
		c.bytes.Add(int64(len(s.P)))
	}
	return c.Reader.ReadEach(ctx, spans, done)
}
