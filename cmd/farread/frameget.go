package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/farread/farread/cmd/farread/internal/sink"
	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/b2nd"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// pick selects the items of an array, or decoded bytes of any frame.
func (t *frameContent) pick(ctx context.Context, s selector) (selection, error) {
	if err := s.only(t.d.Format(), "chunk", "chunks", "slice", "field", "dtype"); err != nil {
		return nil, err
	}
	if err := t.f.Refused(); err != nil {
		return nil, err
	}
	byChunk := s.has("chunk") || s.has("chunks")
	if byChunk && (s.slice != nil || s.has("field") || s.has("dtype")) {
		return nil, usagef("chunks are bytes: they take no slice, --field or --dtype")
	}
	if t.arr != nil && !byChunk {
		return t.items(s)
	}
	if s.slice != nil || s.has("field") || s.has("dtype") {
		return nil, fmt.Errorf("chunks of bytes, no array: %w", formats.ErrUnsupported)
	}
	return t.bytes(ctx, s)
}

// A byteSelection is a run of chunks.
type byteSelection struct {
	t        *frameContent
	from, to int   // chunks
	off, n   int64 // decoded bytes
}

// bytes finds the decoded bytes of the chunks that s selects, or of all chunks.
func (t *frameContent) bytes(ctx context.Context, s selector) (*byteSelection, error) {
	x := &byteSelection{t: t, to: t.f.Chunks(), n: t.f.Info().NBytes}
	if !s.has("chunk") && !s.has("chunks") {
		return x, nil
	}
	var err error
	if x.from, x.to, err = s.chunkRange(t.f.Chunks()); err != nil {
		return nil, err
	}
	if x.from == x.to {
		x.n = 0
		return x, nil
	}
	if c := int64(t.f.Info().ChunkSize); c > 0 {
		x.off = int64(x.from) * c
		x.n = min(int64(x.to)*c, x.n) - x.off
		return x, nil
	}
	headers, err := t.f.ChunkHeaders(ctx, 0, t.f.Chunks())
	if err != nil {
		return nil, err
	}
	x.n = 0
	for i, h := range headers[:x.to] {
		if i < x.from {
			x.off += int64(h.NBytes)
		} else {
			x.n += int64(h.NBytes)
		}
	}
	return x, nil
}

// chunkRange resolves --chunk or --chunks against a number of chunks. A single chunk
// must exist; a range is cut as in Python.
func (s selector) chunkRange(n int) (from, to int, err error) {
	if !s.has("chunks") {
		i := s.chunk
		if i < 0 {
			i += n
		}
		if i < 0 || i >= n {
			return 0, 0, fmt.Errorf("chunk %d of %d: %w", s.chunk, n, formats.ErrNoEntry)
		}
		return i, i + 1, nil
	}
	box, err := s.chunks.Resolve([]int64{int64(n)})
	if err != nil {
		return 0, 0, err
	}
	if len(box.OutShape) == 0 || box.Count(0) > 0 && box.Step[0] != 1 {
		return 0, 0, usagef("--chunks: want A:B")
	}
	first, end := box.Cover(0)
	return int(first), int(end), nil
}

func (x *byteSelection) total() int64 { return x.n }

func (x *byteSelection) sink(out string) (sink.Sink, error) {
	if x.t.arr != nil { // the bytes of a frame that is no array may be anything
		if err := notArrayNamed(out); err != nil {
			return nil, err
		}
	}
	return x.t.a.byteSink(out)
}

// A span is decoded bytes of a frame.
type span struct{ off, n int64 }

// runs cuts the selection into the parts that are read at a time: whole chunks, or
// blocks of chunks that are too long.
func (x *byteSelection) runs() iter.Seq[span] {
	window, in := x.t.a.window(), x.t.f.Info()
	unit := int64(max(in.ChunkSize, 0))
	if unit > 4*window {
		unit = int64(max(in.BlockSize, 0))
	}
	step := window
	if unit > 0 {
		step = max(window/unit, 1) * unit
	}
	return func(yield func(span) bool) {
		for off, end := x.off, x.off+x.n; off < end; {
			n := min(step-off%step, end-off)
			if !yield(span{off, n}) {
				return
			}
			off += n
		}
	}
}

func (x *byteSelection) copy(ctx context.Context, w sink.Sink, b bar) error {
	return x.t.read(ctx, x.runs(), func(p []byte) error {
		b.add(int64(len(p)))
		_, err := w.Write(p)
		return err
	})
}

// read gives the bytes of runs in order, reading ahead.
func (t *frameContent) read(ctx context.Context, runs iter.Seq[span], to func(p []byte) error) error {
	return pull.Ahead(rangeio.OnePhase(ctx), runs, func(r span) int64 { return r.n },
		func(ctx context.Context, r span, p []byte) error { return t.f.ReadBytes(ctx, p, r.off) }, to)
}

func (x *byteSelection) plan(ctx context.Context) error {
	if x.n == 0 {
		return nil
	}
	for r := range x.runs() {
		rows, err := x.t.f.ExplainBytes(ctx, r.off, r.n)
		if err != nil {
			return err
		}
		x.t.noted(rows)
	}
	return nil
}

// noted puts the requests of a plan into the trace.
func (t *frameContent) noted(plan []rangeio.Planned) {
	t.a.planned(t.target, plan, func(r rangeio.Planned) (string, int64) {
		if r.Object != "" {
			return t.f.Folder + r.Object, r.Off
		}
		return t.f.Object.Info().Key, r.Off + t.off
	})
}

var _ selection = (*byteSelection)(nil)

// boxOf resolves the text of a slice against an array. Without a slice it is the whole
// array.
func boxOf(s *b2nd.Slice, shape []int64) (b2nd.Box, error) {
	if s == nil {
		return b2nd.Whole(shape), nil
	}
	return s.Resolve(shape)
}
