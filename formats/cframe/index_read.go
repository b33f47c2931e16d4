package cframe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/formats/frameindex"
	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/internal/pull"
	"github.com/farread/farread/rangeio"
)

// known sets the costs of jobs to what the index tells, if its pages are in memory. It
// makes no request.
func (f *Frame) known(ctx context.Context, jobs []job) {
	ix := f.heads.used()
	if ix == nil {
		return
	}
	list := partly(jobs)
	if chunks := numbers(jobs, list); len(list) == 0 || !ix.Held(chunks) {
		return
	} else if err := ix.Heads(ctx, chunks, func(k int, head []byte) error {
		j := &jobs[list[k]]
		if head == nil {
			return nil
		}
		g, apart, err := f.exact(j, head)
		if err == nil {
			j.exact, j.isExact, j.apart, j.n = g, true, apart, g.whole
		}
		return nil // the chunk itself tells
	}); errors.Is(err, index.ErrUnusable) {
		f.heads.drop(ix, err)
	}
}

// partly returns which jobs do not want all of their chunks, by the numbers of the
// chunks.
func partly(jobs []job) []int {
	var list []int
	for i := range jobs {
		if !jobs[i].all() {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(jobs[a].chunk, jobs[b].chunk) })
	return list
}

func numbers(jobs []job, list []int) []int {
	out := make([]int, len(list))
	for k, i := range list {
		out[k] = jobs[i].chunk
	}
	return out
}

// exact returns what a job costs, from the head of its chunk, and whether its blocks are
// so far apart that they take several requests. The cost of the blocks is that of the
// whole chunk if the chunk has to be decoded whole.
func (f *Frame) exact(j *job, head []byte) (g readCost, apart bool, err error) {
	h, err := (&reading{f: f}).header(j, head, j.most)
	if err != nil {
		return g, false, err
	}
	g = readCost{whole: int64(h.CBytes), blocks: int64(h.CBytes)}
	if j.all() || !j.fits(&h) || h.VL && j.to > 0 {
		return g, false, nil
	}
	x, err := blosc.ParseIndex(head)
	if err != nil {
		return g, false, err
	}
	sel, err := j.pick(&h)
	if err != nil {
		return g, false, err
	}
	list, n := fragmentsOf(x, sel)
	g.blocks = min(int64(n), g.whole)
	for i := 1; i < len(list); i++ {
		apart = apart || int64(list[i].off-list[i-1].off-list[i-1].n) > f.o.Policy.Free
	}
	return g, apart, nil
}

// indexed adds the parts of chunks whose heads are in the index. It returns the jobs of
// the others, and whether it has read anything.
func (r *reading) indexed(ctx context.Context, jobs []job) (rest []job, read bool, err error) {
	f := r.f
	if f.info.Sparse {
		return jobs, false, nil
	}
	if len(jobs) >= sidecarWorth && !f.heads.inside && !rangeio.Local(f.r) {
		read = !f.heads.looked.Load() && f.heads.side != nil
		if err := f.OpenSidecar(ctx); err != nil {
			return nil, false, err
		}
	}
	ix := f.heads.used()
	if ix == nil {
		return jobs, read, nil
	}
	list := partly(jobs)
	chunks := numbers(jobs, list)
	read = read || !ix.Held(chunks)
	begun := make([]bool, len(jobs))
	err = ix.Heads(ctx, chunks, func(k int, head []byte) error {
		j := &jobs[list[k]]
		g, _, err := f.exact(j, head)
		if err != nil {
			return nil //nolint:nilerr // the chunk itself tells
		}
		begun[list[k]] = true
		if j.isExact = true; wholeAnyway(g, f.o.Policy) && g.whole > int64(len(head)) {
			return r.add(pull.Part[piece]{Off: j.off, Len: g.whole, Made: j.made(), For: piece{j: j}})
		}
		_, err = r.begin(j, f.r, head)
		return f.inChunk(j, err)
	})
	if errors.Is(err, index.ErrUnusable) {
		f.heads.drop(ix, err)
	} else if err != nil {
		return nil, false, err
	}
	for i := range jobs {
		if !begun[i] {
			rest = append(rest, jobs[i])
		}
	}
	return rest, read, nil
}

// eachHead calls fn with the head of each of the chunks [from, to), in order; it is empty
// for a chunk that has no bytes in the frame, or no head for an index. It reads them from
// the chunks: one planned read for some thousand, and one more for heads that are longer
// than expected. The heads stay valid. The frame must be contiguous.
func (f *Frame) eachHead(ctx context.Context, from, to int, fn func(i int, head []byte) error) error {
	_, ctx = rangeio.Steps(ctx)
	for from < to {
		var jobs []job
		end, size := from, int64(0)
		for ; end < min(to, from+scanBatch) && size < 8*headMemory; end++ {
			if j := f.jobOf(end); f.chunk(end).Special == blosc.None {
				j.want = end - from
				size += j.headSize(j.most)
				jobs = append(jobs, j)
			}
		}
		heads := make([][]byte, end-from)
		if err := f.readHeads(ctx, jobs, heads); err != nil {
			return err
		}
		for k, head := range heads {
			if err := fn(from+k, head); err != nil {
				return err
			}
		}
		from = end
	}
	return nil
}

