package objstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/farread/farread/rangeio"
)

// OpenOptions tunes Open. The zero value suits headers of up to 64 KiB.
type OpenOptions struct {
	Head   int64          // bytes fetched on open and kept; 0: DefaultHead, negative: none if there is a Tail, else DefaultHead
	Tail   int64          // bytes at the end fetched on open, in parallel, and kept; 0: none
	Buf    []byte         // memory for the head, used if it has room for the whole head; do not change it while the Object is read; nil: new memory
	Also   Range          // bytes from an offset on that are fetched on open, in parallel, and kept; Len 0: none. The object may end before the range
	Policy rangeio.Policy // policy of the reads; zero: rangeio.Fast()

	Resumes int // times one request continues a broken body; 0: 5, negative: never
	// Stall bounds the silence of the store: a read ends if one of its planned
	// requests has not brought 1 KiB for so long, repetitions and continued bodies
	// included. A body that brings nothing at all for half of it is continued on
	// another connection. Bodies that stall again and again have the same time in all,
	// in one request or one after the other in requests of this object: what was lost
	// in bodies that were given up is made good by as much time in which bytes came.
	// A slow body that goes on loses nothing. Waiting in a Limit, or before a refused
	// request is sent again, does not count. 0: the Timeout of the bucket, or 20 s if it has none;
	// negative: for ever.
	Stall time.Duration
	// Patience is that of objects which are read for one thing. nil: the object has one of
	// its own; see Object.Patience.
	Patience *Patience
	// Aid says that who reads the object goes on without it if that fails, as without an
	// index beside a file. So it is given up after 2 s of silence, or, of a store whose answers usually take
	// longer, after three times their 99th percentile; at most after half of Stall. The time that it takes in vain counts
	// for the other objects of its Patience, and so they take no longer than Stall in all.
	Aid bool

	IfMatch   string // open only the object with this ETag, else ErrChanged
	VersionID string // open this version instead of the newest

	// Ahead bounds the bytes that ReadAt reads ahead and that Prefetch fetches, until they
	// are read. Objects with a Cache of OpenOptions share a quarter of its bytes for that.
	// 0: 16 MiB; negative: ReadAt does not read ahead, and Prefetch does nothing.
	Ahead int64

	Cache *Cache // cache for ReadAt; an Object gets its own one of 4 MiB if this is nil, or if it has no strong ETag or version
	Keep  Keeper // keeps bytes of objects with a strong ETag or a version from one run to the next; not of files of this machine; nil: none
	// Join lets short reads of this object wait up to 2 ms for those of other callers, and
	// shares requests with them; see NewJoiner. Objects of one version with the same
	// Joiner share them, too; the first of them makes and counts the requests. The end of
	// one caller's context does not end requests that others wait for. Files of this
	// machine are not joined. nil: each call makes its own requests.
	Join    *Joiner
	Pace    *Pace        // measures round trip and bandwidth; nil: gaps are as in the policy
	Counter *Counter     // gets phases, resumed bodies, hedges and cache hits; nil: none
	Logger  *slog.Logger // a debug line for each Get, or each read of a file, and a warning if only the size pins; nil: none
}

// DefaultHead is the number of bytes that Open reads if OpenOptions.Head is 0. They
// hold the headers of every format, except long metalayers, and arrive in about one
// round trip.
const DefaultHead = 64 << 10

func (o OpenOptions) withDefaults() OpenOptions {
	if o.Head == 0 || o.Head < 0 && o.Tail <= 0 {
		o.Head = DefaultHead
	}
	if o.Policy == (rangeio.Policy{}) {
		o.Policy = rangeio.Fast()
	}
	if o.Resumes == 0 {
		o.Resumes = 5
	}
	if o.Ahead == 0 {
		o.Ahead = aheadMost
	}
	return o
}

// An Object is a pinned, open object: it returns only bytes of the one version that
// Open saw, as far as the store names versions. It implements [rangeio.Reader] and
// [io.ReaderAt], is safe for concurrent use, holds no connection and needs no
// Close. Its errors are an [*Error], except io.EOF of ReadAt and errors of done.
type Object struct {
	*object
	ctx  context.Context //nolint:containedctx // only on the copies that WithContext makes, as http.Request does
	long int64           // of a copy that Long has made: bytes of a request
}

