package objstore

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// A Middleware wraps a Bucket. The result is a Wrapper, and passes on the calls that
// the Middleware does not change. If a Middleware has to see every request, its Wrapper
// also implements Continuer, FolderLister and ConditionalDeleter, and around a Tagger
// also Tagger. It passes these calls on by the functions ListAfter, ListFolder,
// DeleteIf and Tags, which ask the outermost bucket with the method. A wrapped body is
// closed once, however often Close is called, and has only the methods Read and Close.
type Middleware func(Bucket) Bucket

// A Wrapper is a Bucket that wraps another Bucket. Middlewares return Wrappers.
type Wrapper interface {
	Bucket
	// Unwrap returns the inner Bucket. As uses it to find further methods of the
	// inner Bucket.
	Unwrap() Bucket
}

// As returns b as a T, for example as a [Tagger], or the first bucket inside b's
// wrappers that is a T.
func As[T any](b Bucket) (t T, ok bool) {
	for b != nil {
		if t, ok = b.(T); ok {
			return t, true
		}
		w, wrapped := b.(Wrapper)
		if !wrapped {
			break
		}
		b = w.Unwrap()
	}
	return t, false
}

// Chain applies m so that the first listed sees a call first: with
// Chain(driver, Trace(f), Limit(16), Count(c)) the counter sees only the calls
// that the limit has let through.
func Chain(b Bucket, m ...Middleware) Bucket {
	for _, wrap := range slices.Backward(m) {
		b = wrap(b)
	}
	return b
}

// Count adds the calls and the bytes of bodies read that pass to c. Every Get, Head,
// List, Tags, Delete, DeleteIf and Commit is one request, failed ones too. It is for
// drivers that send no requests of their own (memstore, filestore) and belongs next
// to them; drivers that speak HTTP count the requests that they send, which Count
// would count again. If c is nil, nothing is counted.
func Count(c *Counter) Middleware {
	return func(b Bucket) Bucket {
		w := &counted{b, c}
		if hasTags(b) {
			return countedTags{w}
		}
		return w
	}
}

type counted struct {
	Bucket
	c *Counter
}

// Counting is implemented by buckets that count the requests to them: the drivers that
// speak HTTP, and the buckets of Count. Ask through the function Counted.
type Counting interface {
	// Counter returns the counter of the bucket, or nil if the bucket counts nothing.
	Counter() *Counter
}

// Counted says whether c gets the requests of b, by b itself or by any bucket behind
// b's wrappers, so that Count would count them again.
func Counted(b Bucket, c *Counter) bool {
	for b != nil {
		if k, ok := b.(Counting); ok && k.Counter() == c {
			return true
		}
		w, ok := b.(Wrapper)
		if !ok {
			break
		}
		b = w.Unwrap()
	}
	return false
}

func (b *counted) Counter() *Counter { return b.c }

func (b *counted) Unwrap() Bucket { return b.Bucket }

func (b *counted) Get(ctx context.Context, key string, o GetOptions) (io.ReadCloser, Info, error) {
	b.c.AddRequest()
	r, info, err := b.Bucket.Get(ctx, key, o)
	if err != nil {
		return nil, info, err
	}
	return &watchedBody{rc: r, read: func(n int) { b.c.AddBytes(int64(n)) }}, info, nil
}

func (b *counted) filled(_ context.Context, _ string, o GetOptions, _ time.Time) {
	b.c.AddRequest()
	b.c.AddBytes(o.Range.Len)
}

func (b *counted) Create(ctx context.Context, key string, o PutOptions) (Writer, error) {
	w, err := b.Bucket.Create(ctx, key, o)
	if err != nil {
		return nil, err
	}
	return &countedWriter{w, b.c}, nil
}

func (b *counted) Head(ctx context.Context, key string) (Info, error) {
	b.c.AddRequest()
	return b.Bucket.Head(ctx, key)
}

