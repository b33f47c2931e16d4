package rangeio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// Policy says when two ranges share a request. The zero value never joins and
// never splits.
type Policy struct {
	Free     int64   // gaps up to this are read and dropped, if MaxLen allows; 0 joins touching spans, unless Parallel is 0, too
	MaxGap   int64   // largest gap worth dropping to avoid a queued request
	MaxLen   int64   // usual most bytes of a request: longer spans are split and their parts fetched at the same time; 0: no limit
	OverRead float64 // most bytes of gaps read and dropped, as a share of those wanted; Free gaps count, but are never refused
	Parallel int     // requests in flight before joining is preferred; 0: join only Free gaps
}

// Fast spends bytes to save time. 32 KiB take 0.4 ms at the 80 MB/s that one
// connection to S3 carries, less than a request costs its client; 2 MiB are a
// round trip of 30 ms at that rate; 64 requests are what one client keeps busy.
func Fast() Policy {
	return Policy{Free: 32 << 10, MaxGap: 2 << 20, MaxLen: 2 << 20, OverRead: 4, Parallel: 64}
}

// Few spends bytes to save requests, which are what S3 bills inside a region.
func Few() Policy {
	return Policy{Free: 1 << 20, MaxGap: 4 << 20, MaxLen: 16 << 20, OverRead: 4, Parallel: 1}
}

// Lean makes more requests to save bytes: 4 KiB is about the size of a request
// and the headers of its answer.
func Lean() Policy {
	return Policy{Free: 4 << 10, MaxGap: 64 << 10, MaxLen: 2 << 20, OverRead: 0.25, Parallel: 64}
}

// A Request is one contiguous range, and the spans that it fills, sorted by
// offset.
type Request struct {
	Off, Len int64
	Spans    []Span

	index   []int // index of each span in the list that was planned
	overlap bool  // two of its spans share bytes of the object
	buf     []byte
	run     *Run // what the request brings instead of spans; nil: spans
}

// most is the most bytes of a request, or 0. It is an eighth more than MaxLen: what is
// cut at powers of two has a header more, and that should not cost another request.
func (p Policy) most() int64 { return p.MaxLen + min(p.MaxLen/8, math.MaxInt64-p.MaxLen) }

// mostOver is the most bytes of a request that joins spans n bytes apart.
func (p Policy) mostOver(n int64) int64 {
	if n == 0 {
		return p.most()
	}
	return p.MaxLen
}

// Plan groups spans into requests, ordered by offset. It does no I/O. Every
// span is covered exactly: by one request, or, if it is longer than p.MaxLen and an eighth, by
// several that each take a piece of it. Empty spans need none. The requests
// share the buffers of spans.
//
// No request is longer than p.MaxLen and an eighth, nor, if it has gaps, than p.MaxLen. Within that, gaps up to
// p.Free are bridged always. While more than p.Parallel requests remain, gaps up to
// p.MaxGap are bridged, too, the smallest first, as long as the bytes dropped stay
// within p.OverRead: at first only gaps that leave the requests about equally long,
// then the others. So joining costs no more than the queued round trip that it
// saves, if p.MaxGap takes no longer.
func Plan(spans []Span, p Policy) []Request {
	if len(spans) == 1 { // the most frequent case by far
		if n := int64(len(spans[0].P)); n > 0 && (p.MaxLen <= 0 || n <= p.most()) {
			return []Request{{Off: spans[0].Off, Len: n, Spans: spans[:1:1], index: []int{0}}}
		}
	}
	work := subspans(spans, p.MaxLen)
	if len(work) == 0 {
		return nil
	}
	bridge := choose(work, p)
	out := make([]Request, 0, len(work))
	sp, ix := make([]Span, len(work)), make([]int, len(work))
	for i, w := range work {
		sp[i], ix[i] = w.Span, w.index
		if n := len(out); n > 0 && bridge[i] {
			r := &out[n-1]
			r.overlap = r.overlap || w.Off < r.Off+r.Len
			r.Len = max(r.Off+r.Len, w.End()) - r.Off
			k := len(r.Spans)
			r.Spans, r.index = r.Spans[:k+1], r.index[:k+1] // the next of the same arrays
			continue
		}
		out = append(out, Request{Off: w.Off, Len: int64(len(w.P)), Spans: sp[i : i+1], index: ix[i : i+1]})
	}
	return out
}

