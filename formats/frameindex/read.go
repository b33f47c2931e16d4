package frameindex

import (
	"bytes"
	"context"
	"encoding/binary"
	"slices"
	"sync"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/internal/lru"
	"github.com/farread/farread/rangeio"
)

// Options tune Open.
type Options struct {
	index.Options
	Frame  Sum // Sum of the frame that the index must be about
	Chunks int // number of chunks of the frame
}

const (
	keptPages = 4 << 20 // bytes of pages that an Index keeps after they were read
	readPages = 4 << 20 // bytes of pages that it reads at a time
)

// An Index is an open index. It holds the directory in memory, and pages: those that
// came with the directory, and up to 4 MiB of those that were used last. It is safe for
// concurrent use.
type Index struct {
	ix *index.Index
	s  *index.Section

	mu    sync.Mutex
	pages lru.Cache[int, []byte]
	stats lru.Cache[statPage, []byte]
}

// Open opens the index that ends r. It costs as much as index.Open. Errors about the
// index match index.ErrUnusable; other errors come from reads.
func Open(ctx context.Context, r rangeio.Reader, o Options) (*Index, error) {
	ix, err := index.Open(ctx, r, o.Options)
	if err != nil {
		return nil, err
	}
	x := &Index{ix: ix, s: ix.Section(index.Name{Kind: sectionStarts})}
	x.pages.Max, x.stats.Max = keptPages, keptPages
	return x, x.check(&o)
}

// check checks that the index is about the frame, and that its pages have all chunks.
func (x *Index) check(o *Options) error {
	version, n := binary.Uvarint(x.ix.Meta)
	if n <= 0 || version != metaVersion {
		return unusable("version %d of what it says of a frame", version)
	}
	meta := x.ix.Meta[n:]
	chunks, n := binary.Uvarint(meta)
	if n <= 0 || chunks != uint64(o.Chunks) || !bytes.Equal(meta[n:], o.Frame[:]) {
		return unusable("it is about another state of the frame")
	}
	if x.s == nil {
		return unusable("it has no block starts")
	}
	next := int64(0)
	for i := range x.s.Pages {
		p := &x.s.Pages[i]
		if p.First != next || p.Last < p.First || p.Count != p.Last-p.First+1 {
			return unusable("page %d has the chunks %d to %d", i, p.First, p.Last)
		}
		next = p.Last + 1
	}
	if next != int64(o.Chunks) {
		return unusable("its pages have %d chunks of %d", next, o.Chunks)
	}
	return nil
}

// Trailer returns the place of the index.
func (x *Index) Trailer() index.Trailer { return x.ix.Trailer }

// Size returns the bytes of the index with all of its pages and its trailer.
func (x *Index) Size() int64 {
	return x.ix.Trailer.Len + index.TrailerLen + x.Outside()
}

// Extents lists the bytes of the object that pages in front of the index take.
func (x *Index) Extents() []index.Extent { return x.ix.Extents() }

// Outside returns the number of those bytes.
func (x *Index) Outside() (n int64) {
	for _, e := range x.ix.Extents() {
		n += e.Len
	}
	return n
}

// Held reports whether the pages of all chunks of a list are in memory, so that Heads
// makes no request. chunks must ascend.
func (x *Index) Held(chunks []int) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for run := range x.runs(chunks) {
		if _, ok := x.pages.Peek(run.page); !ok && !x.ix.Held(x.s, run.page, run.page+1) {
			return false
		}
	}
	return true
}

// A run is the chunks of a list that are in the same page: list[from:to].
type run struct{ page, from, to int }

// runs yields the runs of a list of chunks, which must ascend and exist.
func (x *Index) runs(chunks []int) func(yield func(run) bool) {
	return func(yield func(run) bool) {
		for from := 0; from < len(chunks); {
			k, _ := x.s.Over(int64(chunks[from]), int64(chunks[from]))
			to := from + 1
			for to < len(chunks) && int64(chunks[to]) <= x.s.Pages[k].Last {
				to++
			}
			if !yield(run{k, from, to}) {
				return
			}
			from = to
		}
	}
}

// Heads calls fn with the head of each chunk of a list, in order: k is the index in the
// list, and head is nil if the index has none. chunks must ascend (a chunk may
// come twice) and exist. head is valid during the call only. Pages that are not in memory are read in one phase, and
// by one planned read if they have less than 4 MiB. If fn returns an error, Heads
// returns the same error. If a page is damaged, the error matches index.ErrUnusable.
func (x *Index) Heads(ctx context.Context, chunks []int, fn func(k int, head []byte) error) error {
	one, _ := rangeio.Steps(ctx)
	list := slices.Collect(x.runs(chunks))
	for len(list) > 0 {
		n, bytes := 0, int64(0)
		for ; n < len(list); n++ {
			if bytes += x.s.Pages[list[n].page].Len(); n > 0 && bytes > readPages {
				break
			}
		}
		pages, err := x.read(one, list[:n])
		if err != nil {
			return err
		}
		for i, r := range list[:n] {
			err := x.heads(r.page, pages[i], chunks[r.from:r.to], func(k int, head []byte) error { return fn(r.from+k, head) })
			if err != nil {
				return err
			}
		}
		list = list[n:]
	}
	return nil
}

// heads calls fn with the heads of chunks, which are all in page k.
func (x *Index) heads(k int, p []byte, chunks []int, fn func(k int, head []byte) error) error {
	d := page{p: p}
	first := int(x.s.Pages[k].First)
	for n, i := 0, first; n < len(chunks); i++ {
		head, ok := d.next()
		if !ok {
			return unusable("chunk %d is damaged in its page", i)
		}
		for ; n < len(chunks) && chunks[n] == i; n++ {
			if err := fn(n, head); err != nil {
				return err
			}
		}
	}
	return nil
}

// read returns the pages of runs. It reads those that are not in memory, and keeps
// them.
func (x *Index) read(ctx context.Context, runs []run) ([][]byte, error) {
	out := make([][]byte, len(runs))
	var parts []index.Parts
	var places []int // in out, of the pages of parts
	x.mu.Lock()
	for i, r := range runs {
		p, ok := x.pages.Get(r.page)
		if out[i] = p; !ok {
			parts = append(parts, index.Parts{Section: x.s, I: r.page, J: r.page + 1})
			places = append(places, i)
		}
	}
	x.mu.Unlock()
	if len(parts) == 0 {
		return out, nil
	}
	pages, err := x.ix.Pages(ctx, parts...)
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for n, p := range pages {
		k := parts[n].I
		if out[places[n]] = p; !x.ix.Held(x.s, k, k+1) {
			x.pages.Put(k, p, int64(cap(p)))
		}
	}
	return out, nil
}

// Verify reads the whole index and compares it with the hash in its trailer:
// index.ErrUnusable if they differ.
func (x *Index) Verify(ctx context.Context) error { return x.ix.Verify(ctx) }

// HeldBytes returns about how many bytes of memory the Index keeps.
func (x *Index) HeldBytes() int64 {
	const fixed = 256
	x.mu.Lock()
	defer x.mu.Unlock()
	return fixed + x.ix.HeldBytes() + x.pages.Cost() + x.stats.Cost()
}
