package frameindex

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"github.com/farread/farread/formats/index"
	"github.com/farread/farread/internal/lru"
	"github.com/farread/farread/rangeio"
)

// Options tune Open.
type Options struct {
	index.Options
	Header  Sum  // of the header of the frame that the index must be about
	Offsets *Sum // of its offsets chunk; nil: that was not read
	Chunks  int  // number of chunks of the frame; negative: it is not known, and the index tells it
}

const (
	keptPages = 4 << 20  // bytes of pages that an Index keeps after they were read
	readPages = 4 << 20  // bytes of pages that it reads at a time
	heldBytes = 16 << 20 // bytes of the index that Hold keeps
)

// An Index is an open index. It holds the directory in memory, and pages: those that
// came with the directory, and up to 4 MiB of those that were used last. It is safe for
// concurrent use.
type Index struct {
	ix      *index.Index
	r       rangeio.Reader
	chunks  int
	starts  *index.Section // nil: no heads
	places  *index.Section // nil: no places
	marks   *marks         // nil: no places
	offsets Sum

	mu    sync.Mutex
	pages lru.Cache[pageKey, []byte]
	stats lru.Cache[pageKey, []byte]
}

// A pageKey names a page of a section.
type pageKey struct {
	s *index.Section
	k int
}

// Open opens the index that ends r. It costs as much as index.Open. Errors about the
// index match index.ErrUnusable; other errors come from reads.
func Open(ctx context.Context, r rangeio.Reader, o Options) (*Index, error) {
	ix, err := index.Open(ctx, r, o.Options)
	if err != nil {
		return nil, err
	}
	x := &Index{ix: ix, r: r, starts: ix.Section(index.Name{Kind: sectionStarts}), places: ix.Section(index.Name{Kind: sectionPlaces})}
	x.pages.Max, x.stats.Max = keptPages, keptPages
	if err := x.check(&o); err != nil || x.places == nil {
		return x, err
	}
	return x, x.openMarks(ctx, x.chunks)
}

// check checks that the index is about the frame, and that its pages have all chunks.
func (x *Index) check(o *Options) error {
	version, n := binary.Uvarint(x.ix.Meta)
	if n <= 0 || version != metaVersion {
		return unusable("version %d of what it says of a frame", version)
	}
	meta := x.ix.Meta[n:]
	chunks, n := binary.Uvarint(meta)
	known := o.Chunks >= 0
	if n <= 0 || known && chunks != uint64(o.Chunks) || chunks > math.MaxInt32 || len(meta[n:]) != 2*sumLen || !bytes.Equal(meta[n:n+sumLen], o.Header[:]) {
		return unusable("it is about another state of the frame")
	}
	x.chunks = int(chunks)
	copy(x.offsets[:], meta[n+sumLen:])
	if o.Offsets != nil && *o.Offsets != x.offsets {
		return unusable("it is about other offsets")
	}
	if x.starts == nil && x.places == nil {
		return unusable("it has neither block starts nor offsets")
	}
	for _, s := range []*index.Section{x.starts, x.places} {
		if err := checkPages(s, int64(chunks)); err != nil {
			return err
		}
	}
	return nil
}

// checkPages checks that the pages of a section have all chunks, each once.
func checkPages(s *index.Section, chunks int64) error {
	if s == nil {
		return nil
	}
	next := int64(0)
	for i := range s.Pages {
		p := &s.Pages[i]
		if p.First != next || p.Last < p.First || p.Count != p.Last-p.First+1 {
			return unusable("page %d has the chunks %d to %d", i, p.First, p.Last)
		}
		next = p.Last + 1
	}
	if next != chunks {
		return unusable("its pages have %d chunks of %d", next, chunks)
	}
	return nil
}

// Chunks returns the number of chunks that the index is about.
func (x *Index) Chunks() int { return x.chunks }

// Offsets returns the Sum of the offsets chunk that the index is about.
func (x *Index) Offsets() Sum { return x.offsets }

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
func (x *Index) Held(chunks []int) bool { return x.missing(x.starts, chunks) == 0 }

// HeadsMissing returns how many bytes of pages Heads would read for chunks, which must
// ascend.
func (x *Index) HeadsMissing(chunks []int) int64 { return x.missing(x.starts, chunks) }

