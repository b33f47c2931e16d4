package pull

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/farread/farread/rangeio"
)

// A Plan is what Dry readers note: the requests of a read, made by nobody. Their phases
// are counted from what is read of indexes. It may be used by several goroutines.
type Plan struct {
	phases rangeio.Phases
	mu     sync.Mutex
	list   []rangeio.Planned
	memory []byte // of all spans that are only planned; never touched, hence never paged in
}

// Requests are those that were noted, by phase, object and offset.
func (p *Plan) Requests() []rangeio.Planned {
	p.mu.Lock()
	defer p.mu.Unlock()
	place := map[string]int{} // of objects, as they were noted
	for _, q := range p.list {
		if _, ok := place[q.Object]; !ok {
			place[q.Object] = len(place)
		}
	}
	slices.SortStableFunc(p.list, func(a, b rangeio.Planned) int {
		return cmp.Or(cmp.Compare(a.Phase, b.Phase), cmp.Compare(place[a.Object], place[b.Object]), cmp.Compare(a.Off, b.Off))
	})
	return p.list
}

// A Dry reader stands between a format and its object. It reads what it is asked
// for, so that headers and indexes are there to plan with; a Pull that is no Index
// notes in its Plan what it would read, and hands nothing on.
type Dry struct {
	rangeio.Reader
	plan   *Plan
	object string
}

// Over gives a reader that notes in p what is pulled of r. Object names r where the
// plan is one of several objects.
func (p *Plan) Over(r rangeio.Reader, object string) *Dry {
	return &Dry{Reader: r, plan: p, object: object}
}

// Local tells whether the reader behind it is local: then it is read in other windows.
func (d *Dry) Local() bool { return rangeio.Local(d.Reader) }

// Slow tells whether the reader behind it is slow.
func (d *Dry) Slow() bool { return rangeio.Slow(d.Reader) }

// Note adds a request that is no Pull's, in the phase of a call under ctx.
func (p *Plan) Note(ctx context.Context, q rangeio.Planned) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(ctx, q)
}

// add notes requests of one call under ctx.
func (p *Plan) add(ctx context.Context, list ...rangeio.Planned) {
	if len(list) == 0 {
		return
	}
	defer p.phases.Begin(ctx)()
	for _, q := range list {
		q.Phase = int(p.phases.Depth())
		p.list = append(p.list, q)
	}
}

// note plans the reading of a window under ctx.
func note[T any](ctx context.Context, d *Dry, w *Window[T], why func([]Part[T]) (string, bool)) {
	p := d.plan
	p.mu.Lock()
	defer p.mu.Unlock()
	w.lend(func(n int) []byte {
		if len(p.memory) < n {
			p.memory = make([]byte, n)
		}
		return p.memory[:n]
	})
	w.buf = nil // nothing to give back
	parts := slices.Clone(w.Parts)
	slices.SortStableFunc(parts, func(a, b Part[T]) int { return cmp.Compare(a.Off, b.Off) })
	plan := rangeio.PlanOf(d.Reader, w.spans)
	list := make([]rangeio.Planned, 0, len(plan))
	for _, r := range plan {
		q := rangeio.Planned{Object: d.object, Off: r.Off, Len: r.Len}
		if why != nil {
			q.Why, q.Estimated = why(within(parts, r.Off, r.Off+r.Len))
		}
		list = append(list, q)
	}
	p.add(ctx, list...)
}

// within gives those of the sorted parts that may have bytes in [from, to): parts that
// lie inside of longer ones may be missing.
func within[T any](parts []Part[T], from, to int64) []Part[T] {
	i := 0
	for i < len(parts) && parts[i].end() <= from {
		i++
	}
	j := i
	for j < len(parts) && parts[j].Off < to {
		j++
	}
	if i == j { // bytes between two parts, which share a span
		i = max(i-1, 0)
		j = min(i+1, len(parts))
	}
	return parts[i:j]
}
