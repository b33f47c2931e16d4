package cframe

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/rangeio"
)

// gated counts the bytes that are read, and holds reads back as long as wait is set.
type gated struct {
	rangeio.Reader
	n       atomic.Int64
	waiting chan struct{}
	wait    atomic.Pointer[chan struct{}]
}

func (g *gated) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	return g.ReadEach(ctx, spans, nil)
}

func (g *gated) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	if c := g.wait.Load(); c != nil {
		g.waiting <- struct{}{}
		select {
		case <-*c:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, s := range spans {
		g.n.Add(int64(len(s.P)))
	}
	if done == nil {
		return g.Reader.ReadRanges(ctx, spans)
	}
	return g.Reader.ReadEach(ctx, spans, done)
}

// TestBlockOfLong: a block of a long chunk of VL blocks costs little more than itself: in
// a local frame, and elsewhere if the length of the chunk is not known.
func TestBlockOfLong(t *testing.T) {
	for _, count := range []int{64, 192} {
		blocks := make([][]byte, count)
		for i := range blocks {
			blocks[i] = noise(64<<10-i, i)
		}
		b := write(t, WriteOptions{ChunkSize: VaryingSizes}, func(w *Writer) { must(t, w.WriteBlocks(blocks)) })
		for _, local := range []bool{true, false} {
			r := rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b)))
			g := &gated{Reader: r}
			var src rangeio.Reader = g
			if local {
				src = &localGated{g}
			} else if count<<16 < unknownMax {
				continue // one request for all of it takes less time than two
			}
			f, err := Open(t.Context(), src, Options{})
			must(t, err)
			if !f.Info().VLBlocks {
				t.Fatal("the blocks do not vary")
			}
			before := g.n.Load()
			for _, i := range []int{0, 17, count - 1} {
				var got []byte
				must(t, f.EachConcurrent(t.Context(), []Want{{Blocks: []int{i}}}, func(_, block int, p []byte) error {
					if block != i {
						t.Errorf("block %d", block)
					}
					got = bytes.Clone(p)
					return nil
				}))
				if !bytes.Equal(got, blocks[i]) {
					t.Errorf("%d blocks, local %t: block %d differs", count, local, i)
				}
			}
			if n := g.n.Load() - before; n > 3*(2<<16+mostStarts) {
				t.Errorf("%d blocks, local %t: %d bytes for three", count, local, n)
			}
		}
		x, err := Open(t.Context(), rangeio.FromReaderAt(bytes.NewReader(b), int64(len(b))), Options{})
		must(t, err)
		if err := x.EachConcurrent(t.Context(), []Want{{Blocks: []int{count}}}, nil); !errors.Is(err, formats.ErrNoEntry) {
			t.Errorf("block %d: %v", count, err)
		}
	}
}

type localGated struct{ *gated }

func (localGated) Local() bool { return true }