// object has the fields that the copies of an Object share.
type object struct {
	b     Bucket
	info  Info
	id    string // name of this version in caches
	o     OpenOptions
	head  []byte
	tail  []byte
	also  []byte
	cache *Cache
	disk  Kept    // what OpenOptions.Keep has of this version; nil: none
	count Counter // counts this handle

	fill     Filler    // nil: not a file of this machine
	watchers []watcher // told of the reads of fill
	usual    *usual    // nil: nothing is hedged
	pattern  *pattern  // nil: nothing is read ahead

	noVersion atomic.Bool // reading by version id was denied: the ETag pins
}

// Open learns size and ETag from its first ranged GET and pins them: every later
// request fails with ErrChanged once the object was replaced. If the bucket keeps
// versions, the version is pinned instead, and later reads go on reading it; if
// reading by version is denied, the ETag pins. Without a strong ETag the date and a
// weak ETag pin, and without these only the size.
//
// Open costs one round trip: one request, and one more in parallel for each of
// o.Tail and o.Also; there is no HEAD, except for empty objects of servers that refuse
// any range of them. Without a head the tail pins. If a server refuses ranges from
// the end, the tail costs a second round trip, and without a head a third for a byte
// at the start, which pins. If the object is replaced between these requests, Open
// starts over once.
func Open(ctx context.Context, b Bucket, key string, o OpenOptions) (*Object, error) {
	ob := &object{b: b, o: o.withDefaults()}
	ob.usual = hedging(b)
	ob.patience(b)
	ob.fill, ob.watchers = filler(b)
	if kept, err := ob.openKept(ctx, key); err != nil {
		return nil, err
	} else if !kept {
		if err := ob.openAgain(ctx, key); err != nil {
			return nil, err
		}
	}
	in := ob.info
	ob.id = b.Name() + "\x00" + in.Key + "\x00" + in.version()
	ob.cache = o.Cache
	if ob.cache == nil || !in.named() {
		// Without a version or a strong ETag, two handles may read different bytes
		// under one name, so they must not share a cache.
		ob.cache = NewCache(privateCache, DefaultBlock)
		ob.cache.early.Max = max(ob.o.Ahead, 0)
		ob.cache.total += ob.cache.early.Max
	}
	_, local := As[Filler](b)
	if most := min(ob.o.Ahead, ob.cache.early.Max); most >= ob.cache.block && !local {
		ob.pattern = &pattern{block: ob.cache.block, size: in.Size, most: most}
		if len(ob.tail) > 0 {
			ob.pattern.parts = sync.OnceValue(func() []Range { return partsOf(key, ob.tail, in.Size) })
		}
	}
	if in.ETag == "" && in.VersionID == "" && in.ModTime.IsZero() {
		ob.log(ctx, slog.LevelWarn, "no ETag and no date: only the size tells whether the object changes", key, Range{}, 0)
	}
	return &Object{object: ob}, nil
}

// openAgain is open, and open once more if the object is replaced in between.
func (o *object) openAgain(ctx context.Context, key string) error {
	end := o.begin(ctx)
	defer end()
	err := o.open(ctx, key)
	if errors.Is(err, ErrChanged) && o.o.IfMatch == "" && ctx.Err() == nil {
		err = o.open(ctx, key)
	}
	switch {
	case err == nil:
		o.keepOpened()
	case o.o.Keep != nil && errors.Is(err, ErrChanged):
		o.o.Keep.Distrust()
	}
	return err
}

