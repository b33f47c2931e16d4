package cframe

import (
	"context"
	"math"
	"sort"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// AppendChunk appends the decoded chunk i to dst. If it fails, it returns dst as
// it was. It makes one read, of the whole chunk. It makes two if the length of
// the chunk is unknown and the next chunk is more than 8 MiB away. In a sparse
// frame it opens the chunk's object first. If the frame does not have the chunk,
// it returns ErrNoEntry.
func (f *Frame) AppendChunk(ctx context.Context, dst []byte, i int) ([]byte, error) {
	if i < 0 || i >= f.table.n {
		return dst, fail(chunkName(i), -1, formats.ErrNoEntry, "there are %d", f.table.n)
	}
	if f.refused != nil {
		return dst, f.refused
	}
	f, ctx, err := f.placed(ctx, ask{i, wholeChunk})
	if err != nil {
		return dst, err
	}
	out := dst
	r := &reading{f: f, deliver: func(_ *job, _, _ int, p []byte) error {
		out = append(out, p...) // called once, or for each VL block in order
		return nil
	}}
	j := f.jobOf(i)
	j.bsize = math.MaxInt // longer than any block, so that the chunk is decoded at once
	if n := j.nbytes; n > 0 && int64(n) <= f.o.Limits.MaxDecoded && f.dense(&j) {
		out = append(dst, make([]byte, n)...)
		j.dst = out[len(dst):]
		r.deliver = func(*job, int, int, []byte) error { return nil }
	}
	if err := r.run(ctx, []job{j}); err != nil {
		return dst, err
	}
	return out, nil
}

// dense reports whether the decoded chunk is small, or has a usual ratio to the
// encoded one. Then the buffer may be allocated before the chunk is checked.
func (f *Frame) dense(j *job) bool {
	const ratio, small = 1 << 10, 1 << 20
	return j.nbytes <= small || int64(j.nbytes)/ratio <= j.n
}

// ReadBytes reads the decoded bytes of the frame from off on into dst, as if all decoded
// chunks were one sequence. It costs as much as EachConcurrent for the blocks that hold
// these bytes. In a frame whose chunks vary in size, the first call also reads the
// header of every chunk, as ChunkHeaders does, and keeps 8 bytes for each. If the range
// ends after Info.NBytes, ReadBytes returns ErrNoEntry and reads nothing.
func (f *Frame) ReadBytes(ctx context.Context, dst []byte, off int64) error {
	return f.readBytes(ctx, dst, off, int64(len(dst)))
}

// readBytes is ReadBytes of n bytes. dst may be nil if the Frame is dry, for a
// plan.
func (f *Frame) readBytes(ctx context.Context, dst []byte, off, n int64) error {
	if f.refused != nil {
		return f.refused
	}
	if off < 0 || n < 0 || off > f.info.NBytes || n > f.info.NBytes-off {
		return fail("data", -1, formats.ErrNoEntry, "%d bytes at %d of %d", n, off, f.info.NBytes)
	}
	if n == 0 {
		return nil
	}
	start, err := f.starts(ctx)
	if err != nil {
		return err
	}
	end := off + n
	deliver := func(j *job, _, at int, p []byte) error {
		from, to := max(at, j.from), min(at+len(p), j.to)
		if from < to {
			copy(dst[start(j.chunk)+int64(from)-off:], p[from-at:to-at])
		}
		return nil
	}
	_, ctx = rangeio.Steps(ctx) // all batches count as one step of phases
	for i := sort.Search(f.table.n, func(i int) bool { return start(i+1) > off }); i < f.table.n && start(i) < end; {
		to := sort.Search(min(batch, f.table.n-i), func(k int) bool { return start(i+k) >= end }) + i
		g, data, err := f.span(ctx, i, to, min(n, int64(max(f.info.ChunkSize, 0))))
		if err != nil {
			return err
		}
		jobs := make([]job, 0, to-i)
		for ; i < to; i++ {
			j := g.jobOf(i)
			j.nbytes = int(start(i+1) - start(i))
			j.from, j.to = int(max(off-start(i), 0)), int(min(end, start(i+1))-start(i))
			j.bsize = f.info.BlockSize
			if j.to-j.from == j.nbytes {
				j.from, j.to = 0, 0
				j.into = true
				if dst != nil {
					j.dst = dst[start(i)-off:][:j.nbytes:j.nbytes]
				}
			}
			if j.nbytes > 0 {
				jobs = append(jobs, j)
			}
		}
		if err := (&reading{f: g, deliver: deliver}).run(data, jobs); err != nil {
			return err
		}
	}
	return nil
}

// starts returns a function that maps the number of a chunk to the offset of
// its first decoded byte, and f.table.n to the end.
func (f *Frame) starts(ctx context.Context) (func(i int) int64, error) {
	if c := int64(f.info.ChunkSize); c > 0 {
		return func(i int) int64 { return min(int64(i)*c, f.info.NBytes) }, nil
	}
	offs, err := f.sizes.get(ctx, f)
	return func(i int) int64 { return offs[i] }, err
}

// ChunkBytes returns the offset of the decoded bytes of the chunks [from, to) in the
// decoded bytes of all chunks, and their number. For no chunks it returns 0, 0. If a
// chunk does not exist, the error is ErrNoEntry. ChunkBytes costs nothing if all chunks
// have the same size, or if all chunks are meant. Otherwise the first call of
// ChunkBytes or ReadBytes reads the sizes, at the cost of the first ReadBytes.
func (f *Frame) ChunkBytes(ctx context.Context, from, to int) (off, n int64, err error) {
	switch {
	case from < 0 || from > to || to > f.table.n:
		return 0, 0, fail("chunks", -1, formats.ErrNoEntry, "%d to %d of %d", from, to, f.table.n)
	case f.refused != nil:
		return 0, 0, f.refused
	case from == to:
		return 0, 0, nil
	case from == 0 && to == f.table.n:
		return 0, f.info.NBytes, nil
	}
	start, err := f.starts(ctx)
	if err != nil {
		return 0, 0, err
	}
	return start(from), start(to) - start(from), nil
}

// get returns the decoded offsets of the chunks of f. The first caller reads them.
// Other callers wait for it, until their own contexts end.
func (s *chunkStarts) get(ctx context.Context, f *Frame) ([]int64, error) {
	if offs := s.offs.Load(); offs != nil {
		return *offs, nil
	}
	select {
	case s.finding <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-s.finding }()
	if offs := s.offs.Load(); offs != nil {
		return *offs, nil
	}
	hs, err := f.ChunkHeaders(ctx, 0, f.table.n)
	if err != nil {
		return nil, err
	}
	offs := make([]int64, f.table.n+1)
	for i, h := range hs {
		offs[i+1] = offs[i] + int64(h.NBytes)
	}
	if n := offs[f.table.n]; n != f.info.NBytes {
		return nil, corrupt("header", atNBytes, "%d decoded bytes, the chunks have %d", f.info.NBytes, n)
	}
	s.offs.Store(&offs)
	return offs, nil
}

// scanBatch is the number of chunks whose headers EachHeader reads at a time.
const scanBatch = 1 << 12

// EachChunk calls fn with the places of the chunks [from, to), in order. It makes no
// request unless the offsets are read in pages; see Open. Then the first few thousand
// chunks take one page or two, and more of them the offsets of all chunks. If fn returns
// an error, EachChunk returns the same error.
func (f *Frame) EachChunk(ctx context.Context, from, to int, fn func(i int, c ChunkInfo) error) error {
	if from < 0 || to > f.table.n || from > to {
		return fail("chunks", -1, formats.ErrNoEntry, "chunks %d to %d of %d", from, to, f.table.n)
	}
	for first := true; from < to; first = false {
		end := to
		if first {
			end = min(to, from+scanBatch)
		} else if _, err := f.whole(ctx); err != nil {
			return err
		}
		g, _, err := f.span(ctx, from, end, 0)
		if err != nil {
			return err
		}
		for ; from < end; from++ {
			if err := fn(from, g.chunk(from)); err != nil {
				return err
			}
		}
	}
	return nil
}

// EachHeader calls fn with the places and headers of the chunks [from, to), in order. It reads and
// holds some thousands of headers at a time, and costs as much as ChunkHeaders. If fn
// returns an error, EachHeader returns the same error.
func (f *Frame) EachHeader(ctx context.Context, from, to int, fn func(i int, c ChunkInfo, h blosc.Header) error) error {
	if err := f.hasRange(from, to); err != nil {
		return err
	}
	f, ctx, err := f.span(ctx, from, to, 0)
	if err != nil {
		return err
	}
	for from < to {
		headers, err := f.ChunkHeaders(ctx, from, min(to, from+scanBatch))
		if err != nil {
			return err
		}
		for k, h := range headers {
			if err := fn(from+k, f.chunk(from+k), h); err != nil {
				return err
			}
		}
		from += len(headers)
	}
	return nil
}

// hasRange returns an error if the frame lacks some of the chunks [from, to),
// or refuses reads of data.
func (f *Frame) hasRange(from, to int) error {
	if from < 0 || to > f.table.n || from > to {
		return fail("chunks", -1, formats.ErrNoEntry, "chunks %d to %d of %d", from, to, f.table.n)
	}
	return f.refused
}

// ChunkHeaders reads the headers of the chunks [from, to). It makes one planned
// read for every few thousand of them; in a sparse frame it opens the object of
// each chunk. For a chunk without bytes in the frame it returns the header of a
// special chunk. If the frame lacks one of the chunks, it returns ErrNoEntry.
func (f *Frame) ChunkHeaders(ctx context.Context, from, to int) ([]blosc.Header, error) {
	if err := f.hasRange(from, to); err != nil {
		return nil, err
	}
	f, ctx, err := f.span(ctx, from, to, 0)
	if err != nil {
		return nil, err
	}
	out := make([]blosc.Header, to-from)
	var jobs []job
	for k := range out {
		j := f.jobOf(from + k)
		if kind := f.chunk(j.chunk).Special; kind != blosc.None {
			out[k] = specialHeader(&f.info, j.nbytes, kind)
			continue
		}
		j.want = k
		jobs = append(jobs, j)
	}
	return out, f.headers(ctx, jobs, out)
}

// headers reads the headers of the chunks of jobs, which have bytes in the
// frame.
func (f *Frame) headers(ctx context.Context, jobs []job, out []blosc.Header) error {
	r := &reading{f: f}
	p := pull.Pull[*job]{From: f.r, Index: true, Window: headMemory, Most: batch / 4, Parallel: 1, Near: 1,
		Failed: func(_ []pull.Part[*job], err error) error { return wrap("chunks", -1, err) },
		Parts: func(ctx context.Context, add func(pull.Part[*job]) error) error {
			if f.info.Sparse {
				one := newGate()
				return f.opened(ctx, jobs, func(j *job, src rangeio.Reader) error {
					one <- struct{}{}
					defer func() { <-one }()
					return add(pull.Part[*job]{From: src, Len: min(j.most, minChunkLen), Ends: true, For: j})
				})
			}
			for i := range jobs {
				j := &jobs[i]
				if err := add(pull.Part[*job]{Off: j.off, Len: min(j.most, minChunkLen), For: j}); err != nil {
					return err
				}
			}
			return nil
		}}
	return p.Each(ctx, func(p pull.Part[*job], b []byte) (err error) {
		j := p.For
		out[j.want], err = r.header(j, b, j.most)
		return f.inChunk(j, err)
	})
}

// dried returns f with a reader that does not read chunks, but notes in p the
// requests for them.
func (f *Frame) dried(p *pull.Plan) *Frame {
	g := *f
	if g.dry = p; g.r != nil {
		g.r = p.Over(f.r, "")
	}
	return &g
}

// Among returns f for calls side by side that read n bytes at the same time. Their
// requests are as long as those of one call for n bytes, which cost less processor time.
func (f *Frame) Among(n int64) *Frame {
	g := *f
	g.among = n
	return &g
}

// ExplainConcurrent lists the requests that EachConcurrent would make for wants now. It
// runs the code of EachConcurrent. It reads pages of the index, and the block starts, which
// tell where chunks and blocks are, and does not list these requests: what it reads and what it
// lists is together what EachConcurrent would have read in its place. Chunks that come
// along with such pages, before these tell where they lie, are in phase 0. In a sparse frame it opens no chunk, so how
// much of each is read is an estimate. It returns the errors of EachConcurrent for
// wrong wants.
func (f *Frame) ExplainConcurrent(ctx context.Context, wants []Want) ([]rangeio.Planned, error) {
	var p pull.Plan
	err := f.dried(&p).EachConcurrent(ctx, wants, nil)
	return p.Requests(), err
}

// ExplainBytes lists the requests that ReadBytes would make for n bytes from off on, as
// ExplainConcurrent does. If chunks vary in size, it reads their headers, as ReadBytes
// does.
func (f *Frame) ExplainBytes(ctx context.Context, off, n int64) ([]rangeio.Planned, error) {
	var p pull.Plan
	err := f.dried(&p).readBytes(ctx, nil, off, n)
	return p.Requests(), err
}