// missing returns the bytes of the pages of chunks that are not in memory.
func (x *Index) missing(s *index.Section, chunks []int) (n int64) {
	if s == nil {
		return 0
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for run := range runs(s, chunks) {
		if _, ok := x.pages.Peek(pageKey{s, run.page}); !ok && !x.ix.Held(s, run.page, run.page+1) {
			n += s.Pages[run.page].Len()
		}
	}
	return n
}

// A run is the chunks of a list that are in the same page: list[from:to].
type run struct{ page, from, to int }

// runs yields the runs of a list of chunks, which must ascend and exist.
func runs(s *index.Section, chunks []int) func(yield func(run) bool) {
	return func(yield func(run) bool) {
		for from := 0; from < len(chunks); {
			k, _ := s.Over(int64(chunks[from]), int64(chunks[from]))
			to := from + 1
			for to < len(chunks) && int64(chunks[to]) <= s.Pages[k].Last {
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
	if x.starts == nil {
		for k := range chunks {
			if err := fn(k, nil); err != nil {
				return err
			}
		}
		return nil
	}
	return x.each(ctx, x.starts, chunks, func(p []byte, first int, r run) error {
		return headsOf(p, first, chunks[r.from:r.to], func(k int, head []byte) error { return fn(r.from+k, head) })
	})
}

// each calls fn with the page of each run of chunks in a section, and with the first
// chunk of the page.
func (x *Index) each(ctx context.Context, s *index.Section, chunks []int, fn func(p []byte, first int, r run) error) error {
	one, _ := rangeio.Steps(ctx)
	list := slices.Collect(runs(s, chunks))
	for len(list) > 0 {
		n, bytes := 0, int64(0)
		for ; n < len(list); n++ {
			if bytes += s.Pages[list[n].page].Len(); n > 0 && bytes > readPages {
				break
			}
		}
		pages, err := x.read(one, s, list[:n])
		if err != nil {
			return err
		}
		for i, r := range list[:n] {
			if err := fn(pages[i], int(s.Pages[r.page].First), r); err != nil {
				return err
			}
		}
		list = list[n:]
	}
	return nil
}

// headsOf calls fn with the heads of chunks, which are all in page p.
func headsOf(p []byte, first int, chunks []int, fn func(k int, head []byte) error) error {
	d := pageOf(p)
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
func (x *Index) read(ctx context.Context, s *index.Section, runs []run) ([][]byte, error) {
	out := make([][]byte, len(runs))
	var parts []index.Parts
	var places []int // in out, of the pages of parts
	x.mu.Lock()
	for i, r := range runs {
		p, ok := x.pages.Get(pageKey{s, r.page})
		if out[i] = p; !ok {
			parts = append(parts, index.Parts{Section: s, I: r.page, J: r.page + 1})
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
		if out[places[n]] = p; !x.ix.Held(s, k, k+1) {
			x.pages.Put(pageKey{s, k}, p, int64(cap(p)))
		}
	}
	return out, nil
}

// Verify reads the whole index and compares it with the hash in its trailer:
// index.ErrUnusable if they differ.
func (x *Index) Verify(ctx context.Context) error { return x.ix.Verify(ctx) }

// Hold lets Verify keep up to 16 MiB of what it reads, until release is called: then the
// other methods do not read it again.
func (x *Index) Hold() (release func()) { return x.ix.Hold(heldBytes) }

// HeldBytes returns about how many bytes of memory the Index keeps.
func (x *Index) HeldBytes() int64 {
	const fixed = 256
	x.mu.Lock()
	defer x.mu.Unlock()
	n := fixed + x.ix.HeldBytes() + x.pages.Cost() + x.stats.Cost()
	if x.marks != nil {
		n += int64(cap(x.marks.at)*8 + cap(x.marks.bounds)*16)
	}
	return n
}

// A HeadList holds the heads of all chunks of an index, still encoded.
type HeadList struct {
	s     *index.Section // nil: no heads
	pages [][]byte
}

// List reads the heads of all chunks: one planned read. If a page is damaged, the error
// matches index.ErrUnusable.
func (x *Index) List(ctx context.Context) (*HeadList, error) {
	l := &HeadList{s: x.starts}
	if l.s == nil {
		return l, nil
	}
	var err error
	l.pages, err = x.ix.Pages(ctx, index.Parts{Section: l.s, I: 0, J: len(l.s.Pages)})
	return l, err
}

// Any reports whether any chunk may have a head.
func (l *HeadList) Any() bool { return l.s != nil }

// Each is Index.Heads without reads.
func (l *HeadList) Each(chunks []int, fn func(k int, head []byte) error) error {
	if l.s == nil {
		for k := range chunks {
			if err := fn(k, nil); err != nil {
				return err
			}
		}
		return nil
	}
	for r := range runs(l.s, chunks) {
		err := headsOf(l.pages[r.page], int(l.s.Pages[r.page].First), chunks[r.from:r.to], func(k int, head []byte) error { return fn(r.from+k, head) })
		if err != nil {
			return err
		}
	}
	return nil
}
