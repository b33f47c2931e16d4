package rangeiotest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/farread/farread/rangeio"
)

// A Reader reads a byte slice the way a remote object is read: it plans
// requests by a policy, and counts and traces them. It is not local; see
// [rangeio.Local]. Its methods are safe for concurrent use.
type Reader struct {
	data   []byte
	policy rangeio.Policy
	phases rangeio.Phases

	requests, bytes atomic.Int64

	mu    sync.Mutex
	trace []string
}

// New returns a Reader of data, which must not change while it is in use.
func New(data []byte, p rangeio.Policy) *Reader {
	return &Reader{data: data, policy: p}
}

// Size is the length of the data.
func (r *Reader) Size() int64 { return int64(len(r.data)) }

// Stats returns the counts since New: the requests that a store would send, their
// bytes, and phases. There are no retries and no cache hits.
func (r *Reader) Stats() rangeio.Stats {
	return rangeio.Stats{Requests: r.requests.Load(), Bytes: r.bytes.Load(), Phases: r.phases.Depth()}
}

// Trace lists the requests since New, or since the last call of Trace, as
// "0+65536 spans=2": the calls in the order in which they began, the requests of
// each by offset. It is the same in every run if the calls are.
func (r *Reader) Trace() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.trace
	r.trace = nil
	return t
}

// ReadRanges implements rangeio.Reader.
func (r *Reader) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	return r.ReadEach(ctx, spans, nil)
}

// ReadEach implements rangeio.Reader.
func (r *Reader) ReadEach(ctx context.Context, spans []rangeio.Span, done func(i int) error) error {
	if err := rangeio.Check(spans, r.Size()); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if plan := rangeio.Plan(spans, r.policy); len(plan) > 0 {
		defer r.phases.Begin(ctx)()
		r.note(plan)
	}
	return rangeio.Do(ctx, spans, r.policy, 0, func(_ context.Context, q *rangeio.Request) error {
		r.requests.Add(1)
		r.bytes.Add(q.Len)
		var n int64
		return q.Scatter(bytes.NewReader(r.data[q.Off:q.Off+q.Len]), &n)
	}, done)
}

func (r *Reader) note(plan []rangeio.Request) {
	lines := make([]string, 0, len(plan))
	for _, q := range plan {
		lines = append(lines, fmt.Sprintf("%d+%d spans=%d", q.Off, q.Len, len(q.Spans)))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trace = slices.Concat(r.trace, lines)
}