// A Planner is a Reader that tells by which requests it would now read spans. For
// example, it keeps some bytes of its object, or it knows the pace of its store.
type Planner interface {
	Reader
	// Plan lists the requests that ReadRanges would make, without making them.
	Plan(spans []Span) []Request
}

// PlanOf lists the requests that r would make for spans, if it is a Planner; else
// one for each span.
func PlanOf(r Reader, spans []Span) []Request {
	if p, ok := r.(Planner); ok {
		return p.Plan(spans)
	}
	return Plan(spans, Policy{})
}

// A Planned is a request that a read would make. Explain methods return it for
// people to look at.
type Planned struct {
	Phase    int    // number of the phase, from 1; requests of one phase are sent at the same time; 0: along with the last index that was read for the plan
	Object   string // name of the object if there are several, else ""
	Off, Len int64
	Why      string // describes the bytes
	// Estimated tells that Off and Len are guesses, because they depend on bytes that
	// were not read.
	Estimated bool
}

// A subspan is a span, or a part of one. It knows the number of its span in the list.
type subspan struct {
	Span
	index int
}

// subspans splits long spans evenly, drops empty ones and sorts by offset.
func subspans(spans []Span, maxLen int64) []subspan {
	work := make([]subspan, 0, len(spans))
	for i, s := range spans {
		n := int64(len(s.P))
		if n == 0 {
			continue
		}
		k := int64(1)
		if maxLen > 0 {
			k = max(n-1-maxLen/8, 0)/maxLen + 1
		}
		for j := range k {
			a, b := n/k*j+min(j, n%k), n/k*(j+1)+min(j+1, n%k)
			work = append(work, subspan{Span{s.Off + a, s.P[a:b:b]}, i})
		}
	}
	slices.SortStableFunc(work, func(a, b subspan) int { return cmp.Compare(a.Off, b.Off) })
	return work
}

// choose marks each subspan that shares a request with the one before it.
func choose(work []subspan, p Policy) []bool {
	bridge := make([]bool, len(work))
	first := make([]int, len(work)) // union-find towards the first subspan of a request
	end := make([]int64, len(work)) // byte end of the request that begins at subspan i
	for i, w := range work {
		first[i], end[i] = i, w.End()
	}
	root := func(i int) int {
		for first[i] != i {
			first[i] = first[first[i]]
			i = first[i]
		}
		return i
	}
	// join bridges the gap between subspan i and its left neighbour, unless the request
	// would become too long.
	join := func(i int, most int64) bool {
		a, b := root(i-1), i
		e := max(end[a], end[b])
		if most > 0 && e-work[a].Off > most {
			return false
		}
		first[b], end[a] = a, e
		bridge[i] = true
		return true
	}
	type gap struct {
		i int
		n int64
	}
	gaps := make([]gap, 0, len(work))
	var wanted, dropped int64
	requests := len(work)
	reach := int64(0) // end of everything so far: a subspan inside it leaves no gap
	for i, w := range work {
		n := w.Off - reach
		if i > 0 {
			gaps = append(gaps, gap{i, max(n, 0)})
		}
		wanted += w.End() - max(min(reach, w.End()), w.Off)
		reach = max(reach, w.End())
	}
	slices.SortStableFunc(gaps, func(a, b gap) int { return cmp.Compare(a.n, b.n) })
	budget := int64(math.MaxInt64)
	if most := p.OverRead * float64(wanted); most < math.MaxInt64 {
		budget = int64(most)
	}
	k := 0
	for ; k < len(gaps); k++ {
		if g := gaps[k]; g.n > p.Free || p.Free == 0 && p.Parallel == 0 {
			break
		} else if join(g.i, p.mostOver(g.n)) {
			requests--
			dropped += g.n
		}
	}
	if p.Parallel <= 0 {
		return bridge
	}
	// The first pass caps the length, so that the requests are about equally long: the
	// longest one ends last. If too many requests remain, the second pass has no cap.
	even := (reach - work[0].Off) / int64(p.Parallel)
	even += even / 8
	if p.MaxLen > 0 {
		even = min(even, p.MaxLen)
	}
	for _, most := range []int64{even, p.MaxLen} {
		for _, g := range gaps[k:] {
			if requests <= p.Parallel || g.n > p.MaxGap || dropped+g.n > budget {
				break
			}
			if !bridge[g.i] && join(g.i, most) {
				requests--
				dropped += g.n
			}
		}
	}
	return bridge
}