func (b *counted) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		b.c.AddRequest()
		b.Bucket.List(ctx, prefix)(yield)
	}
}

func (b *counted) Delete(ctx context.Context, key string) error {
	b.c.AddRequest()
	return b.Bucket.Delete(ctx, key)
}

func (b *counted) DeleteIf(ctx context.Context, key, etag string) error {
	b.c.AddRequest()
	return DeleteIf(ctx, b.Bucket, key, etag)
}

type countedWriter struct {
	Writer
	c *Counter
}

func (w *countedWriter) Commit(ctx context.Context) (Info, error) {
	w.c.AddRequest()
	return w.Writer.Commit(ctx)
}

// An Event is a call that has ended, as Trace reports it. A Get ends when its body
// is closed, is read to the end or fails. A write ends when it is committed or
// aborted; a failed Create ends at once. A List ends with its last entry, or when
// the caller stops.
type Event struct {
	Seq       int64  // place in the order in which calls began, from 1; sort by it for a stable trace
	Op        string // "get", "head", "list", "tags", "put", "abort", "delete"
	Bucket    string // name of the bucket
	Key       string // key, or the prefix of a list
	Range     Range  // range of a get
	IfMatch   string // condition of a get, a write or a delete
	VersionID string // version of a get or tags
	IfAbsent  bool   // condition of a write
	Bytes     int64  // bytes of the body that are read or written so far
	Objects   int    // listed
	Err       error
	Start     time.Time
	Duration  time.Duration
}

// String returns the event as golden traces have it: "get a/b [0+65536] 1234 bytes". The
// bucket, times, versions and ETags are left out, since they differ from run to run;
// "if-match" and "version" say that there was one. The text of Err may have some.
func (e Event) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s %s", e.Op, e.Key)
	if e.Range != (Range{}) {
		fmt.Fprintf(&s, " [%s]", e.Range)
	}
	for _, c := range []struct {
		set  bool
		text string
	}{{e.VersionID != "", " version"}, {e.IfMatch != "", " if-match"}, {e.IfAbsent, " if-absent"}} {
		if c.set {
			s.WriteString(c.text)
		}
	}
	switch e.Op {
	case "get", "put", "abort":
		fmt.Fprintf(&s, " %d bytes", e.Bytes)
	case "list":
		fmt.Fprintf(&s, " %d objects", e.Objects)
	}
	if e.Err != nil {
		fmt.Fprintf(&s, ": %v", e.Err)
	}
	return s.String()
}

// Trace calls f once for each call that passes, after the call has ended, from the
// goroutine that ended it: f must be safe for concurrent use. Its place in a Chain
// decides what it sees: outside a Limit the time includes waiting. Reads of a file by a
// [Filler] are reported as the requests that were planned for them.
func Trace(f func(Event)) Middleware {
	return TraceContext(func(_ context.Context, e Event) { f(e) })
}

// TraceContext is Trace for who needs the context of the call, too: a span of a trace
// belongs to the request that made the call, which its context tells. The context may
// have ended.
func TraceContext(f func(ctx context.Context, e Event)) Middleware {
	seq := new(atomic.Int64)
	return func(b Bucket) Bucket {
		w := &traced{b, f, seq}
		if hasTags(b) {
			return tracedTags{w}
		}
		return w
	}
}

type traced struct {
	Bucket
	f   func(context.Context, Event)
	seq *atomic.Int64
}

func (b *traced) Unwrap() Bucket { return b.Bucket }

func (b *traced) begin(op, key string) Event {
	return Event{Seq: b.seq.Add(1), Op: op, Bucket: b.Name(), Key: key, Start: time.Now()}
}

func (b *traced) end(ctx context.Context, e Event, err error) {
	e.Err, e.Duration = err, time.Since(e.Start)
	b.f(ctx, e)
}

