package cframe

import (
	"context"
	"fmt"
	"math"
	"sort"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

// ReadChunk appends the decoded chunk i to dst and returns the longer slice, or
// dst with an error. It makes one read, of the whole chunk; two if the length of
// the chunk is not known and the next chunk is more than 8 MiB away. In a sparse
// frame it opens the chunk's object first. A chunk that is not there is
// ErrNoEntry.
func (f *Frame) ReadChunk(ctx context.Context, dst []byte, i int) ([]byte, error) {
	if i < 0 || i >= f.table.n {
		return dst, fail(chunkName(i), -1, formats.ErrNoEntry, "there are %d", f.table.n)
	}
	if f.refused != nil {
		return dst, f.refused
	}
	out := dst
	r := f.newReading(ctx, func(_ *job, _, _ int, p []byte) error {
		out = append(out, p...) // one call, or one for each VL block in order
		return nil
	})
	j := f.jobOf(i)
	j.bsize = math.MaxInt // no chunk has such blocks: all of it at once
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

// dense says that a chunk decodes to no more than what its bytes could hold by
// any usual ratio, or is small: then a buffer is made before it was looked at.
func (f *Frame) dense(j *job) bool {
	const ratio, small = 1 << 10, 1 << 20
	return j.nbytes <= small || int64(j.nbytes)/ratio <= j.n
}

// ReadBytes fills dst with the decoded bytes of the frame from off on, as if all
// chunks lay one after the other. It costs what Read costs for the blocks that
// hold them. In a frame whose chunks vary in size the first call also reads the
// header of every chunk, as ChunkHeaders does, and keeps 8 bytes for each. Bytes
// beyond Info.NBytes are ErrNoEntry, and then nothing is read.
func (f *Frame) ReadBytes(ctx context.Context, dst []byte, off int64) error {
	if f.refused != nil {
		return f.refused
	}
	if off < 0 || off > f.info.NBytes || int64(len(dst)) > f.info.NBytes-off {
		return fail("data", -1, formats.ErrNoEntry, "bytes %d to %d of %d", off, off+int64(len(dst)), f.info.NBytes)
	}
	if len(dst) == 0 {
		return nil
	}
	start, err := f.starts(ctx)
	if err != nil {
		return err
	}
	end := off + int64(len(dst))
	r := f.newReading(ctx, func(j *job, _, at int, p []byte) error {
		from, to := max(at, j.from), min(at+len(p), j.to)
		if from < to {
			copy(dst[start(j.chunk)+int64(from)-off:], p[from-at:to-at])
		}
		return nil
	})
	for i := sort.Search(f.table.n, func(i int) bool { return start(i+1) > off }); i < f.table.n && start(i) < end; {
		jobs := make([]job, 0, min(batch, f.table.n-i))
		for ; i < f.table.n && start(i) < end && len(jobs) < batch; i++ {
			j := f.jobOf(i)
			j.nbytes = int(start(i+1) - start(i))
			j.from, j.to = int(max(off-start(i), 0)), int(min(end, start(i+1))-start(i))
			j.bsize = f.info.BlockSize
			if j.to-j.from == j.nbytes {
				j.dst = dst[start(i)-off:][:j.nbytes:j.nbytes]
				j.from, j.to = 0, 0
			}
			if j.nbytes > 0 {
				jobs = append(jobs, j)
			}
		}
		if err := r.run(ctx, jobs); err != nil {
			return err
		}
	}
	return nil
}

// starts gives a function from a chunk to its first decoded byte; chunk
// f.table.n stands for the end.
func (f *Frame) starts(ctx context.Context) (func(i int) int64, error) {
	if c := int64(f.info.ChunkSize); c > 0 {
		return func(i int) int64 { return min(int64(i)*c, f.info.NBytes) }, nil
	}
	f.sizes.mu.Lock()
	defer f.sizes.mu.Unlock()
	if f.sizes.offs == nil {
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
		f.sizes.offs = offs
	}
	offs := f.sizes.offs
	return func(i int) int64 { return offs[i] }, nil
}

// ChunkHeaders reads the headers of the chunks [from, to): one planned read for
// each few thousand of them, in a sparse frame one open for each. A chunk that
// is not stored gets the header of a special chunk. Chunks that the frame does
// not have are ErrNoEntry.
func (f *Frame) ChunkHeaders(ctx context.Context, from, to int) ([]blosc.Header, error) {
	if from < 0 || to > f.table.n || from > to {
		return nil, fail("chunks", -1, formats.ErrNoEntry, "chunks %d to %d of %d", from, to, f.table.n)
	}
	if f.refused != nil {
		return nil, f.refused
	}
	out := make([]blosc.Header, to-from)
	r := f.newReading(ctx, nil)
	if f.info.Sparse {
		return out, r.sparseHeaders(ctx, from, out)
	}
	for at := from; at < to; at += batch / 4 {
		if err := f.headers(r.phase(ctx, 0), at, out[at-from:min(at-from+batch/4, len(out))], r); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// headers reads the headers of chunks that lie in one object.
func (f *Frame) headers(ctx context.Context, from int, out []blosc.Header, r *reading) error {
	jobs := make([]job, 0, len(out))
	buf := bufpool.Get(len(out) * minChunkLen)
	defer bufpool.Put(buf)
	spans := make([]rangeio.Span, 0, len(out))
	for k := range out {
		j := f.jobOf(from + k)
		j.want = k
		if kind := f.Chunk(j.chunk).Special; kind != blosc.None {
			out[k] = specialHeader(&f.info, j.nbytes, kind)
			continue
		}
		jobs = append(jobs, j)
		n := min(j.most, minChunkLen)
		spans = append(spans, rangeio.Span{Off: j.off, P: buf[k*minChunkLen:][:n:n]})
	}
	if len(spans) == 0 {
		return nil
	}
	if err := f.r.ReadRanges(ctx, spans); err != nil {
		return wrapRead(err)
	}
	for k := range jobs {
		h, err := r.header(&jobs[k], spans[k].P, jobs[k].most)
		if err != nil {
			return f.inChunk(&jobs[k], err)
		}
		out[jobs[k].want] = h
	}
	return nil
}

// Explain lists the requests that Read would make for wants now, by the planning
// that Read does. Explain makes none itself, so the reads that follow the block
// starts of a chunk are estimates. It refuses the wants that Read refuses.
func (f *Frame) Explain(wants []Want) ([]rangeio.Planned, error) {
	if f.refused != nil {
		return nil, f.refused
	}
	jobs := make([]job, 0, len(wants))
	for i := range wants {
		j, err := f.newJob(i, &wants[i])
		if err != nil {
			return nil, err
		}
		if j.all() || len(j.blocks) > 0 {
			jobs = append(jobs, j)
		}
	}
	return f.explain(jobs), nil
}

// ExplainBytes is Explain for ReadBytes of n bytes from off on. If chunks vary in
// size it is ErrUnsupported.
func (f *Frame) ExplainBytes(off, n int64) ([]rangeio.Planned, error) {
	c := int64(f.info.ChunkSize)
	switch {
	case f.refused != nil:
		return nil, f.refused
	case off < 0 || n < 0 || off > f.info.NBytes || n > f.info.NBytes-off:
		return nil, fail("data", -1, formats.ErrNoEntry, "%d bytes at %d of %d", n, off, f.info.NBytes)
	case n == 0:
		return nil, nil
	case c <= 0:
		return nil, unsupported("data", -1, "chunks vary in size")
	}
	var jobs []job
	for i := off / c; i*c < off+n; i++ {
		j := f.jobOf(int(i))
		j.bsize = f.info.BlockSize
		j.from, j.to = int(max(off-i*c, 0)), int(min(off+n-i*c, int64(j.nbytes)))
		if j.to-j.from == j.nbytes {
			j.from, j.to = 0, 0
		}
		jobs = append(jobs, j)
	}
	return f.explain(jobs), nil
}

func (f *Frame) explain(jobs []job) []rangeio.Planned {
	p := f.plan(jobs)
	var out []rangeio.Planned
	var most int64
	for i := range jobs {
		most = max(most, jobs[i].n, jobs[i].headSize(jobs[i].most))
	}
	shared := make([]byte, most) // never touched, hence never paged in
	for _, w := range p.windows {
		spans := make([]rangeio.Span, len(w))
		for i := range w {
			spans[i] = rangeio.Span{Off: w[i].off, P: shared[:w[i].n]}
		}
		for _, q := range f.planned(spans) {
			out = append(out, rangeio.Planned{Phase: 1, Off: q.Off, Len: q.Len, Why: chunksIn(w, q)})
		}
	}
	usual := f.usualChunk()
	for i := range p.starts {
		if j := &p.starts[i]; f.info.Sparse {
			out = append(out, f.explainOpen(j, usual)...)
		} else {
			out = append(out, f.explainStarts(j, shared)...)
		}
	}
	sort.SliceStable(out, func(a, b int) bool { return out[a].Phase < out[b].Phase })
	return out
}

// planned is how the reader would fetch spans.
func (f *Frame) planned(spans []rangeio.Span) []rangeio.Request {
	if p, ok := f.r.(interface {
		Plan(spans []rangeio.Span) []rangeio.Request
	}); ok {
		return p.Plan(spans)
	}
	return rangeio.Plan(spans, f.o.Policy)
}

// chunksIn names the chunks of a window that a request covers, all or in part.
func chunksIn(w []job, q rangeio.Request) string {
	first, last, n := -1, -1, 0
	for i := range w {
		if w[i].off < q.Off+q.Len && q.Off < w[i].off+w[i].n {
			if n++; first < 0 {
				first = w[i].chunk
			}
			last = w[i].chunk
		}
	}
	if n == 1 {
		return fmt.Sprintf("all of chunk %d", first)
	}
	return fmt.Sprintf("all of %d chunks, %d to %d", n, first, last)
}

func (f *Frame) explainStarts(j *job, shared []byte) []rangeio.Planned {
	var out []rangeio.Planned
	for _, q := range f.planned([]rangeio.Span{{Off: j.off, P: shared[:j.headSize(j.most)]}}) {
		out = append(out, rangeio.Planned{Phase: 1, Off: q.Off, Len: q.Len, Why: "block starts of " + chunkName(j.chunk)})
	}
	what, size := j.second(j.most)
	return append(out, rangeio.Planned{Phase: 2, Off: j.off, Len: size, Why: what + chunkName(j.chunk), Estimated: true})
}

// second says what is read of a chunk of n bytes after its block starts, and about
// how many bytes that takes.
func (j *job) second(n int64) (what string, size int64) {
	what, size = fmt.Sprintf("%d blocks of ", len(j.blocks)), j.group(n).blocks-j.headSize(n)
	switch {
	case j.all():
		what, size = "the rest of ", n-j.headSize(n)
	case j.blocks == nil:
		what = "blocks of "
	case len(j.blocks) == 1:
		what = "a block of "
	}
	return what, max(size, 0)
}

// openHead is what an object keeps of its own opening, unless it was opened
// otherwise.
const openHead = 64 << 10

// usualChunk is the mean length of the chunks of a sparse frame that are stored; an
// index does not tell their own.
func (f *Frame) usualChunk() int64 {
	if !f.info.Sparse {
		return 0
	}
	stored := int64(0)
	for i := range f.table.n {
		if kind, _ := special(f.table.at(i)); kind == 0 {
			stored++
		}
	}
	return f.info.CBytes / max(stored, 1)
}

// explainOpen is explainStarts for a chunk of a sparse frame: its opening brings
// what lies at its begin.
func (f *Frame) explainOpen(j *job, n int64) []rangeio.Planned {
	if j.most >= 0 {
		n = min(n, j.most)
	}
	name := chunkFile(j.off)
	out := []rangeio.Planned{{Phase: 1, Object: name, Len: min(n, openHead), Why: "open " + chunkName(j.chunk), Estimated: true}}
	what, size := j.second(n)
	if j.all() || wholeAnyway(j.group(n), f.o.Policy) {
		what, size = "the rest of ", n-openHead
	}
	if size = min(size, n-openHead); size > 0 {
		out = append(out, rangeio.Planned{Phase: 2, Object: name, Off: openHead, Len: size, Why: what + chunkName(j.chunk), Estimated: true})
	}
	return out
}
