package objstore

import (
	"context"
	"log/slog"
	"time"

	"github.com/farread/farread/rangeio"
)

// A Filler is implemented by buckets whose objects are files of this machine. It
// reads many small spans with the checks of a single Get. An Object uses it if the
// bucket has no middlewares except Count, Tally, Trace and Hedge. Any other middleware has to
// see each read as a Get.
type Filler interface {
	// Fill fills all spans, in parallel if reads wait for a slow disk (see
	// rangeio.Disk). Spans must lie inside the object. The conditions of o apply as for
	// Get; its Range is ignored. After an error the content of the buffers is
	// undefined. The Info describes the object.
	Fill(ctx context.Context, key string, spans []rangeio.Span, o GetOptions) (Info, error)
}

// A watcher is a middleware that only observes calls. Reads may bypass it and use a
// Filler if the watcher is told of them.
type watcher interface {
	Wrapper
	// filled is called for each planned request, as if a Get with o had read it.
	filled(ctx context.Context, key string, o GetOptions, start time.Time)
}

// filler is b as a Filler, nil if it is none, and who watches its reads. Any other
// middleware sees each read as a Get.
func filler(b Bucket) (Filler, []watcher) {
	var ws []watcher
	for {
		w, ok := b.(watcher)
		if !ok {
			break
		}
		b, ws = w.Unwrap(), append(ws, w)
	}
	f, _ := b.(Filler)
	return f, ws
}

// Local reports whether reads use a Filler: the object is a file of this machine,
// and its bucket has no middlewares except Count, Tally, Trace and Hedge. See rangeio.Local.
func (o *Object) Local() bool { return o.fill != nil }

// Slow reports whether reads wait for a slow disk at present, as the Filler says if it
// has a method Slow. See rangeio.Slow.
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
	start := time.Now()
	in, err := o.fill.Fill(ctx, o.info.Key, spans, o.pinned(Range{}))
	if err != nil || o.same(in) != nil {
		return false
	}
	o.countFilled(ctx, spans, p, start)
	return true
}

// countFilled counts reads of a file as the requests that were planned for them, with
// the bytes between spans. So a plan agrees with the counters for files, too.
func (o *object) countFilled(ctx context.Context, spans []rangeio.Span, p rangeio.Policy, start time.Time) {
	var n int64
	for _, r := range rangeio.Plan(spans, p) {
		o.count.AddRequest()
		n += r.Len
		for _, w := range o.watchers {
			w.filled(ctx, o.info.Key, o.pinned(Range{r.Off, r.Len}), start)
		}
	}
	o.count.AddBytes(n)
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
