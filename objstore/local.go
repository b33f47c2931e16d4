package objstore

import (
	"context"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/farread/farread/rangeio"
)

// A Filler is implemented by buckets whose objects are files of this machine. It
// reads many small spans with the checks of a single Get. An Object uses it if no
// middleware but Count stands before the bucket: any other sees each read as a Get.
type Filler interface {
	// Fill fills spans in order and returns how many it filled. It may stop early,
	// after at least one span, if reads wait for a slow disk; the caller reads the
	// rest concurrently. Spans must lie inside the object. The conditions of o hold
	// as for Get; its Range is ignored. After an error no buffer may be used. The
	// Info is that of the object.
	Fill(ctx context.Context, key string, spans []rangeio.Span, o GetOptions) (n int, info Info, err error)
}

// filler is b as a Filler, nil if it is none, and what counts its reads. Any
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

// Local tells whether reads use a Filler: the object is a file of this machine, and
// no middleware but Count stands before its bucket. See rangeio.Local.
func (o *Object) Local() bool { return o.fill != nil }

// Slow tells whether reads wait for a slow disk at present, as the Filler says if it has
// a method Slow. See rangeio.Slow.
func (o *Object) Slow() bool {
	f, ok := o.fill.(interface{ Slow() bool })
	return ok && f.Slow()
}

// mostFilled is how many bytes of one call a single goroutine reads: copying them
// out of memory takes about as long as starting some more.
const mostFilled = 1 << 20

// readFile fills spans of a file in the caller's goroutine, or side by side if its
// disk is slow. It returns false if a read failed or there is much to read; the
// caller then reads the usual way, which reports the error.
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