// Scatter streams one request's body into its spans; bytes between them are
// read and dropped, bytes behind the request stay unread. done counts the bytes of
// the request that were consumed before. Scatter adds to it, so that a broken body
// can be continued: call Scatter again with a body that begins at Off + *done. A
// body that ends early is io.ErrUnexpectedEOF; its other errors are returned as
// they are. For a Run, Scatter returns the errors of Run.Memory, too.
func (r *Request) Scatter(body io.Reader, done *int64) error {
	if r.run != nil {
		return r.run.scatter(body, done)
	}
	if r.overlap { // rare: buffered once, then copied to every span
		if r.buf == nil {
			r.buf = make([]byte, r.Len)
		}
		n, err := io.ReadFull(body, r.buf[*done:])
		*done += int64(n)
		if err != nil {
			return noEOF(err)
		}
		for _, s := range r.Spans {
			copy(s.P, r.buf[s.Off-r.Off:])
		}
		r.buf = nil
		return nil
	}
	for _, s := range r.Spans {
		pos := r.Off + *done
		if s.End() <= pos {
			continue
		}
		if gap := s.Off - pos; gap > 0 {
			n, err := io.CopyN(io.Discard, body, gap)
			*done += n
			if err != nil {
				return noEOF(err)
			}
			pos = s.Off
		}
		n, err := io.ReadFull(body, s.P[pos-s.Off:])
		*done += int64(n)
		if err != nil {
			return noEOF(err)
		}
	}
	return nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Do plans spans, runs fetch for each request with at most limit at once (0:
// all), and calls done(i), if given, from the fetching goroutines once span i
// is full; empty spans are done first. The first error, or ctx's, cancels the
// others; Do returns it after every fetch and done has ended. A single request is
// fetched in the caller's goroutine and under ctx as it is.
func Do(ctx context.Context, spans []Span, p Policy, limit int, fetch func(context.Context, *Request) error, done func(i int) error) error {
	reqs := Plan(spans, p)
	left, err := pending(spans, reqs, done)
	if err != nil || len(reqs) == 0 {
		return err
	}
	finish := func(r *Request) error {
		if done == nil {
			return nil
		}
		for _, i := range r.index {
			if atomic.AddInt32(&left[i], -1) == 0 {
				if err := done(i); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if len(reqs) == 1 {
		if err := fetch(ctx, &reqs[0]); err != nil {
			return err
		}
		return finish(&reqs[0])
	}
	if limit <= 0 || limit > len(reqs) {
		limit = len(reqs)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var next, ended atomic.Int64
	var wg sync.WaitGroup
	var once sync.Once
	var first error
	for range limit {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= int64(len(reqs)) {
					return
				}
				err := fetch(ctx, &reqs[i])
				if err == nil {
					err = finish(&reqs[i])
				}
				if err != nil {
					once.Do(func() { first = err })
					cancel()
					return
				}
				ended.Add(1)
			}
		})
	}
	wg.Wait()
	if first == nil && ended.Load() < int64(len(reqs)) {
		return ctx.Err() // the caller left before the last ones began
	}
	return first
}

// pending counts the subspans of each span and reports empty spans as done.
func pending(spans []Span, reqs []Request, done func(int) error) ([]int32, error) {
	if done == nil {
		return nil, nil
	}
	left := make([]int32, len(spans))
	for i := range reqs {
		for _, k := range reqs[i].index {
			left[k]++
		}
	}
	for i, s := range spans {
		if len(s.P) == 0 {
			if err := done(i); err != nil {
				return nil, fmt.Errorf("span %d: %w", i, err)
			}
		}
	}
	return left, nil
}
