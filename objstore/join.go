package objstore

import (
	"cmp"
	"context"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/farread/farread/rangeio"
)

// A Joiner lets reads of different callers share requests: see OpenOptions.Join. It is for
// servers, where many callers ask for neighbouring parts of few objects at the same time.
// It is safe for concurrent use.
type Joiner struct {
	wait time.Duration

	mu   sync.Mutex
	open map[joinKey]*joined // reads that wait for others
}

// JoinWait is how long a read waits for others if NewJoiner is given no time.
const JoinWait = 2 * time.Millisecond

// Limits of joined reads. Their bytes are kept in memory of their own until each caller
// has taken its part. A longer read fills its connections by itself.
const (
	joinMost  = 1 << 20 // bytes of a read that is joined
	joinSpans = 256     // spans of a read that is joined
	joinBytes = 8 << 20 // bytes of reads that are joined: with so many, they wait no longer
)

// NewJoiner returns a Joiner in which a read waits so long for others; 0: JoinWait.
func NewJoiner(wait time.Duration) *Joiner {
	if wait <= 0 {
		wait = JoinWait
	}
	return &Joiner{wait: wait, open: map[joinKey]*joined{}}
}

// A joinKey names the bytes that a read is of: those of a version, or, if nothing names
// them for certain, of one handle.
type joinKey struct {
	id string
	o  *object
}

func (o *object) joinKey() joinKey {
	if o.info.named() {
		return joinKey{id: o.id}
	}
	return joinKey{o: o}
}

// A joined is a group of reads that are planned together. Each request is made under a
// context of its own, which ends when no caller waits for the request any more.
type joined struct {
	o     *object         // of the first caller: its bucket, policy and pace serve all
	ctx   context.Context //nolint:containedctx // has the values of the first caller's context, and does not end
	timer *time.Timer
	begun bool // no read joins any more; guarded by Joiner.mu
	bytes int64
	reads []*joinedRead
}

// A joinedRead is the read of one caller.
type joinedRead struct {
	spans    []rangeio.Span
	gone     bool             // the caller left before the requests were planned; guarded by Joiner.mu
	planned  chan struct{}    // closed when requests is set
	requests []*joinedRequest // the requests that have its bytes
	came     chan *joinedRequest
}

// A joinedRequest is a request for one or more callers. Its spans have memory of their
// own: a caller who leaves may use its memory at once.
type joinedRequest struct {
	rangeio.Request

	ctx    context.Context //nolint:containedctx // of this request alone
	cancel context.CancelFunc
	wanted []*joinedRead
	err    error // set before the request is sent to came

	mu      sync.Mutex
	waiting int // callers that have not left
}

// leave tells that a caller does not wait any more.
func (q *joinedRequest) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting--; q.waiting == 0 {
		q.cancel()
	}
}

// joins reports whether a read of spans may wait for others.
func (j *Joiner) joins(spans []rangeio.Span) bool {
	return j != nil && len(spans) <= joinSpans && spansLen(spans) <= joinMost
}

func spansLen(spans []rangeio.Span) (n int64) {
	for _, s := range spans {
		n += int64(len(s.P))
	}
	return n
}

