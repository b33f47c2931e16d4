package objstore

import (
	"context"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/farread/farread/rangeio"
)

// A Filler is implemented by buckets whose objects are files of this machine. It
// reads small spans without a body for each: what every Get would check is
// checked once for all of them.
type Filler interface {
	// Fill fills spans, which must lie inside the object, from the first on, and
	// says how many: fewer than all, and at least one, where a read turns out to wait
	// for something slower than memory, so that the caller can go on side by side.
	// The conditions of o hold as for Get; its Range means nothing. On an error no
	// buffer may be used. The Info is that of the object.
	Fill(ctx context.Context, key string, spans []rangeio.Span, o GetOptions) (n int, info Info, err error)
}

// filler is b as a Filler, nil where it is none, and what counts its reads. Any
// other middleware sees each read as a Get.
func filler(b Bucket) (Filler, []*Counter) {
	var cs []*Counter
	for {
		c, ok := b.(*counted)
		if !ok {
			break
		}
		b, cs = c.Bucket, append(cs, c.c)
	}
	f, _ := b.(Filler)
	return f, cs
}

// Local tells whether the object is a file of this machine; see rangeio.Local.
func (o *Object) Local() bool { return o.fill != nil }

// mostFilled is how many bytes of one call a single goroutine reads: copying them
// out of memory takes about as long as starting some more.
const mostFilled = 1 << 20

// readFile fills spans of a file in the caller's goroutine, unless its disk turns
// out to be slow, and says whether it did. Where it failed, what it was, and whether
// to try again, is for the usual way to say.
func (o *object) readFile(ctx context.Context, spans []rangeio.Span, p rangeio.Policy) bool {
	var total int64
	for i := range spans {
		total += int64(len(spans[i].P))
	}
	if total > mostFilled {
		return false
	}
	n, err := o.filled(ctx, spans)
	if err != nil || n < len(spans) && o.fillApart(ctx, spans[n:]) != nil {
		return false
	}
	o.countFilled(ctx, spans, p)
	return true
}

func (o *object) filled(ctx context.Context, spans []rangeio.Span) (int, error) {
	n, in, err := o.fill.Fill(ctx, o.info.Key, spans, o.pinned(Range{}))
	if err != nil {
		return 0, err
	}
	return n, o.same(in)
}

// fillApart fills each span on its own, so that the disk has many to do.
func (o *object) fillApart(ctx context.Context, spans []rangeio.Span) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(smallFlight)
	for i := range spans {
		g.Go(func() error {
			_, err := o.filled(ctx, spans[i:i+1])
			return err
		})
	}
	return g.Wait()
}

// countFilled counts reads as the requests that they would have been.
func (o *object) countFilled(ctx context.Context, spans []rangeio.Span, p rangeio.Policy) {
	requests := len(spans)
	if requests > 1 {
		requests = len(rangeio.Plan(spans, p))
	}
	var n int64
	for i := range spans {
		n += int64(len(spans[i].P))
	}
	for range requests {
		o.count.AddRequest()
		for _, c := range o.counters {
			c.AddRequest()
		}
	}
	o.count.AddBytes(n)
	for _, c := range o.counters {
		c.AddBytes(n)
	}
	o.log(ctx, slog.LevelDebug, "get", o.info.Key, around(spans), n)
}

// around is the range from the first byte of some spans to the last.
func around(spans []rangeio.Span) Range {
	from, to := spans[0].Off, spans[0].End()
	for _, s := range spans[1:] {
		from, to = min(from, s.Off), max(to, s.End())
	}
	return Range{from, to - from}
}
