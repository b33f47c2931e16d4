package cframe

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// AppendStored appends the encoded chunk i to dst. If it fails, it returns dst as it
// was. For a special chunk without bytes in the frame it appends an equivalent special
// chunk. It checks the chunk's header against the frame and the limits, but not the
// chunk's blocks. It makes one read, or two if the length of the chunk is unknown. In a
// sparse frame it opens the chunk's object first. If the frame does not have the chunk,
// it returns ErrNoEntry.
func (f *Frame) AppendStored(ctx context.Context, dst []byte, i int) ([]byte, error) {
	if err := f.has(i); err != nil {
		return dst, err
	}
	f, ctx, err := f.placed(ctx, ask{i, wholeChunk})
	if err != nil || f.noted {
		return dst, err
	}
	c := f.chunk(i)
	if c.Special != blosc.None {
		chunk, err := specialChunk(i, c.Special, c.NBytes, f.info.TypeSize, max(f.info.BlockSize, 0))
		return append(dst, chunk...), err
	}
	s := storedChunk{f: f, c: c, i: i, r: f.r, off: c.Off, most: c.MaxLen}
	if f.info.Sparse {
		r, err := f.set.Open(ctx, ChunkFile(c.Off))
		if err != nil {
			return dst, s.fail(err)
		}
		s.r, s.off, s.most = r, 0, r.Size()
		if c.MaxLen >= 0 {
			s.most = min(s.most, c.MaxLen) // bytes after the chunk have no meaning
		}
	}
	out, err := s.append(ctx, dst)
	if err != nil {
		return dst, s.fail(err)
	}
	return out, nil
}

// ExplainStored lists the requests that AppendStored would make. In a sparse frame a
// request names the chunk's object, which ExplainStored does not open. A length that
// only the chunk tells is an estimate.
func (f *Frame) ExplainStored(ctx context.Context, i int) ([]rangeio.Planned, error) {
	if f.info.Sparse {
		return f.explainSparse(i)
	}
	var plan pull.Plan
	_, err := f.dried(&plan).AppendStored(ctx, nil, i)
	return plan.Requests(), err
}

func (f *Frame) explainSparse(i int) ([]rangeio.Planned, error) {
	if err := f.has(i); err != nil {
		return nil, err
	}
	c := f.chunk(i)
	if c.Special != blosc.None {
		return nil, nil
	}
	p := rangeio.Planned{Phase: 1, Object: ChunkFile(c.Off), Len: c.MaxLen, Why: chunkName(i), Estimated: true}
	if p.Len < 0 {
		p.Len = 0 // the length is unknown
	}
	return []rangeio.Planned{p}, nil
}

func (f *Frame) has(i int) error {
	if f.refused != nil {
		return f.refused
	}
	if i < 0 || i >= f.Chunks() {
		return fail(chunkName(i), -1, formats.ErrNoEntry, "there are %d", f.Chunks())
	}
	return nil
}

// A storedChunk is a chunk to be read for AppendStored.
type storedChunk struct {
	f         *Frame
	c         ChunkInfo
	i         int
	r         rangeio.Reader
	off, most int64 // offset, and most bytes of the chunk; most is -1 if only the chunk tells
}

func (s *storedChunk) fail(err error) error {
	if s.f.info.Sparse {
		return wrap(chunkName(s.i), -1, err)
	}
	return wrap(chunkName(s.i), s.c.Off, err)
}

// append reads the chunk at once if an upper bound of its length is known and small,
// else its header first.
func (s *storedChunk) append(ctx context.Context, dst []byte) ([]byte, error) {
	n := s.most
	if s.c.NBytes < 0 && (n < 0 || n > unknownMax) { // dead bytes may follow the chunk
		h, err := s.head(ctx)
		if err != nil {
			return nil, err
		}
		n = int64(h.CBytes)
	}
	out, room := dst, dst
	p := s.pull(n, false)
	if _, dry := s.r.(*pull.Dry); !dry { // which takes nothing
		room = slices.Grow(dst, int(max(n, 0)))
		p.Into = func(int) []byte { return room[len(dst):cap(room)] }
	}
	err := p.Each(ctx, func(_ pull.Part[int], b []byte) error {
		h, err := s.header(b, n)
		if err == nil {
			out = room[:len(dst)+h.CBytes]
		}
		return err
	})
	return out, err
}

// head reads the header alone. A plan reads it, too.
func (s *storedChunk) head(ctx context.Context) (h blosc.Header, err error) {
	room := s.r.Size() - s.off
	p := s.pull(min(room, minChunkLen), true)
	err = p.Each(ctx, func(_ pull.Part[int], b []byte) (err error) {
		h, err = s.header(b, room)
		return err
	})
	return h, err
}

// pull reads n bytes of the chunk, or of an index of what to read.
func (s *storedChunk) pull(n int64, index bool) *pull.Pull[int] {
	return &pull.Pull[int]{From: s.r, Window: n, Index: index, Parts: pull.Of(pull.Part[int]{Off: s.off, Len: n}),
		Why: func([]pull.Part[int]) (string, bool) { return chunkName(s.i), false }}
}

// header parses and checks the header of the chunk. most bounds its encoded
// length.
func (s *storedChunk) header(b []byte, most int64) (blosc.Header, error) {
	h, err := s.f.header(b, most, s.c.NBytes)
	if limit := s.f.o.Limits.MaxDecoded; err == nil && int64(h.CBytes) > limit {
		err = fmt.Errorf("%d bytes, %d allowed: %w", h.CBytes, limit, formats.ErrTooLarge)
	}
	return h, err
}

// EachStored calls fn with encoded chunks, each in memory of its own that fn may keep, in
// any order and several calls at a time. chunks are their numbers, ascending. It is one read of windows of a request's length, so short chunks that follow each other share
// requests, and fn has a chunk once its window is there. It checks what AppendStored checks. It passes over chunks that have no bytes in the frame, and those
// whose length only they tell; in a sparse frame that is all of them. An error of fn is
// returned as it is.
func (f *Frame) EachStored(ctx context.Context, chunks []int, fn func(i int, p []byte) error) error {
	if f.info.Sparse {
		return nil
	}
	asks := make([]ask, len(chunks))
	for k, i := range chunks {
		if err := f.has(i); err != nil {
			return err
		}
		asks[k] = ask{i, wholeChunk}
	}
	f, ctx, err := f.placed(ctx, asks...)
	if err != nil {
		return err
	}
	var list []storedChunk
	for _, i := range chunks {
		c := f.chunk(i)
		if c.Special != blosc.None || c.MaxLen <= 0 || c.NBytes < 0 && c.MaxLen > unknownMax {
			continue
		}
		list = append(list, storedChunk{f: f, c: c, i: i, r: f.r, off: c.Off, most: c.MaxLen})
	}
	memory := make([][]byte, len(list))
	p := pull.Pull[int]{From: f.r, Window: pull.WindowOf(f.r, f.o.Policy), Memory: math.MaxInt64, Parts: func(_ context.Context, add func(pull.Part[int]) error) error {
		for k := range list {
			if err := add(pull.Part[int]{Off: list[k].off, Len: list[k].most, More: list[k].most, For: k}); err != nil {
				return err
			}
		}
		return nil
	}, Into: func(k int) []byte {
		if memory[k] == nil { // it is asked for more than once
			memory[k] = make([]byte, list[k].most)
		}
		return memory[k]
	}}
	return p.Each(ctx, func(part pull.Part[int], b []byte) error {
		s := &list[part.For]
		h, err := s.header(b, s.most)
		if err != nil {
			return s.fail(err)
		}
		return fn(s.i, b[:h.CBytes])
	})
}