func (b *traced) Get(ctx context.Context, key string, o GetOptions) (io.ReadCloser, Info, error) {
	e := b.begin("get", key)
	e.Range, e.IfMatch, e.VersionID = o.Range, o.IfMatch, o.VersionID
	r, info, err := b.Bucket.Get(ctx, key, o)
	if err != nil {
		b.end(ctx, e, err)
		return nil, info, err
	}
	var n atomic.Int64
	return &watchedBody{
		rc:   r,
		read: func(k int) { n.Add(int64(k)) },
		end: func(err error) {
			e.Bytes = n.Load()
			b.end(ctx, e, err)
		},
	}, info, nil
}

func (b *traced) filled(ctx context.Context, key string, o GetOptions, start time.Time) {
	b.f(ctx, Event{Seq: b.seq.Add(1), Op: "get", Bucket: b.Name(), Key: key, Range: o.Range, IfMatch: o.IfMatch, VersionID: o.VersionID,
		Bytes: o.Range.Len, Start: start, Duration: time.Since(start)})
}

func (b *traced) Create(ctx context.Context, key string, o PutOptions) (Writer, error) {
	e := b.begin("put", key)
	e.IfMatch, e.IfAbsent = o.IfMatch, o.IfAbsent
	w, err := b.Bucket.Create(ctx, key, o)
	if err != nil {
		b.end(ctx, e, err)
		return nil, err
	}
	return &tracedWriter{Writer: w, b: b, e: e}, nil
}

func (b *traced) Head(ctx context.Context, key string) (Info, error) {
	e := b.begin("head", key)
	info, err := b.Bucket.Head(ctx, key)
	b.end(ctx, e, err)
	return info, err
}

func (b *traced) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return trace(ctx, b, prefix, b.Bucket.List(ctx, prefix))
}

func (b *traced) Delete(ctx context.Context, key string) error {
	e := b.begin("delete", key)
	err := b.Bucket.Delete(ctx, key)
	b.end(ctx, e, err)
	return err
}

func (b *traced) DeleteIf(ctx context.Context, key, etag string) error {
	e := b.begin("delete", key)
	e.IfMatch = etag
	err := DeleteIf(ctx, b.Bucket, key, etag)
	b.end(ctx, e, err)
	return err
}

type tracedWriter struct {
	Writer
	b     *traced
	e     Event
	ended bool
}

func (w *tracedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.e.Bytes += int64(n)
	return n, err
}

func (w *tracedWriter) Rehead(n int64, p []byte) error {
	more := int64(len(p)) - n
	err := w.Writer.Rehead(n, p)
	if err == nil {
		w.e.Bytes += more
	}
	return err
}

func (w *tracedWriter) Commit(ctx context.Context) (Info, error) {
	info, err := w.Writer.Commit(ctx)
	if !w.ended {
		w.ended = true
		w.b.end(ctx, w.e, err)
	}
	return info, err
}

func (w *tracedWriter) Abort() {
	w.Writer.Abort()
	if !w.ended {
		w.ended, w.e.Op = true, "abort"
		w.b.end(context.Background(), w.e, nil)
	}
}

// watchedBody reports what happens to a body. read is called after each Read that gave
// bytes. end is called once: with nil at the end of the body or at Close, otherwise
// with the error.
type watchedBody struct {
	rc     io.ReadCloser
	read   func(n int)
	end    func(error)
	ended  sync.Once
	closed sync.Once
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.rc.Read(p)
	if n > 0 && b.read != nil {
		b.read(n)
	}
	switch {
	case err == io.EOF:
		b.finish(nil)
	case err != nil:
		b.finish(err)
	}
	return n, err
}

func (b *watchedBody) Close() error {
	var err error
	b.closed.Do(func() {
		err = b.rc.Close()
		b.finish(nil)
	})
	return err
}

func (b *watchedBody) finish(err error) {
	b.ended.Do(func() {
		if b.end != nil {
			b.end(err)
		}
	})
}