// readHeads reads the heads of the chunks of jobs into out, at the numbers of the wants.
func (f *Frame) readHeads(ctx context.Context, jobs []job, out [][]byte) error {
	if len(jobs) == 0 {
		return nil
	}
	var short []job
	p := pull.Pull[*job]{From: f.r, Index: true, Window: headMemory, Parallel: 1, Near: 1,
		Failed: func(_ []pull.Part[*job], err error) error { return wrap("block starts", -1, err) },
		Parts: func(_ context.Context, add func(pull.Part[*job]) error) error {
			for i := range jobs {
				if err := add(jobs[i].headPart(nil)); err != nil {
					return err
				}
			}
			return nil
		}}
	err := p.Each(ctx, func(p pull.Part[*job], b []byte) error {
		j := p.For
		if j.head != nil {
			b = append(j.head, b...)
		}
		h, err := blosc.ParseHeader(b)
		if n := h.IndexLen(); err == nil && n > len(b) && int64(n) <= j.most && j.head == nil {
			j.head = bytes.Clone(b[:min(len(b), headGuess)])
			short = append(short, *j)
			return nil
		}
		out[j.want] = bytes.Clone(frameindex.HeadOf(b))
		return nil
	})
	if err != nil {
		return err
	}
	_, next := rangeio.Steps(ctx)
	return f.readHeads(next, short, out)
}

// BuildIndex makes the index of a contiguous frame, to lie beside it under the name of
// its object and index.Suffix. etag is the ETag of the object. It reads the first bytes
// of every chunk, some thousand by each planned read, and holds about two bytes for each
// block. If progress is not nil, it is told the chunks so far and in all.
//
// A sparse frame is ErrUnsupported, and so is one whose object has no strong ETag
// (index.Binding). A frame without chunks, or with special ones alone, is
// index.ErrNeedless, unless its chunks are so many that their places are worth an index. If
// the index would exceed Limits.MaxMeta, BuildIndex returns ErrTooLarge.
func (f *Frame) BuildIndex(ctx context.Context, etag string, progress formats.Progress) ([]byte, error) {
	return f.BuildIndexWith(ctx, etag, nil, progress)
}

// BuildIndexWith is BuildIndex with a Builder that has the statistics of all chunks already,
// and nothing else. They are left out if the index would exceed Limits.MaxMeta with them. If
// there are some, special chunks alone get an index, too.
func (f *Frame) BuildIndexWith(ctx context.Context, etag string, b *frameindex.Builder, progress formats.Progress) ([]byte, error) {
	if b == nil {
		b = &frameindex.Builder{}
	}
	if f.refused != nil {
		return nil, f.refused
	}
	if f.info.Sparse {
		return nil, unsupported("index", -1, "a sparse frame has none")
	}
	bind := index.Binding{Size: f.index.Size(), ETag: etag}
	if err := bind.Check(); err != nil {
		return nil, wrap("index", -1, err)
	}
	f, err := f.whole(ctx)
	if err != nil {
		return nil, err
	}
	sizes, stored := make([]int64, f.table.n), false
	err = f.eachHead(ctx, 0, f.table.n, func(i int, head []byte) error {
		if b.Add(head); b.Len() > f.o.Limits.MaxMeta {
			return tooLarge("index", -1, "more than %d bytes", f.o.Limits.MaxMeta)
		}
		if h, err := blosc.ParseHeader(head); err == nil {
			sizes[i] = int64(h.CBytes)
			stored = stored || h.Special == blosc.None
		} else if c := f.chunk(i); c.Special == blosc.None {
			sizes[i] = c.MaxLen
		}
		progress.Tell(int64(i+1), int64(f.table.n))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if f.info.NBytes > 0 && f.trailerOff-f.info.indexOff() > longOffsets {
		b.SetPlaces(func(i int) frameindex.Place { return placeOf(f.table.at(i), sizes[i]) })
	}
	if !stored && !b.HasPlaces() && !b.HasStats() {
		return nil, wrap("index", -1, fmt.Errorf("no chunk has block starts: %w", index.ErrNeedless))
	}
	b.Trim(f.o.Limits.MaxMeta) // true: the heads alone were below it
	ix, err := b.Finish(frameindex.State{Header: f.heads.sum, Offsets: *f.heads.offsets.Load()}, bind)
	if err != nil {
		return nil, wrap("index", -1, err)
	}
	return index.Beside(ix, f.info.FrameLen), nil
}

// FetchHeads reads the pages of the index that a read of blocks of these chunks needs, block
// starts and places, so that the read does not wait for them. It is for callers that read
// something else at the same time. chunks must ascend and exist. It does nothing if there is no
// index, or the pages have more bytes than the policy gives for a phase, and its failure is
// of no matter: the read then fetches them itself.
func (f *Frame) FetchHeads(ctx context.Context, chunks []int) {
	ix := f.heads.used()
	if ix == nil || len(chunks) == 0 {
		return
	}
	n := ix.HeadsMissing(chunks)
	places := f.complete() == nil && ix.HasPlaces()
	if places {
		n += ix.PlacesMissing(chunks)
	}
	if n == 0 || n > f.o.Policy.MaxGap {
		return
	}
	steps := []func(ctx context.Context){func(ctx context.Context) {
		_ = ix.Heads(ctx, chunks, func(int, []byte) error { return nil })
	}}
	if places {
		steps = append(steps, func(ctx context.Context) {
			_ = ix.Places(ctx, chunks, func(int, frameindex.Place) error { return nil })
		})
	}
	_ = par.Do(ctx, len(steps), len(steps), func(ctx context.Context, i int) error {
		steps[i](ctx)
		return nil
	})
}
