package pull

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"sync"

	"github.com/farread/farread/rangeio"
)

// A Plan collects the requests that a read would make. Its Dry readers note them, and
// nobody makes them. The reads of indexes are made; the first phase of the Plan comes
// after them, and phase 0 is that of the last of them. Several goroutines may use a Plan.
type Plan struct {
	phases rangeio.Phases
	mu     sync.Mutex
	list   []rangeio.Planned
	memory []byte // memory that all planned spans share; nothing touches it, so it is never paged in
}

// Requests returns the noted requests, sorted by phase, object and offset.
// Objects come in the order in which they were first noted.
func (p *Plan) Requests() []rangeio.Planned {
	p.mu.Lock()
	defer p.mu.Unlock()
	place := map[string]int{} // rank of each object: the order in which objects were noted
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
// for, so that a plan can use headers and indexes. If a Pull reads from a Dry
// reader and is not an Index, the Pull reads nothing and passes on no part; it
// notes in the Plan what it would read.
type Dry struct {
	rangeio.Reader
	plan   *Plan
	object string
}

// Over returns a reader of r. Pulls from it note their requests in p. object is the
// name of r in the plan, for plans of several objects.
func (p *Plan) Over(r rangeio.Reader, object string) *Dry {
	return &Dry{Reader: r, plan: p, object: object}
}

// Local reports whether the reader behind d is local. Windows of a local reader have
// other sizes.
func (d *Dry) Local() bool { return rangeio.Local(d.Reader) }

// Slow reports whether the reader behind d is slow.
func (d *Dry) Slow() bool { return rangeio.Slow(d.Reader) }

// Long implements rangeio.Longer.
func (d *Dry) Long(n int64) (rangeio.Reader, int64) {
	r, most := rangeio.Long(d.Reader, n)
	if r == d.Reader {
		return d, most
	}
	return &Dry{Reader: r, plan: d.plan, object: d.object}, most
}

// Note adds a request that no Pull makes. Its phase is the phase of a call
// under ctx.
func (p *Plan) Note(ctx context.Context, q rangeio.Planned) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(ctx, q)
}

// NoteAlong notes the requests that a read of spans would make along with the indexes that
// the plan has read last: in phase 0.
func (d *Dry) NoteAlong(spans []rangeio.Span, why string) {
	d.plan.mu.Lock()
	defer d.plan.mu.Unlock()
	for _, r := range rangeio.PlanOf(d.Reader, spans) {
		d.plan.list = append(d.plan.list, rangeio.Planned{Object: d.object, Off: r.Off, Len: r.Len, Why: why})
	}
}

// add notes the requests of one call under ctx.
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

// note adds to the plan of d the requests that would read w under ctx.
func note[T any](ctx context.Context, d *Dry, w *Window[T], why func([]Part[T]) (string, bool)) {
	p := d.plan
	p.mu.Lock()
	defer p.mu.Unlock()
	w.allocate(func(n int) []byte {
		if len(p.memory) < n {
			p.memory = make([]byte, n)
		}
		return p.memory[:n]
	})
	w.buf = nil // the memory belongs to the plan: release must not return it
	parts := slices.Clone(w.Parts)
	sort.SliceStable(parts, func(i, j int) bool { return parts[i].Off < parts[j].Off })
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

// within returns the parts that may have bytes in [from, to). parts are sorted by
// offset. A part that lies inside a longer part may be missing from the result.
func within[T any](parts []Part[T], from, to int64) []Part[T] {
	i := 0
	for i < len(parts) && parts[i].end() <= from {
		i++
	}
	j := i
	for j < len(parts) && parts[j].Off < to {
		j++
	}
	if i == j { // the bytes lie between two parts that share a span
		i = max(i-1, 0)
		j = min(i+1, len(parts))
	}
	return parts[i:j]
}