// open fetches the head, the tail and OpenOptions.Also.
func (o *object) open(ctx context.Context, key string) error {
	var head, tail, also part
	g, gctx := errgroup.WithContext(ctx)
	if o.o.Head > 0 {
		g.Go(func() (err error) {
			head, err = o.openPart(gctx, key, Range{0, o.o.Head}, o.o.Buf)
			return err
		})
	}
	if o.o.Tail > 0 {
		g.Go(func() (err error) {
			tail, err = o.openPart(gctx, key, Range{Off: -o.o.Tail}, nil)
			if errors.Is(err, ErrBadRange) { // the server has no suffix ranges: ask by offset below
				tail, err = part{}, nil
			}
			return err
		})
	}
	if o.o.Also.Len > 0 && o.o.Also.Off >= 0 {
		g.Go(func() (err error) {
			also, err = o.openPart(gctx, key, o.o.Also, nil)
			if errors.Is(err, ErrBadRange) { // the object ends before
				also, err = part{}, nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		if ctx.Err() != nil {
			return o.fail(key, Range{}, ctx.Err())
		}
		return err
	}
	if o.o.Head < 0 {
		var err error
		if head, err = o.pinner(ctx, key, tail); err != nil {
			return err
		}
	}
	o.info, o.head, o.tail, o.also = head.info, head.b, nil, also.b
	o.info.Key = key
	if also.b != nil {
		if err := o.same(also.info); err != nil {
			return o.fail(key, o.o.Also, err)
		}
	}
	missing := min(o.o.Tail, o.info.Size-int64(len(head.b)))
	switch {
	case o.o.Tail <= 0 || missing <= 0:
	case tail.b != nil:
		if err := o.same(tail.info); err != nil {
			return o.fail(key, Range{Off: -o.o.Tail}, err)
		}
		o.tail = tail.b
	default:
		buf := make([]byte, missing)
		if err := o.fetch(ctx, &rangeio.Plan([]rangeio.Span{{Off: o.info.Size - missing, P: buf}}, rangeio.Policy{})[0]); err != nil {
			return err
		}
		o.tail = buf
	}
	return nil
}

// pinner returns the part that pins an object that is opened by its tail alone.
func (o *object) pinner(ctx context.Context, key string, tail part) (part, error) {
	if tail.b != nil {
		return part{info: tail.info}, nil
	}
	return o.openPart(ctx, key, Range{0, 1}, nil)
}

// Info describes the object as Open saw it. Its Meta is shared: do not change it.
func (o *Object) Info() Info { return o.info }

// Bucket is the bucket that Open was given.
func (o *Object) Bucket() Bucket { return o.b }

// Size is the length of the object in bytes.
func (o *Object) Size() int64 { return o.info.Size }

// Policy returns the policy for the next read: the one of OpenOptions, with its
// MaxGap bounded by the Pace. Reads of large spans use longer requests.
func (o *Object) Policy() rangeio.Policy { return o.o.Pace.adapt(o.o.Policy) }

// Stats counts what this handle and its copies have cost so far, Open included:
// requests and bytes as the Object asked for them, without the repetitions inside
// a driver. Reads of a file count the requests that were planned for them, and their
// bytes.
func (o *Object) Stats() rangeio.Stats { return o.count.Stats() }

// WithContext returns a copy whose ReadAt obeys ctx; the copies share bytes, cache
// and Stats. Do not keep the copy longer than ctx lives.
func (o *Object) WithContext(ctx context.Context) *Object {
	return &Object{object: o.object, ctx: ctx, long: o.long}
}

// Long implements rangeio.Longer: large spans are read by requests of n/16 bytes, at most
// 8 MiB, if that is more than the policy allows.
func (o *Object) Long(n int64) (rangeio.Reader, int64) {
	long := min(n/largeFlight, largePart)
	if most := o.o.Policy.MaxLen; o.Local() || most <= 0 || long <= max(most, o.long) {
		return o, o.long
	}
	return &Object{object: o.object, ctx: o.ctx, long: long}, long
}

// ReadAt implements io.ReaderAt under the context of WithContext, or none. It
// reads whole blocks through the cache, so that small reads close together cost
// one request; reads longer than four blocks go past the cache. A read of cached
// blocks allocates nothing. A negative offset is ErrInvalid.
//
// Reads that follow each other, forwards or backwards, or lie at equal distances, are
// read ahead: ReadAt loads what comes next in goroutines, in windows that grow to 5 MiB,
// for up to eight streams of reads side by side and within OpenOptions.Ahead. What was
// loaded when a stream ends is lost: at most 1.25 times what it has read, and 5 MiB, or
// 8 MiB after 16 MiB.
// docs/performance.md has the cost of streams and of random reads. What is loaded ahead is of the pinned version. Its load ends with the
// context of the read that began it; if that has none, with OpenOptions.Stall, and if
// there is neither, nothing is read ahead. If it fails, the read that needs the bytes
// loads them itself, or returns the error if the store gave no answer in time. Local
// files are not read ahead.
func (o *Object) ReadAt(p []byte, off int64) (int, error) {
	ctx := o.ctx
	if ctx == nil {
		ctx = context.Background()
	}
	if off < 0 {
		return 0, o.fail(o.info.Key, Range{}, fmt.Errorf("offset %d: %w", off, ErrInvalid))
	}
	if off >= o.info.Size {
		return 0, io.EOF
	}
	n := min(int64(len(p)), o.info.Size-off)
	if err := o.readAt(ctx, p[:n], off); err != nil {
		return 0, err
	}
	if n < int64(len(p)) {
		return int(n), io.EOF
	}
	return int(n), nil
}

// ReadRanges implements rangeio.Reader: bytes that Open kept or the cache has
// are copied, the others are planned by the policy, fetched in parallel, and
// streamed straight into the spans. At most 64 requests of one call run at once, or
// 16 if its spans are longer than 1 MiB on average; more of these if all of them are within
// the next 256 MiB. A span outside the object is
// ErrInvalid, too.
func (o *Object) ReadRanges(ctx context.Context, spans []rangeio.Span) error {
	return o.ReadEach(ctx, spans, nil)
}

// ReadEach implements rangeio.Reader: it is ReadRanges with done, which may be nil.
func (o *Object) ReadEach(ctx context.Context, spans []rangeio.Span, done func(int) error) error {
	if err := rangeio.Check(spans, o.info.Size); err != nil {
		return o.fail(o.info.Key, Range{}, fmt.Errorf("%w: %w", ErrInvalid, err))
	}
	rest, index := o.kept(spans)
	call := done
	if done != nil {
		if err := finishKept(len(spans), index, done); err != nil {
			return err
		}
		call = lastOf(index, done)
	}
	if len(rest) == 0 {
		return nil
	}
	return o.read(ctx, rest, o.long, call)
}

// read plans and fetches the spans that are not kept, as one phase.
func (o *object) read(ctx context.Context, spans []rangeio.Span, long int64, done func(int) error) error {
	end := o.begin(ctx)
	defer end()
	p, flight := o.policyFor(spans, long)
	if o.fill != nil && o.readFile(ctx, spans, p) {
		for i := 0; done != nil && i < len(spans); i++ {
			if err := done(i); err != nil {
				return err
			}
		}
		return nil
	}
	var err error
	if o.o.Join.joins(spans) && o.fill == nil {
		err = o.o.Join.read(ctx, o, spans, done)
	} else {
		err = rangeio.Do(ctx, spans, p, flight, o.fetch, done)
	}
	if err != nil && err == ctx.Err() { //nolint:errorlint // only the bare error, which says no place yet
		return o.fail(o.info.Key, Range{}, err)
	}
	return err
}

// Plan lists the requests that ReadRanges would make for spans now. It makes none.
func (o *Object) Plan(spans []rangeio.Span) []rangeio.Request {
	rest, _ := o.missing(spans)
	p, _ := o.policyFor(rest, o.long)
	return rangeio.Plan(rest, p)
}

// Limits for large spans. One connection to S3 carries 80-100 MB/s, so 16 requests fill
// a machine's link; many small requests hide the round trip instead. At that rate 8 MiB
// take 100 ms, so a round trip of 30 ms before each request is a quarter of the time;
// with 2 MiB the round trip would be more than half. docs/performance.md has the
// measurements of these and other sizes.
const (
	largeSpan   = 1 << 20
	largeFlight = 16
	largeBytes  = 256 << 20 // more requests than largeFlight bring this at the same time
	smallFlight = 64
	largePart   = 8 << 20
)

// policyFor chooses the policy for spans and how many requests of the call run side by side.
// If a large read would keep every connection busy several times over, policyFor makes the
// requests longer than the policy does. long is Object.long.
func (o *object) policyFor(spans []rangeio.Span, long int64) (p rangeio.Policy, flight int) {
	p = o.o.Pace.adapt(o.o.Policy)
	var n int64
	for _, s := range spans {
		n += int64(len(s.P))
	}
	if n <= int64(len(spans))*largeSpan {
		return p, smallFlight
	}
	if p.MaxLen > 0 {
		p.MaxLen = max(p.MaxLen, long, min(n/largeFlight, largePart))
	}
	each := n / int64(len(spans)) // about the length of a request
	if p.MaxLen > 0 {
		each = min(each, p.MaxLen)
	}
	return p, int(min(max(min(n, largeBytes)/each, largeFlight), smallFlight))
}

// begin starts a planned call in the counters of the object, of the client, and of who
// asks (WithCounter).
func (o *object) begin(ctx context.Context) func() {
	a, b := o.count.Begin(ctx), o.o.Counter.Begin(ctx)
	c := tally(ctx)
	if c == nil {
		return func() { a(); b() }
	}
	d := c.enter(ctx)
	return func() { a(); b(); d() }
}

// kept copies what head, tail, Also, cache and disk hold. It returns the other spans,
// or the parts of them, and their places in the list, in order.
func (o *object) kept(spans []rangeio.Span) (rest []rangeio.Span, index []int) {
	return o.sift(spans, true)
}

// missing returns what kept would return, and copies nothing.
func (o *object) missing(spans []rangeio.Span) (rest []rangeio.Span, index []int) {
	return o.sift(spans, false)
}

func (o *object) sift(spans []rangeio.Span, fill bool) (rest []rangeio.Span, index []int) {
	tailOff := o.info.Size - int64(len(o.tail))
	for i, s := range spans {
		if h := int64(len(o.head)); s.Off < h && len(s.P) > 0 {
			n := min(h-s.Off, int64(len(s.P)))
			if fill {
				copy(s.P[:n], o.head[s.Off:])
			}
			s = rangeio.Span{Off: s.Off + n, P: s.P[n:]}
		}
		if t := max(tailOff, s.Off); s.End() > t && len(s.P) > 0 {
			if fill {
				copy(s.P[t-s.Off:], o.tail[t-tailOff:])
			}
			s.P = s.P[:t-s.Off]
		}
		s = o.besides(s, fill)
		if len(s.P) == 0 {
			continue
		}
		if n := o.cache.lookup(o.id, s.Off, s.P, fill); n > 0 {
			if fill {
				o.hit(n)
			}
			continue
		}
		if rest == nil {
			rest, index = make([]rangeio.Span, 0, len(spans)-i), make([]int, 0, len(spans)-i)
		}
		rest, index = append(rest, s), append(index, i)
	}
	return o.onDisk(rest, index, fill)
}

// besides cuts off the beginning or the end of a span that o.also holds.
func (o *object) besides(s rangeio.Span, fill bool) rangeio.Span {
	from := max(s.Off, o.o.Also.Off)
	to := min(s.End(), o.o.Also.Off+int64(len(o.also)))
	if from >= to || from != s.Off && to != s.End() {
		return s
	}
	if fill {
		copy(s.P[from-s.Off:to-s.Off], o.also[from-o.o.Also.Off:])
	}
	if from == s.Off {
		return rangeio.Span{Off: to, P: s.P[to-from:]}
	}
	s.P = s.P[:from-s.Off]
	return s
}

// finishKept calls done for each span whose number is not in index, which is sorted.
func finishKept(n int, index []int, done func(int) error) error {
	for i := range n {
		if len(index) == 0 || index[0] != i {
			if err := done(i); err != nil {
				return err
			}
		}
		for len(index) > 0 && index[0] == i {
			index = index[1:]
		}
	}
	return nil
}

func (o *object) hedged() {
	o.count.AddHedge()
	o.o.Counter.AddHedge()
}

func (o *object) hit(n int64) {
	o.count.AddHits(n)
	o.o.Counter.AddHits(n)
}

// HeldBytes returns about how many bytes of memory the Object keeps: the bytes of its
// opening, its metadata, and a cache of its own. It does not count the Cache of
// OpenOptions, which has one bound for all Objects.
func (o *Object) HeldBytes() int64 {
	const fixed = 2 << 10 // the structs, and their texts
	n := int64(fixed + cap(o.head) + cap(o.tail) + cap(o.also))
	for k, v := range o.info.Meta {
		n += int64(len(k) + len(v))
	}
	if o.cache != nil && o.cache != o.o.Cache {
		n += o.cache.Size()
	}
	return n
}
