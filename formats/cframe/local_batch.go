package cframe

import (
	"context"
	"fmt"

	"github.com/farread/farread/formats"
	"github.com/farread/farread/formats/blosc"
	"github.com/farread/farread/internal/bufpool"
	"github.com/farread/farread/rangeio"
)

// batches cuts jobs of a local frame into runs whose blocks are read together. A
// file that is opened by its path is looked at before and after each read, which
// takes as long as a small read itself.
func (r *reading) batches(jobs []job) [][]job {
	var out [][]job
	var size int64
	from := 0
	for i := range jobs {
		n := jobs[i].group(jobs[i].n).blocks
		if jobs[i].all() || jobs[i].n == 0 {
			n = localWindow // of which nothing is known yet, or all is wanted
		}
		if size+n > localWindow && i > from {
			out = append(out, jobs[from:i:i])
			from, size = i, 0
		}
		size += n
	}
	if from < len(jobs) {
		out = append(out, jobs[from:])
	}
	return out
}

// A begun job is one whose block starts are known.
type begun struct {
	j     *job
	head  []byte
	x     *blosc.Index
	sel   []int
	parts parts
	total int // bytes of parts
}

// startsTogether is starts for some chunks of a local frame: the block starts of all
// in one read and the blocks in another. Chunks that are not like most, or cannot
// be read, go through starts one by one.
func (r *reading) startsTogether(ctx context.Context, jobs []job) error {
	if len(jobs) == 1 {
		return r.starts(ctx, &jobs[0])
	}
	heads := 0
	for i := range jobs {
		if jobs[i].most < minChunkHeader {
			return r.f.inChunk(&jobs[i], fmt.Errorf("a chunk of %d bytes: %w", jobs[i].most, formats.ErrCorrupt))
		}
		heads += int(jobs[i].headSize(jobs[i].most))
	}
	held, err := r.held.take(ctx, heads+localWindow)
	if err != nil {
		return err
	}
	alone, err := r.mostOf(ctx, jobs, heads)
	r.held.give(held) // nobody waits with bytes in hand
	if err != nil {
		return err
	}
	for _, j := range alone {
		if err := r.starts(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// mostOf does those of some jobs that it can, and returns the others. heads is what
// their block starts take.
func (r *reading) mostOf(ctx context.Context, jobs []job, heads int) (alone []*job, err error) {
	head := bufpool.Get(heads)
	defer bufpool.Put(head)
	spans, free := make([]rangeio.Span, len(jobs)), head
	for i := range jobs {
		n := jobs[i].headSize(jobs[i].most)
		spans[i] = rangeio.Span{Off: jobs[i].off, P: free[:n:n]}
		free = free[n:]
	}
	if err := r.fetch(ctx, 0, r.f.r, spans); err != nil {
		for i := range jobs {
			alone = append(alone, &jobs[i])
		}
		return alone, ctx.Err()
	}
	ready, total := make([]begun, 0, len(jobs)), 0
	for i := range jobs {
		b, ok := r.begin(&jobs[i], spans[i].P)
		if !ok || total+b.total > localWindow {
			alone = append(alone, &jobs[i])
			continue
		}
		ready, total = append(ready, b), total+b.total
	}
	more, err := r.blocksOf(ctx, ready, total)
	return append(alone, more...), err
}

// begin parses the block starts of a chunk. ok is false if the chunk needs anything
// but a read of some blocks, or is damaged; starts handles it then.
func (r *reading) begin(j *job, head []byte) (b begun, ok bool) {
	h, err := r.header(j, head, j.most)
	if err != nil || h.IndexLen() > len(head) || r.wanting(j, &h, head) {
		return b, false
	}
	x, err := blosc.ParseIndex(head)
	if err != nil {
		return b, false
	}
	sel, err := j.pick(&h)
	if err != nil {
		return b, false
	}
	b = begun{j: j, head: head, x: x, sel: sel}
	b.parts, b.total = partsOf(x, sel)
	return b, true
}

// blocksOf reads and decodes the blocks of some jobs, total bytes. It returns all of
// them if they could not be read.
func (r *reading) blocksOf(ctx context.Context, ready []begun, total int) (alone []*job, err error) {
	buf := bufpool.Get(total)
	defer bufpool.Put(buf)
	var spans []rangeio.Span
	at := 0
	for i := range ready {
		b := &ready[i]
		spans = b.parts.spans(spans, b.j.off, buf[at:at+b.total:at+b.total], b.head)
		at += b.total
	}
	if err := r.fetch(ctx, 1, r.f.r, spans); err != nil {
		for i := range ready {
			alone = append(alone, ready[i].j)
		}
		return alone, ctx.Err()
	}
	at = 0
	for i := range ready {
		b := &ready[i]
		if err := r.decodeParts(ctx, b.j, b.x, b.sel, b.parts, buf[at:at+b.total]); err != nil {
			return nil, r.f.inChunk(b.j, err)
		}
		at += b.total
	}
	return nil, nil
}
