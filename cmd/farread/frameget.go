package main

import (
	"context"
	"fmt"

	"github.com/farread/farread"
	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
)

// pick selects the items of an array, or decoded bytes of any frame.
func (t *frameContent) pick(ctx context.Context, s selector) (selection, error) {
	if s.plot {
		return t.pickPlot(ctx, s)
	}
	if err := s.only(t.d.Format(), "chunk", "chunks", "slice", "nearest", "field", "dtype", "where"); err != nil {
		return nil, err
	}
	if err := refusal(t.d); err != nil {
		return nil, err
	}
	byChunk := s.has("chunk") || s.has("chunks")
	if byChunk && (s.slice != nil || s.has("field") || s.has("dtype") || s.has("where")) {
		return nil, usagef("chunks are bytes: they take no slice, --field, --dtype or --where")
	}
	if t.arr != nil && !byChunk {
		return t.items(ctx, s)
	}
	if s.slice != nil || s.has("field") || s.has("dtype") || s.has("where") {
		return nil, fmt.Errorf("chunks of bytes, no array: %w", formats.ErrUnsupported)
	}
	x, err := t.bytes(ctx, s)
	if err == nil {
		x.array = t.arr != nil
	}
	return x, err
}

// refusal returns the reason why the payload of a dataset cannot be read, or nil if it
// can be read.
func refusal(d farread.Dataset) error {
	if r, ok := d.(farread.Refuser); ok {
		return r.Refused()
	}
	return nil
}

// A byteSelection is a run of decoded bytes of chunks.
type byteSelection struct {
	*opened

	c      farread.Chunker
	array  bool
	off, n int64
}

var _ selection = (*byteSelection)(nil)

// bytes selects the decoded bytes of the chunks in s, or of all chunks if s names none.
func (o *opened) bytes(ctx context.Context, s selector) (*byteSelection, error) {
	c, err := able[farread.Chunker](o)
	if err != nil {
		return nil, err
	}
	x := &byteSelection{opened: o, c: c}
	from, to := int64(0), c.Chunks()
	if s.has("chunk") || s.has("chunks") {
		if from, to, err = s.chunkRange(to); err != nil {
			return nil, err
		}
	}
	x.off, x.n, err = c.ChunkBytes(ctx, from, to)
	return x, err
}

// chunkRange resolves --chunk or --chunks against the number of chunks. A single chunk
// must exist; a range is cut as in Python.
func (s selector) chunkRange(n int64) (from, to int64, err error) {
	if !s.has("chunks") {
		i := int64(s.chunk)
		if i < 0 {
			i += n
		}
		if i < 0 || i >= n {
			return 0, 0, fmt.Errorf("chunk %d of %d: %w", s.chunk, n, formats.ErrNoEntry)
		}
		return i, i + 1, nil
	}
	box, err := s.chunks.Resolve([]int64{n})
	if err != nil {
		return 0, 0, err
	}
	if len(box.OutShape) == 0 || box.Count(0) > 0 && box.Step[0] != 1 {
		return 0, 0, usagef("--chunks: want A:B")
	}
	from, to = box.Cover(0)
	return from, to, nil
}

func (x *byteSelection) total() int64 { return x.n }

func (x *byteSelection) sink(out string) (sink.Sink, error) {
	if x.array { // if the frame is not an array, its bytes may be anything
		if err := notArrayNamed(out); err != nil {
			return nil, err
		}
	}
	return x.a.byteSink(out)
}

func (x *byteSelection) copy(ctx context.Context, w sink.Sink, b bar) error {
	return x.c.EachBytes(ctx, x.off, x.n, func(p []byte) error {
		b.add(int64(len(p)))
		_, err := w.Write(p)
		return err
	})
}

func (x *byteSelection) plan(ctx context.Context) error {
	p, err := x.c.ExplainBytes(ctx, x.off, x.n)
	x.follow(p)
	return err
}

// boxOf resolves the text of a slice against an array. Without a slice it returns the
// whole array.
func boxOf(s *b2nd.Slice, shape []int64) (b2nd.Box, error) {
	if s == nil {
		return b2nd.Whole(shape), nil
	}
	return s.Resolve(shape)
}
