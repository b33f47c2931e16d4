package cframe

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/farread/farread/internal/par"
	"github.com/farread/farread/rangeio"
)

// Reads without a round trip have nothing to hide: what they cost is system calls,
// copies and decoding. They are made one after the other by the goroutines that
// decode, and by the caller's alone where there is little to do.

// localShare is how many encoded bytes make a goroutine worth its start: decoding
// them takes a hundred times as long.
const localShare = 128 << 10

// localGap is how many bytes are copied out of memory in the time of a system call.
const localGap = 8 << 10

// localWindow is how many bytes of whole chunks are read at once: more would not
// stay in a processor's own cache until it is decoded.
const localWindow = 256 << 10

// A local read that takes longer than slowRead and the time that its bytes need at
// slowRate did not come out of memory: it waits for a disk or another machine. As
// the processor may have gone to somebody else meanwhile, it takes some of them,
// and a share of all, to be sure.
const (
	slowRead  = 300 * time.Microsecond
	slowRate  = 1 << 30 // bytes a second
	slowReads = 3
	slowShare = 4 // one in so many
)

// runLocal is run of a plan whose reads have no round trip. Once a read turns out
// to wait, the rest is read like that of a far object, with many reads at a time.
func (r *reading) runLocal(ctx context.Context, p *plan) error {
	p.batches = r.batches(p.starts)
	n := p.units()
	limit := min(r.f.o.Parallel, n, 1+int(p.bytes/localShare))
	r.inside = min(r.inside, 1+int(p.bytes/localShare))
	var next atomic.Int64
	work := func(ctx context.Context) error {
		for !r.waits.Load() {
			i := int(next.Add(1)) - 1
			if i >= n {
				break
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := r.unit(ctx, p, i); err != nil {
				return err
			}
		}
		return nil
	}
	if limit == 1 {
		if err := work(ctx); err != nil {
			return err
		}
	} else if err := par.Do(ctx, limit, limit, func(ctx context.Context, _ int) error { return work(ctx) }); err != nil {
		return err
	}
	if from := int(next.Load()); from < n {
		return r.runFar(ctx, p.rest(from))
	}
	return nil
}

// rest is a plan without its first units.
func (p *plan) rest(from int) *plan {
	var q plan
	k := min(from, len(p.windows))
	q.windows, from = p.windows[k:], from-k
	k = min(from, len(p.batches))
	q.local = p.local[from-k:]
	jobs := 0
	for _, b := range p.batches[:k] {
		jobs += len(b)
	}
	q.starts = p.starts[jobs:]
	return &q
}

// units is how many parts a plan has that do not depend on each other.
func (p *plan) units() int { return len(p.windows) + len(p.batches) + len(p.local) }

// unit does one of them.
func (r *reading) unit(ctx context.Context, p *plan, i int) error {
	if i < len(p.windows) {
		return r.window(ctx, p.windows[i])
	}
	if i -= len(p.windows); i < len(p.batches) {
		return r.startsTogether(ctx, p.batches[i])
	}
	return r.fill(ctx, &p.local[i-len(p.batches)])
}

// fetch is read of src in a phase of the call. It notes when local reads wait.
func (r *reading) fetch(ctx context.Context, phase int, src rangeio.Reader, spans []rangeio.Span) error {
	if !r.f.local {
		return read(r.phase(ctx, phase), src, spans)
	}
	spans = joined(spans)
	defer r.note(time.Now(), spans)
	return read(r.phase(ctx, phase), src, spans)
}

// note looks at how long the reading of spans took.
func (r *reading) note(start time.Time, spans []rangeio.Span) {
	var n int64
	for i := range spans {
		n += int64(len(spans[i].P))
	}
	all := r.reads.Add(1)
	if time.Since(start) <= slowRead*time.Duration(max(len(spans), 1))+time.Duration(n*int64(time.Second)/slowRate) {
		return
	}
	if slow := r.slow.Add(1); slow >= slowReads && slow*slowShare >= all {
		r.waits.Store(true)
	}
}

// joined makes one span of those that follow each other both in the object and in
// memory: each span of a local file is a system call. It overwrites spans.
func joined(spans []rangeio.Span) []rangeio.Span {
	out := spans[:0]
	for _, s := range spans {
		if k := len(out) - 1; k >= 0 && len(s.P) > 0 && out[k].End() == s.Off {
			if p := out[k].P; cap(p) > len(p) && &p[:len(p)+1][len(p)] == &s.P[0] {
				out[k].P = p[:len(p)+len(s.P)]
				continue
			}
		}
		out = append(out, s)
	}
	return out
}
