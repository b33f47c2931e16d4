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

// Requests are those that were noted, by phase and offset.
func (p *Plan) Requests() []rangeio.Planned {
	p.mu.Lock()
	defer p.mu.Unlock()
	slices.SortStableFunc(p.list, func(a, b rangeio.Planned) int { return cmp.Compare(a.Phase, b.Phase) })
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
	requests := rangeio.PlanOf(d.Reader, w.spans)
	if len(requests) == 0 {
		return
	}
	defer p.phases.Begin(ctx)()
	phase := int(p.phases.Depth())
	parts := slices.Clone(w.Parts)
	slices.SortStableFunc(parts, func(a, b Part[T]) int { return cmp.Compare(a.Off, b.Off) })
	for _, r := range requests {
		q := rangeio.Planned{Phase: phase, Object: d.object, Off: r.Off, Len: r.Len}
		if why != nil {
			q.Why, q.Estimated = why(within(parts, r.Off, r.Off+r.Len))
		}
		p.list = append(p.list, q)
	}
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
	return parts[i:j]
}
