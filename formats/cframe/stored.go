package cframe

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// AppendStored appends chunk i to dst, encoded as it is stored, and returns the longer
// slice, or dst with an error. Of a chunk that is not stored it appends the special
// chunk that stands for it. The chunk's header is checked against the frame and the
// limits; its blocks are not looked at. It makes one read, two if the length of the
// chunk is not known; in a sparse frame it opens the chunk's object first. A chunk that
// is not there is ErrNoEntry.
func (f *Frame) AppendStored(ctx context.Context, dst []byte, i int) ([]byte, error) {
	return f.appendStored(ctx, dst, i, func(r rangeio.Reader) rangeio.Reader { return r })
}

// ExplainStored lists the requests that AppendStored would make; the object of a chunk
// in a sparse frame, which is named, is not opened for it. A length that only the chunk
// tells is an estimate.
func (f *Frame) ExplainStored(ctx context.Context, i int) ([]rangeio.Planned, error) {
	if f.info.Sparse {
		return f.explainSparse(i)
	}
	var plan pull.Plan
	_, err := f.appendStored(ctx, nil, i, func(r rangeio.Reader) rangeio.Reader { return plan.Over(r, "") })
	return plan.Requests(), err
}

func (f *Frame) explainSparse(i int) ([]rangeio.Planned, error) {
	if err := f.has(i); err != nil {
		return nil, err
	}
	c := f.Chunk(i)
	if c.Special != blosc.None {
		return nil, nil
	}
	p := rangeio.Planned{Phase: 1, Object: chunkFile(c.Off), Len: c.MaxLen, Why: chunkName(i), Estimated: true}
	if p.Len < 0 {
		p.Len = 0 // nothing is known of it
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

// appendStored reads by what over makes of the reader.
func (f *Frame) appendStored(ctx context.Context, dst []byte, i int, over func(rangeio.Reader) rangeio.Reader) ([]byte, error) {
	if err := f.has(i); err != nil {
		return dst, err
	}
	c := f.Chunk(i)
	if c.Special != blosc.None {
		chunk, err := specialChunk(i, c.Special, c.NBytes, f.info.TypeSize, max(f.info.BlockSize, 0))
		return append(dst, chunk...), err
	}
	s := storedChunk{f: f, c: c, i: i, r: f.r, off: c.Off, most: c.MaxLen}
	if f.info.Sparse {
		r, err := f.set.Open(ctx, chunkFile(c.Off))
		if err != nil {
			return dst, s.fail(err)
		}
		s.r, s.off, s.most = r, 0, r.Size()
		if c.MaxLen >= 0 {
			s.most = min(s.most, c.MaxLen) // what comes after the chunk is nobody's
		}
	}
	s.r = over(s.r)
	out, err := s.append(ctx, dst)
	if err != nil {
		return dst, s.fail(err)
	}
	return out, nil
}

// A storedChunk is one that is to be read.
type storedChunk struct {
	f         *Frame
	c         ChunkInfo
	i         int
	r         rangeio.Reader
	off, most int64 // most: -1 if only the chunk tells
}

func (s *storedChunk) fail(err error) error {
	if s.f.info.Sparse {
		return wrap(chunkName(s.i), -1, err)
	}
	return wrap(chunkName(s.i), s.c.Off, err)
}

// append reads all that the chunk can be, if that is known and little, else its header
// first.
func (s *storedChunk) append(ctx context.Context, dst []byte) ([]byte, error) {
	n := s.most
	if s.c.NBytes < 0 && (n < 0 || n > unknownMax) { // dead bytes may follow it
		h, err := s.head(ctx)
		if err != nil {
			return nil, err
		}
		n = int64(h.CBytes)
	}
	out := dst
	err := s.pull(ctx, n, false, func(b []byte) error {
		h, err := s.header(b, n)
		if err == nil {
			out = append(dst, b[:h.CBytes]...)
		}
		return err
	})
	return out, err
}

// head reads the header alone. A plan needs it, too.
func (s *storedChunk) head(ctx context.Context) (h blosc.Header, err error) {
	room := s.r.Size() - s.off
	err = s.pull(ctx, min(room, minChunkLen), true, func(b []byte) (err error) {
		h, err = s.header(b, room)
		return err
	})
	return h, err
}

func (s *storedChunk) pull(ctx context.Context, n int64, index bool, take func(b []byte) error) error {
	p := pull.Pull[int]{From: s.r, Window: n, Index: index, Parts: pull.Of(pull.Part[int]{Off: s.off, Len: n}),
		Why: func([]pull.Part[int]) (string, bool) { return chunkName(s.i), false }}
	return p.Each(ctx, func(_ pull.Part[int], b []byte) error { return take(b) })
}

// header checks the header of the chunk, which has room for most bytes.
func (s *storedChunk) header(b []byte, most int64) (blosc.Header, error) {
	h, err := s.f.header(b, most, s.c.NBytes)
	if limit := s.f.o.Limits.MaxDecoded; err == nil && int64(h.CBytes) > limit {
		err = fmt.Errorf("%d bytes, %d allowed: %w", h.CBytes, limit, formats.ErrTooLarge)
	}
	return h, err
}