// read reads spans together with other callers' reads. It calls done in the goroutine of
// the caller. It writes to the memory of the spans only before it returns.
func (j *Joiner) read(ctx context.Context, o *object, spans []rangeio.Span, done func(int) error) error {
	g, r := j.enter(ctx, o, spans)
	select {
	case <-r.planned:
	case <-ctx.Done():
		if j.left(g, r) {
			return ctx.Err()
		}
		<-r.planned // it is being planned just now
	}
	defer func() {
		for _, q := range r.requests {
			q.leave()
		}
	}()
	left := make([]int, len(spans))
	for i, s := range spans {
		if left[i] = len(s.P); left[i] == 0 && done != nil {
			if err := done(i); err != nil {
				return err
			}
		}
	}
	for range r.requests {
		select {
		case q := <-r.came:
			if q.err != nil {
				return q.err
			}
			if err := q.copyTo(spans, left, done); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// left takes r out of its group, unless the group's requests are planned already.
func (j *Joiner) left(g *joined, r *joinedRead) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	r.gone = true
	return !g.begun
}

// copyTo copies the bytes of q to the spans that want them. It calls done for each span
// that is complete. left has the bytes of each span that have not come yet.
func (q *joinedRequest) copyTo(spans []rangeio.Span, left []int, done func(int) error) error {
	for i, s := range spans {
		n := 0
		k := sort.Search(len(q.Spans), func(k int) bool { return q.Spans[k].End() > s.Off })
		for ; k < len(q.Spans) && q.Spans[k].Off < s.End(); k++ {
			from := max(s.Off, q.Spans[k].Off)
			n += copy(s.P[from-s.Off:], q.Spans[k].P[from-q.Spans[k].Off:])
		}
		if left[i] -= n; n > 0 && left[i] == 0 && done != nil {
			if err := done(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// enter adds a read to the group that waits, or begins one.
func (j *Joiner) enter(ctx context.Context, o *object, spans []rangeio.Span) (*joined, *joinedRead) {
	r := &joinedRead{spans: spans, planned: make(chan struct{})}
	j.mu.Lock()
	defer j.mu.Unlock()
	key := o.joinKey()
	g := j.open[key]
	if g == nil {
		g = &joined{o: o, ctx: context.WithoutCancel(ctx)}
		j.open[key] = g
		g.timer = time.AfterFunc(j.wait, func() { j.begin(key, g) })
	}
	g.reads = append(g.reads, r)
	if g.bytes += spansLen(spans); g.bytes >= joinBytes && g.timer.Stop() {
		delete(j.open, key)
		go j.begin(key, g)
	}
	return g, r
}

// begin plans the requests of a group and makes them.
func (j *Joiner) begin(key joinKey, g *joined) {
	j.mu.Lock()
	g.begun = true
	if j.open[key] == g {
		delete(j.open, key)
	}
	g.reads = slices.DeleteFunc(g.reads, func(r *joinedRead) bool { return r.gone })
	j.mu.Unlock()
	requests, flight := g.plan()
	slots := make(chan struct{}, flight)
	for _, q := range requests {
		slots <- struct{}{}
		go func() {
			q.err = g.o.fetch(q.ctx, &q.Request)
			q.cancel()
			for _, r := range q.wanted {
				r.came <- q // has room for all
			}
			<-slots
		}()
	}
}

// plan makes the requests for all reads of g, and tells each read which are its own.
func (g *joined) plan() (requests []*joinedRequest, flight int) {
	all := union(g.reads)
	policy, flight := g.o.policyFor(all, 0)
	for _, r := range rangeio.Plan(all, policy) {
		q := &joinedRequest{Request: r}
		q.ctx, q.cancel = context.WithCancel(g.ctx)
		requests = append(requests, q)
	}
	for _, r := range g.reads {
		for _, q := range requests {
			if q.has(r.spans) {
				q.waiting++
				q.wanted = append(q.wanted, r)
				r.requests = append(r.requests, q)
			}
		}
		r.came = make(chan *joinedRequest, len(r.requests))
	}
	for _, r := range g.reads { // only now: a caller may leave at once
		close(r.planned)
	}
	return requests, flight
}

// has reports whether q brings bytes of spans.
func (q *joinedRequest) has(spans []rangeio.Span) bool {
	return slices.ContainsFunc(spans, func(s rangeio.Span) bool { return len(s.P) > 0 && s.Off < q.Off+q.Len && q.Off < s.End() })
}

// union returns the bytes that the reads want, each once, as spans with memory of their
// own.
func union(reads []*joinedRead) []rangeio.Span {
	type run struct{ from, to int64 }
	var runs []run
	for _, r := range reads {
		for _, s := range r.spans {
			if len(s.P) > 0 {
				runs = append(runs, run{s.Off, s.End()})
			}
		}
	}
	slices.SortFunc(runs, func(a, b run) int { return cmp.Compare(a.from, b.from) })
	var n int64
	whole := runs[:0]
	for _, r := range runs {
		if k := len(whole); k > 0 && r.from <= whole[k-1].to {
			n += max(r.to-whole[k-1].to, 0)
			whole[k-1].to = max(whole[k-1].to, r.to)
			continue
		}
		whole, n = append(whole, r), n+r.to-r.from
	}
	p := make([]byte, n)
	spans := make([]rangeio.Span, len(whole))
	for i, r := range whole {
		k := r.to - r.from
		spans[i], p = rangeio.Span{Off: r.from, P: p[:k:k]}, p[k:]
	}
	return spans
}
